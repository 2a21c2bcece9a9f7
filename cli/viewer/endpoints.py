"""The records that the explorer answers with, from a bank that is open.

A function returns a JSON value, or a file as bytes where the address ends in `.csv`, `.svg`, `.pdf`
or `.png`, or raises UnansweredError; the site caches what it returns by its address. A sentence
that a user types is read by the model, and nothing of it is stored in the bank.
"""

from __future__ import annotations

import re
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from attnbank.cli.output import MOST_ROWS
from attnbank.cli.viewer import records
from attnbank.cli.viewer.request import RequestContext, collecting_warnings, notify
from attnbank.queries import Bank, open_bank, parameters
from attnbank.queries.options import CONTEXT
from attnbank.queries.patterns import (
    HitOptions,
    compile_request,
    head_keys,
    pair_to_score,
    reads_attention,
    reads_run,
    request_for_count_row,
)
from attnbank.queries.pictures import SCREENS, Look
from attnbank.queries.pictures.charts import why_not_drawn
from attnbank.queries.requests import hits_in_context, node_columns, run_hits, run_of_request
from attnbank.queries.sentences.choosing import (
    SentenceNotReadError,
    choose_run_over_corpus,
    find_sentence,
    layer_and_head,
    sentences_of_run,
)
from attnbank.queries.sentences.showing import MOST_PANELS, Shown
from attnbank.queries.table_formats import csv_text
from attnbank.sql import registry, run_choice
from attnbank.sql.errors import AttnbankError, BankError, CallError
from attnbank.sql.names import DIRECTIONS, without_subtype
from attnbank.sql.registry import find_analysis
from attnbank.sql.run_choice import Run

if TYPE_CHECKING:
    from attnbank.ingest.models.loading import Model

# The most rows of an analysis that a page reads; the file of them has all.
_MOST_ROWS = 100_000
# The most sentences of one request.
_MOST_SENTENCES = 1000


def bank(context: RequestContext) -> dict[str, Any]:
    """The bank and its runs."""
    ids = context.bank.connection.execute("select id from run order by id").fetchall()
    runs = [_run(context, str(id)) for (id,) in ids]
    path = context.cache.path
    return records.bank_record(context.bank, path.name, runs, str(path))


def contents(context: RequestContext) -> dict[str, Any]:
    """The contents of the bank, as `attnbank info` prints them."""
    return records.contents_record(context.bank)


def answer(context: RequestContext) -> dict[str, Any] | bytes:
    """The rows of an analysis, or why there are none, for the run in the path.

    `any` is for the run in the parameters, and for analyses that take no run.
    """
    analysis = find_analysis(context.parts["name"])
    kind = context.parts["kind"]
    texts = dict(context.parameters)
    theme = texts.pop("theme", SCREENS[0])
    look = Look(stretch=texts.pop("stretch", "") not in ("", "0"))
    if context.parts["run"] != "any":
        texts["run"] = _run(context, context.parts["run"]).name
    values = _values_of(context, analysis.name, texts)
    if kind in ("svg", "pdf", "png"):
        if theme not in SCREENS:
            raise CallError(f"theme cannot be {theme}.", f"Use one of: {', '.join(SCREENS)}.")
        try:
            picture = context.bank.picture(analysis.name, theme=theme, look=look, **values)
            return picture.as_bytes(f".{kind}")
        except AttnbankError as error:
            if "theme" not in context.parameters or isinstance(error, BankError):
                raise
            # A page of many pictures leaves out those that cannot be drawn.
            raise UnansweredError(context, error) from error
    with collecting_warnings() as notes:
        try:
            frame = context.query(analysis.name, **values)
        except BankError:
            raise
        except AttnbankError as error:  # as in the files of a publication
            if kind == "csv":
                raise
            raise UnansweredError(context, error) from error
    if kind == "csv":
        return csv_text(frame).encode()
    record = records.frame_record(frame.head(_MOST_ROWS)) | {"notes": notes}
    if frame.height > _MOST_ROWS:
        record["is_cut"] = True
    if (why := why_not_drawn(analysis, frame)) is not None:
        record["undrawn"] = {"fact": why.fact, "remedy": why.remedy}
    return record


