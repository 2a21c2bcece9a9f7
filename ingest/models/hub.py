"""Finding out quickly whether the Hugging Face hub answers.

If the hub does not answer, huggingface_hub tries again for 24 seconds, and prints a dozen lines
about it. So the hub is asked once, with a short timeout; if it does not answer, only files that are
on this machine already are used.
"""

from __future__ import annotations

import threading

from attnbank.sql.errors import CallError

_PATIENCE = 3.0  # seconds
_LONGEST_REASON = 200


def unreachable() -> str | None:
    """Why the hub cannot be reached; None if it answers, whatever the answer is."""
    from huggingface_hub import constants, get_session

    if constants.HF_HUB_OFFLINE:
        return "HF_HUB_OFFLINE is set"
    found: list[str | None] = []

    def ask() -> None:
        try:
            get_session().head(constants.ENDPOINT, timeout=_PATIENCE)
            found.append(None)
        except Exception as error:  # from httpx, ssl or a proxy: the hub cannot be reached
            found.append(str(error).strip()[:_LONGEST_REASON] or type(error).__name__)

    # Looking up a host name has no timeout, so it happens in a thread that may be left behind.
    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(_PATIENCE + 0.5)
    return found[0] if found else f"no answer within {_PATIENCE:.0f} seconds"


def not_here(name: str, reason: str) -> CallError:
    """The error for a model that is not on this machine while the hub cannot be reached."""
    return CallError(
        f"The model {name} is not on this machine, and the hub cannot be reached: {reason}.",
        "Check the network, or give a folder with a model, or minilm.",
    )
