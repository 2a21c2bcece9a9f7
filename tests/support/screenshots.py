"""Screenshots of every view of the explorer: python tests/support/screenshots.py BANK FOLDER

At 400, 1024, 1440 and 2560 pixels, light and dark, of a whole page each. axe looks at each page,
and what it finds is printed; the exit status is 1 if it finds anything, or a page complains.
"""

from __future__ import annotations

import sys
from pathlib import Path

import browsers

from attnbank.queries import open_bank

WIDTHS = (400, 1024, 1440, 2560)
REQUEST = "pattern { V -[obj]-> O }"


def views(bank: Path) -> dict[str, tuple[str, dict[str, object]]]:
    """Every view by a name, with its address, about the best head for objects."""
    with open_bank(bank) as opened:
        best = opened.query("best_head", relation="obj", min_count=1).row(0, named=True)
        sentence = opened.find(REQUEST, limit=1, context=False)["sent_id"][0]
        runs = opened.runs()["name"].to_list()
    head = f"{best['layer']}-{best['head']}"
    of_head = {"relation": "obj", "direction": best["direction"]}
    return {
        "atlas": ("/", {"relation": "obj"}),
        "entropy": ("/", {"by": "entropy", "stretch": 1}),
        "gain": ("/", {"by": "gain"}),
        "request": (
            "/",
            {"by": "request", "request": REQUEST, "dependent": "O", "governor": "V"},
        ),
        "map": ("/map", {}),
        "head": (f"/head/{head}", of_head),
        "examples": (f"/head/{head}/examples", {**of_head, "breakdown": "wrong"}),
        "sentences": ("/sentences", {"pattern": REQUEST}),
        "counts": ("/sentences", {"pattern": REQUEST, "by": "O.upos"}),
        "sentence": (
            "/sentence",
            {"sentence": sentence, "head": head, "relation": "obj", "tree": 1},
        ),
        "mean": (
            "/sentence",
            {"sentence": sentence, "head": f"{head},1-1", "mean": 1, "relation": "obj"},
        ),
        "model": ("/model", {"sentence": sentence}),
        "typed": ("/typed", {"text": "The keeper [MASK] the lamp.", "head": head}),
        "compare": ("/compare", {"run_a": runs[0], "run_b": runs[-1], "relation": "obj"}),
        "tables": ("/tables", {}),
        "table": ("/tables/best_head", {"min_count": 1}),
        "sql": ("/sql", {"statement": "from word limit 5"}),
        "bank": ("/bank", {}),
    }


def main(bank: Path, folder: Path) -> int:
    """Take all of them; the exit status."""
    folder.mkdir(parents=True, exist_ok=True)
    addresses, problems = views(bank), 0
    with browsers.launched() as browser, browsers.explored(bank) as address:
        for scheme in ("light", "dark"):
            for width in WIDTHS:
                # The policy of the pages would refuse the script of axe.
                visitor = browsers.Visitor(browser, address, width, scheme, bypass_csp=True)
                for name, (path, parameters) in addresses.items():
                    page = visitor.see(path, **parameters)
                    page.screenshot(path=folder / f"{name}-{width}-{scheme}.png", full_page=True)
                    complaints = [*visitor.said, *browsers.faults(page)]
                    for complaint in complaints:
                        print(name, width, scheme, complaint)
                    problems += len(complaints)
                    visitor.said.clear()
                visitor.context.close()
    print(f"{len(addresses) * len(WIDTHS) * 2} screenshots are in {folder}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
