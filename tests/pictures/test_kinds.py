"""The kinds of pictures that a line `plot` in a header can ask for, and what they look like."""

from __future__ import annotations

import itertools
import math

import numpy as np
import polars as pl
import pytest
from drawn import figures_of, frame_of_heads, heads, marks_of, words_of

from attnbank.queries.pictures import ChartFacts, Size, altair_chart, specification
from attnbank.queries.pictures.charts import MOST_PANELS, MOST_ROWS
from attnbank.queries.pictures.kinds import cluster_order
from attnbank.queries.pictures.theme import THEMES
from attnbank.sql.errors import CallError, QueryError
from attnbank.sql.header import OWN, HeaderError, Plot, parse

GRID = heads("grid color=share domain=0,1")
EVERY_KIND = (
    "grid color=share",
    "grid color=share,other panel=group",
    "grid color=share text=group",
    "bars x=share y=group aside=other",
    "grid color=group",
    "points y=share color=group rule=other",
    "points y=share,other",
    "lines x=head y=share color=group panel=layer",
    "bars x=share y=layer,head low=other high=share beside=other panel=group",
    "scatter x=share y=other color=group,layer label=layer,head",
    "matrix x=layer y=head color=share",
)


@pytest.mark.usual(4)
@pytest.mark.parametrize("plot", EVERY_KIND)
def test_a_kind_is_a_chart_in_both_themes(plot: str) -> None:
    frame = frame_of_heads(groups=("above", "below"))
    for theme in THEMES:
        chart = altair_chart(
            specification(heads(plot), frame, ChartFacts(("r",), ("m",), ("c",)), theme)
        )
        made = chart.to_dict()
        assert made["config"]["background"] == THEMES[theme].background
        assert made["title"]["subtitle"][0] == "Run r · model m · corpus c"
        assert len(made["datasets"]["rows"]) == frame.height


def test_the_cells_of_a_grid_stand_at_their_layer_and_head() -> None:
    made = specification(GRID, frame_of_heads())
    cells = marks_of(made, "rect")
    width, height = cells[0]["width"], cells[0]["height"]
    assert len(cells) == 6
    for cell in cells:
        told = figures_of(cell)
        layer, head = int(told["Layer"]), int(told["Head"])
        assert float(told["share"]) == pytest.approx((1 + layer * 10 + head) / 100)
        assert (cell["x"], cell["y"]) == (
            pytest.approx((head - 1) * width, abs=1),
            pytest.approx((layer - 1) * height, abs=1),
        )
    assert {"Layer", "Head", "1", "2", "3"} <= set(words_of(made))


def test_ten_comes_after_nine() -> None:
    cells = marks_of(specification(GRID, frame_of_heads(1, 12)), "rect")
    across = sorted(cells, key=lambda cell: float(cell["x"]))
    assert [int(figures_of(cell)["Head"]) for cell in across] == list(range(1, 13))


def test_bars_are_as_long_as_their_amounts() -> None:
    bars = heads("bars x=share y=layer,head low=other high=share beside=other domain=0,1")
    made = specification(bars, frame_of_heads(), size=Size(width=200))
    for bar in marks_of(made, "rect"):
        assert bar["width"] == pytest.approx(200 * float(figures_of(bar)["share"]))
    for point in marks_of(made, "symbol"):
        assert point["x"] == pytest.approx(200 * float(figures_of(point)["column value"]))
    assert len(marks_of(made, "rule")) == len(marks_of(made, "symbol")) == 6
    assert "other" in words_of(made) and "1-1" in words_of(made)


def test_the_line_through_points_is_that_of_their_means() -> None:
    frame = frame_of_heads()
    made = specification(heads("points y=share rule=other domain=0,1"), frame)
    lines = marks_of(made, "line")
    means = frame.group_by("layer").agg(pl.col("share", "other").mean()).sort("layer")
    told = [figures_of(mark) for mark in lines]
    drawn = [float(each["mean of rows"]) for each in told if "mean of rows" in each]
    ruled = [float(each["rule value"]) for each in told if "rule value" in each]
    assert drawn == pytest.approx(means["share"].to_list())
    assert ruled == pytest.approx(means["other"].to_list())
    heights = {round(float(mark["y"]), 6) for mark in lines}
    assert len(heights) == 4, "the dashed line is not that of the means"


