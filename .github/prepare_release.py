"""Writes into a checkout what a package index needs: the project's address, and absolute links.

    python .github/prepare_release.py https://github.com/OWNER/REPOSITORY v0.1.0

An index shows the README alone, so its links and pictures must lead to the repository, at the tag.
The address is that of whoever releases, so it stands in no file of the repository itself.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
_PICTURE = re.compile(r'\b(src|srcset)="([^":]+)"')


def with_absolute_links(text: str, address: str, tag: str) -> str:
    """A page whose relative links lead to the repository; pictures to the files themselves."""

    def absolute(link: re.Match[str]) -> str:
        picture, words, target = link.groups()
        if "://" in target or target.startswith("#"):
            return link[0]
        return f"{picture}[{words}]({address}/{'raw' if picture else 'blob'}/{tag}/{target})"

    pictures = _PICTURE.sub(rf'\1="{address}/raw/{tag}/\2"', text)
    return _LINK.sub(absolute, pictures)


def with_urls(text: str, address: str, tag: str) -> str:
    """The pyproject.toml with the addresses of the project."""
    urls = {
        "Repository": address,
        "Issues": f"{address}/issues",
        "Changelog": f"{address}/blob/{tag}/CHANGELOG.md",
    }
    lines = "".join(f'{name} = "{each}"\n' for name, each in urls.items())
    return text.replace("[project.scripts]", f"[project.urls]\n{lines}\n[project.scripts]", 1)


def main() -> None:
    """Write both files of the current folder anew."""
    address, tag = sys.argv[1].rstrip("/"), sys.argv[2]
    for name, change in (("README.md", with_absolute_links), ("pyproject.toml", with_urls)):
        file = Path(name)
        file.write_text(change(file.read_text("utf-8"), address, tag), encoding="utf-8")


if __name__ == "__main__":
    main()
