"""A corpus to ingest: its files or the sentences of --repeat, and the facts that a bank keeps."""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import langcodes

from attnbank.ingest.corpora.corpus_files import digest_corpus, find_sources, read_corpus
from attnbank.ingest.corpora.document import LINES, DocumentStart, Problem, Sentence, Word
from attnbank.ingest.corpora.format import STDIN, CorpusFile
from attnbank.ingest.options import IngestOptions
from attnbank.sql.errors import CallError
from attnbank.sql.ids import read_shards

if TYPE_CHECKING:
    from attnbank.ingest.models.tokenizer import InputTokenizer, WordEncoder

# A file of Universal Dependencies, fr_gsd-ud-dev.conllu: the language, the treebank, the split.
_TREEBANK = re.compile(r"([a-z]{2,3})_[a-z0-9]+-ud-(train|dev|test)\b")
# A name such as fr-dev.conllu. Not three letters: gum-dev is not in Guambiano.
_SHORT = re.compile(r"([a-z]{2})-(train|dev|test)\b")
_READMES = ("README.md", "README.txt", "README")
_MOST_BYTES = 1_000_000  # of a README
_LONGEST_LICENCE = 500  # characters
_LONGEST_CITATION = 4000  # characters
# A line of the README of a treebank of Universal Dependencies: License: CC BY-SA 4.0
_LICENCE = re.compile(
    r"^[ \t>*_#-]*licen[sc]e[*_]*[ \t]*:[*_ \t]*(\S[^\n]*)$", re.IGNORECASE | re.MULTILINE
)
_ENTRY = re.compile(r"^[ \t]*@[a-z]+\{", re.IGNORECASE | re.MULTILINE)  # of BibTeX

_REPEAT = "repeat"  # `corpus.format` of generated sentences
_DEFAULT_INPUTS = 100


@dataclass(frozen=True)
class CorpusFacts:
    """A row of table `corpus`."""

    name: str
    format: str
    path: str
    sha256: str
    annotation: str
    annotator: str | None
    annotator_sha256: str | None = None
    language: str | None = None  # a BCP 47 tag
    shard: str | None = None  # 3/16: the third of 16 parts of the documents
    licence: str | None = None
    citation: str | None = None


@dataclass(frozen=True)
class Corpus:
    """A corpus to ingest: its files, or its generated sentences."""

    sources: list[CorpusFile]
    facts: CorpusFacts
    options: IngestOptions
    bad: tuple[Problem, ...] = ()  # of files that are skipped
    generated: tuple[Sentence, ...] = ()  # the whole corpus, if it has no files

    def items(self) -> Iterator[Sentence | Problem]:
        """Yield the sentences and the problems of the whole corpus."""
        options = self.options
        items = self.generated or read_corpus(
            self.sources, options.spacy, options.split, strict=options.strict
        )
        return chain(self.bad, items)

    @property
    def notes(self) -> list[str]:
        """Notes for the user on how the corpus was made."""
        options = self.options
        if LINES in {source.format for source in self.sources} and options.format is None:
            return ["read as one sentence per line, without annotation"]
        draws = [
            sentence.document.metadata
            for sentence in self.generated
            if sentence.document is not None
        ]
        tokens = sum(len(draw["tokens"].split()) for draw in draws)
        passed = sum(int(draw["passed_over"]) for draw in draws)
        if not draws:
            return []
        return [f"{tokens:,} tokens drawn; skipped {passed:,} whose text is tokenized differently"]

    def conflict_error(self, fact: str, remedy: str = "") -> CallError:
        """Return the error for a bank whose corpus of this name differs, as `fact` says."""
        remedy = f"{remedy}, or give" if remedy else "Give"
        return CallError(
            f"The bank has another corpus called {self.facts.name}: {fact}",
            f"{remedy} this one another name: --name NAME.",
        )


