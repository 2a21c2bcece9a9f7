"""`attnbank compute` and `attnbank probe`: results computed from a run and stored in the bank."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import click

from attnbank.cli.commands.query import AnalysisGroup, registry_name
from attnbank.cli.guarded import command, run_guarded
from attnbank.cli.options import (
    bank_path,
    command_prefix,
    compose,
    field_options,
    option,
    quiet_option,
    run_option,
)
from attnbank.cli.output import check_output, duration, output_options, write_frame
from attnbank.cli.progress import ProgressDisplay
from attnbank.cli.safe_echo import notify, safe_echo
from attnbank.ingest.derived.computations import STEPS, Computation
from attnbank.ingest.derived.probes.probe_options import KINDS, WITH_WORDS, ProbeOptions
from attnbank.sql.header import Analysis
from attnbank.sql.messages import join_names
from attnbank.sql.registry import all_analyses

_run_option = run_option(
    "Name or id of the run. Default: the default run of each analysis.", metavar="RUN"
)
_common_options = compose(
    option("--replace", "Compute again what the bank already has.", False), quiet_option()
)
# A placeholder for the name of a computation, so that equal reasons can be grouped.
_NAMES = "{names}"
_NOT_COMPUTED = "; nothing was computed (--replace recomputes)"


class Computations(AnalysisGroup):
    """The commands of `attnbank compute`: computations in Python, and every analysis."""

    noun = "computation"

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the names of the computations and the analyses."""
        return list(dict.fromkeys([*STEPS, *all_analyses()]))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Make the command of a computation or an analysis; None if there is none."""
        plain = registry_name(cmd_name)
        return (
            _command_of_computation(STEPS[plain])
            if plain in STEPS
            else super().get_command(ctx, cmd_name)
        )

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the computations, and refer to `attnbank queries` for the analyses."""
        with formatter.section("What SQL alone cannot compute"):
            formatter.write_dl([(step.name, f"{step.title}.") for step in STEPS.values()])
        with formatter.section("Cached analyses"):
            formatter.write_text(
                "Every analysis, by its name and with its own options: see attnbank queries."
            )


@cache
def _command_of_computation(step: Computation) -> click.Command:
    step_options = (
        option(
            f"--{parameter.name}",
            f"{parameter.help[0].upper()}{parameter.help[1:]}. Default: {parameter.default}.",
            type=click.Choice(parameter.choices) if parameter.choices else type(parameter.default),
            metavar=None if parameter.choices else "N",
        )
        for parameter in step.options
    )

    @command(
        step.name,
        group="attnbank compute",
        help=f"{step.title}.\n\nThe analysis of the same name reads the result. A result that the"
        " bank already has, of the same run and options, is not computed again.",
        short_help=f"{step.title}.",
    )
    @compose(_run_option, *step_options, _common_options)
    def run_step(ctx: click.Context, /, run: str | None, replace: bool, **values: Any) -> None:
        from attnbank.ingest.derived.computations import compute

        path = bank_path(ctx)
        arguments = {name: value for name, value in values.items() if value is not None}
        with ProgressDisplay() as display:
            computed = compute(path, step.name, run, display, replace=replace, **arguments)
        for table, rows in computed.rows.items():
            what = f"{rows:,} rows of the run {computed.run}"
            new = f"Table {table} now has {what}"
            notify(new if computed.is_new else f"Table {table} already has {what}{_NOT_COMPUTED}")
        notify(f"Next: {command_prefix(path)} query {step.name}")

    return run_step


def _describe(analysis: Analysis) -> tuple[str, str]:
    text = (
        f"Cache the rows of attnbank query {analysis.name} with these options in the bank. query,"
        " plot and bank.query then return them, until the bank or the analysis changes."
    )
    return text, ""


def _compute_answer(
    ctx: click.Context, analysis: Analysis, arguments: dict[str, Any], *, replace: bool
) -> None:
    from attnbank.ingest.derived.cached_answers import compute_and_cache

    path, name = bank_path(ctx), analysis.name
    answer = compute_and_cache(path, name, arguments, replace=replace)
    if answer is None:
        notify(f"The bank already has the answer of {name}{_NOT_COMPUTED}")
    else:
        notify(f"Saved {answer.row_count:,} rows of {name} in the bank ({answer.seconds:.1f} s)")
    notify(f"Next: {command_prefix(path)} query {name}")


