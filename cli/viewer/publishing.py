"""Write a bank as a folder of static pages: its runs, their results, and the programs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from attnbank.cli.commands.compute import compute_and_cache_all
from attnbank.cli.output import format_bytes
from attnbank.cli.viewer import answers, bundle, colours, records, sheets
from attnbank.cli.viewer.bank_cache import BankCache
from attnbank.cli.viewer.site import NAV
from attnbank.ingest.merge.excerpt import Keep, chosen_runs, take
from attnbank.ingest.progress import OnProgress, Progress
from attnbank.queries import Bank, analyses
from attnbank.queries.patterns import HitOptions, run_request, scoring
from attnbank.queries.pictures import sentence as pictures
from attnbank.queries.requests import run_of_request
from attnbank.queries.sentences.attention import names_of_run as names_of_run
from attnbank.sql import provenance, registry, statements
from attnbank.sql.errors import AttnbankError, CallError, require_extra
from attnbank.sql.header import RunChoice
from attnbank.sql.outputs import (
    check_fits,
    check_folder,
    check_output,
    file_digest,
    output_file,
    output_folder,
)
from attnbank.sql.run_choice import Run, chosen_run

BANK, MANIFEST, ANALYSES, PAGE, DIGEST = (
    "bank.duckdb", "bank.json", "analyses.json", "index.html", "bank.duckdb.sha256"
)  # fmt: skip
_FOLDERS = ("answers", "sheets")
_OF_A_BANK = (BANK, MANIFEST, ANALYSES, PAGE, DIGEST, *_FOLDERS)
# The folder of the programs, shared by all banks of a publication.
PROGRAMS = "page"
# Tells GitHub Pages to serve the files unchanged.
NO_JEKYLL = ".nojekyll"
FORMAT = 1
_WRITTEN = '<meta name="generator" content="attnbank publish">'
_HERE = Path(__file__).resolve().parent
_HOVER, _COLOURS = "hover.js", "colours.css"
_STATIC = ("style.css", "icon.svg")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
# Licences that permit redistribution, whatever their other conditions.
_OPEN = re.compile(
    r"\b(cc[- ]?0|cc[- ]by\b|creative commons|public domain|pddl|odc[- ]by|odbl|l?gpl|lgpllr|"
    r"gnu (lesser )?general public|mit\b|bsd\b|apache|unlicen[sc]e)",
    re.IGNORECASE,
)
_CLOSED = re.compile(
    r"\b(ldc|proprietary|all rights reserved|not? (be )?(re)?distribut\w*|research only|"
    r"no redistribution|without text|restricted)\b",
    re.IGNORECASE,
)
# Statements that the page runs.
_STATEMENTS = (
    "examples/head_examples", "examples/example_page", "examples/by_dependent",
    "examples/changed_words", "patterns/surface_tokens",
    "sentences/maps", "sentences/peaks", "sentences/saved_pairs",
)  # fmt: skip
# The headers of a DuckDB file: three of 4096 bytes, before the first block.
_HEADERS = 3 * 4096
# DuckDB in a browser reads in units of this many bytes.
_PAGE = 16_384
# Limits of one analysis while a bank is published.
_SECONDS, _MEMORY = 3600.0, 4_000_000_000


@dataclass(frozen=True)
class Publication:
    """What to publish: which runs of a bank, and how much of each.

    `name` is the bank's folder in the publication; `keep` says for each run whether its weights
    or only peaks are published; `inputs` is the number of inputs of each run; `may` is the
    user's word that they have permission.
    """

    bank: Path
    name: str
    runs: tuple[str, ...] = ()
    keep: Mapping[str, Keep] | None = None
    inputs: int | None = None
    has_permission: bool = False


@dataclass(frozen=True)
class Published:
    """What `publish` wrote: the bank's folder, the bytes of the bank and in all, and notes."""

    folder: Path
    bank: int
    total: int
    notes: tuple[str, ...]


