"""Antecedent selection equals a slow implementation written apart, mention by mention."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bounds
import duckdb
import new_banks
import oracle_coreference as slow
import pytest
import transformers
from oracle_statistics import interval, paired_interval, sign_flips

from attnbank.ingest import IngestOptions, ingest
from attnbank.ingest.models.files import locate_model
from attnbank.ingest.options import MINILM

KINDS = ["all", "pronoun", "proper", "nominal"]
Key = tuple[int, int, str]


@dataclass
class Case:
    """A bank of one run, and the same run the slow way."""

    connection: duckdb.DuckDBPyConnection
    corpus: slow.Corpus
    model: str
    byte_level: bool = False

    def __post_init__(self) -> None:
        self.batches = slow.inputs(self.connection)
        first = self.connection.execute("select min(word.id) from word").fetchone()
        assert first is not None
        self.first_word = first[0]

    def predictions(self, singletons: bool = True) -> Any:
        """The word that every head takes; near ties, and only those, settled as in the bank."""
        folder = locate_model(self.model)[0]
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        module = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager")
        expected, near = slow.predictions(
            self.corpus,
            self.batches,
            tokenizer,
            module.eval(),
            singletons=singletons,
            byte_level=self.byte_level,
        )
        for candidates in ("mentions", "words"):
            for key, word in self.taken(candidates, singletons).items():
                if word in near.get(key, ()):
                    expected[key] = word
        return expected

    def taken(self, candidates: str, singletons: bool) -> dict[slow.Taking, int | None]:
        """The word that every head takes by the bank's statement."""
        return {
            (candidates, row[:3], row[3], row[4]): row[5]
            for row in self.rows(
                "select {key}, p.layer, p.head, t.word - {zero}"
                " from coreference_prediction("
                "candidates := $candidates, singletons := $singletons) as p"
                " inner join mention as m on m.id = p.mention"
                " left join position as t"
                " on t.sequence = p.sequence and t.position = p.predicted_position",
                candidates=candidates,
                singletons=singletons,
            )
        }

    def judged(self, singletons: bool = True) -> dict[Key, slow.Judged]:
        return {
            each.mention.key: each
            for batch in self.batches
            for words in batch
            for each in slow.judged(self.corpus, words, singletons)
        }

    def rows(self, statement: str, **params: Any) -> list[Any]:
        """Rows of a statement that says {key} for first word, last word and entity of mention m."""
        key = f"m.first_word - {self.first_word}, m.last_word - {self.first_word}, m.entity_name"
        return self.connection.execute(
            statement.format(key=key, zero=self.first_word), params
        ).fetchall()


def _make(folder: Path, source: Path, model: str = MINILM, **options: Any) -> Path:
    bank = folder / "bank.duckdb"
    settings: dict[str, Any] = {"context": "document", "max_tokens": 128} | options
    if not bank.exists():
        new_banks.put(bank)
    ingest(IngestOptions((str(source),), bank, model, **settings))
    return bank


def _sample(sample: Path) -> slow.Corpus:
    return slow.conllu(sorted(sample.glob("*.conllu")))


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory, sample: Path) -> Iterator[Case]:
    bank = _make(tmp_path_factory.mktemp("coreference"), sample)
    with duckdb.connect(str(bank), read_only=True) as connection:
        yield Case(connection, _sample(sample), MINILM)


@pytest.fixture(scope="module")
def slow_predictions(case: Case) -> Any:
    return case.predictions()


def _check_mentions(case: Case) -> None:
    """Every mention of the corpus, and which of them are judged among which candidates."""
    documents = case.rows("select min(document.id) from document")[0][0]
    assert sorted(
        case.rows(
            "select m.document - $first, {key}, m.head_word - {zero}, m.kind from mention as m",
            first=documents,
        )
    ) == sorted((each.document, *each.key, each.head, each.kind) for each in case.corpus.mentions)
    found: dict[Key, list[tuple[int, Key, bool, bool]]] = {}
    for row in case.rows(
        "select {key}, pair.nearness, c.first_word - {zero}, c.last_word - {zero}, c.entity_name,"
        " pair.is_antecedent, pair.is_right"
        " from coreference_candidate() as pair"
        " inner join mention as m on m.id = pair.mention"
        " inner join mention as c on c.id = pair.candidate"
    ):
        found.setdefault(row[:3], []).append((row[3], row[4:7], row[7], row[8]))
    expected = {
        key: [
            (
                place,
                each.key,
                each.entity == judged.mention.entity,
                each.head in judged.right_words,
            )
            for place, each in enumerate(judged.candidates, start=1)
        ]
        for key, judged in case.judged().items()
    }
    assert {key: sorted(each) for key, each in found.items()} == expected
    assert expected


