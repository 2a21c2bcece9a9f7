"""One page per analysis, made from its header and its statement, and a page that lists them."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

from attnbank.sql.header import Analysis, Parameter
from attnbank.sql.names import sql_literal
from attnbank.sql.registry import analyses, analyses_by_section
from generator.example import Answers, closure
from generator.markdown import block, cell, code, made_by, page, plain, sentence, table
from generator.pictures import KEPT

_NOTATION = """\
## Notation

| sign | what it stands for |
|---|---|
| α(i, j) | the weight that a head at position i puts on position j; over all j it sums to 1 |
| n | the positions of an input, special tokens included |
| Σ_i, Σ_j | the sum over all positions, or over those that are named |
| W | the positions of words (or tokens), without special tokens |
| CLS, SEP | the positions of these special tokens |
| mean over inputs | a mean in which each input counts alike, however long it is |
| argmax | what gives the largest value; the page says which of equals is taken |
| \\|X\\| | how many members X has |

Every formula is for one head of one layer, unless it names heads. Layers and heads are counted from
1, as in the paper; positions from 0.
"""
_UNITS = {"word": "words", "token": "tokens"}
_CONTEXTS = {
    "sentence": "single sentences",
    "document": "documents",
    "pair": "pairs of segments",
}
_NEEDS = {
    "trees": "its corpus has dependency trees",
    "mentions": "mentions are marked in its corpus",
    "gradients": "it was ingested with `--gradients`",
    "losses": "it was ingested with `--ablate`",
    "shares": "its measure is not one of norms (`--measure`)",
    "sums": "its rows of attention sum to 1: without attention sinks, and not of norms",
}


def pages(examples: Answers) -> dict[str, str]:
    """The text of every page, by name of file."""
    found = {"analyses/index.md": page(_index())}
    for analysis in analyses().values():
        found[f"analyses/{analysis.name}.md"] = page(_analysis(analysis, examples))
    return found


def source(analysis: Analysis) -> str:
    """The path of an analysis's file, relative to the root of the repository."""
    return f"sql/analyses/{analysis.section}/{analysis.name}.sql"


def calls(analysis: Analysis, given: dict[str, str | bool | int | list[int]]) -> dict[str, str]:
    """How to run an analysis with these values: from the shell, Python, SQL and Spark."""
    option = {True: "--{0}", False: "--no-{0}"}
    typed = "".join(
        f" {option[value].format(_flag(name))}"
        if isinstance(value, bool)
        else f" --{_flag(name)} {_typed(value)}"
        for name, value in given.items()
    )
    python = "".join(f", {name}={value!r}" for name, value in given.items())
    named = ", ".join(f"{name} := {sql_literal(value)}" for name, value in given.items())
    relation = analysis.relation.removesuffix("()") + (f"({named})" if given else "()")
    return {
        "Command": f"attnbank query {analysis.name}{typed}",
        "Python": f'bank.query("{analysis.name}"{python})',
        "SQL": f"from {analysis.relation if not given else relation}",
        "Spark": f'to_dialect("{analysis.name}", "spark"{python})',
    }


def example_values(analysis: Analysis) -> dict[str, str | bool | int | list[int]]:
    """A value for one parameter, to show how one is given; none if there are only runs to give."""
    for parameter in analysis.parameters:
        if parameter.names_run:
            continue
        if parameter.name == "relation":
            return {"relation": "obj"}
        if parameter.choices:
            return {parameter.name: parameter.choices[-1]}
        if parameter.type == "boolean":
            return {parameter.name: parameter.default != "true"}
        if parameter.type in ("integer", "smallint"):
            return {parameter.name: 1}
    return {}


def _index() -> Iterator[str]:
    yield from (made_by("the headers in sql/analyses"), "", "# Analyses", "")
    yield "Each analysis is one SQL statement, and a command, a Python call, a table macro of every"
    yield "bank and Spark SQL at once. Each has a page that says what it measures, with its formula"
    yield "and source, what it takes and returns, what to be careful about, and an example."
    for title, those in analyses_by_section().items():
        yield from ("", f"## {title}", "")
        yield from table(
            ("analysis", "", "source"),
            (
                (f"[{each.name}]({each.name}.md)", cell(f"{each.title}."), cell(each.paper))
                for each in those
            ),
        )
    yield from ("", *_NOTATION.splitlines())