def _values_of(context: RequestContext, name: str, texts: Mapping[str, str]) -> dict[str, Any]:
    """The parameters of an analysis from texts. Raises CallError for unknown ones."""
    declared = {parameter.name: parameter for parameter in find_analysis(name).parameters}
    if unknown := [key for key in texts if key not in declared]:
        raise CallError(
            f"{name} has no parameter {unknown[0][:60]}.",
            f"It takes: {', '.join(declared) or 'none'}.",
        )
    for key in texts:
        if key in context.parameters:
            context.text_parameter(key)
    return {key: parameters.from_text(declared[key], text) for key, text in texts.items()}


def profile(context: RequestContext) -> dict[str, Any]:
    """The relations of each head, or why there are none."""
    return _answer_or_reason(context, records.profile_record)


def behaviours(context: RequestContext) -> dict[str, Any]:
    """Where the attention of each head goes."""
    return _answer_or_reason(context, records.behaviours_record)


def nearest(context: RequestContext) -> dict[str, Any]:
    """The heads most like each head, or why there are none."""
    return _answer_or_reason(context, records.nearest_record)


def rules(context: RequestContext) -> dict[str, str]:
    """What finds the antecedents of a kind of mention without a head."""
    kind = context.parts["mentions"]
    if kind not in records.KINDS_OF_MENTIONS:
        raise CallError(
            f"mentions cannot be {kind[:40]}.",
            f"Use one of: {', '.join(records.KINDS_OF_MENTIONS)}.",
        )
    return _answer_or_reason(context, partial(records.rules_record, kind=kind))


def effects(context: RequestContext) -> dict[str, Any]:
    """What the model loses without each head, and without edges, or why there is nothing."""
    return _answer_or_reason(context, records.effects_record)


class UnansweredError(Exception):
    """Why the bank has no rows: `record` says it, as in the files of a publication.

    Unlike other errors it is an answer. It is not cached: the reason may be a limit.
    """

    def __init__(self, context: RequestContext, error: AttnbankError) -> None:
        super().__init__(str(error))
        self.record = {"error": records.fault_record(error, context.bank, str(context.cache.path))}


def _answer_or_reason(
    context: RequestContext, make: Callable[[Bank, Run], dict[str, Any]]
) -> dict[str, Any]:
    """A record of the run in the path. Raises UnansweredError."""
    try:
        return make(context.bank, _run(context, context.parts["run"]))
    except BankError:
        raise
    except AttnbankError as error:
        raise UnansweredError(context, error) from error


def heads_map(context: RequestContext) -> dict[str, Any]:
    """The heads in the plane of figure 6, as marks."""
    run = _run(context, context.parts["run"])
    return records.map_record(context.query("figure_6", run=run.name))


def examples(context: RequestContext) -> list[dict[str, Any]]:
    """Dependents of a relation that a head finds, and that it misses."""
    run = _run(context, context.parts["run"])
    return _of_head(context, records.examples_record, *_relation_and_direction(context, run))


def strongest(context: RequestContext) -> list[dict[str, Any]]:
    """Sentences in which a head does most of what a measure tells."""
    measure = context.choice_parameter("measure", records.STRONGEST)
    return _of_head(context, records.strongest_record, measure)


def antecedents(context: RequestContext) -> list[dict[str, Any]]:
    """Mentions whose antecedent a head finds, and that it misses."""
    kind = context.choice_parameter("kind", records.KINDS_OF_MENTIONS)
    return _of_head(context, records.antecedents_record, kind)


def _of_head(
    context: RequestContext, record: Callable[..., list[dict[str, Any]]], *given: str
) -> list[dict[str, Any]]:
    """A record about the head in the path, of up to `most` rows of each kind."""
    run, head = _run(context, context.parts["run"]), layer_and_head(context.parts["head"])
    return record(context.bank, run, head, *given, context.number("most", 3, 1, 50))