@click.pass_context
def _compute_everything(
    ctx: click.Context, everything: bool, run: str | None, replace: bool
) -> None:
    def compute_all() -> None:
        from attnbank.ingest.derived.cached_answers import compute_and_cache_all

        with ProgressDisplay() as display:
            outcome = compute_and_cache_all(bank_path(ctx), run, display, replace=replace)
        notify(
            f"{len(outcome.cached):,} answers saved, {outcome.already:,} were already in the bank.",
            *(f"Skipped: {line}" for line in _skipped_by_reason(outcome.skipped)),
        )

    if ctx.invoked_subcommand is not None:
        if everything or run is not None:
            raise click.UsageError(
                "--all and --run cannot come before a name; put --run after it.", ctx
            )
    elif everything:
        run_guarded(ctx, compute_all)
    else:
        safe_echo(*ctx.get_help().split("\n"))


def _skipped_by_reason(skipped: Mapping[str, str]) -> list[str]:
    """Summarize why computations were skipped: a line for each reason, with their names."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in skipped.items():
        by_reason.setdefault(reason.replace(name, _NAMES), []).append(name)
    return [
        reason.replace(_NAMES, join_names(names))
        if _NAMES in reason
        else f"{join_names(names)} ({reason})"
        for reason, names in by_reason.items()
    ]


compute = Computations(
    "compute",
    _compute_answer,
    _describe,
    _common_options,
    help=(
        "Compute what SQL alone cannot, or cache the rows of an analysis, in the"
        " bank.\n\nComputations such as head_distance fill the tables that the analyses of the"
        " same names read. Of every other analysis, the rows for the given run and options are"
        " cached, so that they need not be computed again.\n\n\b\nExample:\n  attnbank compute"
        " head_distance\n  attnbank compute best_head\n  attnbank compute --all"
    ),
    short_help="Compute what SQL alone cannot, or cache an analysis.",
    callback=_compute_everything,
)
compose(
    option(
        "--all everything",
        "Cache the rows of every analysis that has any, with its default options.",
        False,
    ),
    _run_option,
    _common_options,
)(compute)


@command("probe", "attention --train-run gum-train/minilm --test-run gum-dev/minilm")
@click.argument("kind", type=click.Choice(KINDS), metavar="KIND")
@run_option(
    "Name or id of the run to train on; right_branching needs none.",
    "--train-run",
    metavar="RUN",
)
@run_option("Name or id of the run to score on.", "--test-run", required=True, metavar="RUN")
@field_options(ProbeOptions)
@option("--replace", "Train it again even if the bank already has it.", False)
@quiet_option("Print only the scores.")
@output_options
def probe(
    ctx: click.Context, /, kind: str, train_run: str | None, test_run: str, replace: bool,
    **options: Any,
) -> None:  # fmt: skip
    """Train a classifier that finds syntactic heads in attention, and score it.

    KIND is right_branching (each word's head is the next word), attention (a weight for each
    attention head and direction), attention_words (weights that depend on the two words) or
    distance_words (the distance and the two words, no attention). The scores by relation are
    printed and stored in the bank: see probe_accuracy, probe_heads and paper.table_3. If the
    bank already has a probe with the same runs and options, that one is printed and nothing is
    trained.

    The published code trains for one epoch, one sentence at a time, and lets a word be its own
    head. Here training stops when the held-out loss stops falling, and no word is its own head;
    --epochs 1 --batch-sentences 1 --held-out 0 trains as long as the published code.
    """
    from attnbank.ingest.derived.probes import train_probe

    check_output(ctx)
    probe_options = ProbeOptions(**options)
    if (
        kind in WITH_WORDS
        and probe_options.embeddings == "model"
        and probe_options.model is not None
    ):
        # The same checks that ingest makes of an untrusted model, before its weights are read.
        from attnbank.ingest.models.loading import describe

        describe(probe_options.model, trust_remote_code=probe_options.trust_remote_code)
    with ProgressDisplay() as display:
        report = train_probe(
            bank_path(ctx), kind, train_run, test_run, probe_options, display, replace=replace
        )
    overall = report.scores.row(0, named=True)
    duration_text = (
        duration(report.seconds)
        if report.is_new
        else "already in the bank (--replace trains again)"
    )
    epochs_text = f", {report.epochs} epochs, best {report.best_epoch}" if report.epochs else ""
    notify(
        f"Probe {report.probe}: {report.kind} finds {100 * overall['uas']:.1f} % of the heads in"
        f" {report.test_run} (95 % interval {100 * overall['uas_low']:.1f} to"
        f" {100 * overall['uas_high']:.1f}); {duration_text}{epochs_text}"
    )
    write_frame(ctx, report.scores)
