"""A made corpus: random tokens that come twice, which nothing but their first time predicts.

Olsson et al. (2022) find induction heads on such inputs. Each is a document of one sentence, whose
words are single tokens: those of which a text, read word by word as every other corpus is, gives
back that token and no other. So the model reads exactly what was drawn, and the run is like others.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from attnbank.ingest.corpora.document import DocumentStart, Sentence, Word
from attnbank.sql.errors import CallError

if TYPE_CHECKING:
    from attnbank.ingest.models.tokenizer import InputTokenizer
    from attnbank.ingest.models.word_splitting import WordEncoder

REPEAT = "repeat"
"""The format of such a corpus."""
USUAL_INPUTS = 100


@dataclass(frozen=True)
class Repeated:
    """What such a corpus is drawn by: the same of all gives the same corpus."""

    length: int  # tokens that come twice in each input
    inputs: int
    seed: int

    @property
    def name(self) -> str:
        """What the corpus is called unless the user says: repeat-50, repeat-50-seed7."""
        return f"repeat-{self.length}" + (f"-seed{self.seed}" if self.seed else "")

    def __str__(self) -> str:
        return f"--repeat {self.length} --limit {self.inputs} --seed {self.seed}"

    def draw_sentences(self, input_tokenizer: InputTokenizer) -> Iterator[Sentence]:
        """Draw the inputs; a document's metadata tell the ids, and how many were passed over.

        A smaller number of inputs is the beginning of a larger one. Raises CallError where the
        vocabulary has too few tokens that a text gives back.
        """
        tokenizer = input_tokenizer.tokenizer
        special = tokenizer.get_added_tokens_decoder().keys()
        usual = [id for id in range(tokenizer.get_vocab_size()) if id not in special]
        for number in range(1, self.inputs + 1):
            rng = random.Random(f"repeat {self.seed} {number}")
            tokens, passed = self._draw(input_tokenizer, usual, rng)
            forms = [form for _, form, _ in tokens] * 2
            spaced = [space for _, _, space in tokens] * 2
            words = tuple(
                Word(form, space_after=after)
                for form, after in zip(forms, [*spaced[1:], False], strict=True)
            )
            metadata = {
                "tokens": " ".join(str(id) for id, _, _ in tokens),
                "passed_over": str(passed),
            }
            yield Sentence(words, document=DocumentStart(f"{self.name}-{number}", metadata))

    def _draw(
        self, input_tokenizer: InputTokenizer, usual: Sequence[int], rng: random.Random
    ) -> tuple[list[tuple[int, str, bool]], int]:
        """Different tokens: id, form and whether white space is before it; and those passed over.

        The first one is read at the start of the text and, the second time, after another.
        """
        reading = input_tokenizer.split_rules
        tokens: list[tuple[int, str, bool]] = []
        seen: set[int] = set()
        while len(tokens) < self.length:
            if len(seen) == len(usual):
                raise CallError(
                    f"The vocabulary has {len(tokens):,} tokens that a text gives back, and"
                    f" --repeat is {self.length:,}.",
                    f"Give at most --repeat {len(tokens)}.",
                )
            id = usual[int(rng.random() * len(usual))]
            if id in seen:
                continue
            seen.add(id)
            form = input_tokenizer.tokenizer.decode([id]).replace("▁", " ").strip()
            if not form.isprintable() or " " in form:
                continue
            ways = (reading.spaced, reading.joined)
            spaced = [way is reading.spaced for way in ways if _is_single_token(way, form, id)]
            if spaced and (tokens or _is_single_token(reading.start, form, id)):
                tokens.append((id, form, spaced[0]))
        return tokens, len(seen) - len(tokens)


def _is_single_token(way: WordEncoder, form: str, id: int) -> bool:
    return form != "" and way.encode(form).ids == [id]
