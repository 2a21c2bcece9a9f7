"""The values of an analysis's parameters: checked against its header, or read from text."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from attnbank.sql.errors import CallError
from attnbank.sql.header import Analysis, Parameter
from attnbank.sql.suggest import did_you_mean, join_names

_INTEGERS = {"tinyint": 8, "smallint": 16, "integer": 32, "int": 32, "bigint": 64, "hugeint": 128}
_FLOATS = frozenset({"double", "float", "real"})
_TEXTS = frozenset({"varchar", "text", "string"})
_BOOLEANS = {
    **dict.fromkeys(("true", "yes", "on", "1"), True),
    **dict.fromkeys(("false", "no", "off", "0"), False),
}
_READERS: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(_INTEGERS, int),
    **dict.fromkeys(_FLOATS, float),
    "boolean": lambda text: _BOOLEANS[text.strip().casefold()],
}


def bind_values(analysis: Analysis, given: Mapping[str, Any]) -> dict[str, Any]:
    """The given parameters as values that DuckDB can bind.

    Raises CallError for a name that is not declared, and a value that does not fit the type.
    """
    declared = {parameter.name: parameter for parameter in analysis.parameters}
    for name in given:
        if name not in declared:
            takes = f"It takes: {join_names(declared)}." if declared else "It takes none."
            raise CallError(
                f"{analysis.name} has no parameter {name}.",
                f"{did_you_mean(name, declared)} {takes}".strip(),
            )
    return {name: convert_value(declared[name], given[name]) for name in given}


def convert_value(parameter: Parameter, given: Any) -> Any:
    """The value in the parameter's type, or None. Raises CallError if it does not fit the type."""
    if given is None:
        return None
    element, is_list = element_type(parameter)
    if not is_list:
        return _scalar(parameter, element, given)
    if isinstance(given, (str, bytes, Mapping)) or not hasattr(given, "__iter__"):
        raise _wrong_type(parameter, given)
    return [None if item is None else _scalar(parameter, element, item) for item in given]


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
    is_boolean = isinstance(given, bool)
    if type_ in _TEXTS:
        if parameter.names_run and isinstance(given, int) and not is_boolean:
            return str(given)
        if isinstance(given, str):
            allowed = parameter.choices
            if allowed and given not in allowed:
                raise CallError(
                    f"{parameter.name} cannot be {given!r}.",
                    f"{did_you_mean(given, allowed)} It is one of: {join_names(allowed)}.".strip(),
                )
            return given
    elif type_ == "boolean":
        if is_boolean:
            return given
    elif type_ in _INTEGERS:
        with suppress(TypeError):
            whole = operator.index(given)
            limit = 1 << _INTEGERS[type_] - 1
            if not is_boolean and -limit <= whole < limit:
                return whole
    elif type_ in _FLOATS:
        with suppress(TypeError, ValueError, OverflowError):
            if not isinstance(given, bool | str | bytes) and math.isfinite(number := float(given)):
                return number
    else:
        return given
    raise _wrong_type(parameter, given)


def _scalar_from_text(parameter: Parameter, type_: str, text: str) -> Any:
    try:
        read = _READERS.get(type_, str)(text)
    except (ValueError, KeyError):
        raise _wrong_type(parameter, text) from None
    return _scalar(parameter, type_, read)


def _wrong_type(parameter: Parameter, given: object) -> CallError:
    fact = f"{parameter.name} must be of type {parameter.type}, not {given!r}."
    return CallError(fact, f"{parameter.name}: {parameter.help}.")