def test_a_map_is_true_to_scale() -> None:
    frame = frame_of_heads().with_columns(share=pl.col("share") * 10)
    points = marks_of(specification(heads("scatter x=share y=other color=layer"), frame), "symbol")
    told = [figures_of(point) for point in points]
    x, y = ([float(each[name]) for each in told] for name in ("share", "other"))
    per_unit = (points[-1]["x"] - points[0]["x"]) / (x[-1] - x[0])
    assert points[0]["y"] - points[-1]["y"] == pytest.approx(per_unit * (y[-1] - y[0]))


def test_a_matrix_has_both_sides_and_puts_near_things_together() -> None:
    far = np.array([[0, 9, 1, 9], [9, 0, 9, 2], [1, 9, 0, 8], [9, 2, 8, 0]], dtype=float)
    assert cluster_order(far) in ([0, 2, 3, 1], [1, 3, 2, 0])
    assert cluster_order(np.zeros((0, 0))) == [] and cluster_order(np.zeros((1, 1))) == [0]
    assert sorted(cluster_order(np.full((3, 3), np.inf))) == [0, 1, 2]
    pairs = parse("pairs", OWN, (
        "-- title: t\n-- grain: g\n-- plot: matrix x=a y=b color=d\n-- column a varchar: a\n"
        "-- column b varchar: b\n-- column d double: how far\nselect 1"
    ))  # fmt: skip
    rows = [(f"h{a}", f"h{b}", far[a, b]) for a in range(4) for b in range(a + 1, 4)]
    made = specification(pairs, pl.DataFrame(rows, schema=["a", "b", "d"], orient="row"))
    cells = marks_of(made, "rect")
    assert len(cells) == 12
    places = {(round(cell["x"]), round(cell["y"])): figures_of(cell)["d"] for cell in cells}
    assert all(places[y, x] == amount for (x, y), amount in places.items())
    near = sorted(x for (x, y), amount in places.items() if amount == "1")
    assert near[1] - near[0] == round(cells[0]["width"])


@pytest.mark.parametrize("seed", range(5))
def test_clusters_are_joined_by_the_mean_of_all_their_pairs(seed: int) -> None:
    drawn = np.random.default_rng(seed).random((24, 24))
    far = drawn + drawn.T
    clusters = [[each] for each in range(24)]
    while len(clusters) > 1:
        _, one, other = min(
            (np.mean([far[a, b] for a in clusters[one] for b in clusters[other]]), one, other)
            for other in range(len(clusters))
            for one in range(other)
        )
        right, left = clusters.pop(other), clusters[one]
        ways = [(x, y) for x in (left, left[::-1]) for y in (right, right[::-1])]
        first, second = min(ways, key=lambda way: far[way[0][-1], way[1][0]])
        clusters[one] = first + second
    assert cluster_order(far) == clusters[0]


def test_amounts_below_0_have_their_own_colour() -> None:
    frame = frame_of_heads().with_columns(share=pl.col("share") - 0.2)
    made = specification(heads("grid color=share"), frame)
    domain = made["encoding"]["color"]["scale"]["domain"]
    assert domain[1] == 0 and domain[0] == -domain[2]


def test_layers_have_colours_from_the_first_to_the_last() -> None:
    """The colours of layers are not wasted on a layer 0, which no model has."""
    made = specification(heads("scatter x=share y=other color=layer"), frame_of_heads())
    layers = frame_of_heads()["layer"]
    found: list[list[int]] = []

    def look(part: object) -> None:
        if isinstance(part, dict):
            if isinstance(part.get("color"), dict) and "scale" in part["color"]:
                found.append(part["color"]["scale"].get("domain"))
            part = [*part.values()]
        for each in part if isinstance(part, list) else ():
            look(each)

    look(made)
    assert found == [[layers.min(), layers.max()]] and layers.n_unique() > 1


