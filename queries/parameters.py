"""The values of an analysis's parameters: checked against its header, or read from text."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from typing import Any

from attnbank.sql.errors import CallError
from attnbank.sql.header import Analysis, Parameter
from attnbank.sql.suggest import did_you_mean, listed

_INTEGERS = {"tinyint": 8, "smallint": 16, "integer": 32, "int": 32, "bigint": 64, "hugeint": 128}
_FLOATS = frozenset({"double", "float", "real"})
_TEXTS = frozenset({"varchar", "text", "string"})
_TRUE = frozenset({"true", "yes", "on", "1"})
_FALSE = frozenset({"false", "no", "off", "0"})


def check(analysis: Analysis, given: Mapping[str, Any]) -> dict[str, Any]:
    """The given parameters as values that DuckDB can bind.

    Raises CallError for a name that the header does not declare and for a value that does
    not fit the declared type.
    """
    declared = {parameter.name: parameter for parameter in analysis.parameters}
    for name in given:
        if name not in declared:
            takes = f"It takes: {listed(declared)}." if declared else "It takes none."
            raise CallError(
                f"{analysis.name} has no parameter {name}.",
                f"{did_you_mean(name, declared)} {takes}".strip(),
            )
    return {name: value(declared[name], given[name]) for name in given}


def value(parameter: Parameter, given: Any) -> Any:
    """The value in the parameter's type, or None. Raises CallError if it does not fit the type."""
    if given is None:
        return None
    element, is_list = element_type(parameter)
    if not is_list:
        return _scalar(parameter, element, given)
    if isinstance(given, (str, bytes, Mapping)) or not hasattr(given, "__iter__"):
        raise _misfit(parameter, given)
    return [None if each is None else _scalar(parameter, element, each) for each in given]


def from_text(parameter: Parameter, text: str) -> Any:
    """The value that a person typed; commas separate the elements of a list.

    Raises CallError if it does not fit the parameter's type.
    """
    element, is_list = element_type(parameter)
    if not is_list:
        return _scalar_from_text(parameter, element, text)
    inner = text.strip().removeprefix("[").removesuffix("]")
    parts = [part.strip() for part in inner.split(",")] if inner.strip() else []
    return [_scalar_from_text(parameter, element, part) for part in parts]


def element_type(parameter: Parameter) -> tuple[str, bool]:
    """The type of the parameter, or of its elements, in lower case; and whether it is a list."""
    type_ = parameter.type.lower()
    return type_.removesuffix("[]"), type_.endswith("[]")


def _scalar(parameter: Parameter, type_: str, given: Any) -> Any:
    """One value, or element of a list, in a type. Raises CallError if it does not fit."""
    if type_ in _TEXTS:
        if parameter.names_run and isinstance(given, int) and not isinstance(given, bool):
            return str(given)
        if not isinstance(given, str):
            raise _misfit(parameter, given)
        allowed = parameter.choices
        if allowed and given not in allowed:
            raise CallError(
                f"{parameter.name} cannot be {given!r}.",
                f"{did_you_mean(given, allowed)} It is one of: {listed(allowed)}.".strip(),
            )
        return given
    if type_ == "boolean":
        if not isinstance(given, bool):
            raise _misfit(parameter, given)
        return given
    if type_ in _INTEGERS:
        if isinstance(given, bool):
            raise _misfit(parameter, given)
        try:
            whole = operator.index(given)
        except TypeError:
            raise _misfit(parameter, given) from None
        if not -(1 << _INTEGERS[type_] - 1) <= whole < 1 << _INTEGERS[type_] - 1:
            raise _misfit(parameter, given)
        return whole
    if type_ in _FLOATS:
        if isinstance(given, (bool, str, bytes)):
            raise _misfit(parameter, given)
        try:
            number = float(given)
        except (TypeError, ValueError, OverflowError):
            raise _misfit(parameter, given) from None
        if not math.isfinite(number):
            raise _misfit(parameter, given)
        return number
    return given


def _scalar_from_text(parameter: Parameter, type_: str, text: str) -> Any:
    """One value, or element of a list, read from text. Raises CallError if it does not fit."""
    try:
        if type_ in _INTEGERS:
            return _scalar(parameter, type_, int(text))
        if type_ in _FLOATS:
            return _scalar(parameter, type_, float(text))
    except ValueError:
        raise _misfit(parameter, text) from None
    if type_ == "boolean":
        folded = text.strip().casefold()
        if folded not in _TRUE | _FALSE:
            raise _misfit(parameter, text)
        return folded in _TRUE
    return _scalar(parameter, type_, text)


def _misfit(parameter: Parameter, given: object) -> CallError:
    element, is_list = element_type(parameter)
    what = f"a list of {element}" if is_list else element
    return CallError(
        f"{parameter.name} takes {what}, not {given!r}.",
        f"{parameter.name}: {parameter.help}.",
    )
