"""The real text that some tests and the README's tour need: where it is, and where to get it.

    python tests/support/real_text.py [--into FOLDER] [--source URL]

fetches it from its public homes, which is what `make corpora` does. GUM and the other treebanks
are taken from releases of Universal Dependencies, LitBank from one commit. The tests use parts of
them, which PARTS describes. The digest of a part shows whether it is, byte for byte, the one that
the figures in the README come from.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = "https://raw.githubusercontent.com"
VARIABLE = "ATTNBANK_CORPORA"
RELEASES = ("r2.16", "r2.17", "r2.18")
"""The releases of Universal Dependencies that are searched for the wanted text, in this order."""
LITBANK = "1cf45bfb1f95f4e7975169460cc25403f3df0411"
GENRES = ("bio", "conversation", "interview", "news", "speech", "textbook", "vlog", "voyage")
"""The genres of GUM that are used, because their texts are licensed for every use."""

Files = dict[str, str]
"""Texts by their path in their repository."""


@dataclass(frozen=True)
class Part:
    """A file that the tests read: its source files, how it is made from them, and its SHA-256."""

    name: str
    repository: str
    paths: tuple[str, ...]
    choose: Callable[[Files], str]
    sha256: str
    revisions: tuple[str, ...] = field(default=RELEASES)


def find(root: Path = ROOT, environment: Mapping[str, str] = os.environ) -> Path | None:
    """The folder with the corpora: beside the checkout, in it, or named by ATTNBANK_CORPORA.

    None if there is none.
    """
    named = environment.get(VARIABLE)
    places = [root.parent / "shared" / "corpora", root / "corpora"]
    places += [Path(named)] if named else []
    return next((place for place in places if place.is_dir()), None)


def is_as_in_readme(folder: Path, name: str) -> bool:
    """Whether a file is exactly the text that the README's figures come from."""
    file = folder / name
    wanted = {part.name: part.sha256 for part in PARTS}[name]
    return file.is_file() and hashlib.sha256(file.read_bytes()).hexdigest() == wanted


def documents(text: str) -> Iterator[tuple[str, str]]:
    """The name and the text of each document of a treebank, including comment lines."""
    name, lines = "", list[str]()
    for block in text.split("\n\n"):
        start = next((line for line in block.split("\n") if line.startswith("# newdoc id = ")), "")
        if start and lines:
            yield name, "".join(lines)
            lines = []
        name = start.removeprefix("# newdoc id = ") or name
        if block.strip():
            lines.append(f"{block.strip(chr(10))}\n\n")
    if lines:
        yield name, "".join(lines)


def of_genres(text: str, most: int | None = None) -> str:
    """The documents of GENRES in a file of GUM; at most `most` of each genre, the first ones."""
    taken = dict.fromkeys(GENRES, 0)
    chosen = []
    for name, document in documents(text):
        genre = name.split("_")[1] if name.count("_") > 1 else ""
        if genre in taken and (most is None or taken[genre] < most):
            taken[genre] += 1
            chosen.append(document)
    return "".join(chosen)


def unlabelled(text: str, genres: tuple[str, ...] = ("bio", "news", "textbook", "voyage")) -> str:
    """The sentences of some genres, one per line, with an empty line between documents."""
    found = {
        name: "\n".join(
            line.removeprefix("# text = ")
            for line in document.split("\n")
            if line.startswith("# text = ")
        )
        for name, document in documents(text)
        if name.split("_")[1] in genres
    }
    return "\n\n".join(found[name] for name in sorted(found)) + "\n"


def first_sentences(text: str, number: int = 400) -> str:
    """The first `number` sentences of a treebank."""
    return "".join(f"{block}\n\n" for block in text.split("\n\n")[:number])


_GUM = ("en_gum-ud-dev.conllu", "en_gum-ud-train.conllu")


def _gum_dev(files: Files) -> str:
    return of_genres(files[_GUM[0]])


def _gum_train(files: Files) -> str:
    return of_genres(files[_GUM[1]], 6)


def _wiki(files: Files) -> str:
    return unlabelled(_gum_dev(files) + _gum_train(files))


def _whole(files: Files) -> str:
    (text,) = files.values()
    return text


