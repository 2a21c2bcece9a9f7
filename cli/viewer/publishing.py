"""Write a bank as a folder of static pages: its runs, their results, and the programs."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import polars as pl
from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from attnbank.cli.output import format_bytes
from attnbank.cli.viewer import colours, records
from attnbank.cli.viewer.in_browser import compiled_record
from attnbank.cli.viewer.request import BankCache, BankHandle, collecting_warnings
from attnbank.cli.viewer.site import NAV
from attnbank.ingest.derived.cached_answers import compute_and_cache_all
from attnbank.ingest.merge.excerpt import Keep, chosen_runs, take
from attnbank.ingest.progress import OnProgress, Progress
from attnbank.queries import Bank, analyses
from attnbank.queries.drawing import Drawing
from attnbank.queries.options import ShowOptions
from attnbank.queries.patterns import HitOptions, run_request, scoring
from attnbank.queries.pictures import SCREENS
from attnbank.queries.pictures import sentence as pictures
from attnbank.queries.requests import run_of_request
from attnbank.queries.sentences.attention import SentenceRecords, sentence_records
from attnbank.queries.sentences.choosing import ChosenSentence
from attnbank.sql import provenance, registry, statements
from attnbank.sql.errors import AttnbankError, CallError, MissingPackageError, require_extra
from attnbank.sql.header import Analysis
from attnbank.sql.outputs import (
    check_fits,
    check_folder,
    check_output,
    file_digest,
    output_file,
    output_folder,
)
from attnbank.sql.run_choice import Run, read_run

BANK, MANIFEST, ANALYSES, PAGE, DIGEST = (
    "bank.duckdb", "bank.json", "analyses.json", "index.html", "bank.duckdb.sha256"
)  # fmt: skip
CONTENTS = "contents.json"
_FOLDERS = (
    "answers", "behaviours", "effects", "examples", "maps", "nearest", "profiles", "rules",
    "scores", "sheets",
)  # fmt: skip
_OF_A_BANK = (BANK, MANIFEST, ANALYSES, CONTENTS, PAGE, DIGEST, *_FOLDERS)
# The folder of the programs, shared by all banks of a publication.
PROGRAMS = "page"
# Tells GitHub Pages to serve the files unchanged.
NO_JEKYLL = ".nojekyll"
# That of the files of a bank, which the programs read; those of an older one are only listed.
FORMAT = 2
_WRITTEN = '<meta name="generator" content="attnbank publish">'
_HERE = Path(__file__).resolve().parent
_HOVER, _COLOURS = "hover.js", "colours.css"
_STATIC = ("style.css", "icon.svg", "old_browser.js")
# DuckDB and Python for browsers, from npm and PyPI, with the page's own scripts. They are not in
# git: `make web` downloads them by version and digest; wheels contain them. WEB_LIST lists them.
WEB = _HERE / "web"
WEB_LIST = "web.json"
_ARCHIVE, _VERSION = "pyodide/attnbank.zip", "version.txt"
# Modules that compile requests in the browser, besides the folders below.
_COMPILER = ("__init__.py", "cli/__init__.py", "cli/viewer/__init__.py",
             "cli/viewer/in_browser.py", "queries/__init__.py")  # fmt: skip
_COMPILER_FOLDERS = ("queries/patterns", "sql")
_SUFFIXES = (".py", ".sql", ".lark", ".json")
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
    "examples/changed_words", "examples/coreference_examples", "examples/example_page",
    "examples/head_examples", "examples/strongest", "patterns/concordance",
    "sentences/gold_arcs", "sentences/maps", "sentences/peaks", "sentences/predictions",
    "sentences/weights",
)  # fmt: skip
# The largest files of rows and of pictures, in bytes; for larger ones the page queries the bank.
MOST_BYTES = 1_500_000
MOST_PICTURE = 1_500_000
# Sentences in a file; its name is their number divided by this.
IN_A_FILE = 4
# Examples of a kind that are published: as many as the atlas shows.
_EXAMPLES = 3
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
    or only peaks are published; `inputs` is the number of inputs of each run, whose text alone
    is published; `may` is the user's word that they have permission.
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
    bundle_manifest = need_bundle()
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
    programs = check_folder(target / PROGRAMS, last=WEB_LIST, force=True)
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
            on_progress=on_progress,
        )
        notes += [*excerpt.notes, *notes_on_paths(bank_copy)]
        on_size(bank_copy.stat().st_size, sum(bundle_manifest["files"].values()))
        _write_pages(part, publication.name, on_progress)
        with output_folder(programs, owns=_owns) as programs_part:
            write_programs(programs_part)
    write_gallery(target)
    banks = _read_manifests(target).items()
    if outdated := [name for name, manifest in banks if manifest["format"] != FORMAT]:
        notes.append(
            f"Publish again: {', '.join(outdated)}. All banks of {target} share the pages, which do"
            " not show what an older version wrote."
        )
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
    return path.name.startswith(".") or (path / WEB_LIST).is_file()


def _owns(folder: Path) -> Callable[[Path], bool]:
    """Return a function that tells which files of a folder this command wrote."""
    if (folder / MANIFEST).is_file():
        return lambda path: path.parts[0] in _OF_A_BANK
    is_programs = (folder / WEB_LIST).is_file()
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


def notes_on_paths(bank_copy: Path) -> Iterator[str]:
    """Notes on model folders and corpora of this machine that the bank names."""
    with Bank(bank_copy) as bank:
        info = bank.info()
    paths = [("model", name) for name in info.models["name"]]
    # Of the files of a corpus, one a line, the first is enough.
    paths += [("corpus", path.partition("\n")[0]) for path in info.corpora["path"]]
    for what, path in dict.fromkeys(paths):
        if Path(path).is_absolute():
            yield f"The bank contains the path of its {what} on this machine: {path}."


def _names_runs(runs: Sequence[str]) -> Any:
    return pl.col("name").is_in(list(runs))


def _write_pages(folder: Path, name: str, on_progress: OnProgress) -> None:
    """Compute the results that pages show at once, and write them next to the bank."""
    bank_file = folder / BANK
    with Bank(bank_file) as bank:
        runs = {id: read_run(bank.connection, id) for id in bank.runs()["id"]}
    for at, run in enumerate(runs.values()):
        on_part = partial(_report_in_turn, on_progress, at, len(runs))
        compute_and_cache_all(bank_file, run.name, on_part, replace=False)
    cache = BankCache(bank_file, _SECONDS, _MEMORY)
    try:
        with cache.open() as handle:
            bank = handle.bank
            with_run = sum(_takes_run(analysis) for analysis in analyses().values())
            steps = len(runs) * with_run + len(analyses()) - with_run
            on_progress(Progress("publishing", 0, steps))
            for at, _ in enumerate(_write_answers(folder, handle, runs), 1):
                on_progress(Progress("publishing", at, steps))
            _write_json(folder / CONTENTS, records.contents_record(bank))
            judged = {number: _judged_relations(bank, run) for number, run in runs.items()}
            requests = _compiled_requests(bank)
            scored = _write_scores(folder, bank, runs.values(), requests, on_progress)
            heads, written = sum(map(len, judged.values())), 0
            on_progress(Progress("examples", 0, heads))
            for number, relations in judged.items():
                for _ in _write_examples(
                    folder / "examples" / str(number), bank, runs[number], relations
                ):
                    written += 1
                    on_progress(Progress("examples", written, heads))
            with bank.backend.answering():
                sentences = {
                    run: bank.backend.internal("sentences/of_run", run=run).rows() for run in runs
                }
            done, total = 0, sum(map(len, sentences.values()))
            on_progress(Progress("writing", 0, total))
            for number, rows in sentences.items():
                for count in _write_sheets(
                    folder / "sheets" / str(number), bank, runs[number], rows
                ):
                    on_progress(Progress("writing", done + count, total))
                done += len(rows)
            manifest = _manifest(folder, name, bank, runs)
            manifest |= {"requests": requests, "scored": scored}
            manifest["judged"] = {
                run: {
                    f"{layer}-{head}": [f"{relation} {direction}" for relation, direction in own]
                    for (layer, head), own in of_heads.items()
                }
                for run, of_heads in judged.items()
            }
    finally:
        cache.close()
    _write_json(folder / MANIFEST, manifest)
    _write_json(folder / ANALYSES, records.catalogue())
    digest = manifest["bank"]["sha256"]
    (folder / DIGEST).write_text(f"{digest}  {BANK}\n", encoding="utf-8")
    variables = {"manifest": manifest, "nav": NAV, "programs": f"../{PROGRAMS}/",
                 "size": format_bytes(manifest["bank"]["bytes"])}  # fmt: skip
    (folder / PAGE).write_text(
        _templates().get_template("published.html").render(variables), "utf-8"
    )


def _report_in_turn(on_progress: OnProgress, at: int, count: int, progress: Progress) -> None:
    """Report the progress of one of several equal parts as that of all."""
    assert progress.total is not None
    done = at * progress.total + progress.done
    on_progress(replace(progress, done=done, total=count * progress.total))


def _write_answers(folder: Path, handle: BankHandle, runs: Mapping[int, Run]) -> Iterator[None]:
    """Write the rows of all analyses, for each run; yield after each analysis.

    Each run has a folder in `answers` with `ANALYSIS.json`, `ANALYSIS.light.svg` and
    `ANALYSIS.dark.svg`, and a file in `profiles`, `nearest`, `effects` and `maps`; `answers/any`
    has the analyses that read no single run.
    """
    answers = folder / "answers"
    for number, run in runs.items():
        _write_records(folder, handle.bank, run)
        for analysis in analyses().values():
            if _takes_run(analysis):
                _write_answer(answers / str(number), handle, analysis, {"run": run.name})
                yield
    for analysis in analyses().values():
        if not _takes_run(analysis):
            _write_answer(answers / "any", handle, analysis, {})
            yield


def _takes_run(analysis: Analysis) -> bool:
    return any(parameter.name == "run" for parameter in analysis.parameters)


def _write_answer(
    folder: Path, handle: BankHandle, analysis: Analysis, arguments: dict[str, Any]
) -> None:
    """Write the rows of an analysis, or why there are none, and its pictures."""
    bank = handle.bank
    with collecting_warnings() as notes:
        try:
            answer = bank.answer(analysis.name, arguments)
            frame = answer.rows
        except AttnbankError as error:
            reason = {"error": records.fault_record(error, bank, bank.path.name)}
            _write_json(folder / f"{analysis.name}.json", reason)
            return
    text = records.json_text(records.frame_record(frame) | {"notes": notes})
    if len(text) > MOST_BYTES:
        return
    _write_text(folder / f"{analysis.name}.json", text)
    if analysis.plot is None or not frame.height:
        return
    try:
        drawing = Drawing(bank, answer)
        drawn = {theme: drawing.in_theme(theme) for theme in SCREENS}
    except AttnbankError:  # mostly too many rows for one picture; the page shows the table
        return
    for theme, picture in drawn.items():
        svg = picture.as_bytes(".svg")
        if len(svg) <= MOST_PICTURE:
            (folder / f"{analysis.name}.{theme}.svg").write_bytes(svg)


def _write_records(folder: Path, bank: Bank, run: Run) -> None:
    """Write what views show of all heads of a run, or why there is nothing."""

    def heads_map() -> dict[str, Any]:
        return records.map_record(bank.query("figure_6", run=run.name))

    makers: list[tuple[str, Callable[[], Any]]] = [
        (f"profiles/{run.id}", partial(records.profile_record, bank, run)),
        (f"behaviours/{run.id}", partial(records.behaviours_record, bank, run)),
        (f"nearest/{run.id}", partial(records.nearest_record, bank, run)),
        (f"effects/{run.id}", partial(records.effects_record, bank, run)),
        (f"maps/{run.id}", heads_map),
        *(
            (f"rules/{run.id}/{kind}", partial(records.rules_record, bank, run, kind))
            for kind in records.KINDS_OF_MENTIONS
        ),
    ]
    for name, make in makers:
        with collecting_warnings():
            try:
                record = make()
            except AttnbankError as error:
                record = {"error": records.fault_record(error, bank, bank.path.name)}
        _write_json(folder / f"{name}.json", record)


def _compiled_requests(bank: Bank) -> dict[str, dict[str, Any]]:
    """Requests compiled in advance: those of saved relations, and the examples."""
    compiled = {}
    for request in (*bank.saved()["request"], *records.EXAMPLES):
        with suppress(AttnbankError):
            choice = HitOptions(limit=10_001, keys=True, run=run_of_request(bank.backend, request))
            question = run_request.compile_request(request, choice=choice)
            compiled[request] = compiled_record(request, question)
    return compiled


def _write_scores(
    folder: Path,
    bank: Bank,
    runs: Iterable[Run],
    requests: Mapping[str, Mapping[str, Any]],
    on_progress: OnProgress,
) -> dict[str, str]:
    """Write how well all heads find the pairs of requests, so that pages need no compiler.

    Returns the files by the run, nodes and request that a page asks for.
    """
    files = {}
    steps = [(run, at, request) for run in runs for at, request in enumerate(requests)]
    on_progress(Progress("scores", 0, len(steps)))
    for done, (run, at, request) in enumerate(steps, 1):
        scores = _scores(bank, run, request, requests[request])
        if scores is not None:
            file = f"scores/{run.id}/{at}.json"
            _write_json(folder / file, scores)
            files[" ".join((str(run.id), *requests[request]["pair"], request))] = file
        on_progress(Progress("scores", done, len(steps)))
    return files


def _scores(
    bank: Bank, run: Run, request: str, compiled: Mapping[str, Any]
) -> dict[str, dict[str, Any]] | None:
    """What `attnbank score` finds with and without `--every`.

    None if heads cannot be judged on the pairs of the request, or the run has none of them.
    """
    if compiled["pair"] is None or compiled["is_circular"]:
        return None
    dependent, head = compiled["pair"]
    score = partial(
        bank.score, request, dependent=dependent, head=head, run=run.name,
        timeout=_SECONDS, memory=_MEMORY,
    )  # fmt: skip
    with suppress(AttnbankError), collecting_warnings() as notes:
        every = records.frame_record(score(every=True)) | {"notes": [*notes]}
        best = score()
        if best.height:
            return {"every": every, "best": records.frame_record(best)}
    return None


_Head = tuple[int, int]
# The relations, with their directions, that each head is shown with.
_Judged = dict[_Head, list[tuple[str, str]]]


def _judged_relations(bank: Bank, run: Run) -> _Judged:
    """The relation that each head finds best, and those that it finds best of all heads."""
    judged: _Judged = {}
    with suppress(AttnbankError):  # mostly a run of tokens, or a corpus without trees
        best = bank.query("best_relation", run=run.name, min_count=10).filter(pl.col("gain") > 0)
        columns = ("layer", "head", "relation", "direction")
        of_all = bank.query("best_head", run=run.name).select(columns)
        for layer, head, *of in (
            pl.concat([best.select(columns), of_all]).unique().sort(columns).rows()
        ):
            judged.setdefault((layer, head), []).append((of[0], of[1]))
    return judged


def _write_examples(folder: Path, bank: Bank, run: Run, judged: _Judged) -> Iterator[None]:
    """Write what heads find and miss, with which pages need no DuckDB; yield after each head.

    A head has a file with the rows of examples/head_examples, by relation and direction, and of
    each of their sentences the peaks and weights of examples/example_maps.
    """
    files: dict[_Head, dict[str, Any]] = {}
    examples = []
    for head, relations in judged.items():
        of = {}
        for relation, direction in relations:
            rows = records.examples_record(bank, run, head, relation, direction, _EXAMPLES)
            of[f"{relation} {direction}"] = [_without_nulls(row) for row in rows]
            examples += [
                [row["sentence"], *head, row["dependent"], row["gold"]]
                for row in rows
                if row["sentence"] is not None
            ]
        files[head] = {"of": of, "sentences": {}}
        yield
    if not examples:
        return
    with bank.backend.answering():
        maps = bank.backend.internal("examples/example_maps", run=run.id, examples=examples)
    for row in maps.iter_rows(named=True):
        sentences = files[row["layer"], row["head"]]["sentences"]
        own = sentences.setdefault(row["sentence"], {"maps": [], "peaks": []})
        names = ("position", "most_attended", "most_attending")
        own["peaks"].append({name: row[name] for name in names})
        weights = {int(to): weight for to, weight in row["weights"] or ()}
        own["maps"].append({"from_position": row["position"], "weights": weights})
    for (layer, number), file in files.items():
        _write_json(folder / f"{layer}-{number}.json", file)


def _without_nulls(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None}


def _write_sheets(
    folder: Path, bank: Bank, run: Run, rows: Sequence[tuple[int, str]]
) -> Iterator[int]:
    """Write the sentences of a run, `IN_A_FILE` in a file; yield the number written so far.

    `rows` are the number and name of each, in the order of the text, which `names.json` has too.
    """
    _write_json(folder / "names.json", [[number, name] for number, name in rows])
    written = 0
    for name, in_file in groupby(rows, lambda row: row[0] // IN_A_FILE):
        chosen = [ChosenSentence(*row, run.corpus, run.corpus_name) for row in in_file]
        with bank.backend.answering():
            options = ShowOptions(0, coreference=True)
            sentences = sentence_records(bank.backend, run, chosen, options)
            words = records.words_of_sentences(bank, [sentence.id for sentence in chosen])
        file = {
            str(sentence.id): _sheet(own, sentence, words[sentence.id])
            for own, sentence in zip(sentences, chosen, strict=True)
        }
        _write_json(folder / f"{name}.json", file)
        written += len(chosen)
        yield written


def _sheet(sentence: SentenceRecords, chosen: ChosenSentence, words: list[Any]) -> dict[str, Any]:
    record = records.words_record(sentence, chosen, words)
    if sentence.mentions.height:
        record["mentions"] = records.mention_rows(sentence.mentions)
    if sentence.tree is not None:
        record["tree"] = records.tree_record(f"The tree of {chosen.name}", sentence.tree)
    return record


def _write_json(file: Path, value: Any) -> None:
    """Write a value as JSON; create missing folders."""
    _write_text(file, records.json_text(value))


def _write_text(file: Path, text: str) -> None:
    """Write a text in UTF-8; create missing folders."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


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


