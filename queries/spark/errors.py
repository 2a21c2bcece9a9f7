"""Errors of Spark as errors for people."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from attnbank.queries.results import query_error
from attnbank.sql.errors import QueryError

_LONGEST = 300


@contextmanager
def explained(where: str) -> Iterator[None]:
    """Within, an error of Spark becomes a QueryError; `where` is the folders that it reads."""
    from py4j.protocol import Py4JError, Py4JJavaError
    from pyspark.errors import PySparkException

    # This one would print every error with the whole stack of the JVM before it is raised.
    log = logging.getLogger("SQLQueryContextLogger")
    was_disabled, log.disabled = log.disabled, True
    try:
        yield
    except PySparkException as error:
        if error.getCondition() == "USER_RAISED_EXCEPTION":
            # An analysis itself says what must be done first.
            said = (error.getMessageParameters() or {}).get("errorMessage", str(error))
            raise query_error(RuntimeError(said)) from error
        raise QueryError(f"Spark cannot answer over {where}: {_first(error)}", "") from error
    except Py4JJavaError as error:
        # Java says more than the text of the error, which only tells what was called.
        told = _first(RuntimeError(str(error.java_exception)))
        raise QueryError(f"Spark cannot answer over {where}: {told}", "") from error
    except (Py4JError, ConnectionError) as error:
        raise QueryError(f"Spark ended while it read {where}: {_first(error)}", "") from error
    finally:
        log.disabled = was_disabled


def _first(error: BaseException) -> str:
    """The first line of an error, cut if it is long: some of Spark's hold a whole plan."""
    lines = [each for each in str(error).splitlines() if each.strip()]
    return (lines or [type(error).__name__])[0][:_LONGEST]
