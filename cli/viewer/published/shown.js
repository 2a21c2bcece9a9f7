// One sentence as it is drawn, from its sheet and what the bank has of the heads: the record that
// shown_record of cli/viewer/records.py makes.
import { frameOf } from "viewer/cells.js";

export function shownRecord(options, { maps, peaks }) {
  const { sheet, run, heads, id, relation, coreference, tree, marked } = options;
  const positions = positionsOf(sheet);
  const ofHead = (rows, [layer, head]) => rows.filter((row) => row.layer === layer && row.head === head);
  const byHead = heads.map((pair) => ({ maps: ofHead(maps, pair), peaks: new Map(ofHead(peaks, pair).map((row) => [row.position, row])) }));
  const pairs = goldPairs(options);
  const shownPositions = new Set(sheet.shown);
  const seen = new Set();
  const words = positions.filter(({ position }) => shownPositions.has(position) && !seen.has(position) && seen.add(position));
  const matched = new Set(positions.filter((row) => row.sentence === id && marked.includes(row.index)).map((row) => row.position));
  return {
    id, run: run.name, heads: heads.map((pair) => pair.join("-")).join(","), name: sheet.name, marked, written: sheet.written,
    facts: notesOf(options, byHead), norms: run.measure.endsWith("norms"), mentions: coreference ? sheet.mentions ?? [] : [],
    words: words.map((row) => [row.position, row.text, row.index, !isWord(row), matched.has(row.position)]),
    trees: sheet.tree ? [{ ...sheet.tree, isGold: true, isWanted: tree }] : [],
    panels: heads.map(([layer, head], at) => ({
      name: `head ${layer}-${head}`, layer, head, weights: weightsOf(sheet, byHead[at].maps),
      gold: [...goldArcs(options, pairs, byHead[at].peaks)].map(([ends, isFound]) => [...ends.split(" ").map(Number), isFound]),
    })),
    rows: topsFrame(options, byHead),
  };
}

const NAMES = ["position", "kind", "text", "word", "sentence", "index", "form", "head_word", "head_form", "relation"];

const positionsOf = (sheet) => sheet.positions.map((row) => Object.fromEntries(NAMES.map((name, at) => [name, row[at]])));

const isWord = (position) => position.kind === "word" || position.kind === "token";

// The pairs (dependent, head), both word ids, of the relation whose arcs are shown.
function goldPairs({ sheet, relation, id: number, saved }) {
  if (!relation) return [];
  if (saved) return saved.map((row) => [row.word, row.head_word]);
  const seen = new Set();
  return positionsOf(sheet).filter((position) => {
    const known = position.sentence === number && position.word !== null && position.head_word !== null && !seen.has(position.word);
    if (position.word !== null) seen.add(position.word);
    return known && ["all", position.relation, String(position.relation).split(/[:$@]/)[0]].includes(relation);
  }).map((position) => [position.word, position.head_word]);
}

// The gold arcs between the first positions of words: "from to" to whether the head finds it.
function goldArcs(options, pairs, peaks) {
  const { sheet, direction } = options;
  const positions = positionsOf(sheet);
  const shownPositions = new Set(sheet.shown);
  const first = new Map();
  const wordsAt = new Map();
  for (const position of positions) {
    if (position.word === null) continue;
    if (shownPositions.has(position.position) && !first.has(position.word)) first.set(position.word, position.position);
    wordsAt.set(position.position, [...(wordsAt.get(position.position) ?? []), position.word]);
  }
  const finds = (backward, word, other) => [...peaks.values()].some((row) => {
    const peak = backward ? row.most_attending : row.most_attended;
    return (wordsAt.get(row.position) ?? []).includes(word) && (wordsAt.get(peak) ?? []).includes(other);
  });
  const arcs = new Map();
  for (const [word, head] of pairs) {
    if (!first.has(word) || !first.has(head) || first.get(word) === first.get(head)) continue;
    const backward = direction === "head_to_dependent" || (direction === "later_to_earlier" && first.get(head) > first.get(word));
    const ends = backward ? [first.get(head), first.get(word)] : [first.get(word), first.get(head)];
    arcs.set(ends.join(" "), finds(backward, word, head));
  }
  return arcs;
}