def _check_positions(case: Case) -> None:
    """What coreference_mention gathers of each judged mention."""
    found = {
        row[:3]: row[3:]
        for row in case.rows(
            "select {key}, j.antecedents, j.candidates, j.word_distance, j.mention_distance,"
            " len(j.antecedent_positions), len(j.candidate_positions), j.kind, j.form"
            " from coreference_mention() as j inner join mention as m on m.id = j.mention"
        )
    }
    expected = {}
    for key, each in case.judged().items():
        nearest = each.antecedents[0]
        expected[key] = (
            len(each.antecedents),
            len(each.candidates),
            abs(each.mention.head - nearest.head),
            each.candidates.index(nearest) + 1,
            len(each.right_words),
            len({candidate.head for candidate in each.candidates}),
            each.mention.kind,
            case.corpus.words[each.mention.head].form,
        )
    assert found == expected


def _check_baselines(case: Case, singletons: bool = True) -> None:
    found = {
        (row[:3], row[3]): (row[4:7] if row[4] is not None else None, row[7])
        for row in case.rows(
            "select {key}, p.baseline, c.first_word - {zero}, c.last_word - {zero}, c.entity_name,"
            " p.is_right"
            " from coreference_baseline_prediction(singletons := $singletons) as p"
            " inner join mention as m on m.id = p.mention"
            " left join mention as c on c.id = p.candidate",
            singletons=singletons,
        )
    }
    expected = {}
    counts: dict[tuple[str, str], list[bool]] = {}
    for key, each in case.judged(singletons).items():
        for baseline, taken in slow.baselines(case.corpus, each).items():
            right = taken is not None and taken.head in each.right_words
            expected[key, baseline] = (None if taken is None else taken.key, right)
            for kind in ("all", each.mention.kind):
                counts.setdefault((baseline, kind), []).append(right)
    assert found == expected
    rows = case.rows(
        "select baseline, kind, correct, n, accuracy from coreference_baseline("
        "singletons := $singletons)",
        singletons=singletons,
    )
    assert {row[:2]: row[2:4] for row in rows} == {
        key: (sum(right), len(right)) for key, right in counts.items()
    }
    assert all(row[4] == row[2] / row[3] for row in rows)
    places = [
        (["nearest", "head_match", "rule_based"].index(row[0]), KINDS.index(row[1])) for row in rows
    ]
    assert places == sorted(places)


def _check_heads(case: Case, expected: Any, singletons: bool = True) -> None:
    """Every prediction of every head, and the counts made of them."""
    for candidates in ("mentions", "words"):
        params = {"candidates": candidates, "singletons": singletons}
        found = case.taken(candidates, singletons)
        assert found == {key: word for key, word in expected.items() if key[0] == candidates}
        rows = case.rows(
            "select layer, head, kind, correct, n, accuracy from coreference_accuracy("
            "candidates := $candidates, singletons := $singletons)",
            **params,
        )
        counts = slow.counts(case.corpus, case.batches, expected, candidates, singletons)
        assert {row[:3]: row[3:5] for row in rows} == counts
        assert all(row[5] == row[3] / row[4] for row in rows)
        places = [(row[0], row[1], KINDS.index(row[2])) for row in rows]
        assert places == sorted(places)


def test_judges_the_same_mentions(case: Case) -> None:
    _check_mentions(case)
    _check_positions(case)


def test_heads_on_the_sample(case: Case, slow_predictions: Any) -> None:
    _check_heads(case, slow_predictions)
    assert len({key[2:] for key in slow_predictions}) == 72


@pytest.mark.parametrize("singletons", [True, False])
def test_baselines_on_the_sample(case: Case, singletons: bool) -> None:
    _check_baselines(case, singletons)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_with_tiny_models(
    tmp_path: Path, sample: Path, tiny_model: Callable[[str], Path], kind: str
) -> None:
    model, is_decoder = str(tiny_model(kind)), kind == "gpt2"
    first_word = "word" if is_decoder else "special"
    bank = _make(tmp_path, sample, model, max_tokens=90, first_word=first_word)
    with duckdb.connect(str(bank), read_only=True) as connection:
        corpus = _sample(sample)
        corpus.causal = is_decoder
        case = Case(connection, corpus, model, byte_level=is_decoder)
        _check_mentions(case)
        _check_heads(case, case.predictions())
        _check_heads(case, case.predictions(singletons=False), singletons=False)


