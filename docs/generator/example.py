"""Banks of the sample corpus for the examples on the pages of the analyses, and their answers."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from attnbank.sql.header import Analysis
from attnbank.sql.registry import read_by

SAMPLE = Path(__file__).resolve().parents[2] / "ingest" / "corpora" / "sample"
_ROWS = 10
_WIDTH = "110"


class Answers(Protocol):
    """Something that can run an analysis for its page."""

    def answer(self, analysis: Analysis) -> tuple[str, str]:
        """A sentence or more on what the answer is about, and what is printed."""


class Examples:
    """The banks of the examples; each is made when the first page needs it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def answer(self, analysis: Analysis) -> tuple[str, str]:
        """What the answer is about, and the first rows of what `attnbank query` prints."""
        told, bank = self._bank(analysis)
        return told, printed(analysis, bank)

    def bank(self, analysis: Analysis) -> Path:
        """The bank in which the analysis has an answer."""
        return self._bank(analysis)[1]

    def _bank(self, analysis: Analysis) -> tuple[str, Path]:
        if analysis.run is not None and analysis.run.needs in ("gradients", "losses"):
            return _MASKED, self._masked
        if analysis.section == "training":
            return _TRAINED, self._trained
        if analysis.section == "trees":
            is_of_phrases = analysis.run is not None and analysis.run.needs == "spans"
            return (_PHRASES, self._phrases) if is_of_phrases else (_DECODED, self._decoded)
        if analysis.section == "ablation":
            return _ABLATED, self._ablated
        if "requested_probe" in closure(analysis):
            return _PROBES, self._probes
        return _SAMPLE, self._sample

    @cached_property
    def _sample(self) -> Path:
        """Sentences (with a control), documents and pairs of tokens, with the packaged model."""
        from attnbank.ingest import IngestOptions, ingest
        from attnbank.ingest.derived.computations import compute

        bank = self._folder / "sample.duckdb"
        ways: tuple[dict[str, Any], ...] = (
            {},
            {"random_weights": 1},
            {"context": "document"},
            {"context": "pair", "unit": "token"},
        )
        for way in ways:
            ingest(IngestOptions((str(SAMPLE),), bank, "minilm", name="sample", **way))
        compute(bank, "head_embedding")
        return bank

    @cached_property
    def _decoded(self) -> Path:
        """Two corpora with the packaged model, from whose attention trees were decoded."""
        from attnbank.ingest import IngestOptions, ingest
        from attnbank.ingest.derived.computations import compute

        bank = self._folder / "decoded.duckdb"
        for number, name in enumerate(("press", "stories"), 1):
            ingest(IngestOptions((str(SAMPLE / f"{name}.conllu"),), bank, "minilm"))
            compute(bank, "attention_tree", number)
        return bank

    @cached_property
    def _phrases(self) -> Path:
        """Bracketed sentences with the packaged model, and the phrases of its attention."""
        from attnbank.ingest import IngestOptions, ingest
        from attnbank.ingest.derived.computations import compute

        text = self._folder / "brackets.conll"
        lines = [f"#begin document ({text.stem}); part 000"]
        for sentence in _BRACKETS:
            for at, (word, tag, brackets) in enumerate(each.split() for each in sentence):
                columns = (text.stem, "0", str(at), word, tag, brackets, *"----", "*", "-")
                lines.append("\t".join(columns))
            lines.append("")
        text.write_text("\n".join([*lines, "#end document", ""]), encoding="utf-8")
        bank = self._folder / "phrases.duckdb"
        ingest(IngestOptions((str(text),), bank, "minilm"))
        compute(bank, "attention_span")
        return bank

    @cached_property
    def _trained(self) -> Path:
        """The checkpoints of a tiny decoder that has seen a few hundred inputs."""
        import checkpoints
        from attnbank.ingest import IngestOptions, ingest_series

        folder, bank = self._folder / "training", self._folder / "trained.duckdb"
        settings = checkpoints.Settings(
            steps=(0, 10, 50), vocabulary=400, hidden=32, heads=4, length=32, batch=8
        )
        checkpoints.train(folder, checkpoints.texts([SAMPLE]), settings)
        given = (str(SAMPLE / "press.conllu"),)
        assert len([*ingest_series(IngestOptions(given, bank, str(folder), series="step*"))]) == 3
        return bank

    @cached_property
    def _tiny(self) -> Path:
        """A tiny random masked language model."""
        import tiny_models

        text = [
            line.removeprefix("# text = ")
            for path in sorted(SAMPLE.glob("*.conllu"))
            for line in path.read_text(encoding="utf-8").splitlines()
            if line.startswith("# text = ")
        ]
        model: Path = tiny_models.save("bert", self._folder / "tiny", text, masked_lm=True)
        _fix_vocabulary(model / "tokenizer.json", text)
        return model

    @cached_property
    def _ablated(self) -> Path:
        """A set of heads of that model that is disabled, with two controls, in one file."""
        from attnbank.ingest import AblateOptions, HeadSet, IngestOptions, ablate, ingest

        bank = self._folder / "ablated.duckdb"
        press = str(SAMPLE / "press.conllu")
        ingest(IngestOptions((press,), bank, str(self._tiny), name="sample"))
        heads = [HeadSet("two heads", ((1, 1), (2, 3)), "--heads 1-1,2-3")]
        options = AblateOptions(controls=2, agreement=True, model=str(self._tiny))
        ablate(bank, "two", heads, options=options)
        return bank

    @cached_property
    def _masked(self) -> Path:
        """Pairs of tokens with gradients and ablation, from a tiny random masked language model."""
        from attnbank.ingest import IngestOptions, ingest

        model = self._tiny
        bank = self._folder / "masked.duckdb"
        more: dict[str, Any] = {"context": "pair", "unit": "token", "limit": 12}
        ingest(
            IngestOptions(
                (str(SAMPLE),),
                bank,
                str(model),
                name="sample",
                gradients=True,
                ablate="heads",
                **more,
            )
        )
        return bank

    @cached_property
    def _probes(self) -> Path:
        """Two probes that learn from four of the five files and are scored on the fifth."""
        from attnbank.ingest import IngestOptions, ingest
        from attnbank.ingest.derived.probes import ProbeOptions, train_probe

        bank = self._folder / "probes.duckdb"
        files = sorted(str(path) for path in SAMPLE.glob("*.conllu"))
        test = [each for each in files if each.endswith("press.conllu")]
        train = [each for each in files if each not in test]
        ingest(IngestOptions(tuple(train), bank, "minilm", name="sample-train"))
        ingest(IngestOptions(tuple(test), bank, "minilm", name="sample-test"))
        for kind, learnt in (("right_branching", None), ("attention", "sample-train/minilm")):
            train_probe(bank, kind, learnt, "sample-test/minilm", ProbeOptions(device="cpu"))
        return bank