// The weights between shown positions, and to all others together (to: null): [from, to, weight].
function weightsOf(sheet, maps) {
  const positions = positionsOf(sheet);
  const places = sheet.shown;
  const shownPositions = new Set(places);
  const others = [...new Set(positions.filter(isWord).map((position) => position.position))].filter((position) => !shownPositions.has(position));
  const rowAt = new Map(maps.map((row) => [row.from_position, row]));
  const lines = [];
  for (const position of places) {
    const { weights, rest } = rowAt.get(position);
    for (const to of places) lines.push([position, to, weights[to] ?? null]);
    if (rest !== null && (others.length || rest)) lines.push([position, null, rest + others.reduce((sum, to) => sum + (weights[to] ?? 0), 0)]);
  }
  return lines;
}

const COLUMNS = [
  ["sent_id", "text"], ["layer", "integer"], ["head", "integer"], ["position", "integer"], ["index", "integer"],
  ["dependent", "text"], ["found_position", "integer"], ["found", "text"], ["weight", "float"],
  ["gold_head", "text"], ["relation", "text"], ["correct", "boolean"], ["special", "float"], ["run", "text"],
];

// The word that each word attends to most (or that attends most to it), and whether that is its head.
function tops({ sheet, heads, direction, relation, run, id: number, saved }, byHead) {
  const positions = positionsOf(sheet);
  const backward = direction === "head_to_dependent";
  const shownPositions = new Set(sheet.shown);
  const textAt = new Map();
  for (const position of positions) if (!textAt.has(position.position)) textAt.set(position.position, position.text);
  const stands = new Set(positions.map((position) => `${position.position} ${position.word}`));
  const where = new Map(positions.filter((position) => position.word !== null).map((position) => [position.word, position.position]));
  const apart = new Set(positions.filter((position) => position.kind === "first").map((position) => position.position));
  const special = [...new Set(positions.filter((position) => !isWord(position)).map((position) => position.position))];
  const savedHeads = saved && new Map([...saved].reverse().map((row) => [row.word, row.head_word]));
  const forms = new Map(positions.map((position) => [position.word, position.form]));
  const hidden = (place, head) => {
    const other = where.get(head) ?? place;
    const unseen = run.is_causal && (backward ? other < place : other > place);
    return stands.has(`${place} ${head}`) || unseen || apart.has(place) || apart.has(other);
  };
  const rows = [];
  heads.forEach(([layer, head], at) => {
    const { maps, peaks } = byHead[at];
    const weights = new Map(maps.map((row) => [row.from_position, row.weights]));
    for (const position of positions) {
      if (position.word === null || position.sentence !== number || !shownPositions.has(position.position)) continue;
      const peak = peaks.get(position.position);
      const found = peak ? (backward ? peak.most_attending : peak.most_attended) : null;
      const gold = savedHeads ? savedHeads.get(position.word) ?? null : position.head_word;
      const toSpecial = special.map((to) => weights.get(position.position)?.[to] ?? null);
      rows.push({
        sent_id: sheet.name, layer, head, position: position.position, index: position.index, dependent: position.text,
        found_position: found, found: found === null ? null : textAt.get(found) ?? null,
        weight: peak ? (backward ? peak.most_attending_weight : peak.most_attended_weight) : null,
        gold_head: savedHeads ? (gold === null ? null : forms.get(gold) ?? null) : position.head_form,
        relation: savedHeads ? (gold === null ? null : relation) : position.relation,
        correct: gold === null || hidden(position.position, gold) ? null : found !== null && stands.has(`${found} ${gold}`),
        special: toSpecial.includes(null) ? null : toSpecial.reduce((sum, value) => sum + value, 0),
        run: run.name,
      });
    }
  });
  return rows;
}

function topsFrame(options, byHead) {
  const name = options.direction === "head_to_dependent" ? "looked_at_by" : "looks_at";
  const frame = frameOf(tops(options, byHead), COLUMNS);
  for (const column of frame.columns) column.name = column.name.replace(/^found/, name);
  return frame;
}

function notesOf({ run, sheet, relation, coreference }, byHead) {
  const notes = [...run.notes];
  if (relation) notes.push(run.notes_of_arcs);
  if (coreference) notes.push(sheet.mentions ? run.notes_of_mentions : "No entity is mentioned twice here.");
  const isInPart = byHead.some(({ maps }) => maps.some(({ rest }) => rest === null || rest > 0));
  return [...notes, ...sheet.notes, ...(isInPart ? [run.note_of_rest] : [])];
}