def changes(context: RequestContext) -> list[dict[str, Any]]:
    """Dependents that a head of one run finds and a head of another misses."""
    sides = []
    for side, part in (("a", "run"), ("b", "other")):
        run = _run(context, context.parts[part])
        layer, head = layer_and_head(context.text_parameter(f"head_{side}"))
        direction = context.choice_parameter(f"direction_{side}", DIRECTIONS)
        relation = _relation(context, run)
        sides.append(records.JudgedHead(run, layer, head, direction))
    first, second = sides
    most = context.number("most", 3, 1, 50)
    return records.changes_record(context.bank, relation, first, second, most)


_BREAKDOWNS = (
    "right", "wrong", "relation", "upos", "distance", "of upos", "of order", "of distance"
)  # fmt: skip


def example_page(context: RequestContext) -> list[dict[str, Any]]:
    """A page of all examples of one kind: right, wrong, or one kind of error."""
    run = _run(context, context.parts["run"])
    layer, head = layer_and_head(context.parts["head"])
    relation, direction = _relation_and_direction(context, run)
    most, page = context.number("most", 50, 1, _MOST_ROWS), context.number("page", 1, 1, 1_000_000)
    with context.bank.backend.answering():
        return context.bank.backend.internal(
            "examples/example_page", run=run.name, relation=relation, layer=layer, head=head,
            direction=direction, breakdown=context.choice_parameter("breakdown", _BREAKDOWNS),
            value=context.text_parameter("value", "none"), most=most, skipped=(page - 1) * most,
        ).to_dicts()  # fmt: skip


def _relation_and_direction(context: RequestContext, run: Run) -> tuple[str, str]:
    """The relation and the direction in the address. Raises CallError for unknown ones."""
    return _relation(context, run), context.choice_parameter("direction", DIRECTIONS)


def _relation(context: RequestContext, run: Run) -> str:
    """The relation in the address; of one with a subtype only the dependents with that subtype."""
    relation = context.text_parameter("relation", "all")
    with context.bank.backend.answering():
        run_choice.check_relation(
            context.bank.connection,
            registry.find_analysis("head_error"),
            _of_relation(relation),
            run,
        )
    return relation


def _of_relation(relation: str) -> dict[str, Any]:
    """The parameters for a relation; those with a subtype are kept apart."""
    return {"relation": relation, "subtypes": relation != without_subtype(relation)}


def sentences(context: RequestContext) -> list[dict[str, Any]]:
    """Some sentences, and what a head attends to in them."""
    run, head = _run(context, context.parts["run"]), context.parts["head"]
    layer_and_head(head)
    numbers = _sentence_ids(context)
    return records.attention_records(context.bank, records.sheets(context.bank, run, numbers), head)


def _sentence_ids(context: RequestContext) -> list[int]:
    """The ids in the parameter `sentences`. Raises CallError if they are not numbers."""
    numbers = [number for number in context.text_parameter("sentences").split(",") if number]
    if not all(number.isascii() and number.isdecimal() and len(number) < 19 for number in numbers):
        raise CallError("sentences must be numbers.", "As in sentences=1,2,3.")
    if len(numbers) > _MOST_SENTENCES:
        raise CallError(f"{len(numbers):,} sentences are too many.", f"Ask for {_MOST_SENTENCES}.")
    return [*map(int, numbers)]


def scores(context: RequestContext) -> dict[str, Any]:
    """Every head on the pairs of words that a request finds, as `attnbank score --every`."""
    run = _run(context, context.parts["run"])
    with collecting_warnings() as notes:
        frame = _score(context, run, every=True)
    return records.frame_record(frame) | {"notes": notes}


def best_score(context: RequestContext) -> dict[str, Any]:
    """The best head on the pairs of a request, held out and of random weights: `attnbank score`."""
    run = _run(context, context.parts["run"])
    with collecting_warnings():  # those of all heads
        return records.frame_record(_score(context, run, every=False))


def _score(context: RequestContext, run: Run, *, every: bool) -> pl.DataFrame:
    request, dependent, head = (
        context.text_parameter(name).strip() for name in ("request", "dependent", "head")
    )
    return context.bank.score(
        request, dependent=dependent, head=head, every=every, run=run.name,
        timeout=context.cache.seconds, memory=context.cache.memory,
    )  # fmt: skip


