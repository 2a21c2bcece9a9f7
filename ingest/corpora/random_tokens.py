"""A generated corpus: random tokens, repeated once; only the first half predicts the second.

Olsson et al. (2022) find induction heads with such inputs. Each input is a document of one sentence
whose words are single tokens: only tokens are used that the text of the word is tokenized into, so
that the model's input is exactly what was drawn, and the run is like any other.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from attnbank.ingest.corpora.document import DocumentStart, Sentence, Word
from attnbank.sql.errors import CallError

if TYPE_CHECKING:
    from attnbank.ingest.models.tokenizer import InputTokenizer, WordEncoder

REPEAT = "repeat"  # `corpus.format` of such a corpus
DEFAULT_INPUTS = 100


@dataclass(frozen=True)
class RandomTokens:
    """The parameters of such a corpus; equal parameters make the same corpus."""

    length: int  # tokens that are repeated in each input
    inputs: int
    seed: int

    @property
    def name(self) -> str:
        """The default name of the corpus: repeat-50, repeat-50-seed7."""
        return f"repeat-{self.length}" + (f"-seed{self.seed}" if self.seed else "")

    def __str__(self) -> str:
        return f"--repeat {self.length} --limit {self.inputs} --seed {self.seed}"

    def draw_sentences(self, input_tokenizer: InputTokenizer) -> Iterator[Sentence]:
        """Yield the inputs; the metadata of a document have the ids, and how many were rejected.

        With more inputs, the first ones stay the same. Raises CallError if too few tokens of the
        vocabulary are usable.
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
        """Draw distinct tokens (id, form, whether white space precedes); also count the rejected.

        The first token must be usable both at the start of the text and after another token.
        """
        reading = input_tokenizer.split_rules
        tokens: list[tuple[int, str, bool]] = []
        seen: set[int] = set()
        while len(tokens) < self.length:
            if len(seen) == len(usual):
                raise CallError(
                    f"Only {len(tokens):,} tokens of the vocabulary tokenize back to themselves;"
                    f" --repeat is {self.length:,}.",
                    f"Use --repeat {len(tokens)} or less.",
                )
            # Not rng.choice, whose algorithm may change between versions of Python.
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
