"""`attnbank ingest CORPUS...`: fill a bank."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from attnbank.cli.commands.fill.elsewhere import (
    check_elsewhere,
    elsewhere_option,
    ingest_elsewhere,
    print_next,
)
from attnbank.cli.commands.fill.reporting import print_estimate, print_problems, print_report
from attnbank.cli.completion import models
from attnbank.cli.humanize import number
from attnbank.cli.options import BankCommand, bank_path, trust_option
from attnbank.cli.printing import say
from attnbank.cli.progress import ProgressDisplay
from attnbank.ingest.corpora.document import CorpusError
from attnbank.ingest.corpora.registry import formats
from attnbank.ingest.options import (
    ABLATIONS,
    CONTEXTS,
    DEFAULT_MODEL,
    KEPT,
    MOST_RANDOM,
    MOST_SEED,
    MULTIWORDS,
    REPLACEMENTS,
    SUBWORDS,
    UNITS,
    IngestOptions,
)
from attnbank.sql.errors import AttnbankError

if TYPE_CHECKING:
    from attnbank.ingest.options import Estimate, Report
    from attnbank.ingest.progress import OnProgress
    from attnbank.queries import Bank

_DEFAULTS = IngestOptions((), Path())


@elsewhere_option
@click.command(cls=BankCommand)
@click.argument("corpora", nargs=-1, required=True, metavar="CORPUS...", type=click.Path())
@click.option(
    "-m",
    "--model",
    default=DEFAULT_MODEL,
    show_default=True,
    metavar="NAME",
    shell_complete=models,
    help="A model of the Hugging Face hub, a folder with one, or minilm (no download).",
)
@click.option("--revision", metavar="COMMIT", help="Commit, branch or tag of the model on the hub.")
@trust_option
@click.option(
    "--random-weights",
    type=click.IntRange(0, MOST_RANDOM),
    metavar="SEED",
    help="Give the model random weights from this seed: a control.",
)
@click.option(
    "--format",
    type=click.Choice(list(formats())),
    help="Format of the corpus. Otherwise recognised by what stands in the file.",
)
@click.option(
    "--spacy",
    metavar="PIPELINE",
    help="Annotate plain text with this spaCy pipeline (en_core_web_trf); the bank calls such"
    " annotation silver.",
)
@click.option("--name", metavar="NAME", help="Name of the corpus. Otherwise the stem of its file.")
@click.option(
    "--language",
    metavar="TAG",
    help="Language of the corpus: fr, he, zh-Hant. Otherwise from the name of its file, if that"
    " begins as in Universal Dependencies (fr_gsd-ud-dev.conllu) or is fr-dev.conllu.",
)
@click.option(
    "--split",
    metavar="SPLIT",
    help="Split of its documents: train, dev or test. Otherwise from the names of the files.",
)
@click.option(
    "--context",
    type=click.Choice(CONTEXTS),
    default=_DEFAULTS.context,
    show_default=True,
    help="What one input of the model is: a sentence, whole sentences of a document, or a pair of"
    " segments of one ([CLS] A [SEP] B [SEP]).",
)
@click.option(
    "--unit",
    type=click.Choice(UNITS),
    default=_DEFAULTS.unit,
    show_default=True,
    help="What attention is kept between: words (pieces merged) or tokens.",
)
@click.option(
    "--subword",
    type=click.Choice(SUBWORDS),
    default=_DEFAULTS.subword,
    show_default=True,
    help="Attention from a split word: the mean over its pieces (the paper) or its first piece"
    " (the published code).",
)
@click.option(
    "--multiword",
    type=click.Choice(MULTIWORDS),
    default=_DEFAULTS.multiword,
    show_default=True,
    help="How a multiword token that its words do not spell (French du: de + le) is read: as"
    " written, its words sharing a position, or as its parts.",
)
@click.option(
    "--max-tokens",
    type=click.IntRange(3, MOST_RANDOM),
    metavar="N",
    help="Longest input, special tokens counted: longer sentences are left out, documents and pairs"
    " are cut to it. Otherwise 128 for documents and pairs, what the model takes for sentences.",
)
@click.option(
    "--truncate",
    is_flag=True,
    help="With --context document: keep the first input of each document only, as in the paper.",
)
@click.option(
    "--shard",
    metavar="K/N",
    help="Take a part of the documents, always the same ones: 3/16 is every sixteenth from the"
    " third on. Give each shard a bank of its own.",
)
@click.option(
    "--limit",
    type=click.IntRange(1, MOST_SEED),
    metavar="N",
    help="Take N inputs at random. Otherwise all of them.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, MOST_SEED),
    default=_DEFAULTS.seed,
    show_default=True,
    metavar="SEED",
    help="Seed of --limit, and of where --context pair parts its segments.",
)
@click.option(
    "--gradients",
    is_flag=True,
    help="Also store the gradient of the masked-language-model loss by every attention weight"
    " (needs a model with that head, and --unit token).",
)
@click.option(
    "--ablate",
    type=click.Choice(ABLATIONS),
    help="Also store the masked-language-model loss with each head (each layer) disabled.",
)
@click.option(
    "--replacement",
    type=click.Choice(REPLACEMENTS),
    default=_DEFAULTS.replacement,
    show_default=True,
    help="What the weights of a disabled head become: 1/L over the L tokens of the input, or 0.",
)
@click.option(
    "--mask-seed",
    type=click.IntRange(0, MOST_SEED),
    default=_DEFAULTS.mask_seed,
    show_default=True,
    metavar="SEED",
    help="Seed of the masks of --gradients and --ablate.",
)
@click.option(
    "--keep",
    type=click.Choice(KEPT),
    default=_DEFAULTS.keep,
    show_default=True,
    help="What is kept of each attention map: all weights, or only its peaks and sums, which take a"
    " small part of the room of long inputs and answer all analyses but a few.",
)
@click.option(
    "--decimals",
    type=click.IntRange(1, 7),
    metavar="N",
    help="Round the weights; 5 makes the bank a third smaller. Otherwise unrounded.",
)
@click.option(
    "--batch-tokens",
    type=click.IntRange(1, MOST_RANDOM),
    default=_DEFAULTS.batch_tokens,
    show_default=True,
    metavar="N",
    help="Tokens in one pass of the model, padding counted.",
)
@click.option(
    "--device",
    default=_DEFAULTS.device,
    show_default=True,
    metavar="DEVICE",
    help="Where the model runs: cpu, cuda, cuda:1, mps; auto is cuda where there is one, else cpu.",
)
@click.option("--skip-bad", is_flag=True, help="List what cannot be read, and go on without it.")
@click.option(
    "--strict",
    is_flag=True,
    help="Refuse what is otherwise read all the same and told: # text that its words do not spell.",
)
@click.option("--replace", is_flag=True, help="Start the run over if the bank has it.")
@click.option(
    "--dry-run", is_flag=True, help="Print what it would write, and how big, and stop there."
)
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
@click.pass_context
def command(
    ctx: click.Context, /, dry_run: bool, quiet: bool, engine: str, to: str | None,
    master: str | None, **values: Any,
) -> None:  # fmt: skip
    """Fill a bank with what a model's heads look at in a corpus.

    CORPUS is a file, a folder, or - for standard input: CoNLL-U, CoNLL-2012, "word
    head-relation" lines, spaCy's .spacy, plain text (with --spacy), or one sentence per line
    without annotation; .gz of any. The bank is made where there is none. An ingest that was
    interrupted goes on when it is typed again.

    \b
    Example:
      attnbank ingest wsj-dev.conllu --model google-bert/bert-base-uncased
    """
    is_elsewhere = check_elsewhere(engine, to, master)
    options = IngestOptions(bank=bank_path(ctx), **values)
    if dry_run:
        print_estimate(_estimate(options, quiet=quiet))
        return
    if is_elsewhere and to is not None:
        report = _fill(lambda shown: ingest_elsewhere(options, to, master, shown), quiet=quiet)
        if not quiet:
            print_report(report, Path(to))
            print_next(to)
        return
    report = fill(options, quiet=quiet)
    if not quiet:
        print_report(report, options.bank)
        _print_next(report, options.bank)


def fill(options: IngestOptions, *, quiet: bool) -> Report:
    """Ingest, and show the progress and the problems.

    Raises AttnbankError for a Ctrl-C, CorpusError for a corpus with one problem, AttnbankError for
    one with several, and whatever else `ingest` raises.
    """
    from attnbank.ingest import ingest

    return _fill(lambda shown: ingest(options, shown), quiet=quiet)


def _fill(work: Callable[[OnProgress], Report], *, quiet: bool) -> Report:
    with ProgressDisplay(quiet=quiet) as display, _explained():
        report = work(display)
    print_problems(report.problems, "left out")
    return report


@contextmanager
def _explained() -> Iterator[None]:
    """Within, a Ctrl-C becomes an error that says how to go on; a corpus's problems are listed."""
    try:
        yield
    except KeyboardInterrupt as error:
        raise AttnbankError(
            "Interrupted; whole batches are kept. The same command goes on from there."
        ) from error
    except CorpusError as error:
        count = len(error.problems)
        if count == 1:
            raise
        print_problems(error.problems, "problems")
        if not count:
            raise AttnbankError(error.remedy) from error
        raise AttnbankError(
            f"The corpus has {number(count)} problems; the bank was not touched.", error.remedy
        ) from error


