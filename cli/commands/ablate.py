"""`attnbank surprisal` and `attnbank ablate`: what a model predicts, with all heads and without
some.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
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

if TYPE_CHECKING:
    from attnbank.queries import Bank

_USUAL_TOP = 5
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
@option(
    "--heads",
    "A set: heads as layer-head, counted from 1 (19-7,3-1). Can be repeated.",
    multiple=True,
    metavar="HEADS",
)
@option(
    "--query",
    "A set: the columns layer and head of a SELECT on the bank. Can be repeated.",
    multiple=True,
    metavar="SQL",
)
@option(
    "--best",
    "A set: the heads that find most of a relation (a saved one too). Can be repeated.",
    multiple=True,
    metavar="RELATION",
    shell_complete=complete_names("relation"),
)
@option("--top", f"How many heads --best takes. Default: {_USUAL_TOP}.", type=click.IntRange(1))
@option("--each each_head", "A set for each head of the model, without controls.", False)
@option("--together", "Also one set with the heads of all other sets.", False)
@field_options(AblateOptions)
@_replace_option
@quiet_option()
def ablate(
    ctx: click.Context, /, name: str, run: str | None, heads: Sequence[str], query: Sequence[str],
    best: Sequence[str], top: int | None, each_head: bool, together: bool, replace: bool,
    **options: Any,
) -> None:  # fmt: skip
    """Disable sets of heads and measure what gets worse, compared with random sets of the same
    size.

    NAME is the name of the ablation in the bank. Heads are disabled between attention and the
    output projection, and the model reads the inputs of the run again. This measures the
    surprisal of each word and, with --agreement and --pairs, which sentence of each pair is
    more probable. See the analyses ablation_effect, agreement_accuracy and minimal_pair. To
    resume an interrupted measurement, type the same command again.
    """
    path = bank_path(ctx)
    ablate_options = AblateOptions(**options)
    if top is not None and not best:
        raise CallError("--top needs --best.", "Add --best RELATION, or leave --top out.")
    if not (heads or query or best or each_head):
        raise CallError(
            "No set of heads was named.", "Give --heads, --query, --best or --each: --heads 3-1,4-2"
        )
    sets = [HeadSet(text, parse_heads(text), f"--heads {text}") for text in dict.fromkeys(heads)]
    with open_named_bank(ctx) as bank:
        read = choose_scored_run(bank.connection, path, run)
        for number, statement in enumerate(query, start=1):
            called = "query" if len(query) == 1 else f"query {number}"
            sets.append(HeadSet(called, _heads_of_query(bank, statement), f"--query {statement}"))
        for relation in dict.fromkeys(best):
            best_heads = _best_heads(bank, relation, top or _USUAL_TOP, read.name)
            sets.append(
                HeadSet(relation, best_heads, f"--best {relation} --top {top or _USUAL_TOP}")
            )
        if each_head:
            sets += [
                HeadSet(f"{layer}-{head}", ((layer, head),), "--each")
                for layer in read.numbers
                for head in range(1, read.heads + 1)
            ]
    if together:
        if len(sets) < 2:
            raise CallError("--together needs at least two sets of heads.", "Leave it out.")
        all_heads = tuple(sorted({head for head_set in sets for head in head_set.heads}))
        sets.append(HeadSet("together", all_heads, "--together"))
    if each_head and ablate_options.controls is None:
        ablate_options = dataclasses.replace(ablate_options, controls=0)
    from attnbank.ingest import ablate as disable

    with resumable_progress() as display:
        report = disable(
            path, name, sets, read.name, ablate_options, display, print_estimate, replace=replace
        )
    print_measured(report)
    arguments = f"--ablation {quote(name)} --run {quote(report.run)}"
    notify(f"Next: {command_prefix(path)} query ablation_effect {arguments}")


def _heads_of_query(bank: Bank, statement: str) -> tuple[Head, ...]:
    """Run the SELECT of --query and return its heads, each once. Raises CallError for other
    columns.
    """
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
    return tuple((int(layer), int(head)) for layer, head in heads.rows())


def _best_heads(bank: Bank, relation: str, top: int, run: str) -> tuple[Head, ...]:
    """The `top` heads by accuracy on a relation, each in its better direction."""
    accuracies = bank.query("head_accuracy", relation=relation, run=run)
    ranked = accuracies.sort(["accuracy", "layer", "head"], descending=[True, False, False])
    heads = ranked.select("layer", "head").unique(maintain_order=True).head(top)
    return tuple((int(layer), int(head)) for layer, head in heads.rows())
