"""spaCy pipelines that have the same name and version but annotate differently."""

from __future__ import annotations

from pathlib import Path


def other_pipeline(folder: Path, to: Path) -> Path:
    """Save to `to` a changed copy of the pipeline in `folder`, with its name and version."""
    import spacy

    pipeline = spacy.load(folder)
    ruler = pipeline.add_pipe("attribute_ruler")
    ruler.add(patterns=[[{"IS_ALPHA": True}]], attrs={"LEMMA": "other"})
    pipeline.to_disk(to)
    return to