def _estimate(options: IngestOptions, *, quiet: bool) -> Estimate:
    with ProgressDisplay(quiet=quiet) as display, _explained():
        from attnbank.ingest import estimate

        found = estimate(options, display)
    print_problems(found.problems, "would be left out")
    return found


_FIRST = ("best_head", "table_2", "special_tokens")
"""Analyses to suggest next, each for another kind of run; the first that fits is taken."""


def _print_next(report: Report, bank: Path) -> None:
    """Print what to type next: an analysis that this run can answer."""
    from attnbank.queries import open_bank
    from attnbank.sql.registry import find
    from attnbank.sql.runs import RANDOM, run_fits, settled

    what = "queries"
    with open_bank(bank) as opened:
        for name in _FIRST:
            choice = settled(opened.connection, find(name))
            fits = [each for each in run_fits(opened.connection, choice) if each.name == report.run]
            if all(each.misfit is None and each.reserve in (None, RANDOM) for each in fits):
                is_default = fits[0].reserve is None and _run_of(opened, name) == report.run
                what = f"query {name}" + ("" if is_default else f" --run {quote(report.run)}")
                break
    named = "" if bank == Path("attnbank.duckdb") else f" -b {quote(str(bank))}"
    say(f"Next: attnbank{named} {what}", err=True)


def _run_of(bank: Bank, analysis: str) -> str | None:
    run = bank.run_of(analysis)
    return None if run is None else run.name


command.name = "ingest"