def test_what_has_no_place_is_told_and_what_has_no_value_is_grey() -> None:
    frame = frame_of_heads().with_columns(
        share=pl.when(pl.col("head") == 1).then(math.nan).otherwise(pl.col("share"))
    )
    told = specification(heads("points y=share"), frame)
    assert "Omitted: 2 rows without share" in " ".join(told["title"]["subtitle"])
    assert len(told["datasets"]["rows"]) == 4
    grid = specification(GRID, frame)
    assert "Grey: no value" in " ".join(grid["title"]["subtitle"])
    assert [row["share"] for row in grid["datasets"]["rows"]].count(None) == 2
    assert len([each for each in marks_of(grid, "rect") if each["fill"] != "#e3e3e3"]) == 4


def test_a_panel_is_called_what_the_header_says_of_its_value() -> None:
    plot = heads("points y=share color=layer panel=group")
    made = specification(plot, frame_of_heads(groups=("above", "below")))
    titles = [each["title"]["text"] for each in made["concat"]]
    assert titles == [["From every token"], ["below"]]
    alone = specification(plot, frame_of_heads(groups=("above",)))
    assert "concat" not in alone and "Group: From every token" in alone["title"]["subtitle"][-1]


def test_a_panel_has_the_names_and_the_n_of_its_own_rows() -> None:
    is_shown = (pl.col("group") == "above") == (pl.col("layer") == 1)
    frame = frame_of_heads(groups=("above", "below")).filter(is_shown)
    frame = frame.with_columns(n=10 * pl.col("layer"))
    made = specification(heads("bars x=share y=layer,head panel=group"), frame)
    axes = [panel["layer"][0]["encoding"]["y"]["scale"]["domain"] for panel in made["concat"]]
    assert axes == [["1-1", "1-2", "1-3"], ["2-1", "2-2", "2-3"]]
    titles = [" ".join(panel["title"]["text"]) for panel in made["concat"]]
    assert [title[-6:] for title in titles] == ["(n 10)", "(n 20)"]