def find_corpus_files(options: IngestOptions) -> Corpus:
    """Find the files of the options' corpus. Raises as `find_sources`."""
    bad: list[Problem] = []
    sources = find_sources(
        options.corpora,
        options.format,
        options.spacy,
        name=options.name,
        bad=bad if options.skip_bad else None,
    )
    formats = sorted({source.format for source in sources})
    annotator = files = None
    beside = licence_of_files(source.path for source in sources if Path(source.name).exists())
    if "text" in formats and options.spacy is not None:
        from attnbank.ingest.corpora.formats.spacy_docs import pipeline_identity

        annotator, files = pipeline_identity(options.spacy)
    facts = CorpusFacts(
        name=options.name or _default_corpus_name(options.paths),
        format="+".join(formats),
        path="\n".join(options.paths),
        sha256=digest_corpus(sources),
        annotation="none" if formats == [LINES] else "gold" if annotator is None else "silver",
        annotator=annotator,
        annotator_sha256=files,
        language=(
            language_of_files(source.path.name for source in sources)
            if options.language is None
            else language_tag(options.language)
        ),
        shard=read_shards(options.shard).text,
        licence=options.licence or beside.licence,
        citation=options.citation or beside.citation,
    )
    return Corpus(sources, facts, options, tuple(bad))


def language_tag(tag: str) -> str:
    """Return the standard form of a tag: fr for "FR", he for "iw". Raises CallError if invalid."""
    try:
        if langcodes.tag_is_valid(tag):
            return langcodes.standardize_tag(tag)
    except ValueError:
        pass
    raise CallError(
        f"{tag[:40]!r} is not a valid language tag.",
        "Give a BCP 47 tag, such as fr, he, grc or zh-Hant.",
    )


def language_of_files(names: Iterable[str]) -> str | None:
    """Return the language in the names of all files; None if they differ or lack one."""
    languages: set[str | None] = set()
    for name in names:
        match = _TREEBANK.match(name) or _SHORT.match(name)
        tag = match[1] if match else ""
        is_known = bool(tag) and langcodes.tag_is_valid(tag)
        languages.add(langcodes.standardize_tag(tag) if is_known else None)
    return languages.pop() if len(languages) == 1 else None


def _default_corpus_name(corpora: tuple[str, ...]) -> str:
    names = []
    for corpus in corpora:
        path = Path(corpus)
        if corpus == STDIN:
            names.append("stdin")
        elif path.is_file():
            names.append(Path(path.resolve().name.removesuffix(".gz")).stem)
        else:  # the target of a pipe has a number
            names.append(path.resolve().name if path.is_dir() else path.name)
    return "+".join(names) if len(names) <= 3 else f"{names[0]}+{len(names) - 1}"


class Declared(NamedTuple):
    """The licence and the citation of a corpus, None if unknown."""

    licence: str | None = None
    citation: str | None = None


def licence_of_files(files: Iterable[Path]) -> Declared:
    """Return what the READMEs beside files declare; nothing if they differ."""
    folders = {path.resolve().parent for path in files}
    licences = {_licence_of_folder(folder) for folder in folders}
    return licences.pop() if len(licences) == 1 else Declared()


def _licence_of_folder(folder: Path) -> Declared:
    for name in _READMES:
        try:
            with (folder / name).open("rb") as file:
                text = file.read(_MOST_BYTES).decode("utf-8", errors="replace")
        except OSError:
            continue
        licences = {" ".join(match.split()).strip("*_ ") for match in _LICENCE.findall(text)}
        licence = licences.pop()[:_LONGEST_LICENCE] if len(licences) == 1 else None
        return Declared(licence, _entry(text))
    return Declared()


