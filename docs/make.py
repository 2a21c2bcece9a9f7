"""Makes the generated pages of the documentation.

`python docs/make.py` writes all of them; `make docs` does that and builds the site.
`python docs/make.py --reference` writes only those that are kept in git (commands.md, schema.md,
schema.svg), which needs no model and takes seconds. `python docs/make.py --pictures` writes the
pictures of the README into docs/pictures/, with the packaged model.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).resolve().parent
sys.path[:0] = [str(DOCS), str(DOCS.parent / "tests" / "support")]

from generator import analyses, commands, faults, pictures, schema  # noqa: E402
from generator.example import Examples  # noqa: E402


def reference() -> dict[str, str]:
    """The pages that are kept in git, by name of file; making them needs no model."""
    return commands.pages() | schema.pages()


def others(examples: Examples) -> dict[str, str]:
    """The pages that are made for each build of the site, by name of file."""
    return faults.pages() | analyses.pages(examples)


def write(pages: dict[str, str], folder: Path = DOCS) -> None:
    """Write pages into a folder, and make the folders below it that they need."""
    for name, text in pages.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def main() -> None:
    """Write the pages that are asked for, and delete pages of analyses that no longer exist."""
    write(reference())
    if "--reference" in sys.argv:
        return
    with tempfile.TemporaryDirectory(prefix="attnbank-docs-") as folder:
        if "--pictures" in sys.argv:
            write(pictures.pictures(Examples(Path(folder))))
            return
        pages = others(Examples(Path(folder)))
    for old in (DOCS / "analyses").glob("*.md"):
        old.unlink()
    write(pages)


if __name__ == "__main__":
    main()