def _templates() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_HERE / "templates"), autoescape=True, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {
        "size": format_bytes, "json": records.json_text, "percent": records.percent
    }  # fmt: skip
    return environment


def write_programs(folder: Path) -> None:
    """Write the programs of the pages into a folder."""
    _write_bundle(folder)
    (folder / _HOVER).write_text(pictures.hover_script(), encoding="utf-8")
    for name in _STATIC:
        (folder / name).write_bytes((_HERE / "static" / name).read_bytes())
    (folder / _COLOURS).write_text(colours.stylesheet(), encoding="utf-8")


def need_bundle() -> dict[str, Any]:
    """Read `web.json`. Raises MissingPackageError if the bundle is missing or incomplete."""
    try:
        manifest: dict[str, Any] = json.loads((WEB / WEB_LIST).read_text(encoding="utf-8"))
        is_complete = all(
            (WEB / name).stat().st_size == size for name, size in manifest["files"].items()
        )
    except (OSError, ValueError, KeyError):
        is_complete = False
    if not is_complete:
        raise MissingPackageError(
            "A published page needs DuckDB for browsers, which is not installed.",
            "Install attnbank from a wheel, or type in a clone of it: make web",
        )
    return manifest


def _write_bundle(folder: Path) -> None:
    """Copy the bundle and the request compiler into a folder."""
    manifest = need_bundle()
    for name in (*manifest["files"], WEB_LIST):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((WEB / name).read_bytes())
    (folder / _ARCHIVE).write_bytes(_compiler())
    (folder / _VERSION).write_text(f"{provenance.version()}\n", encoding="utf-8")