def _entry(text: str) -> str | None:
    """Return the first BibTeX entry, up to its closing brace."""
    start = _ENTRY.search(text)
    if start is None:
        return None
    depth = 0
    for at in range(start.start(), min(len(text), start.start() + _LONGEST_CITATION)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if text[at] == "}" and not depth:
            return text[start.start() : at + 1].strip()
    return None


def random_corpus(options: IngestOptions, input_tokenizer: InputTokenizer) -> Corpus:
    """Generate the corpus of --repeat: random tokens, repeated once, with which they are predicted.

    Olsson et al. (2022) find induction heads with such inputs. Each is a document of one sentence
    whose words are single tokens: only tokens are used that the text of the word is tokenized into,
    so that the model's input is exactly what was drawn, and the run is like any other. The metadata
    of a document have the ids of the tokens, and how many were rejected.

    The number of inputs and the seed (--limit and --seed) belong to the corpus, not to the run:
    equal ones make the same corpus, and with more inputs the first ones stay the same. Raises
    CallError if too few tokens of the vocabulary are usable.
    """
    length, inputs, seed = options.repeat or 0, options.limit or _DEFAULT_INPUTS, options.seed
    name = f"repeat-{length}" + (f"-seed{seed}" if seed else "")
    path = f"--repeat {length} --limit {inputs} --seed {seed}"
    tokenizer = input_tokenizer.tokenizer
    special = tokenizer.get_added_tokens_decoder().keys()
    usual = [id for id in range(tokenizer.get_vocab_size()) if id not in special]
    sentences, lines = [], []
    for number in range(1, inputs + 1):
        rng = random.Random(f"repeat {seed} {number}")
        tokens, passed = _draw_tokens(input_tokenizer, usual, length, rng)
        spaced = [space for _, _, space in tokens] * 2
        words = tuple(
            Word(form, space_after=after)
            for (_, form, _), after in zip(tokens * 2, [*spaced[1:], False], strict=True)
        )
        metadata = {
            "tokens": " ".join(str(id) for id, _, _ in tokens),
            "passed_over": str(passed),
        }
        start = DocumentStart(f"{name}-{number}", metadata, file=name, split=options.split)
        sentences.append(Sentence(words, document=start))
        lines.append(f"{metadata}\t{sentences[-1].full_text}\n")
    facts = CorpusFacts(
        name=options.name or name,
        format=_REPEAT,
        path=path,
        sha256=hashlib.sha256("".join(lines).encode()).hexdigest(),
        annotation="none",
        annotator=None,
        language=None if options.language is None else language_tag(options.language),
        shard=read_shards(options.shard).text,
        licence=options.licence,
        citation=options.citation,
    )
    of_run = replace(options, corpora=(path,), limit=None, seed=IngestOptions.seed)
    source = CorpusFile(name, Path(name), _REPEAT)
    return Corpus([source], facts, of_run, generated=tuple(sentences))


def _draw_tokens(
    input_tokenizer: InputTokenizer, usual: Sequence[int], length: int, rng: random.Random
) -> tuple[list[tuple[int, str, bool]], int]:
    """Draw distinct tokens (id, form, whether white space precedes); also count the rejected.

    The first token must be usable both at the start of the text and after another token.
    """
    reading = input_tokenizer.split_rules
    tokens: list[tuple[int, str, bool]] = []
    seen: set[int] = set()
    while len(tokens) < length:
        if len(seen) == len(usual):
            raise CallError(
                f"Only {len(tokens):,} tokens of the vocabulary tokenize back to themselves;"
                f" --repeat is {length:,}.",
                f"Use --repeat {len(tokens)} or less.",
            )
        # Not rng.choice, whose algorithm may change between versions of Python.
        id = usual[int(rng.random() * len(usual))]
        if id in seen:
            continue
        seen.add(id)
        form = input_tokenizer.tokenizer.decode([id]).replace("▁", " ").strip()
        if not form.isprintable() or " " in form:
            continue
        ways = (reading.spaced, reading.joined)
        spaced = [way is reading.spaced for way in ways if _is_single_token(way, form, id)]
        if spaced and (tokens or _is_single_token(reading.start, form, id)):
            tokens.append((id, form, spaced[0]))
    return tokens, len(seen) - len(tokens)


def _is_single_token(way: WordEncoder, form: str, id: int) -> bool:
    return form != "" and way.encode(form).ids == [id]