_SAMPLE = (
    "The sample corpus that comes with attnbank (127 sentences) and the packaged model minilm, as"
    " single sentences (beside them its control of random weights), as documents of words and as"
    " pairs of segments of tokens. So little text shows the shape of an answer, not what is true of"
    " English."
)
_DECODED = (
    "Two files of the sample corpus with the packaged model minilm, from whose attention trees were"
    " decoded (`attnbank compute attention_tree`). So little text shows the shape of an answer, not"
    " what is true of English."
)
_PHRASES = (
    "Four bracketed sentences with the packaged model minilm, split into phrases (`attnbank compute"
    " attention_span`): they show the shape of an answer."
)
_BRACKETS = (
    ("The DT (TOP(S(NP*", "old JJ *", "clock NN *)", "stopped VBD (VP*", "at IN (PP*",
     "noon NN (NP*)))", ". . *))"),
    ("She PRP (TOP(S(NP*)", "wrote VBD (VP*", "a DT (NP*", "long JJ *", "letter NN *))", ". . *))"),
    ("Most JJS (TOP(S(NP(NP*", "of IN *)", "the DT (NP*", "boats NNS *))", "left VBD (VP*",
     "the DT (NP*", "harbour NN *))", ". . *))"),
    ("Rain NN (TOP(S(NP*)", "fell VBD (VP*", "on IN (PP*", "the DT (NP*", "empty JJ *",
     "square NN *)))", ". . *))"),
)  # fmt: skip
_TRAINED = (
    "Three checkpoints of a tiny decoder that was trained for 50 steps on the sample corpus"
    " (docs/checkpoints.py), over one file of it: they show the shape of an answer, and their"
    " figures mean nothing."
)
_MASKED = (
    "The packaged model minilm has no masked-language-model head and so has neither gradients nor"
    " losses. The example is of a tiny model with random weights (3 layers of 4 heads) over 12"
    " pairs of segments of the sample corpus: it shows the shape of an answer, and its figures mean"
    " nothing."
)
_ABLATED = (
    "The packaged model minilm has no head that predicts words. The example is of a tiny model with"
    " random weights (3 layers of 4 heads) over one file of the sample corpus, two of its heads"
    " disabled: it shows the shape of an answer, and its figures mean nothing."
)
_PROBES = (
    "Probes that learnt from four files of the sample corpus and are scored on the fifth, with the"
    " packaged model minilm. A hundred sentences are far too few to learn from: the example shows"
    " the shape of an answer."
)