def _analysis(analysis: Analysis, examples: Answers) -> Iterator[str]:
    yield from (made_by(source(analysis)), "", f"# {analysis.name}", "")
    yield f"**{plain(analysis.title)}.**"
    yield from ("", f"*Source:* {sentence(analysis.paper)}")
    yield from ("", "## What it measures", "")
    yield f"The answer has {plain(analysis.grain)}."
    if analysis.formulas:
        yield from ("", *block("\n".join(map(_folded, analysis.formulas))), "")
        yield "The signs are explained under [notation](index.md#notation)."
    yield from ("", "## What to be careful about", "")
    for each in (*(_linked(sentence(note)) for note in analysis.notes), *_cautions(analysis)):
        yield f"- {each}"
    yield from ("", "## Which run it reads", "", *_run(analysis))
    yield from ("", "## Parameters", "", *_parameters(analysis))
    yield from ("", "## Columns", "")
    yield from table(
        ("column", "type", ""),
        ((f"`{each.name}`", f"`{each.type}`", cell(each.help)) for each in analysis.columns),
    )
    yield from ("", "## How to ask", "", *_doors(analysis))
    yield from _picture(analysis)
    told, answer = examples.answer(analysis)
    yield from ("", "## An example", "", told, "")
    yield from block(f"$ attnbank query {analysis.name}\n{answer}", "console")
    yield from ("", "## The statement", "", *_statement(analysis))


def _folded(formula: str) -> str:
    """A formula, wrapped to the width of a page."""
    return textwrap.fill(
        formula, 94, subsequent_indent=" " * 6, break_long_words=False, break_on_hyphens=False
    )


def _linked(text: str) -> str:
    """The text with a link wherever it names an analysis whose name is not an ordinary word."""
    names = "|".join(each for each in analyses() if "_" in each)
    return re.sub(rf"(?<![\w.])({names})(?!\w)", r"[\1](\1.md)", text)


def _cautions(analysis: Analysis) -> Iterator[str]:
    """Cautions that follow from what an analysis reads and returns, besides its notes."""
    names = {each.name for each in analysis.columns}
    if {"low", "high"} <= names and "Wilson" in " ".join(each.help for each in analysis.columns):
        yield (
            "The intervals go by documents (the cases of one need not be independent), and know"
            " nothing of how the head was picked."
        )
    if "peak" in _tables(analysis):
        yield (
            "Which position has the largest weight may differ between processors where two weights"
            " are equal to 1e-5: see [the same bank on another machine](../reproducibility.md)."
        )
    if analysis.empty:
        yield f"The answer has no rows where this holds: {plain(analysis.empty)}."


def _tables(analysis: Analysis) -> set[str]:
    """The tables and views that an analysis reads, directly or through other analyses."""
    import sqlglot
    from sqlglot import exp

    from attnbank.sql.registry import shared

    known = analyses() | shared()
    found = set()
    for name in (analysis.name, *closure(analysis)):
        tree = sqlglot.parse_one(known[name].body, dialect="duckdb")
        own = {each.alias for each in tree.find_all(exp.CTE)}
        for each in tree.find_all(exp.Table):
            if isinstance(each.this, exp.Identifier) and not each.db and each.name not in own:
                found.add(each.name)
    return found


def _run(analysis: Analysis) -> Iterator[str]:
    """How an analysis chooses its run, and what it reads."""
    if analysis.run is None:
        yield "It does not choose one run: its parameters name the runs, or the probes, that it"
        yield "reads."
    else:
        run = analysis.run
        asked = [
            f"its positions are {_UNITS.get(run.unit, run.unit)}" if run.unit else "",
            f"its inputs are {_either(run.contexts)}" if run.contexts else "",
            _NEEDS.get(run.needs, f"it has {run.needs}") if run.needs else "",
        ]
        conditions = [each for each in asked if each]
        yield (
            f"A run can answer where {_listed(conditions)}."
            if conditions
            else "Any run can answer."
        )
        yield "By default it is the bank's own choice (`attnbank use`) where that fits, else the"
        yield "newest finished run of trained weights that fits; a run of random weights answers"
        yield "only where it is named."
        if run.usual:
            usual = _CONTEXTS.get(run.usual, run.usual)
            yield f"Unless a run is named, its inputs must be {usual}."
        if run.favours:
            context, _, unit = run.favours.partition("/")
            yield (
                f"Runs over {_CONTEXTS.get(context, context)} of {_UNITS.get(unit, unit)} are taken"
                " before others."
            )
        yield "See [how to choose a run](../how-to/choose-a-run.md)."
    tables = ", ".join(f"[{each}](../schema.md#{each})" for each in sorted(_tables(analysis)))
    others = sorted(closure(analysis) & analyses().keys())
    yield from ("", f"*Tables and views that it reads:* {tables}.")
    if others:
        yield from ("", f"*Analyses:* {', '.join(f'[{each}]({each}.md)' for each in others)}.")


