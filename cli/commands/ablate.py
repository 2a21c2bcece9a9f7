"""`attnbank surprisal` and `attnbank ablate`: what a model predicts, with or without some heads."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from attnbank.cli.commands.ingest import (
    measure_with_progress,
    print_estimate,
    print_measured,
    resumable_progress,
)
from attnbank.cli.exit_status import command
from attnbank.cli.options import (
    BankCommand,
    bank_path,
    command_prefix,
    complete_names,
    field_options,
    open_named_bank,
    option,
    quiet_option,
    run_option,
    take_fields,
)
from attnbank.cli.safe_echo import notify
from attnbank.ingest.losses.head_sets import (
    AblateOptions,
    Head,
    HeadSet,
    LossOptions,
    choose_scored_run,
    parse_heads,
)
from attnbank.sql.errors import CallError
from attnbank.sql.option_fields import option as option_field

if TYPE_CHECKING:
    from attnbank.queries import Bank
    from attnbank.sql.run_choice import Run

_USUAL_TOP = 5


@dataclass(frozen=True, kw_only=True)
class SetOptions:
    """The sets of heads that `attnbank ablate` disables."""

    heads: tuple[str, ...] = option_field(
        (),
        "A set: heads as layer-head, counted from 1 (19-7,3-1). Can be repeated.",
        multiple=True,
        metavar="HEADS",
    )
    query: tuple[str, ...] = option_field(
        (),
        "A set: the columns layer and head of a SELECT on the bank. Can be repeated.",
        multiple=True,
        metavar="SQL",
    )
    best: tuple[str, ...] = option_field(
        (),
        "A set: the heads that find most of a relation (a saved one too). Can be repeated.",
        multiple=True,
        metavar="RELATION",
        shell_complete=complete_names("relation"),
    )
    top: int | None = option_field(
        None, f"How many heads --best takes. Default: {_USUAL_TOP}.", least=1, most=None
    )
    each_head: bool = option_field(
        False, "A set for each head of the model, without controls.", flag="each"
    )
    together: bool = option_field(False, "Also one set with the heads of all other sets.")

    def __post_init__(self) -> None:
        if self.top is not None and not self.best:
            raise CallError("--top needs --best.", "Add --best RELATION, or leave --top out.")
        if not (self.heads or self.query or self.best or self.each_head):
            raise CallError(
                "No set of heads was named.",
                "Give --heads, --query, --best or --each: --heads 3-1,4-2",
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
        "Sets of heads": ("heads", "query", "best", "top", "each_head", "together"),
        "Controls": ("replacement", "controls", "controls_from", "seed"),
        "Outcomes": ("agreement", "pairs"),
        "Model": ("model", "device", "trust_remote_code", "batch_tokens"),
    },
)
@click.argument("name")
@run_option("Name or id of the run. Default: the bank's default run.", metavar="RUN")
@field_options(SetOptions)
@field_options(AblateOptions)
@_replace_option
@quiet_option()
def ablate(ctx: click.Context, /, name: str, run: str | None, replace: bool, **values: Any) -> None:
    """Disable sets of heads and measure what gets worse, compared with random sets of the same
    size.

    NAME is the name of the ablation in the bank. Heads are disabled between attention and the
    output projection, and the model reads the inputs of the run again. This measures the
    surprisal of each word and, with --agreement and --pairs, which sentence of each pair is
    more probable. See the analyses ablation_effect, agreement_accuracy and minimal_pair. To
    resume an interrupted measurement, type the same command again.
    """
    path = bank_path(ctx)
    named, options = SetOptions(**take_fields(SetOptions, values)), AblateOptions(**values)
    with open_named_bank(ctx) as bank:
        read = choose_scored_run(bank.connection, path, run)
        sets = list(_head_sets(bank, named, read))
    if named.together:
        if len(sets) < 2:
            raise CallError("--together needs at least two sets of heads.", "Leave it out.")
        all_heads = tuple(sorted({head for head_set in sets for head in head_set.heads}))
        sets.append(HeadSet("together", all_heads, "--together"))
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


def _head_sets(bank: Bank, named: SetOptions, run: Run) -> Iterator[HeadSet]:
    for text in dict.fromkeys(named.heads):
        yield HeadSet(text, parse_heads(text), f"--heads {text}")
    for number, statement in enumerate(named.query, start=1):
        name = "query" if len(named.query) == 1 else f"query {number}"
        yield HeadSet(name, _heads_of_query(bank, statement), f"--query {statement}")
    top = named.top or _USUAL_TOP
    for relation in dict.fromkeys(named.best):
        # The heads by accuracy, each in its better direction.
        accuracies = bank.query("head_accuracy", relation=relation, run=run.name)
        ranked = accuracies.sort(["accuracy", "layer", "head"], descending=[True, False, False])
        heads = ranked.select("layer", "head").unique(maintain_order=True).head(top)
        pairs = tuple((layer, head) for layer, head in heads.rows())
        yield HeadSet(relation, pairs, f"--best {relation} --top {top}")
    if named.each_head:
        for layer in run.numbers:
            for head in range(1, run.heads + 1):
                yield HeadSet(f"{layer}-{head}", ((layer, head),), "--each")


def _heads_of_query(bank: Bank, statement: str) -> tuple[Head, ...]:
    """The heads that the SELECT of --query returns; CallError if it returns anything else."""
    rows = bank.sql(statement, isolated=True)
    if not {"layer", "head"} <= set(rows.columns):
        raise CallError(
            "The SELECT of --query has no columns layer and head.",
            'Name them: --query "select layer, head from best_head() limit 5"',
        )
    heads = rows.select("layer", "head").drop_nulls().unique(maintain_order=True)
    if not all(dtype.is_integer() for dtype in heads.dtypes):
        raise CallError(
            "The columns layer and head of --query are not whole numbers.", "Cast them: layer::int"
        )
    return tuple((layer, head) for layer, head in heads.rows())