def _fix_vocabulary(path: Path, text: list[str]) -> None:
    """Give a WordPiece tokenizer the characters and the commonest words of the text.

    The vocabulary that the trainer finds depends on the order of its threads, and then the figures
    would differ from build to build.
    """
    words = Counter(re.findall(r"\w+|[^\w\s]", " ".join(text).lower()))
    characters = sorted({each for word in words for each in word})
    common = sorted(words, key=lambda each: (-words[each], each))
    tokenizer = json.loads(path.read_text(encoding="utf-8"))
    known = tokenizer["model"]["vocab"]
    special = sorted((each for each in known if each.startswith("[")), key=lambda each: known[each])
    pieces = [*special, *characters, *(f"##{each}" for each in characters), *common]
    kept = list(dict.fromkeys(pieces))[: len(known)]
    tokenizer["model"]["vocab"] = {each: at for at, each in enumerate(kept)}
    path.write_text(json.dumps(tokenizer), encoding="utf-8")


def closure(analysis: Analysis) -> set[str]:
    """The names of all analyses and shared macros that an analysis reads, directly or not."""
    found: set[str] = set()
    waiting = [analysis.name]
    while waiting:
        new = read_by(waiting.pop()) - found
        found |= new
        waiting += new
    return found


def printed(analysis: Analysis, bank: Path) -> str:
    """The first rows of what `attnbank query NAME` prints of a bank."""
    from click.testing import CliRunner

    from attnbank.cli.app import app

    os.environ["COLUMNS"] = _WIDTH
    result = CliRunner().invoke(
        app, ["-b", str(bank), "query", analysis.name], catch_exceptions=False
    )
    if result.exit_code:
        raise RuntimeError(f"{analysis.name}: {result.output}")
    lines = result.stdout.rstrip("\n").split("\n")
    rules = [at for at, line in enumerate(lines) if line and not line.strip("- ")]
    head = rules[0] + 1 if rules else len(lines)  # a single row stands upright
    rows = len(lines) - head
    if not rows:
        return "\n".join([*lines, *result.stderr.splitlines()])
    if rows > _ROWS:
        lines = [*lines[: head + _ROWS], f"... (the first {_ROWS} of {rows:,} rows)"]
    return "\n".join(lines)
