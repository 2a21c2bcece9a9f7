"""Every command and option is explained, and quickly (the page of them: test_docs.py)."""

from __future__ import annotations

import inspect
import re
import shlex
from collections.abc import Iterator

import click
import pytest
from command_line import Cli, run_python

from attnbank.cli.app import app

HEAVY = ("torch", "transformers", "spacy", "duckdb", "polars", "numpy", "pyarrow", "sqlglot",
         "lark", "tokenizers", "tqdm", "altair", "vl_convert")  # fmt: skip
QUICK = [
    "--help", "--version", "", "ingest --help", "query --help", "query", "query best_head --help",
    "query best_head --show-sql", "queries", "plot --help", "plot best_head --help", "sql --help",
    "demo --help", "info --help", "compute --help", "probe --help", "shell --help",
    "schema --help", "export --help", "nonsense",
]  # fmt: skip
BOUNDS = {
    "x>=0": "--before --context --limit --sample",
    "x>=1": "--apart --limit --min-count --sentences --top",
    "x>0": "--learning-rate",
    "0<=x<1": "--held-out",
    "0.5<=x<=8.0": "--scale",
    "1<=x<=7": "--decimals",
    "5.0<=x<=36.0": "--font-size",
    "50<=x<=4000": "--height --width",
    "0<=x<=10000": "--controls",
    "1<=x<=15000": "--repeat",
    "0<=x<=65535": "--port",
    "1<=x<=100000": "--resamples",
    f"1<=x<={2**31 - 1}": "--batch-sentences --batch-tokens --epochs --max-tokens --patience",
    f"0<=x<={2**31 - 1}": "--seed",
    f"0<=x<={2**63 - 1}": "--mask-seed --seed",
    f"1<=x<={2**63 - 1}": "--limit",
}
WATCH = """
import sys
from attnbank.cli.app import run_command_line
for line in sys.argv[1:]:
    print(line, run_command_line(line.split()), [name for name in {heavy!r} if name in sys.modules])
"""


def commands(
    command: click.Command = app, path: str = "attnbank"
) -> Iterator[tuple[str, click.Command, click.Context]]:
    """Every command with its path, the analyses' too."""
    context = click.Context(command, info_name=path)
    yield path, command, context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from commands(inner, f"{path} {name}")


EVERY = [pytest.param(*command, id=command[0]) for command in commands()]


@pytest.mark.parametrize(("path", "command", "context"), EVERY)
def test_a_command_is_explained(path: str, command: click.Command, context: click.Context) -> None:
    first = command.get_short_help_str(200)
    assert first.endswith(".") and first[0].isupper() and "..." not in first, first
    assert "Example:\n  attnbank " in inspect.cleandoc(command.help or "")
    spelled = [spelling for param in command.params for spelling in param.opts]
    assert len(spelled) == len(set(spelled)), "one option twice"
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help and parameter.help.endswith("."), parameter.name
            assert parameter.help[0].isupper(), parameter.name


@pytest.mark.parametrize(("path", "command", "context"), EVERY)
def test_the_example_of_a_command_is_one_that_parses(
    path: str, command: click.Command, context: click.Context
) -> None:
    example = re.search(r"Example:\n  (attnbank .*)", inspect.cleandoc(command.help or ""))
    assert example is not None
    words = shlex.split(example[1])[1:]
    at: click.Command = app
    while isinstance(at, click.Group) and words:
        inner = at.get_command(click.Context(at), words[0])
        assert inner is not None, words
        at, words = inner, words[1:]
    at.make_context(path, words)  # raises where an option or argument is wrong


def test_help_imports_nothing_heavy() -> None:
    done = run_python("-c", WATCH.format(heavy=HEAVY), *QUICK)
    for line in QUICK:
        status = 2 if line == "nonsense" else 0
        assert f"\n{line} {status} []\n" in f"\n{done.stdout}", (line, done.stderr)


def test_the_bounds_of_a_number_are_these() -> None:
    """Those of each option that takes a number, in all commands that have it."""
    bounds: dict[str, set[str]] = {}
    for _, command, _ in commands():
        for param in command.params:
            if isinstance(param.type, click.IntRange | click.FloatRange):
                bounds.setdefault(repr(param.type).split()[1], set()).add(param.opts[0])
    assert bounds == {f"{numbers}>": {*flags.split()} for numbers, flags in BOUNDS.items()}


def test_the_help_of_an_analysis_is_its_header(cli: Cli) -> None:
    from attnbank.sql.registry import analyses

    text = " ".join(cli("query", "best_head", "--help").out.split())
    analysis = analyses()["best_head"]
    for message in (analysis.title, analysis.paper, *(column.help for column in analysis.columns)):
        assert " ".join(message.split()).lower() in text.lower()
    for option in ("--min-count INTEGER", "--subtypes / --no-subtypes", "--offsets INTEGER,..."):
        assert option in text
    assert "Default: 10." in text and "Default: -3,-2,-1,1,2,3." in text
