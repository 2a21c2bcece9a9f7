"""What heads are coloured by: columns of the analyses that are plotted as a grid of heads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

from attnbank.queries.pictures.theme import unit_of
from attnbank.sql.registry import analyses


@dataclass(frozen=True)
class HeadMeasure:
    """What a grid can be coloured by: a column of an analysis that is plotted as a grid of heads.

    The scale is that of the plot: its fixed `domain`, or the range of its `columns`. Values
    from 0 to 1 are shares. `has_relation` and `has_direction` say whether the analysis takes a
    relation and has a row for each direction.
    """

    title: str
    analysis: str
    column: str
    columns: tuple[str, ...] = ()
    domain: tuple[float, float] | None = None
    has_relation: bool = False
    has_direction: bool = False

    @property
    def is_share(self) -> bool:
        """Whether values are written as per cent."""
        return self.domain == (0.0, 1.0)


# The usual measures, by their names in an address.
MEASURES = {
    "relation": HeadMeasure("Accuracy for a relation", "head_accuracy", "accuracy"),
    "previous": HeadMeasure("Attention to the previous token", "relative_position", "previous"),
    "self": HeadMeasure("Attention to the token itself", "relative_position", "self"),
    "next": HeadMeasure("Attention to the next token", "relative_position", "next"),
    "cls": HeadMeasure("Attention to [CLS]", "special_tokens", "cls"),
    "sep": HeadMeasure("Attention to [SEP]", "special_tokens", "sep"),
    "punctuation": HeadMeasure("Attention to . and ,", "special_tokens", "punctuation"),
    "entropy": HeadMeasure("Entropy in nats", "entropy", "entropy"),
    "coreference": HeadMeasure("Accuracy for coreference", "coreference_accuracy", "accuracy"),
    "probe": HeadMeasure("Contribution to a probe in nats", "probe_heads", "contribution"),
}


@cache
def measures() -> dict[str, HeadMeasure]:
    """All measures: the usual ones, then each column that an analysis plots as a grid of heads."""
    by_name = dict(MEASURES)
    usual = {(measure.analysis, measure.column) for measure in MEASURES.values()}
    for name, analysis in analyses().items():
        plot = analysis.plot
        if plot is None or plot.kind != "grid" or {*plot.panel} - {"direction"}:
            continue
        if not any(parameter.name == "run" for parameter in analysis.parameters):
            continue  # a grid shows one run
        if plot.x not in ((), ("head",)) or plot.y not in ((), ("layer",)):
            continue
        columns = {column.name: column for column in analysis.columns}
        for column in plot.color:
            if columns[column].type == "double" and (name, column) not in usual:
                title = f"{name.replace('_', ' ').capitalize()}: {column.replace('_', ' ')}"
                unit = unit_of(columns[column].help)
                title += f" ({unit})" if unit and plot.domain is None else ""
                by_name[f"{name}.{column}"] = HeadMeasure(title, name, column)
    return {name: _with_scale(measure) for name, measure in by_name.items()}


def _with_scale(measure: HeadMeasure) -> HeadMeasure:
    analysis = analyses()[measure.analysis]
    plot = analysis.plot
    assert plot is not None, "a measure is one that is drawn"
    return replace(
        measure,
        columns=plot.color,
        domain=plot.domain,
        has_relation=any(parameter.name == "relation" for parameter in analysis.parameters),
        has_direction=any(column.name == "direction" for column in analysis.columns),
    )
