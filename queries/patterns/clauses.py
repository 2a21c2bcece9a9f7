"""Compile clauses between nodes (attention, coreference, paths, order, comparisons), and keys.

Paths, enhanced edges, attention and coreference become common table expressions of pairs of words,
to which the nodes are joined. A star is a word that is joined too, but not a column of the result.
A constraint that several edges can satisfy (any head of a layer) must yield one hit, unless the
edge is named. So an unnamed one becomes an `exists` in the pattern; in a `with` or `without`, which
are an `exists` themselves, it makes no difference.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from attnbank.queries.patterns import expressions, syntax
from attnbank.queries.patterns.expressions import all_of
from attnbank.queries.patterns.resolver import SPECIAL
from attnbank.queries.patterns.scopes import (
    Bound,
    NamedEdge,
    ScopePlan,
    exists_row,
    is_reflexive,
    tests_of,
)
from attnbank.queries.patterns.syntax import SURPRISAL, RequestError
from attnbank.sql.names import PARTS, literal, sql_literal
from attnbank.sql.run_choice import Run

# The source and the target of an edge.
Ends = tuple[Bound, Bound]


def add_clauses(planned: ScopePlan, run: Run | None) -> Iterator[str]:
    """Add the clauses that `plan_scope` leaves out, and yield their common table expressions.

    Raises RequestError for a special token where a word is needed, and for values that cannot be
    compared.
    """
    scope = planned.scope
    for attends in scope.clauses_of_kind(syntax.AttentionEdge):
        assert run is not None  # run_request.py refuses a request about attention without a run
        yield _add_attention(planned, attends, run)
    for pair in scope.clauses_of_kind(syntax.Corefers):
        name = planned.aliases.new("coreferent")
        ties = {"source": pair.source, "target": pair.target}
        _add_pairs(planned, name, ties, None, is_unique=True)
        yield _not_materialized(
            name,
            "select distinct one_mention.head_word as source, other_mention.head_word as target"
            " from mention as one_mention inner join mention as other_mention"
            " on other_mention.entity = one_mention.entity and other_mention.id <> one_mention.id",
        )
    for path in scope.clauses_of_kind(syntax.Path):
        if path.source != path.target:
            yield _add_path(planned, path)
    for edge in scope.enhanced:
        yield _add_enhanced(planned, edge)
    for order in scope.clauses_of_kind(syntax.Order):
        _add_order(planned, order)
    for comparison in scope.clauses_of_kind(syntax.Comparison):
        _add_comparison(planned, comparison)
    for presence in scope.clauses_of_kind(syntax.Presence):
        _add_test(planned, presence.reference, "present" if presence.is_present else "absent")


def _not_materialized(name: str, select: str) -> str:
    """A common table expression into which DuckDB may push the conditions of its readers."""
    return f"{name} as not materialized ({select})"


_WEIGHT = "list_extract(distribution.weights, target.position + 1)"

_NOT_ITSELF = "(target.position <> source.position or target.word = source.word)"


def _add_attention(planned: ScopePlan, edge: syntax.AttentionEdge, run: Run) -> str:
    """`A =[3-1]=> B`: pairs of table `peak`; with a sign, pairs whose weight meets the threshold.

    Words that share a position have the same weights, but none between each other.
    """
    name = planned.aliases.new("attended")
    ends = {"source": edge.source, "target": edge.target}
    special = {end: node for end, node in ends.items() if node and not planned.scope.has_node(node)}
    if edge.sign is None:
        for token in special.values():
            source, target = edge.source or "*", edge.target or "*"
            raise RequestError(
                token.position,
                f"{token} is a special token, and an edge without a threshold finds only words.",
                f"Ask for a weight: {source} =[{edge.head} > 0.5]=> {target}.",
            )
        table, weight = "peak", "peak.most_attended_weight"
        reaches = "target.position = peak.most_attended"
    else:
        table, weight = "distribution", _WEIGHT
        # A weight that is not kept counts as 0: run_request.py refuses other thresholds.
        known = weight if run.largest is None else f"coalesce({weight}, 0)"
        reaches = f"cast({known} as double) {edge.sign} {sql_literal(edge.threshold)}"
        if not special:
            reaches += f" and {_NOT_ITSELF}"
    rows = {end: "position" if end in special else "word_position" for end in ends}
    kind_conditions = "".join(
        f" and {end}.kind = {literal(SPECIAL[token])}" for end, token in special.items()
    )
    ties = {end: node for end, node in ends.items() if end not in special}
    is_one = None not in (edge.head.layer, edge.head.head) and not special
    _add_pairs(planned, name, ties, edge.name, is_unique=is_one)
    return _not_materialized(
        name,
        "select source.word as source, target.word as target,"
        f" concat(cast({table}.layer as varchar), '-', cast({table}.head as varchar)) as label,"
        f" cast({weight} as double) as weight"
        f" {_attention_rows(run, edge.head, table, reaches, **rows)}{kind_conditions}",
    )


def _attention_rows(
    run: Run, head: syntax.Head, table: str, reaches: str, *,
    source: str = "word_position", target: str = "word_position", joined: str = "",
) -> str:  # fmt: skip
    """The `from` and `where` of pairs of positions of some heads, by weight or peak."""
    position_column = "position" if table == "peak" else "from_position"
    columns = (("layer", head.layer), ("head", head.head))
    wanted = [f"{table}.{column} = {number}" for column, number in columns if number is not None]
    return (
        f"from sequence inner join {table} on {table}.sequence = sequence.id"
        f" inner join {source} as source on source.sequence = {table}.sequence"
        f" and source.position = {table}.{position_column}"
        f" inner join {target} as target on target.sequence = {table}.sequence and {reaches}"
        f"{joined} where {all_of([f'sequence.run = {run.id}', *wanted])}"
    )


def read_sentences(run: Run) -> str:
    """The SELECT of the ids of the sentences that the run has read, even partly."""
    return (
        "select distinct word.sentence from sequence"
        " inner join position on position.sequence = sequence.id"
        f" inner join word on word.id = position.word where sequence.run = {run.id}"
    )


def measured_sentences(run: Run) -> str:
    """The SELECT of the ids of the sentences whose words have a surprisal in the run, or a null."""
    return (
        "select distinct word.sentence from surprisal inner join word on word.id = surprisal.word"
        f" where surprisal.run = {run.id}"
    )


def _add_pairs(
    planned: ScopePlan, pairs: str, ties: dict[str, syntax.Name | None], name: syntax.Name | None,
    *, is_unique: bool,
) -> None:  # fmt: skip
    """Join nodes to a table of pairs: `ties` has the node for each of its columns.

    None is a star, any word. `is_unique` says that a pair of words is in one row at most.
    """
    alias = planned.aliases.new(f"{pairs}_row")
    bound = {end: planned.bound[node] for end, node in ties.items() if node is not None}
    known_word = next(iter(bound.values()))
    conditions = {end: f"{alias}.{end} = {word.row}.id" for end, word in bound.items()}
    star = next((end for end, node in ties.items() if node is None), None)
    any_word = Bound(planned.aliases.new("star"))
    if name is None and planned.scope.outer is None and not (is_unique and star is None):
        joined = ""
        if star is not None:
            joined = f" inner join word as {any_word.row} on {alias}.{star} = {any_word.row}.id"
            if not planned.cross_sentence:
                joined += f" and {any_word.sentence_id} = {known_word.sentence_id}"
        planned.add_condition(
            f"exists(select 1 from {pairs} as {alias}{joined} where {all_of(conditions.values())})",
            *(word.row for word in bound.values()),
        )
        return
    if star is not None:
        bound[star] = any_word
        conditions[star] = f"{alias}.{star} = {any_word.row}.id"
        planned.join(
            any_word.row, None if planned.cross_sentence else planned.row_group[known_word.row]
        )
        planned.hidden.append(any_word.row)
    planned.join(alias, None, pairs)
    for end, word in bound.items():
        planned.add_condition(conditions[end], alias, word.row, is_tie=True)
    if name is not None:
        ends = (bound["source"], bound["target"]) if len(bound) > 1 else None
        planned.edges[name] = NamedEdge(alias, ends)


# The position of a word or an edge relative to the span of another edge, by the sign of an order.
_SPAN_CONDITIONS = {
    "inside": "{begin} < {index} and {index} < {end}",
    "<>": "({end} <= {other_begin} or {other_end} <= {begin})",
    "><": "({begin} < {other_begin} and {other_begin} < {end} and {end} < {other_end}"
    " or {other_begin} < {begin} and {begin} < {other_end} and {other_end} < {end})",
    "<<": "{other_begin} <= {begin} and {end} <= {other_end}"
    " and ({begin} <> {other_begin} or {end} <> {other_end})",
}


def _add_order(planned: ScopePlan, order: syntax.Order) -> None:
    if planned.scope.is_edge(order.left):
        left_ends, right_ends = _ends(planned, order.left), _ends(planned, order.right)
        words = [*left_ends, *right_ends]
        lie = _SPAN_CONDITIONS[order.sign].format(**_span(left_ends), **_span(right_ends, "other_"))
    elif planned.scope.is_edge(order.right):
        words = [planned.bound[order.left], *_ends(planned, order.right)]
        lie = _SPAN_CONDITIONS["inside"].format(index=words[0].index, **_span((words[1], words[2])))
    else:
        first, second = planned.bound[order.left], planned.bound[order.right]
        if order.sign == "<":
            planned.add_condition(
                f"{second.index} = {first.index} + 1", first.row, second.row, is_tie=True
            )
        else:
            planned.add_condition(f"{first.index} < {second.index}", first.row, second.row)
        return
    planned.add_condition(
        all_of([*_in_one_sentence(planned, *words), lie]), *(word.row for word in words)
    )


def _span(ends: Ends, name: str = "") -> dict[str, str]:
    """The indexes of the left and the right end of an edge, named as in _SPAN_CONDITIONS."""
    both = f"({ends[1].index}, {ends[0].index})"
    return {f"{name}begin": f"least{both}", f"{name}end": f"greatest{both}"}


def _ends(planned: ScopePlan, name: syntax.Name) -> Ends:
    ends = planned.edges[name].ends
    if ends is None:
        raise RequestError(
            name.position,
            f"one end of {name} is a special token, which has no position among the words.",
            "Ask for its label (3-1) or its weight.",
        )  # fmt: skip
    return ends


def _in_one_sentence(planned: ScopePlan, first: Bound, *words: Bound) -> list[str]:
    """The conditions that words are in the sentence of the first, unless that is known already."""
    number = planned.row_group.get(first.row)
    return [
        f"{word.sentence_id} = {first.sentence_id}"
        for word in words
        if number is None or planned.row_group.get(word.row) != number
    ]


def _add_path(planned: ScopePlan, path: syntax.Path) -> str:
    """`A ->> B`: a recursive expression that climbs from the candidates for B, head by head."""
    upper, lower = planned.bound[path.source], planned.bound[path.target]
    climb, path_row = planned.aliases.new("climb"), planned.aliases.new("path")
    tests = all_of(tests_of(planned.scope, path.target, "start", of_word=True))
    if is_reflexive(path):  # the path may be empty
        conditions = [
            f"{path_row}.descendant = {lower.index}", f"{path_row}.ancestor = {upper.index}",
        ]  # fmt: skip
        climbed = exists_row(climb, path_row, lower.sentence_id, conditions)
        planned.add_condition(f"({lower.index} = {upper.index} or {climbed})", lower.row, upper.row)
    else:
        planned.join(path_row, planned.group[path.target], climb)
        for end, bound in (("descendant", lower), ("ancestor", upper)):
            planned.add_condition(
                f"{path_row}.{end} = {bound.index}", path_row, bound.row, is_tie=True
            )
    return (
        f"{climb} as (select start.sentence, start.index as descendant,"
        " start.head_index as ancestor"
        f" from word as start where start.head_index is not null and {tests} union all"
        f" select {climb}.sentence, {climb}.descendant, above.head_index from {climb}"
        f" inner join word as above"
        f" on above.sentence = {climb}.sentence and above.index = {climb}.ancestor)"
    )


def _add_enhanced(planned: ScopePlan, edge: syntax.Edge) -> str:
    """`A -[E:obj]-> B`: a table with the columns of `word` that describe an edge of the tree.

    Unnamed, it has one row for several edges between the same words.
    """
    name, row = planned.aliases.new("enhanced"), planned.aliases.new("enhanced_row")
    ends = {"head_index": edge.source, "index": edge.target}
    bound = {end: planned.bound[node] for end, node in ends.items() if node is not None}
    ties = {end: f"{row}.{end} = {word.index}" for end, word in bound.items()}
    known_word = next(iter(bound.values()))
    if edge.name is None and len(bound) == 1:
        planned.add_condition(
            exists_row(name, row, known_word.sentence_id, ties.values()), known_word.row
        )
    else:
        planned.join(row, planned.row_group[known_word.row], name)
        for end, word in bound.items():
            planned.add_condition(ties[end], row, word.row, is_tie=True)
        if len(bound) == 1:
            planned.hidden.append(row)
        if edge.name is not None:
            planned.edges[edge.name] = NamedEdge(row, (Bound(row, is_head=True), Bound(row)))
    relation = "enhanced_dependency.relation"
    has_whole = any(test.feature == syntax.WHOLE for test in edge.label)
    if has_whole and any(syntax.parts(syntax.Regex, edge.label)):
        # The expression describes the whole label, with its E:.
        relation = f"concat('E:', {relation})"
    tests = [expressions.label_test(test, relation) for test in edge.label]
    named_columns = ", relation as deprel, concat('E:', relation) as label" if edge.name else ""
    return _not_materialized(
        name,
        "select distinct enhanced_dependency.sentence,"
        " enhanced_dependency.dependent_index as index,"
        f" enhanced_dependency.head_index{named_columns}"
        f" from enhanced_dependency where {all_of(tests)}",
    )


def _add_comparison(planned: ScopePlan, comparison: syntax.Comparison) -> None:
    """Add the condition of a comparison; a comparison with a text becomes a test, often faster."""
    left, operator, right = comparison.left, comparison.operator, comparison.right
    is_number = operator not in ("=", "<>") or any(
        _is_numeric_side(planned, side) for side in (left, right)
    )
    if isinstance(right, syntax.Constant) and isinstance(left, syntax.Reference) and not is_number:
        _add_test(planned, left, "equal" if operator == "=" else "different", right.value)
        return
    rows = {*_aliases_of_side(planned, left), *_aliases_of_side(planned, right)}
    left_value, right_value = (_compile_side(planned, side, is_number) for side in (left, right))
    condition = f"{left_value} {operator} {right_value}"
    # DuckDB makes a plain comparison of two rows a join condition, and computes each side for every
    # word. Inside coalesce, the regular expression runs only for the rows that are joined.
    is_slow = len(rows) > 1 and "regexp_extract(" in condition
    planned.add_condition(f"coalesce({condition}, false)" if is_slow else condition, *rows)


def label_of(planned: ScopePlan, name: str) -> str:
    """The label of a named edge: its relation, or for attention its head (3-1)."""
    edge = planned.scope.edge(name)
    is_tree = isinstance(edge, syntax.Edge) and not edge.is_enhanced
    return f"{planned.edges[name].row}.{'deprel' if is_tree else 'label'}"


def key_value(planned: ScopePlan, key: syntax.Key, run: Run | None) -> str:
    """Compile a key that is not a pattern."""
    if isinstance(key, syntax.AttentionKey):
        assert run is not None
        return _attention_value(planned, key, run)
    if isinstance(key, syntax.Arrangement):
        return _arrangement(planned, key)
    if isinstance(key, syntax.RelationKey):
        return _relation(planned, key)
    if isinstance(key, syntax.Interval):
        return _interval_of_number(key, _compile_side(planned, key.term, True))
    assert isinstance(key, syntax.Term)
    return _compile_side(planned, key, False)


def _attention_value(planned: ScopePlan, key: syntax.AttentionKey, run: Run) -> str:
    """Compile `weight(3-1, A, B)` or `looks_at(3-1, A).upos`; null if the run has not read A.

    The value is an aggregate, because Spark requires that of a scalar subquery, of one row or
    several: the weights of special tokens of one kind are added, and the values of words at one
    position are joined (ADP+DET). There is no weight between words of one position: it would be
    the weight of the position on itself. A weight that was not kept, or a sum with one, is null.
    """
    joined = " inner join word as looked_at on looked_at.id = target.word"
    if key.target is None:
        if key.feature == "weight":
            value = "min(cast(peak.most_attended_weight as double))"
        elif key.feature == "__id__":  # of several words, the first
            value = "min(looked_at.index)"
        elif key.feature == SURPRISAL:  # of several words, only the first has one
            value = "min(surprisal_looked_at.nats)"
            joined += (
                " left join surprisal as surprisal_looked_at on"
                f" surprisal_looked_at.word = looked_at.id and surprisal_looked_at.run = {run.id}"
            )
        else:
            word_value = "looked_at.deprel"
            if key.feature != "deprel":
                word_value = expressions.feature_value(key.feature, "looked_at")
            value = f"string_agg({word_value}, '+' order by looked_at.id nulls last)"
        reaches = "target.position = peak.most_attended"
        rows = _attention_rows(run, key.head, "peak", reaches, joined=joined)
    else:
        value = f"sum(cast({_WEIGHT} as double))"
        if run.largest is not None:
            value = f"case when count(*) = count({_WEIGHT}) then {value} end"
        if planned.scope.has_node(key.target):
            reaches = f"target.word = {planned.bound[key.target].row}.id and {_NOT_ITSELF}"
            rows = _attention_rows(run, key.head, "distribution", reaches)
        else:
            reaches = f"target.kind = {literal(SPECIAL[key.target])}"
            rows = _attention_rows(run, key.head, "distribution", reaches, target="position")
    return f"(select {value} {rows} and source.word = {planned.bound[key.source].row}.id)"


def _arrangement(planned: ScopePlan, key: syntax.Arrangement) -> str:
    """`S << V << O`: in slot 0 the node with no node before it, in slot 1 the next, and so on."""
    nodes = [planned.bound[name] for name in key.names]

    def nodes_before(number: int, node: Bound) -> str:
        # Nodes with a `$` may be one word; of these, the one named first in the key comes first.
        is_before = [
            f"cast({other.sentence_id} < {node.sentence_id}"
            f" or ({other.sentence_id} = {node.sentence_id}"
            f" and ({other.index} < {node.index} or {str(other_number < number).lower()}"
            f" and {other.index} = {node.index})) as integer)"
            for other_number, other in enumerate(nodes) if other_number != number
        ]  # fmt: skip
        return " + ".join(["0", *is_before])

    ranks = [nodes_before(number, node) for number, node in enumerate(nodes)]
    slots = [
        " ".join(
            f"when {rank} = {slot} then {literal(name)}"
            for rank, name in zip(ranks, key.names, strict=True)
        )
        for slot in range(len(nodes))
    ]
    return f"concat_ws(' << ', {', '.join(f'case {cases} end' for cases in slots)})"


def _relation(planned: ScopePlan, key: syntax.RelationKey) -> str:
    source, target = planned.bound[key.source], planned.bound[key.target]
    together = f"{target.sentence_id} = {source.sentence_id}"
    back = (
        f" when {together} and {source.row}.head_index = {target.index}"
        f" then concat('-', {source.row}.deprel)"
    )
    return (
        f"case when {together} and {target.row}.head_index = {source.index}"
        f" then {target.row}.deprel{back if key.is_mutual else ''}"
        f" else {literal(syntax.NO_RELATION)} end"
    )


def _interval_of_number(key: syntax.Interval, number: str) -> str:
    """`[100, 200[`, the interval that a number is in; null for null."""
    least, most, gap = key.least or 0, key.most, key.gap
    begin = (
        f"({least} + try_cast(floor(cast({number} - {least} as double) / {gap}) as bigint) * {gap})"
    )
    end = f"{begin} + {gap}"
    cases = f"when {begin} is null then null"
    if key.least is not None:
        cases += f" when {number} < {least} then {literal(f']-∞, {least}[')}"
    if most is not None:
        end = f"least({end}, {most})"
        cases += f" when {number} >= {most} then {literal(f'[{most}, +∞[')}"
    within = f"concat('[', cast({begin} as varchar), ', ', cast({end} as varchar), '[')"
    return f"case {cases} else {within} end"


def _compile_side(planned: ScopePlan, side: syntax.Term | syntax.Constant, is_number: bool) -> str:
    """Compile one side of a comparison; RequestError if it `is_number` and the text is none."""
    if isinstance(side, syntax.Sum):
        parts = [f"{sign} {_compile_side(planned, part, True)}" for sign, part in side.parts]
        is_whole = all(
            isinstance(part, syntax.NodeFunction)
            or (isinstance(part, syntax.Constant) and _is_integer(str(part.value)))
            or (
                isinstance(part, syntax.Reference) and part.feature in ("__id__", "length", "delta")
            )
            for part in syntax.terms_of_sum(side)
        )
        kind = "bigint" if is_whole else "double"
        return f"cast({' '.join(parts).removeprefix('+ ')} as {kind})"
    if isinstance(side, syntax.Constant):
        if not isinstance(side.value, str):
            raise RequestError(
                side.position, "a number cannot be compared with a regular expression."
            )
        if not is_number:
            return literal(side.value)
        try:
            number = float(side.written)
        except ValueError:
            raise RequestError(side.position, f"{side.value} is not a number.") from None
        if not math.isfinite(number):
            raise RequestError(side.position, f"{side.value} is not a finite number.")
        if _is_integer(side.written):
            return str(int(side.written))
        return f"cast({literal(repr(number))} as double)"
    if isinstance(side, syntax.NodeFunction):
        first, second = planned.bound[side.first], planned.bound[side.second]
        is_size = side.kind == "proj_size"
        return _subtree_size(first) if is_size else _distance(side.kind, first, second)
    value = _reference_value(planned, side)
    needs_cast = is_number and not _is_numeric_side(planned, side)
    return f"try_cast({value} as double)" if needs_cast else value


def _is_integer(text: str) -> bool:
    """Whether a text is an integer that fits SQL's 32-bit integer."""
    return text.removeprefix("-").isdecimal() and text.isascii() and len(text) < 10