def hits(context: RequestContext) -> dict[str, Any]:
    """The hits of a request with what heads attend to in them, or a random sample of hits."""
    request = context.text_parameter("request").strip()
    with collecting_warnings() as notes:
        frame, run, keys = _matches(context, request)
    shown, unread = _unread_sentences(context, frame["sentence"].unique().to_list())
    return records.frame_record(frame) | {
        "nodes": node_columns(frame), "pair": pair_to_score(request), "run": run,
        "is_of_heads": bool(keys), "shown": shown, "is_circular": reads_attention(request),
        "unread": sorted(unread), "notes": notes,
    }  # fmt: skip


def concordance(context: RequestContext) -> list[dict[str, Any]]:
    """Some of the hits of a request, `from` to `to`, in their context."""
    with collecting_warnings():  # those of the hits
        frame, *_ = _matches(context, context.text_parameter("request").strip())
    first, end = (context.number(name, 0, 0, 100_000) for name in ("from", "to"))
    backend = context.bank.backend
    return hits_in_context(backend, frame[first:end], CONTEXT).to_dicts()


def _matches(context: RequestContext, request: str) -> tuple[pl.DataFrame, str | None, str]:
    """The hits of a request, the run that it reads, and the columns about heads."""
    keys = _attention_keys(request, context.text_parameter("heads").strip())
    most, sample = context.number("most", 10_000, 1, 100_000), None
    if "sample" in context.parameters:
        sample = context.number("sample", 50, 1, 500)
    run, choice = _hit_options(context, request, keys)
    choice = replace(choice, limit=None if sample else most, sample=sample, keys=True)
    frame = context.cached_rows(
        ("hits", request, keys, choice), lambda: _run_hits(context, request, choice, keys)
    )
    return frame, run, keys


def counts(context: RequestContext) -> dict[str, Any]:
    """The hits of a request counted by keys, each count with the request for its hits."""
    request, by = (context.text_parameter(name).strip() for name in ("request", "by"))
    run, choice = _hit_options(context, request, by)
    with collecting_warnings() as notes:
        frame = _run_hits(context, request, choice, by, counts=True)
    keys = [name for name in frame.columns if name not in ("n", "share", "run")]

    def narrowed(row: Mapping[str, Any]) -> str | None:
        with suppress(AttnbankError):  # no request says this of the hits
            return request_for_count_row(request, by, [row[key] for key in keys])
        return None

    requests = [narrowed(row) for row in frame.iter_rows(named=True)]
    return records.frame_record(frame) | {"run": run, "requests": requests, "notes": notes}


def _hit_options(context: RequestContext, request: str, keys: str) -> tuple[str | None, HitOptions]:
    # A run that the request does not read is that whose heads are scored on the hits.
    name = context.run_name if reads_run(request, keys) else None
    run = run_of_request(context.bank.backend, request, name, "sentence", keys)
    choice = HitOptions(context.text_parameter("corpus") or None, run=run)
    return None if run is None else run.name, choice


def _run_hits(
    context: RequestContext, request: str, choice: HitOptions, columns: str, **options: Any
) -> pl.DataFrame:
    question = compile_request(request, columns=columns, choice=choice, **options)
    cache = context.cache
    return run_hits(context.bank.backend, question, cache.seconds, cache.memory)


def _attention_keys(request: str, heads: str) -> str:
    """Columns with what heads attend to in the hits; none if the request has no edge."""
    if not heads:
        return ""
    try:
        return head_keys(request, heads, None, None)
    except CallError:  # the pages of the sentences still show the heads
        return ""


