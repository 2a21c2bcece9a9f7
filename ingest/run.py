"""Filling a bank: check the corpus, load the model, write the text, run the batches."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from duckdb import DuckDBPyConnection

from attnbank.ingest.attention.rows import RunFacts
from attnbank.ingest.corpora.document import Problem
from attnbank.ingest.corpora.shards import read_shard
from attnbank.ingest.inputs.plan import Planner
from attnbank.ingest.inputs.reading import asking
from attnbank.ingest.masked.passes import masked_passes
from attnbank.ingest.models import loading as models
from attnbank.ingest.models.runtime import kept_memory, left_alone
from attnbank.ingest.models.tokenizer import InputTokenizer
from attnbank.ingest.options import (
    ABLATIONS,
    CONTEXTS,
    DEFAULT_MAX_TOKENS,
    KEPT,
    MOST_RANDOM,
    MOST_SEED,
    MULTIWORDS,
    REPLACEMENTS,
    Departures,
    Estimate,
    IngestOptions,
    Report,
)
from attnbank.ingest.progress import Counter, OnProgress, Progress, unheard
from attnbank.ingest.store import corpus as corpora
from attnbank.ingest.store import runs
from attnbank.ingest.store.deleting import delete_run
from attnbank.ingest.store.pipeline import BatchRunner, run_batches
from attnbank.ingest.store.writer import WRITER, counting, writing
from attnbank.sql import provenance, registry
from attnbank.sql.bank.opening import open_to_write
from attnbank.sql.errors import CallError

# Sizes in a bank, as measured. The key says whether weights are unrounded.
_BYTES_PER_WEIGHT = {True: 3.6, False: 2.5}
_BYTES_PER_POSITION = 27.0  # of each map: its peaks and the lists of its sums
_BYTES_PER_MAP = 220.0
_BYTES_PER_GRADIENT = 4.2
_LONGEST_NAME = 1000  # characters; most systems do not allow longer paths


def ingest(options: IngestOptions, on_progress: OnProgress = unheard) -> Report:
    """Run a model over a corpus and write what its heads look at into a bank.

    An ingest of the same corpus, model and options that was interrupted goes on where it stopped;
    one that is complete adds nothing.

    Raises CorpusError for a corpus that cannot be read (the bank is not touched), CallError for
    options that do not fit, ModelError for a model that does not return its attention, BankError if
    the bank cannot be written.
    """
    return fill(options, on_progress, run_batches)


def fill(options: IngestOptions, on_progress: OnProgress, runs_batches: BatchRunner) -> Report:
    """Do what `ingest` does, with another way to run the batches: see `run_batches`."""
    _check_options(options)
    corpus = corpora.find(options)
    problems = corpora.check_before(options.bank, corpus, on_progress)
    model = models.load(
        options.model,
        random_seed=options.random_weights,
        revision=options.revision,
        device=options.device,
        masked_lm=options.masked,
        trust_remote_code=options.trust_remote_code,
    )
    masked = masked_passes(model.masked_lm, options)
    max_tokens = longest_input(options, model.input_tokenizer, model.facts.max_positions)
    with left_alone(), writing(options.bank, has_deleted=options.replace) as connection:
        corpus_id = corpora.write(connection, corpus, on_progress)
        model_id = runs.model_id(connection, model.facts)
        run = runs.find_run(connection, corpus_id, model_id, options, max_tokens)
        replaced = None
        if run is not None and options.replace:
            replaced = delete_run(connection, run.id)
            run = None
        if run is not None:
            runs.check_same(run, options, str(model.device))
        if run is not None and run.finished:
            return _report(connection, run, "unchanged", problems)
        state = "new" if run is None else "resumed"
        if run is None:
            run = runs.start_run(
                connection, corpus_id, model_id, model.facts, options, max_tokens,
                str(model.device),
            )  # fmt: skip
        planner = _planner(options, model.input_tokenizer, max_tokens, run.batch_tokens)
        facts = RunFacts(
            run.id, corpus_id, run.first_sequence, options.subword, options.decimals,
            options.context, model.input_tokenizer.unknown, options.keep,
        )  # fmt: skip
        with kept_memory():
            runs_batches(
                connection, model, planner, facts, run.batches, Counter(on_progress), masked
            )
        runs.finish_run(connection, run.id)
        return replace(_report(connection, run, state, problems), replaced=replaced)


def estimate(options: IngestOptions, on_progress: OnProgress = unheard) -> Estimate:
    """Count what an ingest would write, without running the model or touching the bank.

    Raises as `ingest` does, as far as that shows without the model's weights.
    """
    _check_options(options)
    corpus = corpora.find(options)
    described = models.describe(
        options.model,
        revision=options.revision,
        masked_lm=options.masked,
        trust_remote_code=options.trust_remote_code,
    )
    max_tokens = longest_input(options, described.input_tokenizer, described.max_positions)
    maps = described.layers * described.heads
    with tempfile.TemporaryDirectory(prefix="attnbank-") as folder, counting(Path(folder).parent):
        path = Path(folder, "estimate.duckdb")
        connection = open_to_write(path, provenance.version(), WRITER)
        problems = corpora.check(corpus, on_progress)
        corpus_id = corpora.write(connection, corpus, on_progress)
        planner = _planner(options, described.input_tokenizer, max_tokens, options.batch_tokens)
        found = Estimate(0, 0, 0, 0, 0, 0, 0, problems=problems)
        found.documents = _count(connection, "select count(*) from document")
        found.departures = _departures(connection, corpus_id)
        found.empty_nodes = _count(connection, "select coalesce(sum(empty_nodes), 0) from sentence")
        places = 0
        for problem in problems:
            found.skipped[problem.id] = found.skipped.get(problem.id, 0) + 1
        counted = 0
        plan = planner.plan(asking(connection.cursor()), corpus_id)
        on_progress(Progress("counting", counted, plan.sentences))
        for batch in plan.batches:
            counted += batch.sentences
            on_progress(Progress("counting", counted, plan.sentences))
            for skip in batch.skips:
                found.skipped[skip.reason] = found.skipped.get(skip.reason, 0) + 1
            for each in batch.inputs:
                found.inputs += 1
                found.sentences += len(each.sentences)
                found.words += len(each.words)
                found.unknown_words += each.encoded.words_with(described.input_tokenizer.unknown)
                found.pieces += len(each.encoded.ids)
                found.weights += maps * len(each.encoded.positions) ** 2
                places += maps * len(each.encoded.positions)
        connection.close()
        text = path.stat().st_size  # the schema and the annotated text, as a bank holds them
    per_weight = _BYTES_PER_WEIGHT[options.decimals is None or options.decimals > 5]
    per_weight = per_weight * (options.keep == "weights") + _BYTES_PER_GRADIENT * options.gradients
    sums = places * _BYTES_PER_POSITION + found.inputs * maps * _BYTES_PER_MAP
    found.bytes = text + round(found.weights * per_weight + sums)
    return found


def _check_options(options: IngestOptions) -> None:
    """Raise CallError for options that are invalid or do not fit each other."""
    if options.context not in CONTEXTS:
        raise CallError(
            f"Unknown context {options.context}.", f"Use one of: {', '.join(CONTEXTS)}."
        )
    _check_texts_and_numbers(options)
    if options.decimals is not None and not 1 <= options.decimals <= 7:
        raise CallError("--decimals takes 1 to 7.", "Leave it out for unrounded weights.")
    if options.keep not in KEPT:
        raise CallError(f"--keep takes no {options.keep}.", f"Use {' or '.join(KEPT)}.")
    if options.keep == "peaks" and options.decimals is not None:
        raise CallError(
            "--decimals rounds the weights, and --keep peaks keeps none.",
            "Leave one of them out.",
        )
    if options.keep == "peaks" and options.gradients:
        raise CallError(
            "--gradients keeps a gradient for every weight, and --keep peaks keeps no weights.",
            "Leave one of them out.",
        )
    if options.batch_tokens < 1:
        raise CallError("--batch-tokens must be positive.", "Leave it out for the default.")
    if options.context == "pair" and options.unit == "word":
        raise CallError(
            "The segments of a pair are cut between tokens, and so within words.",
            "Add --unit token.",
        )
    if options.truncate and options.context != "document":
        raise CallError(
            "--truncate keeps the first input of each document, and the inputs are"
            f" {options.context}s.",
            "Add --context document, or leave --truncate out.",
        )
    if options.subword != "mean" and options.unit == "token":
        raise CallError(
            "--subword says how the pieces of a word are merged, and the positions are tokens.",
            "Leave --subword out, or --unit token.",
        )
    if options.seed and options.limit is None and options.context != "pair":
        raise CallError(
            "--seed is that of the sample and of the pairs, and nothing is drawn.",
            "Give --limit or --context pair too, or leave --seed out.",
        )
    if options.multiword not in MULTIWORDS:
        raise CallError(
            f"--multiword takes no {options.multiword}.", f"Use {' or '.join(MULTIWORDS)}."
        )
    if options.revision is not None and (
        options.model == models.MINILM or Path(options.model).is_dir()
    ):
        raise CallError(
            f"--revision is one of the hub, and the model {options.model} is not from there.",
            "Leave --revision out.",
        )
    if options.limit is not None and options.limit < 1:
        raise CallError("--limit must be positive.", "Leave it out for every input.")
    _check_masked_options(options)
    if read_shard(options.shard) is not None and options.limit is not None:
        raise CallError(
            "--limit draws from the whole corpus, and --shard reads a part of it.",
            "Leave one of them out.",
        )


def _check_texts_and_numbers(options: IngestOptions) -> None:
    """Raise CallError for names that are not valid text, and numbers that no column can hold."""
    named = {"model": options.model, "name": options.name, "split": options.split,
             "spacy": options.spacy, "revision": options.revision,
             "language": options.language}  # fmt: skip
    for name, text in named.items():
        try:
            (text or "").encode()
        except UnicodeEncodeError:
            raise CallError(f"--{name} is no text in UTF-8.", "Write it in UTF-8.") from None
        if "\0" in (text or ""):
            raise CallError(f"--{name} holds a null character.", "Leave it out.")
        if len(text or "") > _LONGEST_NAME:
            raise CallError(f"--{name} has {len(text or ''):,} characters.", "Give a shorter one.")
    for name, number, most in (
        ("random-weights", options.random_weights, MOST_RANDOM),
        ("batch-tokens", options.batch_tokens, MOST_RANDOM),
        ("max-tokens", options.max_tokens, MOST_RANDOM),
        ("seed", options.seed, MOST_SEED),
        ("mask-seed", options.mask_seed, MOST_SEED),
        ("limit", options.limit, MOST_SEED),
    ):
        if number is not None and not 0 <= number <= most:
            raise CallError(f"--{name} takes 0 to {most:,}.", "Give a number of that range.")


def _check_masked_options(options: IngestOptions) -> None:
    """Raise CallError for options of gradients and ablation that do not fit."""
    if options.gradients and options.unit != "token":
        raise CallError(
            "--gradients are by the attention between tokens: the merged weights of words are no"
            " variables of the model.",
            "Give --unit token.",
        )
    if options.ablate is not None and options.ablate not in ABLATIONS:
        raise CallError(f"--ablate takes no {options.ablate}.", f"Use {' or '.join(ABLATIONS)}.")
    if options.replacement not in REPLACEMENTS:
        raise CallError(
            f"--replacement takes no {options.replacement}.", f"Use {' or '.join(REPLACEMENTS)}."
        )
    if options.replacement != REPLACEMENTS[0] and options.ablate is None:
        raise CallError("--replacement says how heads are disabled.", "Give --ablate too.")
    if options.mask_seed and not options.masked:
        raise CallError(
            "--mask-seed says which tokens are masked, and none are.",
            "Give --gradients or --ablate too.",
        )


def _planner(
    options: IngestOptions, input_tokenizer: InputTokenizer, max_tokens: int, batch_tokens: int
) -> Planner:
    return Planner(
        input_tokenizer,
        options.unit,
        max_tokens,
        batch_tokens,
        options.context,
        options.truncate,
        options.limit,
        options.seed,
        options.multiword,
    )


def longest_input(
    options: IngestOptions, input_tokenizer: InputTokenizer, limit: int | None
) -> int:
    """The most tokens of an input: as the options say, else the default of its context.

    `limit` is the model's own; None if it has none. Raises CallError for more than the model takes,
    and for so few that there is no room for text beside the special tokens.
    """
    if options.max_tokens is None:
        usual = DEFAULT_MAX_TOKENS.get(options.context, 32_000)  # positions are SMALLINT
        return min(limit or 32_000, usual)
    if limit is not None and options.max_tokens > limit:
        raise CallError(
            f"{options.model} takes at most {limit} tokens, and --max-tokens is"
            f" {options.max_tokens}.",
            f"Give at most {limit}, or leave it out.",
        )
    special = (input_tokenizer.pair if options.context == "pair" else input_tokenizer.single).size
    least = special + (2 if options.context == "pair" else 1)
    if options.max_tokens < least:
        raise CallError(
            f"--max-tokens {options.max_tokens} leaves no room for text beside {special} special"
            " tokens.",
            f"Give at least {least}.",
        )
    return min(options.max_tokens, 32_000)


def _report(
    connection: DuckDBPyConnection, run: runs.Run, state: str, problems: list[Problem]
) -> Report:
    """The report on a run, counted from its rows in the bank."""
    totals = connection.execute(registry.statement("ingest/run_totals"), {"run": run.id}).fetchone()
    named = connection.execute(
        "select corpus.name, run.name, run.batches, run.unknown_words, corpus.id, run.keep from run"
        " inner join corpus on corpus.id = run.corpus where run.id = ?",
        [run.id],
    ).fetchone()
    assert totals is not None and named is not None
    skipped = connection.execute(
        registry.statement("ingest/skipped_counts"), {"run": run.id}
    ).fetchall()
    return Report(
        corpus=named[0],
        run=named[1],
        state=state,
        inputs=totals[0],
        sentences=totals[4],
        words=totals[3],
        weights=totals[2],
        batches=named[2],
        unknown_words=named[3],
        inner_dependencies=totals[5],
        empty_nodes=totals[6],
        keep=named[5],
        skipped=dict(skipped),
        problems=problems,
        departures=_departures(connection, named[4]),
    )


def _departures(connection: DuckDBPyConnection, corpus: int) -> list[Departures]:
    rows = connection.execute(
        registry.statement("ingest/departures_of_corpus"), {"corpus": corpus}
    ).fetchall()
    return [Departures(*row) for row in rows]


def _count(connection: DuckDBPyConnection, statement: str, *values: object) -> int:
    found = connection.execute(statement, list(values)).fetchone()
    assert found is not None
    return int(found[0])