def _distance(kind: str, first: Bound, second: Bound) -> str:
    return f"{'abs' if kind == 'length' else ''}({second.index} - {first.index})"


def _subtree_size(node: Bound) -> str:
    """The number of words in a node's subtree, without punctuation.

    Every word climbs to the root, and so is counted by each of its ancestors. The node before the
    first word (index 0) is an ancestor of all and counts itself.
    """
    return (
        "((with recursive subtree as (select start.sentence, start.index as ancestor"
        " from word as start where start.upos is distinct from 'PUNCT' union all"
        " select subtree.sentence, above.head_index from subtree inner join word as above"
        " on above.sentence = subtree.sentence and above.index = subtree.ancestor"
        " and above.head_index is not null)"
        " select count(*) from subtree"
        f" where subtree.sentence = {node.sentence_id} and subtree.ancestor = {node.index})"
        f" + case when {node.index} = 0 then 1 else 0 end)"
    )


def _is_numeric_side(planned: ScopePlan, side: syntax.Term | syntax.Constant) -> bool:
    if not isinstance(side, syntax.Reference):
        return isinstance(side, syntax.NodeFunction | syntax.Sum)
    if planned.scope.has_node(side.owner):
        return side.feature in ("__id__", SURPRISAL)
    return side.feature in ("length", "delta", "weight") and planned.scope.is_edge(side.owner)


