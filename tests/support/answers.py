"""What the program says, saved before a change and compared after it.

    python tests/support/answers.py save FOLDER [--banks DIR]
    python tests/support/answers.py compare FOLDER [--banks DIR]

`save` asks every analysis of three banks, by default and of each run; the requests and commands of
the documentation; the help of each command; and wrong or odd calls (wrong_calls.txt, and for each
command no arguments, an unknown option and a missing bank). It keeps the rows as Parquet, and exit
statuses and messages in answers.json. `compare` asks again, and prints what differs. It exits with
1 if rows or an exit status do, and with 0 if only messages do, which somebody should read.

The banks are made once, in FOLDER/banks or DIR: minilm over the sample corpus beside random
weights, a decoder beside random weights, and minilm over documents. They are asked as copies that
`attnbank upgrade` has seen, so they outlive a format. What the README, the tour and the how-to
pages print is compared by readme_blocks.py.
"""

from __future__ import annotations

import argparse
import difflib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import chdir
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

# One thread a process, before anything imports torch: on a busy machine teams of threads spin.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import polars as pl
import real_models
from forked import Forked
from polars.testing import assert_frame_equal
from readme_blocks import ROOT, SAMPLE, pages, stable, without_sizes

import attnbank
from attnbank.cli.app import SECTIONS
from attnbank.cli.exit_status import error_message
from attnbank.queries import analyses, open_bank

