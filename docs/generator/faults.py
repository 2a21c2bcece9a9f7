"""The page of everything that can be wrong with a corpus, made from the catalogue of faults.

The examples are the files of `tests/faults`, one per fault and format, which the tests read too.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from attnbank.ingest.corpora.corpus_files import find_sources, read_corpus
from attnbank.ingest.corpora.document import ANY, FAULTS, Problem
from attnbank.sql.errors import AttnbankError
from generator.markdown import block, made_by, page, plain, table

ROOT = Path(__file__).resolve().parents[2]
FILES = ROOT / "tests" / "faults"

_INTRODUCTION = """\
A corpus is read whole before the bank is touched. Where something in it cannot be read, `ingest`
lists every fault with its file, its line, what is wrong and what to do, and leaves the bank as it
was. With `--skip-bad` it lists them, leaves out the sentences (or files) that they are in, and goes
on; what was left out stands in table `skipped`, and `attnbank info` counts it.

Every fault has a name that stays the same, so that a search for it leads here. Below each stands
the smallest file that has it, and what attnbank says of that file; characters that cannot be seen
are written as `\\x00`, and columns are separated by tabs.
"""
_MOST_LINES = 40
_MOST_WIDTH = 400


def pages() -> dict[str, str]:
    """The text of the page, by name of file."""
    return {"faults.md": page(_lines())}


def _lines() -> Iterator[str]:
    yield from (
        made_by("ingest/corpora/faults.toml and tests/faults"),
        "",
        "# Faults of a corpus",
        "",
    )
    yield from _INTRODUCTION.splitlines()
    yield ""
    yield from table(
        ("fault", "formats", "what it means"),
        (
            (
                f"[`{each.id}`](#{each.id})",
                _formats(each.formats),
                plain(each.meaning).replace("|", "\\|"),
            )
            for each in FAULTS.values()
        ),
    )
    for each in FAULTS:
        yield from _fault(each)


def _formats(names: tuple[str, ...]) -> str:
    return "every format" if ANY in names else ", ".join(names)


def _fault(name: str) -> Iterator[str]:
    fault = FAULTS[name]
    yield from ("", f"## {fault.id}", "", plain(fault.meaning))
    yield from ("", f"**What to do:** {plain(fault.remedy)}", "")
    yield f"*Formats:* {_formats(fault.formats)}."
    if fault.is_mended:
        yield from ("", "This is mended as it is read, and told; with `--strict` it is a fault.")
    files = {
        format_: path for format_ in fault.formats for path in FILES.glob(f"{format_}/{fault.id}.*")
    }
    shown = {format_: path for format_, path in files.items() if _text(path) is not None}
    if not shown:
        named = ", ".join(f"`{each.relative_to(ROOT).as_posix()}`" for each in files.values())
        yield from ("", f"The example is not a text file: {named}." if files else _TOO_LARGE)
        for format_, path in files.items():
            yield from ("", *_says(path, format_))
    for format_, path in shown.items():
        if len(shown) == 1:
            yield from ("", *_example(path, format_))
        else:
            yield from ("", f'=== "{format_}"', "", *_example(path, format_, "    "))


_TOO_LARGE = "An example would be a large file; the tests make one."


def _example(path: Path, format_: str, indent: str = "") -> Iterator[str]:
    text = _text(path)
    if text:
        yield from block(text, indent=indent)
    else:
        yield f"{indent}(The file is empty.)"
    yield ""
    yield from _says(path, format_, indent)


def _text(path: Path) -> str | None:
    """The text of a file with invisible characters escaped; None if it is too long, or no text."""
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        return None
    lines = text.split("\n")
    if len(lines) > _MOST_LINES or max(map(len, lines)) > _MOST_WIDTH:
        return None
    return "".join(map(_seen, text))


def _seen(character: str) -> str:
    if character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cf", "Zl", "Zp"):
        return character
    return character.encode("unicode_escape").decode("ascii")


def _says(path: Path, format_: str, indent: str = "") -> Iterator[str]:
    """What attnbank says of the file; nothing for plain text, which needs a spaCy pipeline."""
    if format_ == "text":
        return
    problems = _problems(path, "lines" if format_ == "lines" else None)
    said = "\n".join(str(each).replace(f"{path.parent}{os.sep}", "") for each in problems)
    yield f"{indent}attnbank says:"
    yield ""
    yield from block("".join(map(_seen, said)), indent=indent)


def _problems(path: Path, format_: str | None) -> list[Problem]:
    try:
        items = list(read_corpus(find_sources([str(path)], format_), strict=True))
    except AttnbankError as error:
        return list(getattr(error, "problems"))  # noqa: B009 (of the errors that have some)
    return [item for item in items if isinstance(item, Problem)]
