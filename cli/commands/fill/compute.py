"""`attnbank compute NAME`: fill a table that an analysis reads, or keep an analysis's answer."""

from __future__ import annotations

from functools import cache
from typing import Any

import click

from attnbank.cli.commands.ask.query import option_of, queries_option
from attnbank.cli.completion import names
from attnbank.cli.humanize import number
from attnbank.cli.options import BankCommand, BankGroup, bank_path
from attnbank.cli.printing import say
from attnbank.cli.progress import ProgressDisplay
from attnbank.ingest.derived.steps import STEPS, Step
from attnbank.sql.header import Analysis
from attnbank.sql.registry import every, faults, find


def _run_option() -> click.Option:
    return click.Option(
        ["--run"],
        metavar="RUN",
        shell_complete=names("run"),
        help="Name or id of the run. Otherwise the one that answers.",
    )


def _common() -> list[click.Parameter]:
    return [
        click.Option(
            ["--replace"], is_flag=True, help="Compute it anew if the bank has it already."
        ),
        click.Option(["-q", "--quiet"], is_flag=True, help="Print nothing but errors."),
    ]


class Computations(BankGroup):
    """What can be computed and kept: the steps, and every analysis."""

    noun = "computation"

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the steps and of all analyses."""
        return list(dict.fromkeys([*STEPS, *every()]))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a step or an analysis; None if there is none.

        Raises the CallError of a user's file that holds no valid analysis.
        """
        plain = cmd_name.removeprefix("paper.").replace("-", "_")
        if plain in STEPS:
            return _of_step(plain)
        if plain in faults() and not ctx.resilient_parsing:
            raise faults()[plain]
        return _of_analysis(plain) if plain in every() else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the steps; the analyses are those of `attnbank queries`."""
        with formatter.section("What SQL alone cannot compute"):
            formatter.write_dl([(each.name, f"{each.title}.") for each in STEPS.values()])
        with formatter.section("Answers that are kept"):
            formatter.write_text("Every analysis by its name, with its own options: see attnbank"
                                 " queries.")  # fmt: skip


@cache
def _of_step(name: str) -> click.Command:
    """The command of a step, made from its options."""
    step = STEPS[name]

    @click.pass_context
    def run(ctx: click.Context, /, **values: Any) -> None:
        _step(ctx, step, values)

    options = [
        click.Option(
            [f"--{each.name}"],
            type=each.type,
            metavar="N",
            help=f"{each.help[0].upper()}{each.help[1:]}. Default: {each.default}.",
        )
        for each in step.options
    ]
    return BankCommand(
        name=name,
        help=f"{step.title}.\n\nThe analysis of the same name reads what was computed. What the"
        " bank has already, of the same run and options, is not computed again.\n\n"
        f"\b\nExample:\n  attnbank compute {name}",
        short_help=f"{step.title}.",
        params=[_run_option(), *options, *_common()],
        callback=run,
    )


def _step(ctx: click.Context, step: Step, values: dict[str, Any]) -> None:
    from attnbank.ingest.derived.steps import compute

    run, replace, quiet = (values.pop(each) for each in ("run", "replace", "quiet"))
    given = {name: value for name, value in values.items() if value is not None}
    with ProgressDisplay(quiet=quiet) as display:
        found = compute(bank_path(ctx), step.name, run, display, replace=replace, **given)
    if not quiet:
        already = "" if found.is_new else " already; nothing was computed (--replace does it anew)"
        for table, count in found.rows.items():
            say(f"Table {table} has {number(count)} rows of the run {found.run}{already}", err=True)
        say(f"Next: attnbank query {step.name}", err=True)


@cache
def _of_analysis(name: str) -> click.Command:
    """The command that keeps the answer of an analysis, made from its parameters."""
    analysis = find(name)

    @click.pass_context
    def run(ctx: click.Context, /, **values: Any) -> None:
        _keep(ctx, analysis, values)

    return BankCommand(
        name=name,
        help=f"{analysis.title}.\n\nKeep the answer of attnbank query {name} with these options in"
        " the bank. query, plot and bank.query give it again, until something has changed that it"
        f" was computed from.\n\n\b\nExample:\n  attnbank compute {name}",
        short_help=f"{analysis.title}.",
        params=[*(option_of(each) for each in analysis.parameters), *_common()],
        callback=run,
    )


def _keep(ctx: click.Context, analysis: Analysis, values: dict[str, Any]) -> None:
    """Keep the answer of an analysis with the values of its options, and say so."""
    from attnbank.cli.commands.fill import keeping

    replace, quiet = values.pop("replace"), values.pop("quiet")
    given = {name: value for name, value in values.items() if value is not None}
    kept = keeping.keep_one(bank_path(ctx), analysis.name, given, replace=replace)
    if quiet:
        return
    if kept.is_new:
        say(f"{number(kept.rows)} rows of {analysis.name} are kept ({kept.seconds:.1f} s).",
            err=True)  # fmt: skip
    else:
        say(f"{number(kept.rows)} rows of {analysis.name} were kept already; nothing was computed"
            " (--replace does it anew).", err=True)  # fmt: skip
    say(f"Next: attnbank query {analysis.name}", err=True)


def _all(ctx: click.Context, everything: bool, run: str | None, replace: bool, quiet: bool) -> None:
    """Keep every answer (--all), or print the help if no name was given."""
    if ctx.invoked_subcommand is not None:
        if everything or run is not None:
            raise click.UsageError(
                "--all and --run before a name say something else after it.", ctx
            )
        return
    if not everything:
        say(*ctx.get_help().split("\n"))
        ctx.exit(0)
    from attnbank.cli.commands.fill import keeping

    with ProgressDisplay(quiet=quiet) as display:
        done = keeping.keep_all(bank_path(ctx), run, display, replace=replace)
    if not quiet:
        say(
            f"{number(len(done.kept))} answers are kept, {number(len(done.already))} were already.",
            *(f"Left out: {name} ({reason})" for name, reason in done.left_out.items()),
            err=True,
        )


command = queries_option(
    Computations(
        name="compute",
        help=(
            "Compute what SQL alone cannot, or keep the answer of an analysis, in the bank.\n\n"
            "head_distance and head_embedding fill the tables that the analyses of these names"
            " read. Of every other analysis the rows are kept, for the run and the options that are"
            " given, so that they need not be computed again.\n\n"
            "\b\nExample:\n  attnbank compute head_distance\n  attnbank compute best_head\n"
            "  attnbank compute --all"
        ),
        short_help="Compute what SQL alone cannot, or keep an answer.",
        subcommand_metavar="NAME [OPTIONS]",
        invoke_without_command=True,
        callback=click.pass_context(_all),
        params=[
            click.Option(
                ["--all", "everything"],
                is_flag=True,
                help="Keep the answer of every analysis that has one, with its defaults.",
            ),
            _run_option(),
            *_common(),
        ],
    )
)