def _unread_sentences(context: RequestContext, sentences: list[int]) -> tuple[str | None, set[int]]:
    """The run that shows sentences, and which of them (by sentence.id) it has not read."""
    bank = context.bank
    try:
        run = _shown_run(context)
    except AttnbankError:  # no suitable run; the page of the sentence says why
        return None, set()
    rows = bank.connection.execute(
        "select sentence.id from sentence inner join document on document.id = sentence.document"
        " where document.corpus = $corpus and sentence.id in (select unnest($sentences))",
        {"corpus": run.corpus, "sentences": sentences},
    ).fetchall()
    read = sentences_of_run(bank.backend, run, sentences)
    return run.name, {number for (number,) in rows if number not in read}


_MOST_HEADS = 16


def shown(context: RequestContext) -> dict[str, Any]:
    """One sentence with the attention of heads, as `attnbank show` draws it.

    A sentence that the run has not read has its words, and the reason.
    """
    name, relation = context.text_parameter("sentence").strip(), context.text_parameter("relation")
    heads = context.text_parameter("head").strip() or _default_head(context, relation or None)
    options: dict[str, Any] = {
        "mean": context.flag("mean"),
        "direction": context.choice_parameter("direction", DIRECTIONS),
        "coreference": context.flag("coreference"),
        "tree": context.flag("tree"),
        "decoded": context.text_parameter("decoded") or None,
        "before": context.number("before", 0, 0, 20),
        "run": context.run_name,
        "corpus": context.text_parameter("corpus") or None,
        "relation": relation or None,
        "matched": _words_to_mark(name, context.text_parameter("hit")),
        "timeout": context.cache.seconds,
    }
    names = heads.split(",")[:_MOST_HEADS]
    with collecting_warnings() as notes:
        try:
            view = context.bank.show(name, names, **options)
        except SentenceNotReadError as error:
            marked = _words_to_mark(str(error.sentence), context.text_parameter("hit"))
            written = records.written_record(context.bank, error.sentence, marked)
            return written | {"unread": f"{error.fact} {error.remedy}", "notes": [], "run": None}
    record = records.shown_record(context.bank, view, wants_tree=options["tree"])
    return record | {"heads": ",".join(names), "notes": notes}


def _words_to_mark(name: str, hit: str) -> list[int]:
    """Parse the words to mark, SENTENCE:WORDS (12:3,5), if they are of the sentence `name`.

    SENTENCE is its id; words count from 1. Raises CallError for anything else.
    """
    number, _, words = hit.partition(":")
    indexes = words.split(",")
    if not hit:
        return []
    if not all(text.isascii() and text.isdecimal() for text in (number, *indexes)):
        raise CallError(f"hit cannot be {hit[:40]}.", "A hit is SENTENCE:WORDS, as in 12:3,5.")
    return [int(text[:9]) for text in indexes] if number == name else []


def _default_head(context: RequestContext, relation: str | None) -> str:
    """The default head: the best for the relation, else 1-1."""
    try:
        best_heads = context.query("best_head", run=context.run_name)
        rows = best_heads.filter(pl.col("relation") == (relation or "all"))
        if relation and not rows.height:
            rows = context.query(
                "best_head", min_count=1, run=context.run_name, **_of_relation(relation)
            )
    except AttnbankError:
        return "1-1"
    return f"{rows['layer'][0]}-{rows['head'][0]}" if rows.height else "1-1"


def model(context: RequestContext) -> dict[str, Any]:
    """All heads on one sentence, as small maps."""
    name = context.text_parameter("sentence").strip()
    with context.bank.backend.answering():
        chosen = find_sentence(context.bank.backend, name, None)
        run = choose_run_over_corpus(
            context.bank.backend, context.run_name, None, (chosen.corpus, chosen.corpus_name)
        )
    heads = [f"{layer}-{head}" for layer in run.numbers for head in range(1, run.heads + 1)]
    views = [
        context.bank.show(
            name, heads[at : at + MOST_PANELS], run=run.name, timeout=context.cache.seconds
        )
        for at in range(0, len(heads), MOST_PANELS)
    ]
    rows = pl.concat(view.rows for view in views)
    return records.written_record(context.bank, chosen.id, []) | {
        "run": run.name,
        # One command cannot show more heads than that.
        "heads": ",".join(heads) if len(views) == 1 else None,
        "rows": records.frame_record(rows),
        "positions": views[0].panels[0].words.height,
        "maps": records.small_maps(views),
    }