def publish(
    publication: Publication,
    target: Path,
    on_progress: OnProgress,
    on_size: Callable[[int, int], None],
    *,
    adds: bool = False,
    force: bool = False,
) -> Published:
    """Write a publication: the pages, their programs, and a bank in its own folder.

    With `adds`, other banks in the folder stay; with `force`, replace a bank of the same name.
    `on_size` is called with the bytes of the bank and of the programs before the long work. The
    bank's folder appears only when it is complete.

    Raises CallError for invalid runs, names and folders, and for a corpus whose licence does
    not permit publication, unless `publication.may`; MissingPackageError without the programs;
    BankError if the bank cannot be read.
    """
    require_extra("Publishing", "explore", "jinja2", "vl_convert")
    bundle_manifest = bundle.need_bundle()
    # On some file systems, Page and page are the same folder.
    if not _NAME.fullmatch(publication.name) or publication.name.casefold() in (PROGRAMS, PAGE):
        raise CallError(
            f"{publication.name} cannot be the name of a published bank.",
            "Use letters, digits, - and _: --name NAME.",
        )
    _check_target(target, publication.name, adds=adds)
    run_names = chosen_runs(publication.bank, publication.runs)
    _check_licences(publication.bank, [*run_names.values()], may=publication.has_permission)
    home = check_folder(
        target / publication.name,
        last=MANIFEST,
        force=force or not (target / publication.name).exists(),
    )
    programs = check_folder(target / PROGRAMS, last=bundle.LIST, force=True)
    check_fits([(Path(name), name in _FOLDERS) for name in _OF_A_BANK], home, _owns)
    check_fits(program_paths(), programs, _owns)
    notes: list[str] = []
    with output_folder(home, owns=_owns) as part:
        bank_copy = part / BANK
        excerpt = take(
            publication.bank,
            bank_copy,
            [*run_names.values()],
            keep=publication.keep,
            inputs=publication.inputs,
        )
        notes += [*excerpt.notes, *_notes_on_paths(bank_copy)]
        on_size(bank_copy.stat().st_size, sum(bundle_manifest["files"].values()))
        _write_pages(part, publication.name, on_progress)
        with output_folder(programs, owns=_owns) as programs_part:
            write_programs(programs_part)
    write_gallery(target)
    total = sum(file.stat().st_size for file in target.rglob("*") if file.is_file())
    return Published(target / publication.name, (home / BANK).stat().st_size, total, tuple(notes))


def _check_target(target: Path, name: str, *, adds: bool) -> None:
    """Raise CallError if the folder holds anything but a publication, or other banks without
    `adds`.
    """
    if not target.is_dir():
        if target.exists() or target.is_symlink():
            raise CallError(f"{target} is not a folder.", "Name a folder; it need not exist yet.")
        return
    banks = _read_manifests(target)
    index = check_output(target / PAGE)
    if index.exists() and _WRITTEN not in index.read_text(encoding="utf-8", errors="replace"):
        raise CallError(f"{index} was not written by attnbank publish.", "Name another folder.")
    if banks:
        write_gallery(target)  # an interrupted publication may not have written it
    if not adds and any(bank != name for bank in banks):
        raise CallError(
            f"The folder {target} has other banks: {', '.join(banks)}.",
            "Name another folder, or add the bank to it: --add",
        )
    if (
        not adds
        and not banks
        and any(not _is_unfinished_publication(path) for path in target.iterdir())
    ):
        raise CallError(
            f"The folder {target} is not empty.",
            "Name another folder, or add the bank to it: --add",
        )


def _is_unfinished_publication(path: Path) -> bool:
    """Whether a path is left over from a publication that was killed."""
    return path.name.startswith(".") or (path / bundle.LIST).is_file()


def _owns(folder: Path) -> Callable[[Path], bool]:
    """Return a function that tells which files of a folder this command wrote."""
    if (folder / MANIFEST).is_file():
        return lambda path: path.parts[0] in _OF_A_BANK
    is_programs = (folder / bundle.LIST).is_file()
    return lambda path: is_programs