@pytest.mark.slow
def test_with_the_first_input_of_each_document(
    tmp_path: Path, sample: Path, tiny_model: Callable[[str], Path]
) -> None:
    model = str(tiny_model("bert"))
    bank = _make(tmp_path, sample, model, max_tokens=90, truncate=True)
    with duckdb.connect(str(bank), read_only=True) as connection:
        case = Case(connection, _sample(sample), model)
        assert sum(len(batch) for batch in case.batches) == 10
        _check_mentions(case)
        _check_baselines(case)
        _check_heads(case, case.predictions())


@pytest.mark.slow
def test_runs(tmp_path: Path, sample: Path, tiny_model: Callable[[str], Path]) -> None:
    """By default the newest run of documents; one of sentences by its name, and not by itself."""
    model = str(tiny_model("bert"))
    for context, max_tokens in (("document", 60), ("document", 90), ("sentence", 96)):
        bank = _make(tmp_path, sample, model, context=context, max_tokens=max_tokens)
    with duckdb.connect(str(bank), read_only=True) as connection:

        def judged(arguments: str = "") -> list[Any]:
            return connection.execute(
                f"select n, correct from coreference_accuracy({arguments})"
            ).fetchall()

        names = connection.execute("select name, context, id from run order by id").fetchall()
        assert [context for _, context, _ in names] == ["document", "document", "sentence"]
        assert judged() == judged(f"run := '{names[1][0]}'") == judged("run := '2'")
        assert judged() != judged("run := '1'")
        alone = judged(f"run := '{names[2][0]}'")
        assert 0 < alone[0][0] < judged()[0][0]
        within = connection.execute(
            "select count(*) from mention as m inner join word as w on w.id = m.head_word"
            " where exists (select 1 from mention as e inner join word as v on v.id = e.head_word"
            " where e.entity = m.entity and e.first_word < m.first_word"
            " and v.sentence = w.sentence and e.head_word <> m.head_word)"
        ).fetchone()
        assert within == (alone[0][0],)


def test_a_corpus_without_mentions_has_no_run_that_fits(
    tmp_path: Path, tiny_model: Callable[[str], Path]
) -> None:
    source = tmp_path / "plain.conllu"
    source.write_text(
        "# sent_id = 1\n# text = Rain fell\n"
        "1\tRain\train\tNOUN\t_\t_\t2\tnsubj\t_\t_\n2\tfell\tfall\tVERB\t_\t_\t0\troot\t_\t_\n\n"
    )
    bank = _make(tmp_path, source, str(tiny_model("bert")), max_tokens=90)
    with duckdb.connect(str(bank), read_only=True) as connection:
        capable = "from run_capability where capability = 'mentions'"
        assert connection.execute(capable).fetchall() == []
        with pytest.raises(duckdb.InvalidInputException, match="its corpus has no mentions"):
            connection.execute("from coreference_accuracy()").fetchall()


def _best(counts: dict[tuple[int, int, str], tuple[int, int]], kind: str) -> tuple[int, int]:
    """The head with the most correct mentions; the lowest layer, then head of equals."""
    heads = [(layer, head) for layer, head, of in counts if of == kind]
    return min(heads, key=lambda at: (-counts[*at, kind][0], at))


@pytest.mark.slow
@pytest.mark.parametrize("candidates", ["mentions", "words"])
def test_best_head(case: Case, slow_predictions: Any, candidates: str) -> None:
    counts = slow.counts(case.corpus, case.batches, slow_predictions, candidates)
    rows = case.rows(
        "select kind, layer, head, accuracy, n, low, high, gain, gain_low, gain_high, nearest,"
        " head_match, rule_based from best_coreference_head(candidates := $candidates)",
        candidates=candidates,
    )
    assert [row[0] for row in rows] == KINDS
    baselines = {
        (baseline, kind): accuracy
        for baseline, kind, accuracy in case.rows(
            "select baseline, kind, accuracy from coreference_baseline()"
        )
    }
    for kind, layer, head, accuracy, n, low, high, gain, gain_low, gain_high, *rules in rows:
        assert (layer, head) == _best(counts, kind)
        correct, total = counts[layer, head, kind]
        assert (accuracy, n) == (correct / total, total)
        found = _by_document(case, slow_predictions, candidates, kind, (layer, head))
        _, *wanted = interval([[right for right, _ in each] for each in found]) or [None]
        assert (low, high) == pytest.approx(tuple(wanted), abs=1e-3)
        assert gain == pytest.approx(accuracy - max(rules))
        ends = paired_interval(_alone(found))
        assert (gain_low, gain_high) == pytest.approx(ends, abs=1e-3)
        assert rules == [baselines[name, kind] for name in ("nearest", "head_match", "rule_based")]
    one = case.rows(
        "from best_coreference_head(kind := 'proper', candidates := $candidates)",
        candidates=candidates,
    )
    assert [row[0] for row in one] == ["proper"]


