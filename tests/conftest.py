"""What several test files share: the real corpora and a tiny spaCy pipeline."""

from __future__ import annotations

from pathlib import Path

import pytest

# A few sentences with their trees: enough for a parser that finds sentences.
_TRAINING = (
    ("Rain fell .", "NOUN VERB PUNCT", (1, 1, 1), "nsubj ROOT punct"),
    ("The dogs barked .", "DET NOUN VERB PUNCT", (1, 2, 2, 2), "det nsubj ROOT punct"),
    ("A door closed .", "DET NOUN VERB PUNCT", (1, 2, 2, 2), "det nsubj ROOT punct"),
    ("It stopped .", "PRON VERB PUNCT", (1, 1, 1), "nsubj ROOT punct"),
    ("She saw him .", "PRON VERB PRON PUNCT", (1, 1, 1, 1), "nsubj ROOT dobj punct"),
    ("They saw the rain .", "PRON VERB DET NOUN PUNCT", (1, 1, 3, 1, 1), "nsubj ROOT det dobj punct"),
)


@pytest.fixture(scope="session")
def corpora() -> Path:
    """The folder of real corpora, beside the repository; a test skips where there is none."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "corpora"
    if not folder.is_dir():
        pytest.skip("the real corpora (../shared/corpora) are not here")
    return folder


@pytest.fixture(scope="session")
def tiny_pipeline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a spaCy pipeline with a tagger and a parser, trained here in seconds."""
    spacy = pytest.importorskip("spacy")
    from spacy.training import Example

    spacy.util.fix_random_seed(0)
    pipeline = spacy.blank("en")
    examples = []
    for text, tags, heads, deps in _TRAINING:
        gold = {"words": text.split(), "tags": tags.split(), "heads": list(heads)}
        examples.append(
            Example.from_dict(pipeline.make_doc(text), gold | {"deps": deps.split()})
        )
    two = " ".join(text for text, *_ in _TRAINING[:2])  # so that the parser learns to split
    (_, tags, heads, deps), (_, tags2, heads2, deps2) = _TRAINING[:2]
    gold = {
        "words": two.split(),
        "tags": f"{tags} {tags2}".split(),
        "heads": [*heads, *(head + len(heads) for head in heads2)],
        "deps": f"{deps} {deps2}".split(),
    }
    examples.append(Example.from_dict(pipeline.make_doc(two), gold))
    pipeline.add_pipe("tagger")
    pipeline.add_pipe("parser")
    optimizer = pipeline.initialize(lambda: examples)
    for _ in range(60):
        pipeline.update(examples, sgd=optimizer)
    folder = tmp_path_factory.mktemp("pipeline")
    pipeline.to_disk(folder)
    return folder