def _check_licences(bank: Path, runs: Sequence[str], *, may: bool) -> None:
    with Bank(bank) as opened:
        of_runs = opened.runs().filter(_names_runs(runs))["corpus"].to_list()
        rows = opened.info().corpora.select("name", "licence").rows()
    for name, licence in rows:
        if name in of_runs and not may and (reason := _why_forbidden(licence)) is not None:
            raise CallError(
                f"Refusing to publish the text of {name}: {reason}.",
                "If you have permission, add --i-may. The licence is read from the README beside"
                " the corpus; attnbank ingest --licence TEXT sets it.",
            )


def _why_forbidden(licence: str | None) -> str | None:
    """Why the text of a corpus with this licence may not be published; None if it may."""
    if licence is None:
        return "its licence is unknown"
    if _CLOSED.search(licence) or not _OPEN.search(licence):
        return f"its licence is {licence}"
    return None


def _notes_on_paths(bank_copy: Path) -> Iterator[str]:
    """Notes on model folders of this machine that the bank names."""
    with Bank(bank_copy) as bank:
        for name in bank.info().models["name"]:
            if Path(name).is_absolute():
                yield f"The bank contains the path of its model on this machine: {name}."


def _names_runs(runs: Sequence[str]) -> Any:
    import polars as pl

    return pl.col("name").is_in(list(runs))


def _write_pages(folder: Path, name: str, on_progress: OnProgress) -> None:
    """Compute the results that pages show at once, and write them next to the bank."""
    bank_file = folder / BANK
    with Bank(bank_file) as bank:
        names = bank.runs()["name"].to_list()
    for run in names:
        compute_and_cache_all(bank_file, run, on_progress, replace=False)
    cache = BankCache(bank_file, _SECONDS, _MEMORY)
    try:
        with cache.open() as handle:
            bank = handle.bank
            runs = {run.id: run for run in (_get_run(bank, name) for name in names)}
            steps = len(runs) * (len(analyses()) + 1)
            for at, _ in enumerate(answers.write_answers(folder / "answers", cache, runs)):
                on_progress(Progress("answering", min(at, steps), steps))
            answers.write_contents(folder / "answers" / "contents.json", bank)
            for run in runs.values():
                for count in sheets.write_sheets(folder / "sheets" / str(run.id), bank, run):
                    on_progress(Progress("drawing", count, None))
            manifest = _manifest(folder, name, bank, runs)
    finally:
        cache.close()
    answers.write_json(folder / MANIFEST, manifest)
    answers.write_json(folder / ANALYSES, records.catalogue())
    digest = manifest["bank"]["sha256"]
    (folder / DIGEST).write_text(f"{digest}  {BANK}\n", encoding="utf-8")
    variables = {"manifest": manifest, "nav": NAV, "programs": f"../{PROGRAMS}/",
                 "size": format_bytes(manifest["bank"]["bytes"])}  # fmt: skip
    (folder / PAGE).write_text(
        _templates().get_template("published.html").render(variables), "utf-8"
    )


def _get_run(bank: Bank, name: str) -> Run:
    """Find a run by name, whatever it stores."""
    return chosen_run(bank.connection, RunChoice(), name)


def _manifest(folder: Path, name: str, bank: Bank, runs: Mapping[int, Run]) -> dict[str, Any]:
    file = folder / BANK
    record = records.bank_record(bank, name, runs.values(), BANK)
    pictures_of = [
        f"{file.parent.name}/{file.name.removesuffix('.light.svg')}"
        for file in sorted((folder / "answers").rglob("*.light.svg"))
    ]
    return record | {
        "format": FORMAT,
        "attnbank": provenance.version(),
        "made": f"{provenance.now():%Y-%m-%d}",
        "bank": {
            "bytes": file.stat().st_size,
            "sha256": file_digest(file),
            "opening": _ranges_to_open(bank),
        },
        "pictures": pictures_of,
        "statements": {name: _with_variables(name) for name in _STATEMENTS},
        "requests": [*_compiled_requests(bank, record["saved"])],
        "warnings": {"circular": scoring.CIRCULAR, "selected": scoring.SELECTED},
    }