def _compiler() -> bytes:
    """The modules that compile requests, as a zip file that is the same for the same sources."""
    package = files("attnbank")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in sorted(_sources(package)):
            # A fixed date: the archive must not change with the clock.
            entry = zipfile.ZipInfo(f"attnbank/{name}", (2020, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, text)
    return buffer.getvalue()


def _sources(package: Traversable) -> Iterator[tuple[str, bytes]]:
    for name in _COMPILER:
        yield name, package.joinpath(name).read_bytes()
    for folder in _COMPILER_FOLDERS:
        yield from _below(package.joinpath(folder), folder)


def _below(folder: Traversable, name: str) -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        path = f"{name}/{entry.name}"
        if entry.is_dir() and entry.name not in ("analyses", "schema", "__pycache__"):
            yield from _below(entry, path)
        elif entry.is_file() and entry.name.endswith(_SUFFIXES):
            yield path, entry.read_bytes()


def program_paths() -> Iterator[tuple[Path, bool]]:
    """The paths that `write_programs` writes, each with whether it is a folder."""
    for name in (*need_bundle()["files"], WEB_LIST, _ARCHIVE, _VERSION, _HOVER, *_STATIC, _COLOURS):
        yield from ((folder, True) for folder in Path(name).parents if folder.name)
        yield Path(name), False


def _read_manifests(target: Path) -> dict[str, dict[str, Any]]:
    """The manifests of the banks in a publication, by folder name."""
    manifests = {}
    for file in sorted(target.glob(f"*/{MANIFEST}")):
        with suppress(OSError, ValueError):
            manifest = json.loads(file.read_text(encoding="utf-8"))
            if isinstance(manifest, dict) and manifest.get("format") in range(1, FORMAT + 1):
                manifests[file.parent.name] = manifest
    return manifests


def _leaderboard(
    target: Path, manifests: Mapping[str, Mapping[str, Any]]
) -> list[tuple[str, list[dict[str, Any]]]]:
    """The rows of the analysis leaderboard of all banks by relation, with the bank of each.

    `same` has the rows of other runs of the same model whose best head is the same.
    """
    rows = []
    for bank, manifest in manifests.items():
        models = {run["name"]: run["model"] for run in manifest["runs"]}  # without private paths
        with suppress(OSError, ValueError, KeyError):  # of an earlier version, or without trees
            file = target / bank / "answers" / "any" / "leaderboard.json"
            record = json.loads(file.read_text(encoding="utf-8"))
            names = [column["name"] for column in record["columns"]]
            rows += [
                row | {"bank": bank, "model": models[row["run"]]}
                for values in zip(*record["values"], strict=True)
                for row in [dict(zip(names, values, strict=True))]
            ]
    of_relation: dict[str, list[dict[str, Any]]] = {}
    for row in sorted(rows, key=lambda row: (-row["overall"], -row["n"], row["bank"], row["run"])):
        of_relation.setdefault(row["relation"], []).append(row)
    key = itemgetter("model", "layer", "head", "direction")
    for ranked in of_relation.values():
        for row in ranked:
            row["same"] = [other for other in ranked if other is not row and key(other) == key(row)]
    return sorted(of_relation.items(), key=lambda item: -sum(row["n"] for row in item[1]))


def write_gallery(target: Path) -> None:
    """Write the page that lists the banks of a publication, and which model finds what."""
    banks = _read_manifests(target)
    variables = {
        "banks": banks,
        "leaderboard": _leaderboard(target, banks),
        "programs": f"{PROGRAMS}/",
        "written": Markup(_WRITTEN),
    }
    text = _templates().get_template("gallery.html").render(variables)
    (target / NO_JEKYLL).touch()
    with output_file(target / PAGE) as part:
        part.write(text.encode())