def _begin(files: Files) -> str:
    return first_sentences(_whole(files))


_DIGESTS = """
    gum-dev.conllu 4cb375e89e835b1dbae9b1bcaf67cbe53526eaf4062c1da53011503c88b2a012
    gum-train.conllu 7e9b7cce22ce5c0acdc4caf5aab7ef9fb700083f1d16715db3d589ed9960d50e
    wiki-text.txt b5470fbc4cfc3ca10c0b026977e9d375c61e310b3bd10297b8cc1577b0ed2ab7
    ewt-dev.conllu 531a54ff90d6ab12201c5a50c3e78e6ddac4de69abc4bce5d275d3cd29efe2b6
    fr-dev.conllu 62d747656b48687b461096a9db54d276a78fb4c0bfd34db64ec10dc3abc9b199
    he-dev.conllu e8bb34ea7e7d6c6b677abdabffe5718703d6ce3d0baeb894e3188b0d6c68538d
    tr-dev.conllu b9dacb269738983815bfb1120f5ecf89ee24069aac2e70b2da3e9ab64ce91475
    zh-dev.conllu fdcbc7184e070c9839cc7ab5bda36a7163e6ea4696f033f7bf22604dbe20df6b
"""
_NOVELS = """
    1023_bleak_house
    2771286534c8886eabc5cbddbe3f1906b7a6e62f0495a5017a705bf4429c963a
    12677_personality_plus_some_experiences_of_emma_mcchesney_and_her_son_jock
    94293de673f722017f1c7a92c15441b98229806142270fe1311623da7613d790
    171_charlotte_temple
    ee56736df030ca314ae4f953baf7cff7914d72ff56783e57e04cb15ebb04f79e
    233_sister_carrie_a_novel
    9551ea854c85076e2cbacdf4f5623b86ad7c362312a5635fe5014ba9b1349984
    3268_the_mysteries_of_udolpho
    7180ce7f7a9dc63c1d46e4bac3a533fe37135fd6fd3f8ddb8537e6a1a90c36c9
    4276_north_and_south
    fdf1c12999c1fbd9f6a84d4046e5f7fed2b952670abfbe936329846c8ea2a5eb
    541_the_age_of_innocence
    9de5ed9744b93495059c1c701eb0a9f4d48b083982d2e42a3ca49c74494a8a78
    766_david_copperfield
    46be22b4e55acea640d667e8fc78144347064e3f0d01197307f612b27d0a1055
"""
_PAIR = re.compile(r"(\S+)\s+([0-9a-f]{64})")
_TREEBANKS = {
    "gum-dev.conllu": ("English-GUM", _GUM[:1], _gum_dev),
    "gum-train.conllu": ("English-GUM", _GUM[1:], _gum_train),
    "wiki-text.txt": ("English-GUM", _GUM, _wiki),
    "ewt-dev.conllu": ("English-EWT", ("en_ewt-ud-dev.conllu",), _whole),
    "fr-dev.conllu": ("French-GSD", ("fr_gsd-ud-dev.conllu",), _begin),
    "he-dev.conllu": ("Hebrew-HTB", ("he_htb-ud-dev.conllu",), _begin),
    "tr-dev.conllu": ("Turkish-IMST", ("tr_imst-ud-dev.conllu",), _begin),
    "zh-dev.conllu": ("Chinese-GSD", ("zh_gsd-ud-dev.conllu",), _begin),
}


def _parts() -> Iterator[Part]:
    for name, digest in _PAIR.findall(_DIGESTS):
        treebank, paths, choose = _TREEBANKS[name]
        yield Part(name, f"UniversalDependencies/UD_{treebank}", paths, choose, digest)
    for name, digest in _PAIR.findall(_NOVELS):
        file = f"{name}_brat.conll"
        paths = (f"coref/conll/{file}",)
        yield Part(f"litbank/{file}", "dbamman/litbank", paths, _whole, digest, (LITBANK,))


PARTS = tuple(_parts())
"""Everything that the tests and the README read."""


class OutOfReachError(Exception):
    """The source does not answer."""