def _ranges_to_open(bank: Bank) -> list[tuple[int, int]]:
    """The byte ranges that DuckDB reads to open the bank: headers and catalog.

    The page requests them in advance, in one go.
    """
    with bank.backend.answering():
        ((size,),) = bank.connection.execute(
            "select block_size from pragma_database_size() where database_name = current_catalog()"
        ).fetchall()
        blocks = bank.connection.execute(
            "select block_id from pragma_metadata_info(current_catalog()) order by block_id"
        ).fetchall()
    ranges = [(0, _PAGE)]
    for (block,) in blocks:
        start = (_HEADERS + block * size) // _PAGE * _PAGE
        end = -(-(_HEADERS + (block + 1) * size) // _PAGE) * _PAGE
        if start > ranges[-1][1]:
            ranges.append((start, end))
        else:
            ranges[-1] = ranges[-1][0], end
    return [(start, min(end, bank.path.stat().st_size) - 1) for start, end in ranges]


def _with_variables(name: str) -> str:
    """A statement with DuckDB variables for parameters; the page sets them."""
    return statements.with_references(
        registry.internal_statement(name), lambda variable: f"getvariable('{variable}')"
    )


def _compiled_requests(bank: Bank, saved: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Requests compiled in advance: those of saved relations, and the examples."""
    requests = [(row["name"], row["request"]) for row in saved]
    requests += [(None, request) for request in records.EXAMPLES]
    for name, request in requests:
        with suppress(AttnbankError):
            run = run_of_request(bank.backend, request)
            choice = HitOptions(limit=10_001, keys=True, run=run)
            question = run_request.compile_request(request, choice=choice)
            yield {
                "name": name,
                "request": request,
                "compiled": {
                    "statement": question.statement, "nodes": list(question.resolved.pattern.nodes),
                    "keys": [*dict.fromkeys(map(str, question.resolved.keys))],
                    "by_interval": False,
                    "run": None if run is None else run.name,
                },
            }  # fmt: skip


def _templates() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_HERE / "templates"), autoescape=True, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {"size": format_bytes, "json": records.json_text}
    return environment


def write_programs(folder: Path) -> None:
    """Write the programs of the pages into a folder."""
    bundle.write_bundle(folder, provenance.version())
    (folder / _HOVER).write_text(pictures.hover_script(), encoding="utf-8")
    for name in _STATIC:
        (folder / name).write_bytes((_HERE / "static" / name).read_bytes())
    (folder / _COLOURS).write_text(colours.stylesheet(), encoding="utf-8")


def program_paths() -> Iterator[tuple[Path, bool]]:
    """The paths that `write_programs` writes, each with whether it is a folder."""
    for name in (*bundle.bundle_files(), _HOVER, *_STATIC, _COLOURS):
        yield from ((folder, True) for folder in Path(name).parents if folder.name)
        yield Path(name), False


def _read_manifests(target: Path) -> dict[str, dict[str, Any]]:
    """The manifests of the banks in a publication, by folder name."""
    manifests = {}
    for file in sorted(target.glob(f"*/{MANIFEST}")):
        with suppress(OSError, ValueError):
            manifest = json.loads(file.read_text(encoding="utf-8"))
            if isinstance(manifest, dict) and manifest.get("format") == FORMAT:
                manifests[file.parent.name] = manifest
    return manifests


def write_gallery(target: Path) -> None:
    """Write the page that lists the banks of a publication."""
    variables = {
        "banks": _read_manifests(target),
        "programs": f"{PROGRAMS}/",
        "written": Markup(_WRITTEN),
    }
    text = _templates().get_template("gallery.html").render(variables)
    (target / NO_JEKYLL).touch()
    with output_file(target / PAGE) as part:
        part.write(text.encode())
