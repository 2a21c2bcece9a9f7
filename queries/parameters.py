"""The values of an analysis's parameters, given in Python, typed or in a statement."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from attnbank.sql.errors import CallError
from attnbank.sql.header import Analysis, Parameter
from attnbank.sql.messages import did_you_mean, join_names
from attnbank.sql.registry import analyses, find_analysis

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


def convert_value(parameter: Parameter, value: Any) -> Any:
    """The value in the parameter's type, or None. Raises CallError if it does not fit the type."""
    if value is None:
        return None
    element, is_list = element_type(parameter)
    if not is_list:
        return _scalar(parameter, element, value)
    if isinstance(value, (str, bytes, Mapping)) or not hasattr(value, "__iter__"):
        raise _wrong_type(parameter, value)
    return [None if item is None else _scalar(parameter, element, item) for item in value]


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


def analyses_called(statement: str) -> list[tuple[str, dict[str, Any]]]:
    """The analyses that a statement calls, each with those of its arguments that are literals."""
    import sqlglot  # imported late: it takes long, and few statements need it
    from sqlglot import exp

    try:
        tree = sqlglot.parse_one(statement, dialect="duckdb")
    except sqlglot.errors.SqlglotError:
        return []
    calls = []
    for call in tree.find_all(exp.Anonymous):
        if call.name not in analyses():
            continue
        literals = {}
        declared = {parameter.name: parameter for parameter in find_analysis(call.name).parameters}
        for name, value in zip(declared, call.expressions, strict=False):
            if isinstance(value, exp.PropertyEQ | exp.Kwarg):
                name, value = value.this.name, value.expression
            if isinstance(value, exp.Literal) and name in declared:
                literals[name] = from_text(declared[name], value.this)
        calls.append((call.name, literals))
    return calls


def element_type(parameter: Parameter) -> tuple[str, bool]:
    """The type of the parameter, or of its elements, in lower case; and whether it is a list."""
    type_ = parameter.type.lower()
    return type_.removesuffix("[]"), type_.endswith("[]")


def _scalar(parameter: Parameter, type_: str, value: Any) -> Any:
    is_boolean = isinstance(value, bool)
    if type_ in _TEXTS:
        if parameter.names_run and isinstance(value, int) and not is_boolean:
            return str(value)
        if isinstance(value, str):
            allowed = parameter.choices
            if allowed and value not in allowed:
                raise CallError(
                    f"{parameter.name} cannot be {value!r}.",
                    f"{did_you_mean(value, allowed)} It is one of: {join_names(allowed)}.".strip(),
                )
            return value
    elif type_ == "boolean":
        if is_boolean:
            return value
    elif type_ in _INTEGERS:
        with suppress(TypeError):
            integer = operator.index(value)
            limit = 1 << _INTEGERS[type_] - 1
            if not is_boolean and -limit <= integer < limit:
                return integer
    elif type_ in _FLOATS:
        with suppress(TypeError, ValueError, OverflowError):
            if not isinstance(value, bool | str | bytes) and math.isfinite(number := float(value)):
                return number
    else:
        return value
    raise _wrong_type(parameter, value)


def _scalar_from_text(parameter: Parameter, type_: str, text: str) -> Any:
    try:
        read = _READERS.get(type_, str)(text)
    except (ValueError, KeyError):
        raise _wrong_type(parameter, text) from None
    return _scalar(parameter, type_, read)


def _wrong_type(parameter: Parameter, value: object) -> CallError:
    fact = f"{parameter.name} must be of type {parameter.type}, not {value!r}."
    return CallError(fact, f"{parameter.name}: {parameter.help}.")