def _either(names: tuple[str, ...]) -> str:
    return " or ".join(_CONTEXTS.get(each, each) for each in names)


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _parameters(analysis: Analysis) -> Iterator[str]:
    if not analysis.parameters:
        yield "It takes none."
        return
    yield from table(
        ("parameter", "type", "choices", "default", ""),
        (
            (
                f"`{each.name}`",
                f"`{each.type}`",
                " ".join(f"`{choice}`" for choice in each.choices),
                _default(each),
                cell(f"{each.help}"),
            )
            for each in analysis.parameters
        ),
    )
    yield from ("", f"As options: [attnbank query {analysis.name}]({_command(analysis)}).")


def _command(analysis: Analysis) -> str:
    return f"../commands.md#attnbank-query-{analysis.name}"


def _default(parameter: Parameter) -> str:
    return "" if parameter.default == "null" else code(parameter.default)


def _doors(analysis: Analysis) -> Iterator[str]:
    """One tab for each way to run an analysis: without values, and with one as an example."""
    given = example_values(analysis)
    plain_calls, with_value = calls(analysis, {}), calls(analysis, given)
    around = {
        "Command": ("sh", "{}"),
        "Python": (
            "python",
            "from attnbank.queries import open_bank\n\n"
            'with open_bank("attnbank.duckdb") as bank:\n    frame = {}',
        ),
        "SQL": ("sql", "{};"),
        "Spark": (
            "python",
            "from attnbank.queries import to_dialect\n\n"
            "statement = {}  # over tables that attnbank export wrote",
        ),
    }
    names = {"SQL": "SQL in any DuckDB client", "Spark": "Spark SQL"}
    for door, (language, frame) in around.items():
        yield from (f'=== "{names.get(door, door)}"', "")
        yield from block(frame.format(plain_calls[door]), language, "    ")
        if given:
            yield from ("", "    With a value:", "")
            yield from block(with_value[door], language, "    ")
        yield ""


def _picture(analysis: Analysis) -> Iterator[str]:
    """How to draw the picture of an analysis, and the picture itself if one is kept."""
    if analysis.plot is None:
        return
    kept = KEPT.get(analysis.name, {})
    if not kept and "relation" in analysis.plot.panel:
        kept = {"relation": "obj"}
    typed = "".join(f" --{_flag(name)} {value}" for name, value in kept.items())
    yield from ("## A picture", "")
    yield from block(f"attnbank plot {analysis.name}{typed} -o {analysis.name}.svg", "sh")
    if analysis.name in KEPT:
        title = plain(analysis.title).replace('"', "")
        yield from ("", f"![{title}](../pictures/{analysis.name}.svg)")
    yield from ("", "See [how to make figures](../how-to/make-figures.md).", "")


def _statement(analysis: Analysis) -> Iterator[str]:
    from attnbank.queries.dialects import to_dialect

    yield f"From `{source(analysis)}`; `attnbank query {analysis.name} --show-sql` prints it."
    yield from ("", '??? note "The statement"', "", *block(analysis.body, "sql", "    "))
    yield from ("", '??? note "For Spark: --dialect spark"', "")
    yield "    Macros and views are written out, and defaults filled in."
    yield from ("", *block(to_dialect(analysis.name, "spark"), "sql", "    "))


def _flag(name: str) -> str:
    return name.replace("_", "-")


def _typed(value: str | int | list[int]) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