_BANKS = {
    "encoder": """
        ingest sample --model minilm
        ingest sample --model minilm --random-weights 1
        ingest sample/press.conllu --model tiny --context pair --unit token --max-tokens 60 \
            --limit 4 --gradients --ablate heads
        ingest --repeat 8 --limit 10 --model minilm --unit token
        compute head_distance
        compute head_embedding
        compute tree_ensemble
        compute attention_tree
        probe right_branching --test-run sample/minilm --resamples 20
    """,
    "decoder": """
        ingest sample/stories.conllu --limit 12 --model decoder --losses
        ingest sample/stories.conllu --limit 12 --model decoder --random-weights 1
        ablate two --run 1 --model decoder --heads 3-1,2-2 --controls 2 --agreement
    """,
    "documents": """
        ingest sample --model minilm --context document
        ingest sample --model minilm --context document --random-weights 1
    """,
}
_OBJECTS = "'pattern { V -[obj]-> O }'"
_ARGUMENTS = {
    "ablate": "mine --heads 3-1", "annotate": "rows.csv", "compute": "head_distance",
    "count": _OBJECTS, "delete": "1 -y", "explore": "", "export": "parquet", "find": _OBJECTS,
    "info": "", "plot": "best_head -o x.svg", "probe": "right_branching --test-run 1",
    "publish": "pages", "query": "best_head", "report": "-o report.html", "save": f"mine {_OBJECTS}"
    " --from O --to V", "saved": "", "schema": "", "score": f"{_OBJECTS} --from O --to V",
    "shell": "", "show": "1 --head 3-1", "sql": "'select 1'", "surprisal": "1", "upgrade": "",
    "use": "",
}  # fmt: skip
"""Arguments with which a command opens its bank."""
_NOT_BARE = {"demo", "explore", "shell"}
"""Commands that without arguments make a bank, or wait for somebody."""
_COMMAND = re.compile(
    r"^(?:\$ )?attnbank (?:-b \S+ )?((?:find|count|score|save) (?:.*\\\n)*.*)$", re.MULTILINE
)
_GREW = re.compile(r"^```grew\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_TIMES = re.compile(r"\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?|\b\d+\.\d+ s\b")


@dataclass(frozen=True)
class Answer:
    """What a call gives: its exit status, what it prints, and its rows."""

    name: str
    status: int
    out: str = ""
    err: str = ""
    rows: pl.DataFrame | None = None


@dataclass
class Differences:
    """What differs: answers in rows or status, and messages, with the answers that they are of."""

    answers: list[str] = field(default_factory=list)
    messages: dict[str, list[str]] = field(default_factory=dict)

    def __str__(self) -> str:
        lines = list(self.answers)
        for lines_that_differ, names in self.messages.items():
            others = f" and {len(names) - 1} others" if len(names) > 1 else ""
            lines += [f"{names[0]}{others}", lines_that_differ]
        return "\n".join(lines)


def save(folder: Path, answers: Iterable[Answer]) -> int:
    """Write answers to a folder; how many there were."""
    (folder / "rows").mkdir(parents=True, exist_ok=True)
    told: dict[str, dict[str, object]] = {}
    for answer in answers:
        assert answer.name not in told, answer.name
        file = None
        if answer.rows is not None:
            slug = re.sub(r"[^\w.]+", "-", answer.name)[:60]
            file = f"{len(told):04}-{slug}.parquet"
            answer.rows.write_parquet(folder / "rows" / file)
        told[answer.name] = {
            "status": answer.status, "out": answer.out, "err": answer.err, "rows": file
        }  # fmt: skip
    text = json.dumps(told, ensure_ascii=False, indent=1)
    (folder / "answers.json").write_text(text, encoding="utf-8")
    return len(told)


def compare(folder: Path, answers: Iterable[Answer]) -> Differences:
    """What differs between the answers of a folder and others."""
    told = json.loads((folder / "answers.json").read_text(encoding="utf-8"))
    differences = Differences()
    for answer in answers:
        old = told.pop(answer.name, None)
        if old is None:
            differences.answers.append(f"{answer.name}: is new")
            continue
        if answer.status != old["status"]:
            status = f"exit status {old['status']} / {answer.status}"
            differences.answers.append(f"{answer.name}: {status}")
        rows = None if old["rows"] is None else pl.read_parquet(folder / "rows" / old["rows"])
        if difference := _in_rows(rows, answer.rows):
            differences.answers.append(f"{answer.name}: {difference}")
        lines = [
            f"  {line}"
            for before, after in ((old["out"], answer.out), (old["err"], answer.err))
            for line in difflib.ndiff(before.splitlines(), after.splitlines())
            if line[0] in "-+"
        ]
        if lines:
            differences.messages.setdefault("\n".join(lines), []).append(answer.name)
    differences.answers += [f"{name}: is gone" for name in told]
    return differences


def _in_rows(old: pl.DataFrame | None, new: pl.DataFrame | None) -> str:
    """How the rows differ, if they do; sums of threads may differ in their last digits."""
    if old is None or new is None:
        return "" if old is new else f"{'no' if old is None else 'had'} rows before"
    try:
        assert_frame_equal(old, new, rel_tol=1e-9, abs_tol=1e-12)
    except AssertionError as error:
        return " ".join(str(error).split())
    return ""


def plain(text: str, folder: Path) -> str:
    """A text printed in a folder, without what differs by machine, day and version."""
    for place, word in ((folder, "FOLDER"), (ROOT, "ROOT"), (sys.prefix, "PREFIX")):
        text = text.replace(str(place), word)
    text = text.replace(attnbank.__version__, "VERSION")
    return _TIMES.sub("TIME", without_sizes(stable(text)))


class _Asking:
    """A folder with copies of the banks and other files that calls name, and what answers there."""

    def __init__(self, folder: Path, served: Forked) -> None:
        self.folder, self.script = folder, served.folder / "attnbank"
        kept = {name: value for name, value in os.environ.items() if name[:8] != "ATTNBANK"}
        self.environment = {
            **kept, "ATTNBANK": "encoder.duckdb", "COLUMNS": "100", "HF_HUB_OFFLINE": "1",
        }  # fmt: skip
        (folder / "sample").symlink_to(ROOT / SAMPLE)
        (folder / "notes.txt").write_text("Rain fell.\n", encoding="utf-8")
        (folder / "rows.csv").write_text("sentence,ms\n1,2\n", encoding="utf-8")
        (folder / "empty.duckdb").touch()

    def run(self, args: Iterable[str]) -> tuple[int, bytes, str]:
        """The exit status of `attnbank ARGS`, and what it prints."""
        done = subprocess.run(
            [self.script, *args], cwd=self.folder, env=self.environment, timeout=300,
            stdin=subprocess.DEVNULL, capture_output=True,
        )  # fmt: skip
        return done.returncode, done.stdout, done.stderr.decode()

    def call(self, args: Iterable[str]) -> Answer:
        """What `attnbank ARGS` gives, without its rows."""
        status, out, err = self.run(args)
        texts = (self._plain(out.decode(errors="replace")), self._plain(err))
        return Answer(shlex.join(["attnbank", *args]), status, *texts)

    def _plain(self, text: str) -> str:
        return plain(text, self.folder)

    def ask(self, name: str, asked: Callable[[], pl.DataFrame]) -> Answer:
        """What a method of a bank gives."""
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            try:
                rows = asked()
            except Exception as error:  # whatever it is: it is compared
                *lines, status = error_message(error)
                return Answer(name, status, err=self._plain("\n".join(map(str, lines))))
        return Answer(name, 0, err=self._plain("\n".join(str(w.message) for w in told)), rows=rows)


def make_banks(banks: Path) -> None:
    """Make those of the banks that are not in a folder yet."""
    banks.mkdir(parents=True, exist_ok=True)
    missing = [name for name in _BANKS if not (banks / f"{name}.duckdb").exists()]
    if not missing:
        return
    import tiny_models

    with tempfile.TemporaryDirectory() as folder, Forked() as served:
        asking = _Asking(Path(folder), served)
        text = [
            path.read_text(encoding="utf-8")
            for path in sorted(Path(folder).glob("sample/*.conllu"))
        ]
        tiny_models.save("bert", Path(folder, "tiny"), text, masked_lm=True)
        if (decoder := real_models.get("smollm2")) is not None:
            Path(folder, "decoder").symlink_to(decoder)
        else:
            tiny_models.save("gpt2", Path(folder, "decoder"), text, causal_lm=True)
        for name in missing:
            for line in _BANKS[name].strip().splitlines():
                args = ["-b", f"{name}.duckdb", *shlex.split(line)]
                if (answer := asking.call(args)).status:
                    sys.exit(f"{answer.name}\n{answer.err}")
            shutil.move(Path(folder, f"{name}.duckdb"), banks)


def all_answers(banks: Path) -> Iterator[Answer]:
    """Everything that is asked of the banks in a folder."""
    with tempfile.TemporaryDirectory() as folder, Forked() as served, chdir(folder):
        asking = _Asking(Path(folder), served)
        for name in _BANKS:
            shutil.copy(banks / f"{name}.duckdb", folder)
            if (upgraded := asking.call(["-b", f"{name}.duckdb", "upgrade", "-q"])).status:
                sys.exit(f"{name}.duckdb does not open: {upgraded.err}")
        for name in _BANKS:
            yield from _of_analyses(asking, name)
        yield from _of_documentation(asking)
        commands = [name for part in SECTIONS.values() for names in part.values() for name in names]
        yield from map(asking.call, dict.fromkeys(map(tuple, _calls(commands))))


def _of_analyses(asking: _Asking, name: str) -> Iterator[Answer]:
    """Every analysis by default, and of every run: one that does not fit gives its error."""
    with open_bank(f"{name}.duckdb") as bank:
        runs = bank.runs()["name"].to_list()
        for analysis in analyses().values():
            takes_run = any(parameter.name == "run" for parameter in analysis.parameters)
            for run in [None, *runs] if takes_run else [None]:
                values = {} if run is None else {"run": run}
                asked = f"{name}: {analysis.name}{'' if run is None else f' of {run}'}"
                yield asking.ask(asked, partial(bank.query, analysis.name, **values))


def _of_documentation(asking: _Asking) -> Iterator[Answer]:
    """The requests of docs/patterns.md, and the commands with a request of every page."""
    text = (ROOT / "docs" / "patterns.md").read_text(encoding="utf-8")
    requests = dict.fromkeys(line for block in _GREW.findall(text) for line in block.splitlines())
    with open_bank("encoder.duckdb") as bank:
        for request in requests:
            yield asking.ask(f"find {request}", partial(bank.find, request))
    written = [page.read_text(encoding="utf-8") for page in {*pages(), ROOT / "README.md"}]
    commands = sorted({line for page in [text, *written] for line in _COMMAND.findall(page)})
    for command in (line for line in commands if "spark" not in line):
        args = shlex.split(command.replace("\\\n", ""))
        asked = "decoder.duckdb" if ".surprisal" in command else "encoder.duckdb"
        answer = asking.call(["-b", asked, *args])
        yield answer
        if answer.status == 0 and args[0] != "save":
            status, out, _ = asking.run(["-b", asked, *args, "-f", "parquet"])
            rows = None if status else pl.read_parquet(io.BytesIO(out))
            yield Answer(f"rows of {answer.name}", status, rows=rows)


def _calls(commands: list[str]) -> Iterator[list[str]]:
    """The help of every command, and wrong calls."""
    yield from [["--help"], ["queries"], ["schema"], *([name, "--help"] for name in commands)]
    yield from ([name] for name in commands if name not in _NOT_BARE)
    yield from ([name, "--nonesuch"] for name in commands)
    for name, args in _ARGUMENTS.items():
        yield ["-b", "missing.duckdb", name, *shlex.split(args)]
    lines = Path(__file__).with_name("wrong_calls.txt").read_text(encoding="utf-8").splitlines()
    yield from map(shlex.split, lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("do", choices=["save", "compare"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--banks", type=Path)
    given = parser.parse_args()
    folder, has_answers = given.folder.absolute(), (given.folder / "answers.json").exists()
    if (given.do == "save") == has_answers:
        sys.exit(f"{folder} has {'' if has_answers else 'no '}saved answers.")
    banks = given.banks.absolute() if given.banks else folder / "banks"
    make_banks(banks)
    began = time.monotonic()
    if given.do == "save":
        count = save(folder, all_answers(banks))
        print(f"{count} answers in {time.monotonic() - began:.0f} s.")
        return
    differences = compare(folder, all_answers(banks))
    print(differences)
    rows, messages = len(differences.answers), len(differences.messages)
    print(f"{rows} answers and {messages} messages differ; {time.monotonic() - began:.0f} s.")
    sys.exit(1 if rows else 0)


if __name__ == "__main__":
    main()