def _aliases_of_side(planned: ScopePlan, side: syntax.Term | syntax.Constant) -> list[str]:
    """The aliases of the rows that a side of a comparison reads; [] for metadata."""
    rows: list[str] = []
    for name in syntax.parts(syntax.Name, side):
        if planned.scope.has_node(name):
            rows.append(planned.bound[name].row)
        elif planned.scope.is_edge(name):
            edge = planned.edges[name]
            rows += [edge.row, *(end.row for end in edge.ends or ())]
    return rows


def _reference_value(planned: ScopePlan, reference: syntax.Reference) -> str:
    """Compile `N.f`, `e.f` or `meta.key`; null if there is none."""
    name, feature = reference.owner, reference.feature
    if reference.others:
        values = [
            _reference_value(planned, replace(reference, feature=alternative, others=()))
            for alternative in (feature, *reference.others)
        ]
        return f"coalesce({', '.join(values)})"
    if planned.scope.has_node(name):
        bound = planned.bound[name]
        return bound.index if feature == "__id__" else expressions.feature_value(feature, bound.row)
    edge = planned.scope.edge(name)
    if edge is None:
        return expressions.metadata_value(feature)
    if feature in ("length", "delta"):
        first, second = _ends(planned, name)
        distance = _distance(feature, first, second)
        together = _in_one_sentence(planned, first, second)
        return f"case when {together[0]} then {distance} end" if together else distance
    if feature == "label":
        return label_of(planned, name)
    row = planned.edges[name].row
    if isinstance(edge, syntax.AttentionEdge):
        if feature != "weight":
            raise RequestError(
                reference.position, f"an edge of attention has no {feature}.",
                "It has a label (3-1), a weight, a length and a delta.",
            )  # fmt: skip
        return f"{row}.weight"
    if feature == "enhanced" and edge.is_enhanced:
        return literal("yes")
    return expressions.label_part(feature, f"{row}.deprel")


def _add_test(
    planned: ScopePlan, reference: syntax.Reference, kind: syntax.Kind, *wanted: syntax.Value
) -> None:
    """Add a test of a reference's value, as fast as possible: simple tests extract nothing."""
    name, feature, scope = reference.owner, reference.feature, planned.scope
    test = syntax.Test(feature, kind, wanted, reference.position)
    edge = None if scope.has_node(name) or reference.others else scope.edge(name)
    if scope.is_metadata(reference):
        condition = expressions.metadata_test(test)
    elif scope.has_node(name) and feature != "__id__" and not reference.others:
        condition = expressions.feature_test(test, planned.bound[name].row)
    elif isinstance(edge, syntax.Edge) and feature in PARTS:
        condition = expressions.label_test(test, f"{planned.edges[name].row}.deprel")
    else:
        condition = expressions.value_test(test, _reference_value(planned, reference))
    planned.add_condition(condition, *_aliases_of_side(planned, reference))
