"""Models are loaded once for the tests of this folder."""

from loaded import loaded_once

__all__ = ["loaded_once"]
