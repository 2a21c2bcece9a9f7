"""Makes the generated pages of the documentation.

`python docs/make.py` writes all of them, and the map of the folders in CONTRIBUTING.md; `make docs`
does that and builds the site.
`python docs/make.py --map` writes only the map.
`python docs/make.py --types` writes only the table of model types, from tiny models of all.
`python docs/make.py --pictures` writes the pictures of the pages, which are kept in git, into
docs/pictures/, with the packaged model.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).resolve().parent
sys.path[:0] = [str(DOCS), str(DOCS.parent / "tests" / "support")]

from generator import analyses, commands, faults, house, model_types, pictures, schema  # noqa: E402
from generator.example import Answers, Examples  # noqa: E402


def pages(examples: Answers) -> dict[str, str]:
    """All generated pages by name of file."""
    return commands.pages() | schema.pages() | faults.pages() | analyses.pages(examples)


def write(made: dict[str, str], folder: Path = DOCS) -> None:
    """Write pages into a folder, and make the folders below it that they need."""
    for name, text in made.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def main() -> None:
    """Write the pages that are asked for, and delete pages of analyses that no longer exist."""
    house.CONTRIBUTING.write_text(house.with_map(), encoding="utf-8")
    if "--map" in sys.argv:
        return
    if "--types" in sys.argv:
        rows = model_types.rows_of()
        model_types.PAGE.write_text(model_types.with_table(rows), encoding="utf-8")
        return
    with tempfile.TemporaryDirectory(prefix="attnbank-docs-") as folder:
        if "--pictures" in sys.argv:
            write(pictures.pictures(Examples(Path(folder))))
            return
        made = pages(Examples(Path(folder)))
    for old in (DOCS / "analyses").glob("*.md"):
        old.unlink()
    write(made)


if __name__ == "__main__":
    main()
