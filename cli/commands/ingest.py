"""The commands that run a model.

`attnbank ingest CORPUS...` fills a bank, and `attnbank demo` a small one; `attnbank surprisal` and
`attnbank ablate` measure what the model of a run predicts, with or without some heads.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from importlib.resources import as_file, files
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from attnbank.cli.guarded import command
from attnbank.cli.options import (
    BankCommand,
    bank_path,
    check_engine,
    command_prefix,
    complete_names,
    complete_prefix,
    engine_options,
    field_options,
    open_named_bank,
    option,
    quiet_option,
    run_option,
    take_fields,
)
from attnbank.cli.output import (
    check_output,
    count_noun,
    duration,
    format_bytes,
    name_of_measure,
    output_options,
    reading_lines,
    unknown_lines,
    without_surprisal_lines,
    write_frame,
)
from attnbank.cli.progress import ProgressDisplay
from attnbank.cli.safe_echo import is_quiet, notify, safe_echo
from attnbank.ingest import FILLING
from attnbank.ingest.corpora.document import CorpusError
from attnbank.ingest.corpora.format import formats
from attnbank.ingest.losses.chosen_sets import SetOptions, choose_head_sets
from attnbank.ingest.losses.head_sets import AblateOptions, LossOptions, choose_scored_run
from attnbank.ingest.options import (
    CORPUS,
    INPUTS,
    KEEP,
    MODEL,
    NO_MODEL,
    PART,
    IngestOptions,
    check_run,
)
from attnbank.sql.errors import AttnbankError, CallError, require_extra
from attnbank.sql.messages import join_names
from attnbank.sql.option_fields import MOST

if TYPE_CHECKING:
    from attnbank.ingest.corpora.document import Departures, Problem
    from attnbank.ingest.losses.surprisal import SurprisalReport
    from attnbank.ingest.progress import OnProgress
    from attnbank.ingest.reports import Estimate, Report
    from attnbank.ingest.store.corpus import CheckedCorpus


def _complete_models(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    return [*complete_prefix(["minilm"], incomplete), CompletionItem(incomplete, type="dir")]


# The most seeds of one command: a longer range is likely a typing error.
MOST_SEEDS = 100


def _parse_seeds(ctx: click.Context, param: click.Parameter, value: str | None) -> range | None:
    """Callback of --random-weights: parse a seed (3) or a range of seeds (1..5)."""
    if value is None:
        return None
    match = re.fullmatch(r"([0-9]+)(?:\.\.([0-9]+))?", value)
    if match is None:
        raise CallError(
            f"{value[:40]!r} is not a valid value of --random-weights.",
            "Give a seed (3), or the first and the last of several (1..5).",
        )
    first, last = int(match[1][:20]), int((match[2] or match[1])[:20])
    if max(first, last) > MOST:
        raise CallError(f"A seed of --random-weights is at most {MOST:,}.", "Give a smaller one.")
    if first > last:
        raise CallError(
            f"--random-weights {value} ends before it begins.",
            f"Give the smaller seed first: {last}..{first}.",
        )
    if last - first >= MOST_SEEDS:
        raise CallError(
            f"--random-weights {value} is {last - first + 1:,} runs, and one command makes at"
            f" most {MOST_SEEDS}.",
            f"Give fewer seeds: {first}..{first + 4}.",
        )
    return range(first, last + 1)


_GROUPS = {
    title: [field.name for field in fields(IngestOptions) if field.metadata.get("group") == title]
    for title in (CORPUS, MODEL, INPUTS, PART, KEEP)
}


@command(
    "ingest",
    "wsj-dev.conllu --model google-bert/bert-base-uncased",
    cls=BankCommand,
    sections=_GROUPS | {KEEP: [*_GROUPS[KEEP], "losses", "dry_run"]},
)
@click.argument("corpora", nargs=-1, metavar="[CORPUS...]", type=click.Path())
@field_options(
    IngestOptions,
    model={"shell_complete": _complete_models},
    format={"type": click.Choice(list(formats()))},
    random_weights={"callback": _parse_seeds, "least": None, "most": None},
)
@option("--dry-run", "Print what would be written, and its size, and stop.", False)
@option(
    "--losses",
    "Then measure the surprisal of each word, as attnbank surprisal does.",
    False,
)
@engine_options(
    "Where the model runs: in this process, which fills the bank, or on Spark executors, which"
    " fill an export (--to).",
    writes=True,
)
@quiet_option()
def ingest(
    ctx: click.Context, /, dry_run: bool, losses: bool, engine: str, to: str | None,
    master: str | None, random_weights: range | None, **values: Any,
) -> None:  # fmt: skip
    """Run a model over a corpus and write what its heads attend to into a bank.

    CORPUS is a file, a folder, or - for standard input: CoNLL-U, CoNLL-2012, "word
    head-relation" lines, spaCy's .spacy, plain text (with --spacy), or text without annotation,
    one sentence per line; each may be gzipped (.gz). --repeat generates a corpus instead. The
    bank is created if it does not exist. To resume an interrupted ingest, type the same command
    again.
    """
    check_engine(ctx)
    seeds = random_weights or (None,)
    runs = [IngestOptions(bank=bank_path(ctx), random_weights=seed, **values) for seed in seeds]
    options = runs[0]
    if len(runs) > 1 and to is not None:
        raise CallError(
            f"--random-weights with {len(runs)} seeds cannot fill an export (--to).",
            "Give one seed, or leave --to out.",
        )
    if losses:
        _check_losses(options, dry_run=dry_run, to=to)
    if dry_run:
        _estimate(options, len(runs))
    elif options.series is not None:
        if to is not None:
            raise CallError("--series cannot fill an export (--to).", "Leave --to out.")
        _fill_series(options, losses=losses)
    elif options.model == NO_MODEL and to is None:
        with resumable_progress() as display:
            from attnbank.ingest.store.corpus import write_text

            text_report = write_text(options, display)
        _print_problems(text_report.problems, "skipped")
        notify(
            f"The bank has the text of {text_report.corpus}; no model was run.",
            *(
                f"  {line}"
                for line in [*_departure_lines(text_report.departures), *text_report.notes]
            ),
        )
    elif to is not None:
        with resumable_progress() as display:
            report = spark_ingest(options, to, master, display)
        print_report(report, Path(to))
        notify(
            f"To make a bank of it: attnbank -b new.duckdb import {to}",
            f"To query it on Spark: attnbank query best_head --engine spark --data {to}",
        )
    else:
        checked = _check_corpus(options, reads_bank=True)  # once for all seeds
        for number, run in enumerate(runs, start=1):
            report = ingest_with_progress(run, checked)
            count = f" ({number} of {len(runs)})" if len(runs) > 1 else ""
            print_report(report, run.bank, count, is_first=number == 1)
            if losses:
                _measure_losses(run, report)
        if not is_quiet():
            notify(f"Next: {command_prefix(options.bank)} {_next_command(report, options)}")


def _measure_losses(options: IngestOptions, report: Report) -> None:
    loss_options = LossOptions(
        model=options.model, device=options.device, trust_remote_code=options.trust_remote_code
    )
    measure_with_progress(options.bank, report.run, loss_options)


def _fill_series(options: IngestOptions, *, losses: bool) -> None:
    """Ingest the checkpoints of a series; print first how large the bank will be, then each run."""
    from attnbank.ingest import ingest_series
    from attnbank.ingest.models.files import find_checkpoints

    check_run(options)
    assert options.series is not None
    checkpoints = find_checkpoints(options.model, options.series)

    def print_planned(count: int, total: int, peaks: int) -> None:
        less = (
            f" (--keep peaks takes about {format_bytes(peaks)})"
            if options.keep == "weights"
            else ""
        )
        notify(f"At most {count_noun(count, 'run')} to make, about {format_bytes(total)}{less}")

    report = None
    with resumable_progress() as display:
        reports = ingest_series(options, display, print_planned, checkpoints)
        for at, (checkpoint, report) in enumerate(zip(checkpoints, reports, strict=True), start=1):
            notify(f"Run {report.run} {_STATES[report.state]} ({at} of {len(checkpoints)})")
            if losses:
                _measure_losses(dataclasses.replace(options, model=checkpoint.name), report)
    assert report is not None
    if not is_quiet():
        notify(f"Next: {command_prefix(options.bank)} query head_history --run {quote(report.run)}")


def _check_losses(options: IngestOptions, *, dry_run: bool, to: str | None) -> None:
    """Raise CallError or ModelError, before any work, if --losses cannot be used."""
    excluded = {
        "--dry-run": dry_run,
        f"--model {NO_MODEL}": options.model == NO_MODEL,
        "--to": to is not None,
        "--context pair": options.context == "pair",
    }
    if conflicts := [flag for flag, is_given in excluded.items() if is_given]:
        raise CallError(
            f"--losses cannot be combined with {conflicts[0]}.",
            "Leave one of them out.",
        )
    from attnbank.ingest.models.loading import describe

    if options.series is None:  # fails now, not after the ingest, if the model has no LM head
        describe(
            options.model, revision=options.revision, trust_remote_code=options.trust_remote_code,
            head="own",
        )  # fmt: skip


def measure_with_progress(
    bank: Path, run: str | None, options: LossOptions, *, replace: bool = False
) -> SurprisalReport:
    """Measure surprisal with a progress display, and print what was measured."""
    from attnbank.ingest import surprisal

    with resumable_progress() as display:
        report = surprisal(bank, run, options, display, print_estimate, replace=replace)
    print_measured(report)
    return report


def print_estimate(seconds: float, sets: int, sentences: int) -> None:
    """Print the estimated duration of a measurement."""
    without = f" and without {count_noun(sets, 'set')}" if sets else ""
    about = duration(max(1.0, seconds))
    notify(f"About {about} for {count_noun(sentences, 'sentence')}, with all heads{without}")


def print_measured(report: SurprisalReport) -> None:
    """Print what was measured."""
    if not report.is_new:
        notify(
            f"The bank already has these figures of {report.run}; nothing was measured"
            " (--replace repeats it)"
        )
        return
    parts = [count_noun(report.words, "word")]
    parts += [f"{count_noun(count, 'pair')} of {source}" for source, count in report.pairs.items()]
    if report.sets:
        what = "of edges" if report.edges else "of heads"
        parts.append(f"without {count_noun(report.sets, 'set')} {what}")
        if report.controls:
            parts[-1] += f" and {report.controls:,} random ones"
    notify(f"Measured {report.run}: {', '.join(parts)}")
    for name, edges in report.edges.items():
        notify(f"{name}: {count_noun(edges, 'edge')} cut")
    if report.missing_edges:
        notify(
            f"controls lack {report.missing_edges:,} of their edges: inputs have too few other"
            " pairs of words at the same distance"
        )
    for line in without_surprisal_lines(report.first_words, report.sharing_words):
        notify(line)
    if report.ends:
        notify(f"tokens that end a text: {join_names(report.ends)}")
    if report.unmeasurable:
        notify(
            f"{count_noun(report.unmeasurable, 'pair')} could not be measured: nothing precedes the"
            " verb, a causal model has not seen its subject yet, or the text is too long"
        )
    if report.unpreceded:
        notify(
            f"{count_noun(report.unpreceded, 'pair')} could not be measured: nothing precedes the"
            " first word, in which the texts differ (attnbank ingest ... --bos puts a token before"
            " each text)"
        )
    if report.too_long:
        notify(f"{count_noun(report.too_long, 'pair')} could not be measured: the text is too long")
    if report.outdated:
        be, them = ("was", "it") if len(report.outdated) == 1 else ("were", "them")
        notify(
            f"warning: {join_names(report.outdated)} {be} compared with earlier surprisals of the"
            f" words, which have changed: measure {them} again (attnbank ablate ... --replace)"
        )


def ingest_with_progress(options: IngestOptions, checked: CheckedCorpus | None = None) -> Report:
    """Ingest with a progress display. Raises what `ingest` and `resumable_progress` raise.

    Pass `checked` to read the corpus once for several runs.
    """
    checked = checked or _check_corpus(options, reads_bank=True)
    from attnbank.ingest import ingest

    with resumable_progress() as display:
        return ingest(options, display, checked=checked)


def _check_corpus(options: IngestOptions, *, reads_bank: bool) -> CheckedCorpus | None:
    """Read and check the corpus, before torch is imported, which is slow; None with --repeat."""
    require_extra("Filling a bank", "ingest", *FILLING)
    check_run(options)
    if options.repeat is not None:
        return None
    from attnbank.ingest.store.corpus import find_and_check

    with resumable_progress() as display:
        return find_and_check(options, display, reads_bank=reads_bank)


@contextmanager
def resumable_progress() -> Iterator[ProgressDisplay]:
    """Context manager that shows progress, and says of Ctrl-C and of problems what to do next."""
    try:
        with ProgressDisplay() as display:
            yield display
    except KeyboardInterrupt as error:
        progress = str(error) or "no batch of this run was written yet"
        raise AttnbankError(f"Interrupted; {progress}. Run the same command to resume.") from error
    except CorpusError as error:
        count = len(error.problems)
        if count == 1:
            raise
        _print_problems(error.problems, "problems")
        if not count:
            raise AttnbankError(error.remedy) from error
        raise AttnbankError(
            f"The corpus has {count:,} problems; the bank was not touched.", error.remedy
        ) from error


def _estimate(options: IngestOptions, runs: int) -> None:
    checked = _check_corpus(options, reads_bank=False)
    with resumable_progress() as display:
        from attnbank.ingest import estimate, estimate_series

        if options.series is None:
            totals = estimate(options, display, checked)
        else:
            runs, totals = estimate_series(options, display)
    _print_problems(totals.problems, "would be skipped")
    safe_echo(
        *([f"runs       {runs:,}  (what follows is of one of them)"] if runs > 1 else []),
        f"documents  {totals.documents:,}",
        f"sentences  {totals.sentences:,}",
        f"words      {totals.words:,}",
        f"pieces     {totals.pieces:,}  (special tokens counted)",
        f"weights    {totals.weights:,}",
        *(
            [f"passes     {totals.passes:,}  (of each layer, one input each)"]
            if totals.passes
            else []
        ),
        f"bytes      {totals.bytes:,}  (about {format_bytes(totals.bytes)})",
        *_corpus_lines(totals),
    )


_FIRST = ("best_head", "table_2", "special_tokens")
# Analyses to suggest after an ingest, for different kinds of run; the first suitable is taken.
_MADE_FIRST = ("induction_head", "previous_token_head")


def _next_command(report: Report, options: IngestOptions) -> str:
    from attnbank.queries import open_bank
    from attnbank.sql.registry import find_analysis
    from attnbank.sql.run_choice import resolve_weights, run_candidates

    with open_bank(options.bank) as opened:
        for name in _FIRST if options.repeat is None else _MADE_FIRST:
            choice = resolve_weights(opened.connection, find_analysis(name))
            candidates = run_candidates(opened.connection, choice)
            run = next(run for run in candidates if run.name == report.run)
            is_usual = choice.usual in (None, run.context)
            if run.unusable_because is None and is_usual and run.is_finished:
                answers = opened.run_of(name) if run.may_be_default else None
                is_default = answers is not None and answers.name == report.run
                return f"query {name}" + ("" if is_default else f" --run {quote(report.run)}")
    return "queries"


MOST_PROBLEMS = 20
_STATES = {
    "unchanged": "is already in the bank; nothing was added",
    "resumed": "is finished; it resumed where it had stopped",
    "new": "is finished",
}
# Tables that every run fills: replacing a run loses nothing of them.
_MADE_AGAIN = frozenset(
    ("run", "sequence", "position", "attention", "attention_top", "attention_map", "peak",
     "gradient", "skipped", "ablation")
)  # fmt: skip


def print_report(report: Report, target: Path, count: str = "", *, is_first: bool = True) -> None:
    """Print what an ingest did; `target` is the bank or the export that it filled.

    `count` tells several runs apart (" (2 of 5)"); what they share is printed for the first
    only.
    """
    if is_first:
        _print_problems(report.problems, "skipped")
    paths = target.rglob("*") if target.is_dir() else [target]
    total = format_bytes(sum(path.stat().st_size for path in paths if path.is_file()))
    kept_note = {"weights": "", "peaks": ", of which only peaks and sums are kept"}.get(
        report.keep,
        f", of which the {report.keep.removeprefix('top:')} largest from each position are kept",
    )
    lines = [
        f"{report.sentences:,} sentence{'s' * (report.sentences != 1)}, {report.words:,} words,"
        f" {report.weights:,} {name_of_measure(report.measure)}{kept_note}; {target} is {total}",
        *([*_corpus_lines(report), *reading_lines(vars(report))] if is_first else []),
    ]
    if report.replaced is not None:
        deleted = [f"the probe {probe}" for probe in report.replaced.probes] + [
            f"{rows:,} rows of {table}"
            for table, rows in report.replaced.rows.items()
            if table not in _MADE_AGAIN and not table.startswith("probe")
        ]
        lines += [f"deleted with the replaced run: {', '.join(deleted)}"] if deleted else []
    notify(f"Run {report.run} {_STATES[report.state]}{count}:", *(f"  {line}" for line in lines))


def _corpus_lines(report: Report | Estimate) -> list[str]:
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in report.skipped.items())
    lines = [f"skipped: {reasons}" if reasons else "no sentences skipped"]
    if report.unknown_words:
        lines += unknown_lines(report.words, report.unknown_words)
    if report.empty_nodes:
        lines.append(f"{report.empty_nodes:,} empty node{'s' * (report.empty_nodes != 1)} ignored")
    return [*lines, *_departure_lines(report.departures), *report.notes]


def _departure_lines(departures: Sequence[Departures]) -> list[str]:
    return [
        f"left out: {departure.count:,} {departure.id}, first at {departure.place}"
        f" ({departure.fact})"
        if departure.is_left_out
        else f"accepted: {departure.count:,} {departure.id}, first at {departure.place}"
        f" ({departure.fact}); --strict rejects"
        for departure in departures
    ]


def _print_problems(problems: Sequence[Problem], what: str) -> None:
    if not problems:
        return
    more = len(problems) - MOST_PROBLEMS
    safe_echo(
        f"{len(problems):,} {what}:",
        *(f"  {problem}" for problem in problems[:MOST_PROBLEMS]),
        *([f"  and {more:,} more"] if more > 0 else []),
        err=True,
    )


def spark_ingest(
    options: IngestOptions, to: str, master: str | None, on_progress: OnProgress
) -> Report:
    """Ingest into an export on Spark. Raises what `ingest_to_export` and `session_of` raise."""
    from attnbank.ingest import ingest_to_export
    from attnbank.ingest.parts import SparkEngine
    from attnbank.queries.spark_sessions import LOCAL, session_of

    check_run(options)  # before the Spark session, which takes seconds to start
    with session_of(master or LOCAL) as session:
        return ingest_to_export(
            options, to, lambda folder: SparkEngine(session, folder), on_progress
        )


DEMO_BANK = "attnbank-demo.duckdb"


@command("demo", cls=BankCommand)
@quiet_option("Print only the table.")
@output_options
def demo(ctx: click.Context) -> None:
    """Fill a small bank and print table 1 of the paper from it.

    The corpus and the model come with the package: ten short English texts, and a BERT of 6
    layers with 12 heads each. Without -b the bank is attnbank-demo.duckdb.
    """
    check_output(ctx)
    bank = bank_path(ctx, DEMO_BANK)
    notify(f"Filling {bank} from the sample corpus with the model minilm")
    with as_file(files("attnbank.ingest.corpora") / "sample") as sample:
        corpora = (str(sample),)
        report = ingest_with_progress(
            IngestOptions(corpora=corpora, bank=bank, model="minilm", name="sample")
        )
    print_report(report, bank)
    notify(
        "",
        "The best head for each relation, as in table 1 of Clark et al. (2019): how often it",
        "finds the syntactic head, and how often the best fixed offset does, in per cent.",
        "",
    )
    from attnbank.queries import open_bank

    with open_bank(bank) as opened:
        frame = opened.query("paper.table_1", run=report.run)
    write_frame(ctx, frame, title=f"Run: {report.run}")
    notify(
        "",
        "Next:",
        f"  {command_prefix(bank)} query best_head --relation obj",
        f"  {command_prefix(bank)} info",
        "  attnbank queries",
        "  attnbank ingest YOUR.conllu --model google-bert/bert-base-uncased",
    )


_replace_option = option("--replace", "Measure again what the bank already has.", False)


@command(
    "surprisal",
    "gum-dev/smollm2 --agreement",
    cls=BankCommand,
    sections={"Outcomes": ("agreement", "pairs")},
)
@click.argument("run", required=False, shell_complete=complete_names("run"))
@field_options(LossOptions)
@_replace_option
@quiet_option()
def surprisal(ctx: click.Context, /, run: str | None, replace: bool, **options: Any) -> None:
    """Measure the surprisal, in nats, of each word of a run under its model.

    The model needs the language-modelling head that it was trained with. A causal model
    predicts a word from those before it; a masked model from the rest of the input, with the
    pieces of the word masked. Words are stored in table surprisal, minimal pairs in table
    minimal_pair: see the analyses surprisal_by_class, agreement_accuracy and minimal_pair.
    Requests can read surprisal: V.surprisal > 8. To resume an interrupted measurement, type the
    same command again.
    """
    path = bank_path(ctx)
    report = measure_with_progress(path, run, LossOptions(**options), replace=replace)
    notify(f"Next: {command_prefix(path)} query surprisal_by_class --run {quote(report.run)}")


@command(
    "ablate",
    "objects --best obj --top 5 --controls 20",
    cls=BankCommand,
    sections={
        "Sets of heads": ("heads", "query", "best", "top", "layers", "each_head", "together"),
        "Edges": ("edges", "direction", "at"),
        "Controls": ("replacement", "controls", "controls_from", "seed"),
        "Outcomes": ("agreement", "pairs"),
        "Model": ("model", "device", "trust_remote_code", "batch_tokens"),
    },
)
@click.argument("name")
@run_option("Name or id of the run. Default: the bank's default run.", metavar="RUN")
@field_options(
    SetOptions,
    best={"shell_complete": complete_names("relation")},
    edges={"shell_complete": complete_names("relation")},
)
@field_options(AblateOptions)
@_replace_option
@quiet_option()
def ablate(ctx: click.Context, /, name: str, run: str | None, replace: bool, **values: Any) -> None:
    """Disable sets of heads, or cut single edges, and measure what gets worse, compared with
    random ones.

    NAME is the name of the ablation in the bank. Heads are disabled between attention and the
    output projection. With --edges all heads stay, and only the attention between words that a
    relation connects is cut. The model reads the inputs of the run again. This measures the
    surprisal of each word and, with --agreement and --pairs, which sentence of each pair is
    more probable. See the analyses ablation_effect, agreement_accuracy and minimal_pair. To
    resume an interrupted measurement, type the same command again.
    """
    path = bank_path(ctx)
    named, options = SetOptions(**take_fields(SetOptions, values)), AblateOptions(**values)
    with open_named_bank(ctx) as bank:
        read = choose_scored_run(bank.connection, path, run)
        sets = choose_head_sets(bank, named, read)
    if named.each_head and options.controls is None:
        options = dataclasses.replace(options, controls=0)
    from attnbank.ingest import ablate as disable

    with resumable_progress() as display:
        report = disable(
            path, name, sets, read.name, options, display, print_estimate, replace=replace
        )
    print_measured(report)
    arguments = f"--ablation {quote(name)} --run {quote(report.run)}"
    notify(f"Next: {command_prefix(path)} query ablation_effect {arguments}")