def fetch(into: Path, source: str = SOURCE, say: Callable[[str], None] = print) -> bool:
    """Fetch every part that is not there yet; whether all are there, with the README's text.

    If no release has the README's text of a part, that of the last available release is taken.
    Raises OutOfReachError if the source does not answer.
    """
    cache: dict[tuple[str, str, str], str | None] = {}

    def get(repository: str, revision: str, path: str) -> str | None:
        key = repository, revision, path
        if key not in cache:
            cache[key] = _download(f"{source}/{repository}/{revision}/{path}")
        return cache[key]

    is_whole = True
    for part in PARTS:
        if (into / part.name).exists():
            is_same = is_as_in_readme(into, part.name)
            say(f"{part.name}: was there already{'' if is_same else ', another text'}")
            is_whole &= is_same
            continue
        found = ""
        for revision in part.revisions:
            texts = {path: get(part.repository, revision, path) for path in part.paths}
            files = {path: text for path, text in texts.items() if text is not None}
            if len(files) < len(part.paths):
                continue
            found = part.choose(files)
            last = revision
            if hashlib.sha256(found.encode()).hexdigest() == part.sha256:
                break
        if not found:
            say(f"{part.name}: {part.repository} does not have it")
            is_whole = False
            continue
        (into / part.name).parent.mkdir(parents=True, exist_ok=True)
        (into / part.name).write_text(found, encoding="utf-8", newline="")
        is_same = is_as_in_readme(into, part.name)
        is_whole &= is_same
        but = "" if is_same else ", another text than the README's: figures of it will differ"
        say(f"{part.name}: from {part.repository} {last[:8]}{but}")
    return is_whole


def _download(url: str) -> str | None:
    """The text at an address; None if there is none. Raises OutOfReachError for all else."""
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            content: bytes = answer.read()
            return content.decode("utf-8")
    except urllib.error.HTTPError as error:
        if error.code == 404:
            return None
        raise OutOfReachError(f"{url}: {error}") from error
    except urllib.error.URLError as error:
        if isinstance(error.reason, FileNotFoundError):  # a file:// address
            return None
        raise OutOfReachError(f"{url}: {error.reason}") from error
    except OSError as error:
        raise OutOfReachError(f"{url}: {error}") from error


def by_hand(into: Path) -> Iterator[str]:
    """What to type or to put where, for people whose network does not reach the source."""
    yield "Put these files there yourself (or name a folder that has them in ATTNBANK_CORPORA):"
    for part in PARTS:
        paths = " and ".join(part.paths)
        how = "" if part.choose is _whole else f", {_HOW[part.choose]}"
        yield f"  {into / part.name}: {paths} of github.com/{part.repository}{how}"
    yield "Or type make corpora on a machine that reaches them, and copy its folder here."


_HOW: dict[Callable[[Files], str], str] = {
    _gum_dev: f"its documents of the genres {', '.join(GENRES)}",
    _gum_train: "of each of these genres the first 6 documents",
    _wiki: "the text lines of bio, news, textbook and voyage in the two above, by name of document",
    _begin: "its first 400 sentences",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=_Verbatim)
    parser.add_argument("--into", type=Path, default=ROOT / "corpora")
    parser.add_argument("--source", default=SOURCE, help=f"in place of {SOURCE}")
    arguments = parser.parse_args()
    there = find()
    if there is not None and arguments.into == ROOT / "corpora" and there != arguments.into:
        print(f"The corpora are there already: {there}")
        return 0
    try:
        is_whole = fetch(arguments.into, arguments.source)
    except OutOfReachError as error:
        print(f"The corpora cannot be fetched: {error}", file=sys.stderr)
        print("\n".join(by_hand(arguments.into)), file=sys.stderr)
        return 1
    print("GUM is licensed CC BY-NC-SA 4.0 (these genres: CC BY 4.0), EWT, GSD: CC BY-SA 4.0, HTB:")
    print("CC BY-NC-SA 4.0, IMST: CC BY-NC-SA 3.0, LitBank: CC BY 4.0.")
    if not is_whole:
        print("Some texts are not the README's; tests that compare with its figures skip.")
    return 0


class _Verbatim(argparse.RawDescriptionHelpFormatter):
    """Prints the description without wrapping it anew."""


if __name__ == "__main__":
    sys.exit(main())
