"""Whether the Hugging Face hub answers, found out once and soon.

huggingface_hub tries a hub that does not answer again and again, for 24 seconds in the end, and
says so in a dozen lines. So it is asked once, with little patience; where it does not answer, what
is on this machine already is all that is looked for.
"""

from __future__ import annotations

import threading

from attnbank.sql.errors import CallError

_PATIENCE = 3.0  # seconds
_LONGEST_REASON = 200


def unreachable() -> str | None:
    """Why the hub cannot be asked; None where it answers, whatever it answers."""
    from huggingface_hub import constants, get_session

    if constants.HF_HUB_OFFLINE:
        return "HF_HUB_OFFLINE is set"
    found: list[str | None] = []

    def ask() -> None:
        try:
            get_session().head(constants.ENDPOINT, timeout=_PATIENCE)
            found.append(None)
        except Exception as error:  # of httpx, ssl or the proxy: any means that it is not there
            found.append(str(error).strip()[:_LONGEST_REASON] or type(error).__name__)

    # Looking up a name knows no timeout: a thread that hangs in it is left behind.
    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(_PATIENCE + 0.5)
    return found[0] if found else f"no answer within {_PATIENCE:.0f} seconds"


def not_here(name: str, reason: str) -> CallError:
    """The error for a model that is not on this machine, while the hub cannot be asked."""
    return CallError(
        f"The model {name} is not on this machine, and the hub cannot be reached: {reason}.",
        "Check the network, or give a folder with a model, or minilm.",
    )
