// One sentence as it is drawn, from its sheet and what the bank has of the heads: the record that
// shown_record of cli/viewer/records.py makes.
import { positionsOf } from "viewer/arcs.js";
import { Frame } from "viewer/cells.js";
import { headName } from "viewer/measures.js";

const COLUMNS = [
  ["sent_id", "text"], ["layer", "integer"], ["head", "integer"], ["position", "integer"],
  ["index", "integer"], ["dependent", "text"], ["found_position", "integer"], ["found", "text"],
  ["weight", "float"], ["gold_head", "text"], ["relation", "text"], ["correct", "boolean"],
  ["special", "float"], ["run", "text"],
];

export function shownRecord(sheet, options) {
  const { run, heads, id, relation, coreference, tree, marked, direction } = options;
  const positions = positionsOf(sheet);
  const shown = new Set(sheet.shown);
  // Words at positions, of which several may stand at one.
  const stands = new Set(positions.map((row) => `${row.position} ${row.word}`));
  const isShown = (row, at) => shown.has(row.position) && row.position !== positions[at - 1]?.position;
  const matched = new Set(positions.filter((row) => row.sentence === id && marked.includes(row.index))
    .map((row) => row.position));
  const input = { ...options, sheet, positions, shown, stands };
  const pairs = goldPairs(input);
  const byHead = heads.map(([layer, head]) => {
    const isOfHead = (row) => row.layer === layer && row.head === head;
    return { layer, head, maps: sheet.maps.filter(isOfHead), peaks: sheet.peaks.filter(isOfHead) };
  });
  const rows = Frame.of(byHead.flatMap((attention) => tops(input, attention)), COLUMNS);
  const looks = direction === "head_to_dependent" ? "looked_at_by" : "looks_at";
  for (const column of rows.columns) column.name = column.name.replace(/^found/, looks);
  return {
    id, run: run.name, heads: heads.map((pair) => headName(...pair)).join(","), name: sheet.name, marked,
    written: sheet.written, facts: notesOf(input), norms: run.measure.endsWith("norms"),
    mentions: coreference ? sheet.mentions ?? [] : [],
    words: positions.filter(isShown).map((row) => ({
      position: row.position, text: row.text, index: row.index, is_special: !isWord(row),
      is_matched: matched.has(row.position),
    })),
    trees: sheet.tree ? [{ ...sheet.tree, isGold: true, isWanted: Boolean(tree) }] : [],
    panels: byHead.map(({ layer, head, maps, peaks }) => ({
      name: `head ${headName(layer, head)}`, layer, head, weights: weightsOf(input, maps),
      gold: goldArcs(input, pairs, peaks),
    })),
    rows,
  };
}

const isWord = (position) => position.kind === "word" || position.kind === "token";

// The pairs (dependent, head), both word ids, of the relation whose arcs are shown.
function goldPairs({ positions, relation, id, saved }) {
  if (saved) return saved.map((row) => [row.word, row.head_word]);
  const seen = new Set();
  return positions.filter((row) => {
    const isNew = row.word !== null && !seen.has(row.word);
    seen.add(row.word);
    const names = ["all", row.relation, String(row.relation).split(/[:$@]/)[0]];
    return isNew && row.sentence === id && row.head_word !== null && names.includes(relation);
  }).map((row) => [row.word, row.head_word]);
}

// The gold arcs between the first positions of words: [from, to, whether the head finds it].
function goldArcs({ positions, shown, stands, direction }, pairs, peaks) {
  const first = new Map(positions.filter((row) => row.word !== null && shown.has(row.position))
    .map((row) => [row.word, row.position]).reverse());
  const arcs = new Map();
  for (const [word, head] of pairs) {
    const [own, other] = [first.get(word), first.get(head)];
    if (own === undefined || other === undefined || own === other) continue;
    const isBackward = direction === "head_to_dependent" || (direction === "later_to_earlier" && other > own);
    const isFound = peaks.some(({ position, most_attending: attending, most_attended: attended }) => (
      stands.has(`${position} ${word}`) && stands.has(`${isBackward ? attending : attended} ${head}`)));
    const ends = isBackward ? [other, own] : [own, other];
    arcs.set(ends.join(" "), [...ends, isFound]);
  }
  return [...arcs.values()];
}

// The weights between shown positions, and to all others together (to: null): [from, to, weight].
function weightsOf({ sheet: { shown: places }, positions, shown }, maps) {
  const words = positions.filter((row) => isWord(row) && !shown.has(row.position));
  const others = [...new Set(words.map((row) => row.position))];
  const rowAt = new Map(maps.map((row) => [row.from_position, row]));
  return places.flatMap((position) => {
    const { weights, rest } = rowAt.get(position);
    const elsewhere = others.reduce((sum, to) => sum + (weights[to] ?? 0), 0);
    const lines = places.map((to) => [position, to, weights[to] ?? null]);
    return rest !== null && (others.length || rest) ? [...lines, [position, null, rest + elsewhere]] : lines;
  });
}

// The word that each word attends to most (or that attends most to it), and whether that is its head.
function tops(input, { layer, head, maps, peaks }) {
  const { sheet, positions, shown, stands, direction, relation, run, id, saved } = input;
  const isBackward = direction === "head_to_dependent";
  const side = isBackward ? "most_attending" : "most_attended";
  const textAt = new Map(positions.map((row) => [row.position, row.text]).reverse());
  const where = new Map(positions.filter((row) => row.word !== null).map((row) => [row.word, row.position]));
  const apart = new Set(positions.filter((row) => row.kind === "first").map((row) => row.position));
  const special = [...new Set(positions.filter((row) => !isWord(row)).map((row) => row.position))];
  const savedHeads = saved && new Map([...saved].reverse().map((row) => [row.word, row.head_word]));
  const forms = new Map(positions.map((row) => [row.word, row.form]));
  const weights = new Map(maps.map((row) => [row.from_position, row.weights]));
  const peakAt = new Map(peaks.map((row) => [row.position, row]));
  // Pairs that no head can find.
  const isHidden = (place, gold) => {
    const other = where.get(gold) ?? place;
    const isUnseen = run.is_causal && (isBackward ? other < place : other > place);
    return stands.has(`${place} ${gold}`) || isUnseen || apart.has(place) || apart.has(other);
  };
  const own = positions.filter((row) => row.word !== null && row.sentence === id && shown.has(row.position));
  return own.map(({ position, word, index, text, head_word: tree, head_form: form, relation: label }) => {
    const peak = peakAt.get(position);
    const predicted = peak?.[side] ?? null;
    const gold = savedHeads ? savedHeads.get(word) ?? null : tree;
    const toSpecial = special.map((to) => weights.get(position)?.[to] ?? null);
    return {
      sent_id: sheet.name, layer, head, position, index, dependent: text, run: run.name,
      found_position: predicted, found: textAt.get(predicted), weight: peak?.[`${side}_weight`],
      gold_head: savedHeads ? gold && forms.get(gold) : form, relation: savedHeads ? gold && relation : label,
      correct: gold === null || isHidden(position, gold) ? null : stands.has(`${predicted} ${gold}`),
      special: toSpecial.includes(null) ? null : toSpecial.reduce((sum, value) => sum + value, 0),
    };
  });
}

function notesOf({ run, sheet, relation, coreference }) {
  const isInPart = sheet.maps.some(({ rest }) => rest === null || rest > 0);
  return [
    ...run.notes, relation && run.notes_of_arcs,
    coreference && (sheet.mentions ? run.notes_of_mentions : "No entity is mentioned twice here."),
    ...sheet.notes, isInPart && run.note_of_rest,
  ].filter(Boolean);
}
