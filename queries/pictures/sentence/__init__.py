"""One sentence as a picture: two columns of words, joined by lines as strong as the weights."""

from attnbank.queries.pictures.sentence.html import page
from attnbank.queries.pictures.sentence.panel import Facts, Panel
from attnbank.queries.pictures.sentence.svg import draw

__all__ = ["Facts", "Panel", "draw", "page"]
