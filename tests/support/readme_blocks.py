"""The console blocks of the README and of the documentation: what is typed, what is printed.

    python tests/support/readme_blocks.py --write [PAGE...]

runs every command again and puts what it prints into the README (or the pages that are named);
test_readme.py and test_docs.py check that nothing differs. Lines that depend on the speed of the
machine are left out of both. A block with a title, such as

    ```python title="heads.py"

is a file, which is put into the folder where the commands of its page run.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import real_models
import real_text

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
TOUR = ROOT / "docs" / "tour.md"
SAMPLE = Path("ingest", "corpora", "sample")
CORPORA = real_text.find()

_BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)
_FILE = re.compile(r"```\w+ title=\"([^\"]+)\"\n(.*?)```", re.DOTALL)
_REAL = re.compile(r"\b(gum|wiki)[-.]|\$treebank-dev\.|\bfr-dev\.")
_LARGER = re.compile(r"\b(larger|silver|decoder)\.duckdb")
_ANY_BLOCK = re.compile(r"```(console|sh)\n(.*?)```", re.DOTALL)
_VOLATILE = re.compile(
    r"^(Checking|Counting|Reading|Running|Computing|Caching|Scoring|Averaging|Judging|About|Copying"
    r"|Writing)\b.*\n",
    re.MULTILINE,
)
_FIGURE = re.compile(r"(?<![\w.])-?\d+\.\d+(?![\w.])")
_ALIASES = {"make demo": "attnbank demo"}  # the recipe, without the installation


@dataclass(frozen=True)
class Step:
    """A command and what the README says it prints."""

    command: str
    printed: str

    @property
    def needs_corpora(self) -> bool:
        return _REAL.search(self.command) is not None


def needs_models(text: str) -> bool:
    """Whether the commands of a page need models that do not come as a package."""
    return _LARGER.search(text) is not None


def has_models() -> bool:
    """Whether these models can be had, and the text that the commands read."""
    return has_corpora() and all(real_models.get(name) for name in real_models.NAMES)


def has_corpora() -> bool:
    """Whether the text is there from which the README's figures come."""
    names = ("gum-dev.conllu", "wiki-text.txt")
    return CORPORA is not None and all(real_text.is_as_in_readme(CORPORA, name) for name in names)


def has_treebanks() -> bool:
    """Whether the treebanks of other languages are there that the pages read."""
    names = ("fr", "he", "tr", "zh")
    return CORPORA is not None and all((CORPORA / f"{name}-dev.conllu").exists() for name in names)


def blocks(text: str) -> list[list[Step]]:
    """The steps of every block of the text."""
    found = []
    for body in _BLOCK.findall(text):
        steps = re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]
        found.append([Step(*_split(step)) for step in steps])
    return found


def pages() -> list[Path]:
    """The pages of the documentation whose commands are run."""
    folder = ROOT / "docs"
    own = ("index.md", "trust.md", "tutorial.md")
    written = [*(folder / name for name in own), *sorted(folder.glob("how-to/*.md"))]
    return [page for page in written if blocks(page.read_text(encoding="utf-8"))]


def prepare(text: str, folder: Path) -> None:
    """Put what the commands of a page need into a folder: its files, and the sample corpus."""
    for name, body in _FILE.findall(text):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(body, encoding="utf-8")
    if not (folder / SAMPLE).exists():
        (folder / SAMPLE).parent.mkdir(parents=True)
        (folder / SAMPLE).symlink_to(ROOT / SAMPLE)


def tour(text: str) -> list[Step]:
    """Every command of the console blocks, and of the `sh` blocks if it reads gum.duckdb, in order.

    A step of an `sh` block has nothing in `printed`.
    """
    found = []
    for kind, body in _ANY_BLOCK.findall(text):
        if kind == "console":
            found += blocks(f"```console\n{body}```")[0]
        else:
            found += [Step(line, "") for line in body.splitlines() if "gum.duckdb" in line]
    return found


def _split(step: str) -> tuple[str, str]:
    lines = step.splitlines(keepends=True)
    end = next(at for at, line in enumerate(lines) if not line.rstrip().endswith("\\"))
    return "".join(lines[: end + 1]).strip(), "".join(lines[end + 1 :])


def run(step: Step, folder: Path, commands: Path = Path(sys.executable).parent) -> str:
    """What a step prints, including standard error, in a folder, into which corpora are linked.

    `commands` is the folder in which the shell finds `attnbank` and `python`.
    """
    for corpus in CORPORA.glob("*") if CORPORA is not None else ():
        if not (folder / corpus.name).exists():
            (folder / corpus.name).symlink_to(corpus.resolve())
    if needs_models(step.command):
        for name in real_models.NAMES:
            model = real_models.get(name)
            if model is not None and not (folder / name).exists():
                (folder / name).symlink_to(model)
    environment = {
        **os.environ,
        "PATH": os.pathsep.join(
            [str(commands), str(Path(sys.executable).parent), os.environ["PATH"]]
        ),
        "COLUMNS": "100",
    }
    done = subprocess.run(
        _ALIASES.get(step.command, step.command),
        shell=True,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return stable(done.stdout)


def stable(printed: str) -> str:
    """What was printed, without the lines that differ from machine to machine."""
    kept = _VOLATILE.sub("", printed).rstrip()
    return f"{kept}\n" if kept else ""


def without_sizes(printed: str) -> str:
    """What was printed, without sizes of files, since every new analysis makes banks larger."""
    return re.sub(r"\d[\d.]* [kMG]B", "SIZE", printed)


def agrees(printed: str, said: str) -> bool:
    """Whether a command prints what the README says; figures may be off by one in the last place.

    Processors round weights differently, by at most 2e-5 of a weight (docs/reproducibility.md), so
    a figure that is between two others may be rounded to either. Whole numbers and words must be
    the same.
    """
    ours, theirs = _FIGURE.findall(printed), _FIGURE.findall(said)
    if _FIGURE.sub("#", printed) != _FIGURE.sub("#", said):
        return False
    return all(
        len(one.partition(".")[2]) == len(other.partition(".")[2])
        and abs(Decimal(one) - Decimal(other)) <= Decimal(1).scaleb(-len(one.partition(".")[2]))
        for one, other in zip(ours, theirs, strict=True)
    )


def main() -> None:
    named = [Path(each) for each in sys.argv[1:] if each != "--write"]
    for page in named or [README]:
        _run_again(page)


def _run_again(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        prepare(text, Path(folder))

        def again(found: re.Match[str]) -> str:
            steps = blocks(found[0])[0]
            printed = "".join(f"$ {step.command}\n{run(step, Path(folder))}" for step in steps)
            return f"```console\n{printed}```"

        text = _BLOCK.sub(again, text)
    if "--write" in sys.argv:
        page.write_text(text, encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()