def typed(context: RequestContext) -> dict[str, Any]:
    """A text as the model of a run reads it, beside a sentence of the bank if one is named."""
    heads = context.text_parameter("head", "1-1").strip().split(",")[:_MOST_HEADS]
    sentence, mean = context.text_parameter("sentence").strip(), context.flag("mean")
    choice = _choose_model(context)
    answer: dict[str, Any] = {"model": choice.label, "typed": None, "beside": None}
    text = " ".join(context.text_parameter("text").split())
    with collecting_warnings() as notes:
        if text:
            answer["typed"] = _read_typed(context, choice, text, heads, mean=mean)
        if text and sentence:
            beside: Shown = context.bank.show(
                sentence, heads, mean=mean, run=context.run_name, timeout=context.cache.seconds
            )
            answer["beside"] = records.shown_record(context.bank, beside, wants_tree=False)
    return answer | {"notes": notes}


# The longest sentence that a user may type, in characters.
_LONGEST_TEXT = 1000
# Mask tokens of common models.
_MASKS = ("[MASK]", "<mask>")
_reading = threading.Lock()  # two threads in one model would mix up their attention maps


def _read_typed(
    context: RequestContext, choice: _ModelChoice, text: str, heads: list[str], *, mean: bool
) -> dict[str, Any]:
    """Run a model on a text: what heads attend to, as pages draw it.

    Raises CallError if it is too long, and what `_load_model` raises.
    """
    if len(text) > _LONGEST_TEXT:
        raise CallError(
            f"The text has {len(text):,} characters.", f"Give at most {_LONGEST_TEXT:,}."
        )
    model = _load_model(context, choice)
    mask = model.input_tokenizer.mask
    for other_mask in _MASKS:
        if other_mask in text and other_mask != mask:
            has = "no mask" if mask is None else f"{mask} for a mask"
            notify(f"The model has {has}: {other_mask} was read as text.")
    return _run_model_on_text(text, heads, mean, model)


class _ModelChoice(NamedTuple):
    """The model to load: the run's, or that of --model."""

    name: str
    random_seed: int | None
    revision: str | None
    sha256: str
    run: str
    requested: str | None

    @property
    def label(self) -> str:
        """The name of the model to show."""
        name = self.requested or self.name
        return name if self.seed is None else f"{name} (random weights, seed {self.seed})"

    @property
    def seed(self) -> int | None:
        """The seed of the run's weights; None if another model is requested."""
        return self.random_seed if self.requested in (None, self.name) else None


def _choose_model(context: RequestContext) -> _ModelChoice:
    """The model of the run in the address, or that of --model."""
    run = _shown_run(context)
    name, seed, revision, sha256 = context.bank.connection.execute(
        "select model.name, model.random_seed, model.revision, model.sha256 from run"
        " inner join model on model.id = run.model where run.id = $run",
        {"run": run.id},
    ).fetchall()[0]
    return _ModelChoice(name, seed, revision, sha256, run.name, context.cache.model)


def _load_model(context: RequestContext, choice: _ModelChoice) -> Model:
    """Load the model; it is cached until another is requested.

    Raises ModelError if it is not on this machine; CallError for a folder named by the bank, or
    if the model of that name has different weights.
    """
    from attnbank.ingest import wait_passively

    wait_passively()  # before torch is imported
    from attnbank.ingest.models.files import model_of_run
    from attnbank.ingest.models.loading import load

    name, revision = model_of_run(choice.requested, choice.run, choice.name, choice.revision)
    handle, key = context.handle, ("typed by", choice)
    for cached_key in [*handle.answers]:
        if cached_key[0] == key[0] and cached_key != key:
            handle.forget(cached_key)

    def loaded() -> Model:
        model = load(name, random_seed=choice.seed, revision=revision)
        model.input_tokenizer.recognise_special_tokens()  # so that a typed mask is a mask
        return model

    loaded_model = handle.compute_once(key, loaded)
    if loaded_model.facts.sha256 != choice.sha256:
        differs = (
            f"The model {name} is not the one that the run {choice.run} read: its weights differ."
        )
        if choice.requested is None:
            raise CallError(differs, "Name the right one: attnbank explore --model FOLDER.")
        notify(differs)
    return loaded_model