def test_too_much_is_refused_and_nothing_too() -> None:
    many = frame_of_heads(1, 1, tuple(f"g{at}" for at in range(MOST_PANELS + 1)))
    with pytest.raises(CallError, match=r"would have 25 panels.*24"):
        specification(heads("grid color=share panel=group"), many)
    long = pl.concat([frame_of_heads()] * (MOST_ROWS // 6 + 1))
    with pytest.raises(CallError, match="rows; a picture can show at most 100,000"):
        specification(GRID, long)
    with pytest.raises(QueryError, match="no rows to draw"):
        specification(GRID, frame_of_heads().head(0))
    with pytest.raises(QueryError, match="no values to draw"):
        empty = frame_of_heads().with_columns(share=pl.lit(None, pl.Float64))
        specification(heads("points y=share"), empty)
    with pytest.raises(
        CallError, match=r"Theme neon does not exist\.\nChoose from: light, dark, print"
    ):
        specification(GRID, frame_of_heads(), theme="neon")


def test_a_long_list_of_bars_is_cut_and_says_so() -> None:
    bars = heads("bars x=share y=layer,head")
    made = specification(bars, frame_of_heads(10, 10))
    assert len(made["datasets"]["rows"]) == len(marks_of(made, "rect")) == 80
    assert "The first 80 bars; omitted: 20." in " ".join(made["title"]["subtitle"])


def test_names_at_an_axis_are_left_out_evenly_or_not_at_all() -> None:
    """Greedy labels left 6 and 8 of nine heads out; a matrix of n heads has n names."""
    wide = specification(GRID, frame_of_heads(2, 64))
    told = [each for each in words_of(wide) if each.isdecimal()]
    heads_named = sorted({int(each) for each in told if int(each) > 2} | {1})
    steps = {b - a for a, b in itertools.pairwise(heads_named)}
    assert len(steps) == 1 and len(heads_named) > 10
    rows = [
        (1 + a // 9, 1 + a % 9, 1 + b // 9, 1 + b % 9, (a + b) / 144)
        for a in range(72)
        for b in range(a + 1, 72)
    ]
    columns = ("layer_a", "head_a", "layer_b", "head_b")
    pairs = parse("pairs", OWN, "\n".join([
        "-- title: t", "-- grain: g", "-- plot: matrix x=layer_a,head_a y=layer_b,head_b color=d",
        *(f"-- column {name} smallint: x" for name in columns), "-- column d double: how far",
        "select 1",
    ]))  # fmt: skip
    made = specification(pairs, pl.DataFrame(rows, schema=[*columns, "d"], orient="row"))
    names = {f"{1 + at // 9}-{1 + at % 9}" for at in range(72)}
    found = [each for each in words_of(made) if each in names]
    assert len(found) == 2 * 72 and set(found) == names
    many = specification(heads("grid x=layer,head y=group color=share"), frame_of_heads(20, 9))
    found = [each for each in words_of(many) if each[:1].isdecimal() and "-" in each]
    assert found == [f"{layer}-1" for layer in range(1, 21)]


def test_a_bar_says_how_many_it_is_of_and_what_its_line_is() -> None:
    bars = heads("bars x=share y=layer,head low=low high=share beside=other aside=head")
    told = " ".join(
        specification(bars, frame_of_heads().with_columns(low=0.1))["title"]["subtitle"]
    )
    assert "Bars: share. Lines: 95 % interval of share." in told
    made = words_of(specification(bars, frame_of_heads().with_columns(low=0.1)))
    assert [each for each in made if each.startswith("head ")] == ["head 1", "head 2", "head 3"] * 2


def test_what_all_rows_are_about_is_said_once() -> None:
    told = specification(GRID, frame_of_heads(groups=("later_to_earlier",)))["title"]["subtitle"]
    assert "Group: later to earlier" in " ".join(told)
    drawn = specification(heads("grid color=share panel=group"), frame_of_heads())
    assert "Group: a" not in " ".join(drawn["title"]["subtitle"]).partition("Group: a")[2]


def test_cells_say_the_first_of_their_names() -> None:
    frame = frame_of_heads().with_columns(
        group=pl.when(pl.col("head") == 1).then(pl.lit("obj, nsubj, det"))
    )
    made = specification(heads("grid color=share,other text=group"), frame)
    assert [each for each in words_of(made) if each.startswith("obj")] == ["obj\n+2", "obj\n+2"]
    none = specification(heads("grid color=share,other text=group"),
                         frame.with_columns(group=pl.lit(None, pl.String)))  # fmt: skip
    assert len(none["concat"]) == 2
    inside = specification(heads("grid color=share text=group"), frame)
    assert "concat" not in inside and words_of(inside).count("obj") == 2
    named = specification(heads("grid color=share label=layer,head"), frame)
    assert "1-1" in words_of(named) and "1-1" not in words_of(inside)


def test_what_is_not_significant_is_grey_and_has_no_name() -> None:
    plot = heads("grid color=share text=group significant=other")
    frame = frame_of_heads().with_columns(
        other=pl.when(pl.col("head") == 1).then(0.01).when(pl.col("head") == 2).then(0.05),
        group=pl.lit("obj"),
        share=pl.when(pl.col("head") == 1).then(0.2).otherwise(-0.9),
    )
    made = specification(plot, frame)
    assert words_of(made).count("obj") == len(marks_of(made, "rect")) == 2
    assert made["usermeta"]["notes"] == "Coloured: 2 of 6 with p < 0.05; the others are grey."
    assert "-0.9" not in words_of(made), "the scale is that of what is coloured"


def test_colours_that_do_not_tell_are_told() -> None:
    def notes(share: pl.Expr, plot: str = "grid color=share domain=0,1") -> str:
        told: str = specification(heads(plot), frame_of_heads().with_columns(share=share))[
            "usermeta"
        ]["notes"]
        return told

    assert "all 0" in notes(pl.lit(0.0)) and "all 0" in notes(pl.lit(0.0), "grid color=share")
    assert "all below 1e-06" in notes(pl.lit(1e-9))
    told = notes(pl.col("head") / 100)
    assert "the highest are 1-3 0.03, 2-3 0.03, 1-2 0.02 (--stretch" in told
    assert notes(pl.col("head") / 10) == "" == notes(-pl.col("head") / 100, "grid color=share")


def test_the_end_of_a_line_that_is_at_nothing_is_left_out() -> None:
    frame = pl.DataFrame({"layer": range(20), "head": range(20),
                          "share": [1.0, 0.5, *[0.001] * 18], "other": [0.0] * 20,
                          "group": ["a"] * 20})  # fmt: skip
    made = specification(heads("lines x=head y=share"), frame)
    assert len(made["datasets"]["rows"]) == 5
    assert "Omitted: head 5 to 19, where it is at most 0.001" in made["usermeta"]["notes"]
    several = specification(heads("lines x=head y=share color=group"), frame)
    assert len(several["datasets"]["rows"]) == 20


def test_bars_of_numbers_stand_in_their_order() -> None:
    frame = frame_of_heads(1, 3).with_columns(group=pl.Series(["2", "-10", "-1"]))
    assert [each for each in words_of(specification(heads("bars x=share y=group"), frame))
            if each in ("2", "-10", "-1")] == ["-10", "-1", "2"]  # fmt: skip


def test_print_is_black_on_white() -> None:
    theme = THEMES["print"]
    told = (theme.background, theme.ink, theme.bar, *theme.palette, theme.other, *theme.sequence,
            *theme.diverging, theme.sentence.gold, theme.sentence.mark,
            *theme.sentence.entities)  # fmt: skip
    assert all(colour[1:3] == colour[3:5] == colour[5:7] for colour in told)
    assert (theme.background, theme.ink) == ("#ffffff", "#000000")


def test_the_header_line_is_read() -> None:
    assert heads("points y=share color=group domain=0,1.5").plot == Plot(
        "points", x=("layer",), y=("share",), color=("group",), domain=(0.0, 1.5)
    )
    assert heads("grid color=share scale=sqrt").plot == Plot(
        "grid", x=("head",), y=("layer",), color=("share",), scale="sqrt"
    )
    assert parse("a", OWN, "-- title: t\n-- grain: g\n-- column x double: y\nselect 1").plot is None


@pytest.mark.parametrize(
    ("plot", "message"),
    [
        ("", "'' in the header line 'plot' is not a kind.*\nThe kinds: grid, points"),
        ("pie x=share", "'pie' in the header line 'plot' is not a kind"),
        ("grid", "kind grid needs color=COLUMN"),
        ("grid color", "cannot read 'color'"),
        ("grid color=", "cannot read 'color='"),
        ("grid color=share color=other", "cannot read 'color=other'"),
        ("grid colour=share", "cannot read 'colour=share'"),
        ("grid color=sare", "'color=sare' .* names no column.*\nThe columns: group, layer"),
        ("grid color=share scale=log", "cannot read 'scale=log'"),
        ("bars x=share", "kind bars needs y=COLUMN"),
        ("bars x=share y=group low=share,other", "'low=share,other' .* names no column"),
        ("grid color=share domain=1,0", "'domain=1,0' .* is not two numbers"),
        ("grid color=share domain=a,b", "is not two numbers"),
        ("grid color=share domain=0,inf", "is not two numbers"),
        ("grid color=share domain=0", "is not two numbers"),
    ],
)
def test_a_wrong_line_says_what_is_wrong(plot: str, message: str) -> None:
    with pytest.raises(HeaderError, match=message):
        heads(plot)


def test_a_grid_without_layers_must_say_what_stands_where() -> None:
    text = "-- title: t\n-- grain: g\n-- plot: grid color=n\n-- column n double: n\nselect 1"
    with pytest.raises(HeaderError, match=r"has no column head, layer\.\nSay x=COLUMN"):
        parse("own", OWN, text)


def test_a_head_in_a_cell_is_never_cut() -> None:
    """4-10 cut to 4-. would be no head; a panel with many rows has cells as wide as its names."""
    frame = frame_of_heads(12, 12, ("a", "b"))
    plot = "grid color=share x=head y=layer label=layer,head panel=group"
    wide = words_of(specification(heads(plot), frame))
    assert {"4-10", "12-12"} <= {*wide} and not any(word.endswith("-.") for word in wide)
    narrow = words_of(specification(heads(plot), frame, size=Size(width=12 * 16)))
    assert "12-12" not in narrow and not any(word.endswith(".") for word in narrow)