def _by_document(
    case: Case, predictions: Any, candidates: str, kind: str, head: tuple[int, int], half: int = 0
) -> list[list[tuple[bool, bool]]]:
    """Of each document, whether the head and the best of the rules are right on each mention.

    The rule is chosen on all documents; of the `half` 1 are the first, third, ..., of 2 the others.
    """
    judged = [
        (key, each)
        for key, each in case.judged().items()
        if kind == "all" or each.mention.kind == kind
    ]
    documents = sorted({each.mention.document for each in case.judged().values()})
    of_document: dict[Any, list[tuple[bool, list[bool]]]] = {each: [] for each in documents}
    for key, each in judged:
        taken = slow.baselines(case.corpus, each).values()
        by_rules = [one is not None and one.head in each.right_words for one in taken]
        by_head = predictions[candidates, key, *head] in each.right_words
        of_document[each.mention.document].append((by_head, by_rules))
    every = [rules for rows in of_document.values() for _, rules in rows]
    best = max(range(3), key=lambda rule: sum(rules[rule] for rules in every))
    kept = documents[half - 1 :: 2] if half else documents
    return [[(right, rules[best]) for right, rules in of_document[each]] for each in kept]


def _alone(found: list[list[tuple[bool, bool]]]) -> list[tuple[int, int, int]]:
    """Of each document, what the head has right alone, what the rule has, and the mentions."""
    return [
        (
            sum(right and not by_rule for right, by_rule in each),
            sum(by_rule and not right for right, by_rule in each),
            len(each),
        )
        for each in found
    ]


@pytest.mark.parametrize("candidates", ["mentions", "words"])
def test_best_head_held_out(case: Case, slow_predictions: Any, candidates: str) -> None:
    judged = case.judged()
    documents = sorted({each.mention.document for each in judged.values()})
    assert len(documents) == 10

    def counts(remainder: int) -> dict[tuple[int, int, str], tuple[int, int]]:
        half = set(documents[remainder::2])
        kept = {
            key: word
            for key, word in slow_predictions.items()
            if judged[key[1]].mention.document in half
        }
        return slow.counts(case.corpus, case.batches, kept, candidates)

    chosen_on, scored_on = counts(0), counts(1)
    rows = case.rows(
        "select kind, layer, head, n, accuracy, chosen_n, chosen_accuracy, in_sample_accuracy,"
        " optimism, low, high, gain, gain_low, gain_high, p_value"
        " from best_coreference_head_held_out(candidates := $candidates)",
        candidates=candidates,
    )
    assert [row[0] for row in rows] == KINDS
    for (
        kind, layer, head, n, accuracy, chosen_n, chosen_accuracy, in_sample, optimism, *ends,
        gain, gain_low, gain_high, p_value,
    ) in rows:  # fmt: skip
        assert (layer, head) == _best(chosen_on, kind)
        at = layer, head, kind
        top = scored_on[*_best(scored_on, kind), kind]
        assert (n, accuracy) == (scored_on[at][1], scored_on[at][0] / scored_on[at][1])
        assert (chosen_n, chosen_accuracy) == (chosen_on[at][1], chosen_on[at][0] / chosen_n)
        assert in_sample == top[0] / top[1]
        assert optimism == in_sample - accuracy >= 0
        found = _by_document(case, slow_predictions, candidates, kind, (layer, head), half=2)
        found = [each for each in found if each]
        _, *wanted = interval([[right for right, _ in each] for each in found]) or [None]
        assert ends == pytest.approx(wanted, abs=2e-3)
        alone = _alone(found)
        ahead = [only_head - only_rule for only_head, only_rule, _ in alone]
        assert gain == pytest.approx(sum(ahead) / n)
        assert (gain_low, gain_high) == pytest.approx(paired_interval(alone), abs=2e-3)
        if len(found) < 5:
            assert p_value is None
        else:
            assert p_value == pytest.approx(sign_flips(ahead), rel=1e-12)


