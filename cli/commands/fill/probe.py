"""`attnbank probe KIND`: train a probe on one run and score it on another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from attnbank.cli.completion import names
from attnbank.cli.humanize import duration
from attnbank.cli.options import BankCommand, bank_path, output_options, trust_option
from attnbank.cli.printing import say
from attnbank.cli.progress import ProgressDisplay
from attnbank.ingest.derived.probes.options import (
    KINDS,
    MOST,
    MOST_RESAMPLES,
    ROOT_AT,
    WITH_WORDS,
    ProbeOptions,
)

if TYPE_CHECKING:
    from attnbank.ingest.derived.probes.options import ProbeReport

_DEFAULTS = ProbeOptions()


@output_options
@click.command(cls=BankCommand)
@click.argument("kind", type=click.Choice(KINDS), metavar="KIND")
@click.option(
    "--train-run",
    metavar="RUN",
    shell_complete=names("run"),
    help="Name or id of the run to learn from. right_branching needs none.",
)
@click.option(
    "--test-run",
    required=True,
    metavar="RUN",
    shell_complete=names("run"),
    help="Name or id of the run to be scored on.",
)
@click.option("--train-split", metavar="SPLIT", help="Learn from documents of this split only.")
@click.option("--test-split", metavar="SPLIT", help="Score on documents of this split only.")
@click.option(
    "--embeddings",
    metavar="SOURCE",
    default=_DEFAULTS.embeddings,
    show_default=True,
    help="Word vectors: model (the model's own input embeddings), a GloVe or word2vec text file,"
    " or a spaCy pipeline.",
)
@click.option(
    "-m",
    "--model",
    metavar="NAME",
    help="Where the model of --embeddings model is: a folder, a hub name or minilm. Otherwise as"
    " the bank says, unless that is a folder: a path in a bank is not followed.",
)
@trust_option
@click.option(
    "--root-at",
    type=click.Choice(ROOT_AT),
    default=_DEFAULTS.root_at,
    show_default=True,
    help="Where the zero vector of ROOT stands; published: after the last word, as in the"
    " published code.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, MOST),
    default=_DEFAULTS.seed,
    show_default=True,
    help="Seed of everything that is drawn.",
)
@click.option(
    "--epochs",
    type=click.IntRange(1, MOST),
    default=_DEFAULTS.epochs,
    show_default=True,
    help="At most so many epochs.",
)
@click.option(
    "--patience",
    type=click.IntRange(1, MOST),
    default=_DEFAULTS.patience,
    show_default=True,
    help="Stop after so many epochs without a lower held-out loss.",
)
@click.option(
    "--learning-rate",
    type=click.FloatRange(min=0, min_open=True),
    default=_DEFAULTS.learning_rate,
    show_default=True,
    help="Learning rate of Adam.",
)
@click.option(
    "--batch-sentences",
    type=click.IntRange(1, MOST),
    default=_DEFAULTS.batch_sentences,
    show_default=True,
    help="Sentences in a batch.",
)
@click.option(
    "--held-out",
    type=click.FloatRange(min=0, max=1, max_open=True),
    default=_DEFAULTS.held_out,
    show_default=True,
    help="Share of the training sentences, in whole documents, that decide when to stop.",
)
@click.option(
    "--resamples",
    type=click.IntRange(1, MOST_RESAMPLES),
    default=_DEFAULTS.resamples,
    show_default=True,
    help="Bootstrap resamples of the intervals.",
)
@click.option(
    "--device",
    metavar="DEVICE",
    default=_DEFAULTS.device,
    show_default=True,
    help="Device to train on: auto, cpu, cuda.",
)
@click.option(
    "--memory",
    type=click.IntRange(0, MOST),
    default=_DEFAULTS.memory,
    show_default=True,
    metavar="MEGABYTES",
    help="Attention to keep between epochs; the rest is read from the bank in each.",
)
@click.option("--replace", is_flag=True, help="Train it anew if the bank has it already.")
@click.option("-q", "--quiet", is_flag=True, help="Print the scores and nothing else.")
@click.pass_context
def command(
    ctx: click.Context,
    /,
    kind: str,
    train_run: str | None,
    test_run: str,
    replace: bool,
    quiet: bool,
    format_: str | None,
    output: str | None,
    **options: Any,
) -> None:
    """Train a classifier that finds syntactic heads in attention, and score it.

    KIND is right_branching (each word's head is the next word), attention (a weight for each
    attention head and direction), attention_words (weights that depend on the two words) or
    distance_words (the distance and the two words, no attention). The scores, by relation, are
    printed and kept in the bank: see probe_accuracy, probe_heads and paper.table_3. A probe that
    the bank has already, of the same runs and options, is printed and not trained again.

    The published code trains for one epoch, one sentence at a time, and lets a word be its own
    head. Here training stops when the held-out loss falls no more, and no word is its own head;
    --epochs 1 --batch-sentences 1 --held-out 0 trains as long as there.

    \b
    Example:
      attnbank probe attention --train-run gum-train/minilm --test-run gum-dev/minilm
    """
    from attnbank.cli.output import check_output, write_frame
    from attnbank.ingest.derived.probes import train_probe

    check_output(ctx, format_, output)
    asked = ProbeOptions(**options)
    if kind in WITH_WORDS and asked.embeddings == "model" and asked.model is not None:
        # The same checks that ingest makes of an untrusted model, before its weights are read.
        from attnbank.ingest.models.loading import describe

        describe(asked.model, trust_remote_code=asked.trust_remote_code)
    with ProgressDisplay(quiet=quiet) as display:
        report = train_probe(
            bank_path(ctx), kind, train_run, test_run, asked, display,
            replace=replace,
        )  # fmt: skip
    if not quiet:
        _print_report(report)
    write_frame(ctx, report.scores, format_, output)


def _print_report(report: ProbeReport) -> None:
    of_all = report.scores.row(0, named=True)
    time = duration(report.seconds) if report.is_new else "in the bank already (--replace: anew)"
    learnt = f", {report.epochs} epochs, best {report.best_epoch}" if report.epochs else ""
    say(
        f"Probe {report.probe}: {report.kind} finds {100 * of_all['uas']:.1f} % of the heads in"
        f" {report.test_run} (95 % interval {100 * of_all['uas_low']:.1f} to"
        f" {100 * of_all['uas_high']:.1f}); {time}{learnt}",
        err=True,
    )


command.name = "probe"
