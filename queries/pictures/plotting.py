"""What a bank draws: the methods of Bank for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from attnbank.sql import registry

if TYPE_CHECKING:
    from attnbank.queries.bank import Bank
    from attnbank.queries.pictures import Size


class Plots:
    """The part of a Bank that draws."""

    def plot(
        self, name: str, /, *, theme: str = "light", size: Size | None = None, **values: Any
    ) -> Any:
        """The picture of an analysis, an Altair chart: a notebook draws it, `save` writes it.

        `values` are the parameters of the analysis, as `query` takes them; `theme` is light or
        dark. Raises as `query` does; CallError for an analysis that has no picture and for one of
        too many panels, QueryError where there is nothing to draw, MissingPackageError where Altair
        is not installed.
        """
        from attnbank.queries import pictures

        analysis = registry.find(name)
        pictures.check_has_picture(analysis)
        frame, facts = self._asked(name, values)
        return pictures.draw(analysis, frame, facts, theme, size)

    def plot_specification(
        self, name: str, /, *, theme: str = "light", size: Size | None = None, **values: Any
    ) -> dict[str, Any]:
        """The same as a Vega-Lite specification, which needs no Altair. Raises as `plot`."""
        from attnbank.queries import pictures

        analysis = registry.find(name)
        pictures.check_has_picture(analysis)
        frame, facts = self._asked(name, values)
        return pictures.specification(analysis, frame, facts, theme, size)

    def _asked(self, name: str, values: dict[str, Any]) -> tuple[Any, Any]:
        """The rows of an analysis, and whose they are."""
        from attnbank.queries.pictures.facts import facts_of

        bank = cast("Bank", self)
        frame = bank.query(name, **values)
        named = frame
        if "run" not in frame.columns and "probe" in frame.columns and frame.height:
            # The rows of a probe name no run: the scores of the same probe do.
            named = bank.query("probe_accuracy", probe=frame["probe"][0])
        return frame, facts_of(named, bank.runs(), values)