def test_distance(case: Case, slow_predictions: Any) -> None:
    counts = slow.counts(case.corpus, case.batches, slow_predictions, "mentions")
    best = _best(counts, "all")
    ranges = {(1, 5): [0] * 5, (6, 10): [0] * 5, (11, 20): [0] * 5, (21, 40): [0] * 5}
    ranges |= {(41, None): [0] * 5}  # type: ignore[dict-item]
    for key, each in case.judged().items():
        distance = abs(each.mention.head - each.antecedents[0].head)
        (found,) = [
            tally
            for (shortest, longest), tally in ranges.items()
            if shortest <= distance <= (longest or distance)
        ]
        found[0] += 1
        found[1] += slow_predictions["mentions", key, *best] in each.right_words
        for place, taken in enumerate(slow.baselines(case.corpus, each).values(), start=2):
            found[place] += taken is not None and taken.head in each.right_words
    expected = [
        (*span, tally[0], *best, *(right / tally[0] for right in tally[1:]))
        for span, tally in ranges.items()
        if tally[0]
    ]
    rows = case.rows(
        "select shortest, longest, n, layer, head, accuracy, nearest, head_match, rule_based"
        " from coreference_distance()"
    )
    assert rows == expected  # shares of whole numbers: the same division
    assert len(rows) >= 4
    given = case.rows("select n, layer, head from coreference_distance(layer := 4, head := 2)")
    assert [row[1:] for row in given] == [(4, 2)] * len(rows)
    assert [row[0] for row in given] == [row[2] for row in rows]


@pytest.mark.slow
def test_table_2(case: Case) -> None:
    """The three rules, then the head that is best on all mentions, each by kind, in per cent."""
    rows = case.rows('select model, "all", pronoun, proper, nominal from paper.table_2')
    layer, head = case.rows("select layer, head from best_coreference_head(kind := 'all')")[0]
    assert [row[0] for row in rows] == [
        "Nearest", "Head match", "Rule-based", f"Head {layer}-{head}",
    ]  # fmt: skip
    accuracies = [
        case.rows(
            "select accuracy from coreference_baseline() where baseline = $baseline",
            baseline=baseline,
        )
        for baseline in ("nearest", "head_match", "rule_based")
    ]
    accuracies.append(
        case.rows(
            "select accuracy from coreference_accuracy() where layer = $layer and head = $head",
            layer=layer,
            head=head,
        )
    )
    for row, each in zip(rows, accuracies, strict=True):
        # Rounded to whole per cents, and 100 times a share is itself rounded once.
        within = 0.5 + 100 * bounds.DOUBLE
        assert row[1:] == pytest.approx([100 * accuracy for (accuracy,) in each], abs=within)


def _check_all(connection: duckdb.DuckDBPyConnection, corpus: slow.Corpus) -> None:
    case = Case(connection, corpus, MINILM)
    _check_mentions(case)
    _check_positions(case)
    _check_baselines(case)
    _check_baselines(case, singletons=False)
    _check_heads(case, case.predictions())


@pytest.mark.slow
def test_mentions_and_baselines_on_gum(
    tmp_path: Path, corpora: Path, tiny_model: Callable[[str], Path]
) -> None:
    source = corpora / "gum-dev.conllu"
    model = str(tiny_model("bert"))
    bank = _make(tmp_path, source, model, max_tokens=96, truncate=True)
    with duckdb.connect(str(bank), read_only=True) as connection:
        case = Case(connection, slow.conllu([source]), model)
        _check_mentions(case)
        _check_positions(case)
        _check_baselines(case)


@pytest.mark.slow
def test_on_gum(tmp_path: Path, corpora: Path) -> None:
    source = corpora / "gum-dev.conllu"
    with duckdb.connect(str(_make(tmp_path, source)), read_only=True) as connection:
        _check_all(connection, slow.conllu([source]))
        # The paper's order, on real text: nearest < same head word < sieves, of every kind.
        for kind in KINDS:
            rows = connection.execute(
                "select accuracy from coreference_baseline(kind := $kind)", {"kind": kind}
            ).fetchall()
            assert len(rows) == 3 and rows == sorted(rows)
        # And its finding: a head that comes near the sieves, far above the nearest mention.
        best, rules = connection.execute(
            "select low - nearest, accuracy - head_match from best_coreference_head(kind := 'all')"
        ).fetchall()[0]
        assert best > 0.3 and rules > 0.1


@pytest.mark.soak
def test_on_litbank(tmp_path: Path, corpora: Path, count: int | None) -> None:
    folder = tmp_path / "litbank"
    folder.mkdir()
    for each in sorted((corpora / "litbank").glob("*.conll"))[:count]:
        (folder / each.name).symlink_to(each)
    with duckdb.connect(str(_make(tmp_path, folder)), read_only=True) as connection:
        _check_all(connection, slow.litbank(sorted(folder.glob("*.conll"))))
