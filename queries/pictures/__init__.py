"""Makes pictures: a frame goes in, a Vega-Lite specification or a picture file comes out.

    from attnbank.queries.pictures import ChartFacts, altair_chart, specification

`specification` needs no further package; `altair_chart` makes a chart of it (extra `plot`). Nothing
here reads a bank or writes a file: `Bank.plot` and the commands do.
"""

from __future__ import annotations

from attnbank.queries.pictures.card import HEAD_CARD, HeadCard
from attnbank.queries.pictures.charts import (
    SENTENCES,
    ChartFacts,
    altair_chart,
    chart_facts,
    check_has_picture,
    fit_to_column,
    runs_named,
    specification,
)
from attnbank.queries.pictures.panels import Size
from attnbank.queries.pictures.rendering import ENDINGS, Chart, Picture, render
from attnbank.queries.pictures.theme import SCREENS, THEMES, Look

__all__ = [
    "ENDINGS",
    "HEAD_CARD",
    "SCREENS",
    "SENTENCES",
    "THEMES",
    "Chart",
    "ChartFacts",
    "HeadCard",
    "Look",
    "Picture",
    "Size",
    "altair_chart",
    "chart_facts",
    "check_has_picture",
    "fit_to_column",
    "render",
    "runs_named",
    "specification",
]