def _run_model_on_text(text: str, heads: list[str], mean: bool, model: Model) -> dict[str, Any]:
    """Run the model on a text, in which a mask may hide a word.

    Words are split at white space: the reader of plain text would split `[MASK]` into three.
    """
    from attnbank.ingest import IngestOptions, ingest

    rows = [
        f"{number}\t{word}" + "\t_" * 7 + ("\t_" if is_last else "\tSpaceAfter=No")
        for number, (word, is_last) in enumerate(
            _split_words(text, model.input_tokenizer.mask), start=1
        )
    ]
    with tempfile.TemporaryDirectory(prefix="attnbank-typed-") as folder, _reading:
        corpus, bank = Path(folder) / "typed.conllu", Path(folder) / "typed.duckdb"
        corpus.write_text("\n".join([*rows, "", ""]), encoding="utf-8")
        ingest(IngestOptions((str(corpus),), bank, model.facts.name, unit="token"), loaded=model)
        with open_bank(bank) as opened:
            # Name the run: one with random weights is never the default.
            view = opened.show(1, heads, mean=mean, run=1)
            return records.shown_record(opened, view, wants_tree=False)


def _split_words(text: str, mask: str | None) -> Iterator[tuple[str, bool]]:
    """Yield the words between white space, masks split off, and whether white space follows."""
    for word in text.split():
        parts = [word] if mask is None else re.split(f"({re.escape(mask)})", word)
        parts = [part for part in parts if part]
        for at, part in enumerate(parts, start=1):
            yield part, at == len(parts)


# The most bytes of rows of a statement; the cache takes no larger answer.
_MOST_BYTES = 15_000_000


def statement(context: RequestContext) -> dict[str, Any]:
    """The first rows of a SQL statement, run as by `attnbank sql`.

    Only a `fresh` one is run: without ORDER BY, running it again could return the rows in another
    order, and a page of them is asked for by itself.
    """
    text = context.text_parameter("statement").strip()
    key = ("statement", text)
    if context.flag("fresh"):
        context.handle.forget(key)
    frame, is_cut = context.handle.compute_once(
        key, lambda: _first_rows(context, text), lambda result: result[0].estimated_size()
    )
    return records.frame_record(frame) | {"is_cut": is_cut}


def _first_rows(context: RequestContext, statement: str) -> tuple[pl.DataFrame, bool]:
    """Return the first rows of a statement, then stop it, and whether there are more."""
    parts: list[pl.DataFrame] = []
    rows, size, is_cut = 0, 0.0, False
    cache = context.cache
    with (
        context.bank.stream(statement, seconds=cache.seconds, memory=cache.memory) as running,
        context.visit.stopping(running.close),
    ):
        for part in running:
            parts.append(part.head(MOST_ROWS - rows))
            rows += parts[-1].height
            size += parts[-1].estimated_size()
            is_cut = part.height > parts[-1].height or size > _MOST_BYTES
            if is_cut:
                break
    return (pl.concat(parts) if parts else pl.DataFrame()), is_cut


def _run(context: RequestContext, number: str) -> Run:
    """The run with this id, whatever it keeps. Raises CallError if there is none."""

    def find() -> Run:
        ids = context.bank.connection.execute("select id from run").fetchall()
        known = {str(id): id for (id,) in ids}
        if number not in known:
            raise CallError(
                f"The bank has no run of the number {number[:40]}.",
                f"Its runs: {', '.join(known) or 'none'}.",
            )
        return run_choice.read_run(context.bank.connection, known[number])

    return context.handle.compute_once(("run", number), find)


def _shown_run(context: RequestContext) -> Run:
    """The run that shows sentences: that in the parameters, or the default one."""
    name = context.run_name
    return context.handle.compute_once(
        ("shown run", name),
        lambda: choose_run_over_corpus(context.bank.backend, name, None, None),
    )
