"""The Entity= notation: nested, crossing and discontinuous mentions, and what is no notation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnbank.ingest.corpora.document import FaultError
from attnbank.ingest.corpora.mentions import COREFUD, EntitySpan, Notation, entity_spans

GUM = Notation.parse_declaration("GRP-etype-infstat-salience-centering-minspan-link-identity")


def spans(cells: dict[int, str], count: int, notation: Notation = COREFUD) -> list[EntitySpan]:
    """Read the cells of a sentence of `count` words; keys are 1-based words."""
    numbered = [(word - 1, 100 + word, value) for word, value in sorted(cells.items())]
    return entity_spans(numbered, range(1, count + 1), notation)[0]


def test_nested_mentions_of_different_entities() -> None:
    assert spans({1: "(e1-person-4(e2-place-1)", 4: "e1)"}, 4) == [
        EntitySpan("e1", (1, 2, 3, 4), (4,), "person", head_field="head"),
        EntitySpan("e2", (1,), (1,), "place", head_field="head"),
    ]


@pytest.mark.parametrize(
    ("cells", "mentions"),
    [
        # Nested, of one entity; both may begin on a word.
        ({1: "(e1", 2: "(e1", 3: "e1)", 5: "e1)"}, [("e1", 1, 5), ("e1", 2, 3)]),
        ({1: "(e1-person(e1-person", 2: "e1)", 3: "e1)"}, [("e1", 1, 3), ("e1", 1, 2)]),
        # Crossing.
        ({1: "(a", 2: "(b", 3: "a)", 4: "b)"}, [("a", 1, 3), ("b", 2, 4)]),
        # One ends and others begin on a word.
        ({1: "(a", 2: "a)(b(c)", 3: "b)"}, [("a", 1, 2), ("b", 2, 3), ("c", 2, 2)]),
        # Mentions of the same words stay in order.
        ({1: "(b(a", 2: "a)b)"}, [("b", 1, 2), ("a", 1, 2)]),
        ({1: "(b)(a)"}, [("b", 1, 1), ("a", 1, 1)]),
        # The long form of a closing bracket.
        ({1: "(e1-person", 2: "e1-person)"}, [("e1", 1, 2)]),
    ],
)
def test_brackets(cells: dict[int, str], mentions: list[tuple[str, int, int]]) -> None:
    read = spans(cells, 5)
    assert [(span.entity, span.words[0], span.words[-1]) for span in read] == mentions
    assert all(len(span.words) == span.words[-1] - span.words[0] + 1 for span in read)


def test_discontinuous_mentions() -> None:
    cells = {1: "(e1[1/3]-person-3", 2: "e1[1/3])", 4: "(e1[2/3]-person-3)", 6: "(e1[3/3])"}
    assert spans(cells, 6) == [EntitySpan("e1", (1, 2, 4, 6), (4,), "person", None, 3, "head")]


def test_two_discontinuous_mentions_of_one_entity() -> None:
    read = spans({1: "(e[1/2])", 2: "(e[1/2])", 3: "(e[2/2])", 4: "(e[2/2])"}, 4)
    assert sorted(span.words for span in read) == [(1, 4), (2, 3)]


def test_gum() -> None:
    value = "(4-organization-new-nnnnn-cf5-1,3-coref-Forth_%28Dover%2C_Kent%29"
    assert spans({2: value, 4: "4)"}, 5, GUM) == [
        EntitySpan(
            "4", (2, 3, 4), (2, 4), "organization", "Forth_(Dover,_Kent)", head_field="minspan"
        )
    ]
    assert spans({1: "(7-time-new-nnnnn-cf8-1-sgl)"}, 1, GUM)[0].identity is None


def test_old_names_of_fields() -> None:
    notation = Notation.parse_declaration("entity-GRP-infstat-minspan-link-identity")
    assert notation.type == 0 and notation.entity == 1 and notation.heads == (("minspan", 3),)


def test_fields_may_be_left_out() -> None:
    assert spans({1: "(e1)"}, 1) == [EntitySpan("e1", (1,))]
    assert spans({1: "(e1--1-x-y)"}, 1) == [EntitySpan("e1", (1,), (1,), head_field="head")]


def test_the_head_field_goes_before_the_minspan() -> None:
    both = Notation.parse_declaration("eid-etype-minspan-head-infstat")
    assert both.heads == (("head", 3), ("minspan", 2))
    cells = {1: "(e1-person-1,2-2-new", 2: "e1)", 3: "(e2-person-1--new)", 4: "(e3-person-_-_)"}
    assert [(span.head, span.head_field) for span in spans(cells, 4, both)] == [
        ((2,), "head"),
        ((3,), "minspan"),
        ((), None),
    ]


def test_a_head_that_is_an_empty_node_is_no_word() -> None:
    # Nodes: an empty one, word 1, word 2.
    cells = [(0, 1, "(e1-person-1"), (2, 3, "e1)")]
    assert entity_spans(cells, [0, 1, 2], COREFUD)[0] == [EntitySpan("e1", (1, 2), (), "person")]


def test_the_minspan_counts_no_empty_nodes() -> None:
    cells = [(0, 1, "(e1-person-3"), (3, 4, "e1)")]
    for field, head in (("minspan", 3), ("head", 2)):
        notation = Notation.parse_declaration(f"eid-etype-{field}")
        ((span,), _) = entity_spans(cells, [1, 0, 2, 3], notation)
        assert (span.head, span.head_field) == ((head,), field)
    dropped = [(1, 2, "(e1-person-1)")]
    minspan = Notation.parse_declaration("eid-etype-minspan")
    assert entity_spans(dropped, [1, 0], minspan) == ([], [("e1", 2)])


def test_empty_nodes_are_in_mentions_but_are_no_words() -> None:
    # Nodes: an empty one, word 1, an empty one, word 2.
    cells = [(0, 1, "(e1-person-2"), (2, 3, "e1)(e2-person-1)"), (3, 4, "(e3)")]
    assert entity_spans(cells, [0, 1, 0, 2], COREFUD)[0] == [
        EntitySpan("e1", (1,), (1,), "person", head_field="head"),
        EntitySpan("e3", (2,)),
    ]


@pytest.mark.parametrize(
    ("cells", "id", "line"),
    [
        ({1: "e1"}, "bad-entity", 101),
        ({1: "(e1)x"}, "bad-entity", 101),
        ({1: "(e1))"}, "bad-entity", 101),
        ({1: ""}, "bad-entity", 101),
        ({1: "(-person)"}, "bad-entity", 101),
        ({1: "(e1", 2: "e2)"}, "unbalanced-entity", 102),
        ({1: "(e1)", 2: "e1)"}, "unbalanced-entity", 102),
        ({1: "(e1", 2: "(e2)"}, "unclosed-entity", 101),
        ({1: "(e1-person-0)"}, "entity-head", 101),
        ({1: "(e1-person-x)"}, "entity-head", 101),
        ({2: "(e1-person-2)"}, "entity-head", 102),
        ({1: "(e1[2/2])"}, "entity-parts", 101),
        ({1: "(e1[1/2])", 2: "(e1)"}, "entity-parts", 101),
        ({1: "(e1[3/2])"}, "entity-parts", 101),
        ({1: "(e1[1-2])"}, "entity-parts", 101),
        ({1: "(e1[1/2]", 2: "(e1[2/2])"}, "entity-parts", 102),
        ({1: "(e1[1/2])", 2: "(e1[2/3])"}, "entity-parts", 102),
    ],
)
def test_what_is_refused(cells: dict[int, str], id: str, line: int) -> None:
    with pytest.raises(FaultError) as error:
        spans(cells, 2)
    assert (error.value.problem.id, error.value.problem.line) == (id, line)


@pytest.mark.parametrize("text", ["", "eid--head", "eid-eid", "etype-etype"])
def test_bad_declarations(text: str) -> None:
    with pytest.raises(FaultError) as error:
        Notation.parse_declaration(text)
    assert error.value.problem.id == "bad-global-entity"


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), max_size=8, unique=True))
def test_what_is_written_is_read(ends: list[tuple[int, int]]) -> None:
    wanted = sorted({(min(pair), max(pair)) for pair in ends}, key=lambda span: (span[0], -span[1]))
    cells = dict.fromkeys(range(1, 10), "")
    for number, (first, last) in enumerate(wanted):
        if last > first:
            cells[last] += f"e{number})"
    for number, (first, last) in enumerate(wanted):
        cells[first] += f"(e{number}-thing-1" + ")" * (first == last)
    read = spans({word: value for word, value in cells.items() if value}, 9)
    assert [(span.words[0], span.words[-1]) for span in read] == wanted
    assert [span.entity for span in read] == [f"e{number}" for number in range(len(wanted))]
