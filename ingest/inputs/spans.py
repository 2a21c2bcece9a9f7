"""What the tokenizer is given at a time: a word, or a multiword token as it is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

Multiword = Literal["written", "parts"]
"""How a multiword token that its words do not spell is read: as written, or its words instead."""


class Span(NamedTuple):
    """One word, or the words of a multiword token that is read as written."""

    first: int  # word.id of its first word
    last: int  # word.id of its last word
    text: str
    space_after: bool


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a sentence, a list per column of table `word`."""

    ids: Sequence[int]
    forms: Sequence[str]
    spaces: Sequence[bool]  # whether white space follows each
    surfaces: Sequence[str | None]  # the multiword token that each is a part of
    starts: Sequence[int | None]  # the index of the first word of that token

    def spans(self, multiword: Multiword) -> tuple[Span, ...]:
        """What the tokenizer is given, in order.

        A token that its words spell ("don't" is "do" and "n't") is read word by word, so that each
        of them has a position of its own. The words of one that they do not spell (French "du" for
        "de" and "le") stand nowhere in the text: with `written` the token is read, and its words
        share a position; with `parts` they are read in its place.
        """
        found: list[Span] = []
        at, count = 0, len(self.ids)
        while at < count:
            end = at + 1
            if multiword == "written" and self.starts[at] is not None:
                while end < count and self.starts[end] == self.starts[at]:
                    end += 1
                surface = self.surfaces[at]
                if surface is not None and "".join(self.forms[at:end]) != surface:
                    found.append(
                        Span(self.ids[at], self.ids[end - 1], surface, self.spaces[end - 1])
                    )
                    at = end
                    continue
            found.extend(
                Span(self.ids[each], self.ids[each], self.forms[each], self.spaces[each])
                for each in range(at, end)
            )
            at = end
        return tuple(found)
