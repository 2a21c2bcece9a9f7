"""The map in CONTRIBUTING.md: every folder of the repository, with a line on what is in it.

The line is the first one of the docstring in the folder's `__init__.py`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from generator.markdown import block

ROOT = Path(__file__).resolve().parents[2]
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
PARTS = ("sql", "ingest", "queries", "cli")
"""The folders of the package: they and all folders below them are on the map."""
BESIDE = ("docs", "tests", "benchmarks")
"""Other folders, of which only those directly below are on the map."""
BEGINS = "<!-- The map is made by `python docs/make.py --map`; do not edit it. -->"
ENDS = "<!-- The map ends here. -->"

MADE = {"cli/viewer/web", "docs/analyses"}
"""Folders that `make` fills and git ignores."""

NO_DOCSTRING = {
    "cli/viewer/page": "Modules that draw the views in the browser, as they are written.",
    "cli/viewer/published": "What a published bank has instead of a server: DuckDB in the browser.",
    "cli/viewer/static": "The style of the pages.",
    "cli/viewer/templates": "The frames of the pages, which the modules fill.",
    "ingest/corpora/sample": "The sample corpus that comes with attnbank, in CoNLL-U.",
    "sql/analyses": "The analyses, one .sql file each, in the sections of `attnbank queries`.",
    "sql/analyses/ablation": "Surprisal, and what is lost when heads are turned off.",
    "sql/analyses/clusters": "Which heads and which layers attend alike.",
    "sql/analyses/coreference": "How well heads find antecedents, compared with simple rules.",
    "sql/analyses/decoders": "Attention sinks, induction heads, previous-token heads.",
    "sql/analyses/kovaleva": "Patterns and classes of words, after Kovaleva et al. 2019.",
    "sql/analyses/languages": "One model on many corpora: which heads do the same in all of them.",
    "sql/analyses/paper": "The tables and figures of Clark et al. 2019, by their numbers.",
    "sql/analyses/probes": "How well trained probes do, and which heads they give most weight.",
    "sql/analyses/surface": "What heads attend to, whatever the words: offsets, entropy, [SEP].",
    "sql/analyses/syntax": "How well single heads find dependencies, and tests of that.",
    "sql/analyses/training": "Heads from one checkpoint of a training to the next.",
    "sql/analyses/trees": "Dependency and constituency trees decoded from attention.",
    "sql/analyses/voita": "Functions of heads, after Voita et al. 2019.",
    "sql/internal": "Statements that the package itself runs, by what they are for.",
    "sql/internal/annotate": "Matching a file of the user's columns with the words of a corpus.",
    "sql/internal/check": "What contradicts itself in the rows of a bank: ids, counts, positions.",
    "sql/internal/contents": "What is in a bank: corpora, models, runs, and what was skipped.",
    "sql/internal/derived": "What `attnbank compute` and probes read.",
    "sql/internal/examples": "Examples of what one head gets right and wrong.",
    "sql/internal/ingest": "What an ingest reads back: sentences to run, totals to report.",
    "sql/internal/losses": "What surprisals and ablations read: words, pairs, sets of heads.",
    "sql/internal/merge": "Comparing banks that become one, and the ids that rows get then.",
    "sql/internal/patterns": "Scoring heads on the pairs of words that a request finds.",
    "sql/internal/sections": "Which runs and versions a report is about.",
    "sql/internal/sentences": "One sentence for `attnbank show`: words, trees, maps, mentions.",
    "sql/schema": "The tables, views and functions of a bank, in the order in which they are made.",
    "sql/shared": "Table macros that several analyses read.",
    "docs": "The pages of the site, what makes them (`make docs`), and what checks them.",
    "docs/assets": "Style and script of the site.",
    "docs/how-to": "How-to pages, one task each.",
    "docs/pictures": "Pictures of the README and the pages, as the commands draw them.",
    "benchmarks": "Benchmarks (`make bench`), and simulations of intervals and p values.",
    "tests": "The tests, in folders by what they test.",
    "tests/analyses": "Analyses compared with slow implementations, and every case of `cases/`.",
    "tests/attention": "Merging tokens to words, other measures, sums of maps.",
    "tests/cases": "Given and expected rows for each analysis, small enough to check by hand.",
    "tests/cli": "Commands as people type them: output, errors, help, completion.",
    "tests/corpora": "Readers of each format, mentions, licences, samples.",
    "tests/derived": "Probes, decoded trees, distances between heads.",
    "tests/explorer": "The explorer: its views, its security, and all of it in a real browser.",
    "tests/faults": "For each corpus format, the smallest file with each fault.",
    "tests/hostile": "Broken or malicious banks, corpora and models; kills; full disks.",
    "tests/inputs": "What one input of the model is: contexts, packing, tokens that are given.",
    "tests/losses": "Surprisal, ablation, minimal pairs.",
    "tests/masked": "Masking, gradients, the masked-LM loss without heads.",
    "tests/merge": "`merge` and `import`.",
    "tests/models": "Loading models, tokenizers, alignment, padding.",
    "tests/multiword": "Positions that hold several words, such as French `du`.",
    "tests/oracles": "Slow, obvious implementations, written apart from the package.",
    "tests/patterns": "Requests in Grew's language, compared with a slow matcher and with Grew.",
    "tests/pictures": "Plots: kinds, colours, formats of files.",
    "tests/project": "The repository: documentation, packaging, the rules in CONTRIBUTING.md.",
    "tests/published": "Published banks: what is written, and the page in a browser.",
    "tests/queries": "The Python API: analyses, exports, the sandbox, notebooks.",
    "tests/report": "The report and its sections.",
    "tests/scripts": "Text in any script: Arabic, Chinese, emoji, from corpus to picture.",
    "tests/sentences": "`attnbank show`: one sentence and what heads attend to in it.",
    "tests/spark": "Analyses, requests and ingests on Spark.",
    "tests/sql": "The registry of analyses, the style of SQL, opening banks and their format.",
    "tests/store": "What an ingest writes, resumes, deletes and keeps.",
    "tests/support": "Shared by the tests: tiny models, banks, browsers, processes to kill.",
}
"""What is in the folders that have no `__init__.py`."""


def lines() -> Iterator[str]:
    """The map: one line for each folder."""
    known = [folder for part in (*PARTS, *BESIDE) for folder in folders(part)]
    shown = [
        ("  " * folder.count("/") + folder.rpartition("/")[2] + "/", about(folder))
        for folder in known
    ]
    width = max(len(name) for name, _ in shown) + 2
    yield from (f"{name:<{width}}{what}" for name, what in shown)


def folders(part: str) -> list[str]:
    """A folder of the repository and those below it that hold files, sorted by path."""
    below = (ROOT / part).glob("*/") if part in BESIDE else (ROOT / part).rglob("*/")
    return [
        folder.as_posix()
        for folder in sorted(path.relative_to(ROOT) for path in (ROOT / part, *below))
        if not any(folder.is_relative_to(made) for made in MADE)
        and not any(name.startswith((".", "__")) for name in folder.parts)
        and any("__pycache__" not in path.parts for path in (ROOT / folder).rglob("*.*"))
    ]


def about(folder: str) -> str:
    """The line on a folder. Raises LookupError where it has none."""
    package = ROOT / folder / "__init__.py"
    if package.exists():
        line = (ast.get_docstring(ast.parse(package.read_text("utf-8"))) or "").partition("\n")[0]
    else:
        line = NO_DOCSTRING.get(folder, "")
    if not line:
        raise LookupError(
            f"{folder} has no line for the map in CONTRIBUTING.md.\n"
            "Write a docstring in its __init__.py, or without one a line in"
            " docs/generator/house.py, and type: python docs/make.py --map"
        )
    return line


def with_map() -> str:
    """The text of CONTRIBUTING.md with its map made anew."""
    before, _, rest = CONTRIBUTING.read_text("utf-8").partition(BEGINS)
    _, _, after = rest.partition(ENDS)
    return "\n".join((f"{before}{BEGINS}", "", *block("\n".join(lines())), "", f"{ENDS}{after}"))
