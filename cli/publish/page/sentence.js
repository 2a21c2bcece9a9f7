// One sentence: its words and trees were drawn when the bank was published, by the code of
// attnbank show; the lines of the heads are drawn here, from what the bank has of them.
import { link } from "./addresses.js";
import { fixed, frameOf, rowsOf } from "./cells.js";
import { Fault } from "viewer/fault.js";
import { ask, commandOf, table } from "./views.js";

const MOST_PANELS = 16;
const IN_A_FILE = 4;
const LEAST = 0.01;
const SVG = "http://www.w3.org/2000/svg";

export async function sentence(context) {
  const { app } = context;
  const name = context.text("sentence").trim();
  const relation = context.text("relation") || null;
  const variables = {
    sentence: name, heads: context.text("head").trim(), relation: relation ?? "",
    direction: context.chosen("direction", app.manifest.directions), coreference: context.flag("coreference"),
    tree: context.flag("tree"), special: !context.flag("plain"), before: 0, decoded: "",
  };
  if (!name) return variables;
  variables.title = `Sentence ${[...name].slice(0, 60).join("")}`;
  try {
    const run = app.shownRun(context.run);
    if (run === null) throw new Fault("No run of this bank shows sentences.");
    const names = await app.names(run);
    const at = await placeOf(context, names, name, run);
    const [number] = names[at];
    const sheet = (await app.file(`sheets/${run.id}/${Math.floor(number / IN_A_FILE)}.json`))[number];
    variables.heads ||= await bestHead(context, relation, run);
    const heads = headsOf(variables.heads, run).slice(0, MOST_PANELS);
    const options = { ...variables, sheet, run, heads, relation, number };
    const attention = await read(context, options);
    const rows = {
      head: heads.map((head) => head.join("-")).join(","), run: run.name, relation,
      direction: relation && variables.direction !== app.manifest.directions[0] ? variables.direction : null, no_special: !variables.special,
    };
    context.command = commandOf(context, `show ${app.shell(sheet.name)}`, rows);
    context.plotCommand = commandOf(context, `show ${app.shell(sheet.name)}`, {
      ...rows, coreference: variables.coreference, tree: variables.tree, output: "sentence.svg",
    });
    Object.assign(variables, {
      answered: run.name,
      notes_below: notesOf(run, options, attention),
      drawn: drawn(options, attention),
      table: table(context, topsFrame(options, attention), { links: { sent_id: () => null } }),
      words: wordsOf(sheet, number, context.text("hit")),
      around: [names[at - 1], names[at + 1]].map((neighbour) => (neighbour ? link("/sentence", { ...context.given, sentence: neighbour[0], page: null }) : null)),
    });
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    variables.error = error;
  }
  return variables;
}

async function placeOf(context, names, name, run) {
  if (/^\s*pattern|\{/.test(name)) {
    const made = await context.app.compiler.compiled({ request: name, by: null, corpus: run.corpus_name, run: context.run, limit: 1000, sample: null });
    const places = new Map(names.map(([number], at) => [number, at]));
    const row = (await context.app.database.rows(made.statement)).find((hit) => places.has(hit.sentence));
    if (!row) throw new Fault(`The request matches nothing in the run ${run.name}.`);
    return places.get(row.sentence);
  }
  let at = /^\d+$/.test(name) ? names.findIndex(([number]) => number === Number(name)) : -1;
  if (at < 0) {
    const called = names.map(([, own], place) => [own, place]).filter(([own]) => own === name);
    if (called.length > 1) throw new Fault(`${called.length} sentences are called ${name}.`, `Give its number: ${called.map(([, place]) => names[place][0]).join(", ")}.`);
    at = called.length ? called[0][1] : -1;
  }
  if (at < 0) throw new Fault(`The run ${run.name} has no sentence ${[...name].slice(0, 80).join("")}.`, "Give a sent_id, a number, or a request.");
  return at;
}

async function bestHead(context, relation, run) {
  try {
    const frame = await ask(context, "best_head", { run: context.run ? run.name : null });
    context.frame = null;
    const row = rowsOf(frame).find((best) => best.relation === (relation ?? "all"));
    return row ? `${row.layer}-${row.head}` : "1-1";
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return "1-1";
  }
}

function headsOf(text, run) {
  const heads = new Map();
  for (const name of text.split(",").map((part) => part.trim()).filter(Boolean)) {
    const pair = /^(\d{1,9})-(\d{1,9})$/.exec(name);
    if (!pair) throw new Fault(`${name.slice(0, 80)} is not a valid head.`, "Write a head as LAYER-HEAD: 3-1.");
    const [layer, head] = [Number(pair[1]), Number(pair[2])];
    const numbers = run.numbered ?? Array.from({ length: run.layers }, (_, at) => at + 1);
    if (!numbers.includes(layer) || head < 1 || head > run.heads) {
      throw new Fault(`The model of the run ${run.name} has no head ${name}.`, `It has ${run.size}.`);
    }
    heads.set(`${layer}-${head}`, [layer, head]);
  }
  return [...heads.values()];
}

// The maps and the peaks of some heads over the input that holds the sentence, by head.
async function read(context, { sheet, heads, run, relation, number }) {
  const { database, manifest } = context.app;
  const values = { sequence: sheet.sequence, heads: heads.map((head) => head.join("-")) };
  const maps = await database.rows(manifest.statements["sentences/maps"], values);
  const peaks = await database.rows(manifest.statements["sentences/peaks"], values);
  const saved = manifest.saved.some((row) => row.name === relation)
    ? await database.rows(manifest.statements["sentences/saved_pairs"], { relation, sentences: [number] }) : null;
  if (relation && !saved && !context.app.relations().includes(relation.split(/[:$@]/)[0])) {
    throw new Fault(`The corpus has no relation ${relation}.`, `It has: ${context.app.relations().join(", ")}.`);
  }
  const own = (rows, layer, head) => rows.filter((row) => row.layer === layer && row.head === head);
  return {
    saved,
    byHead: heads.map(([layer, head]) => ({ maps: own(maps, layer, head), peaks: new Map(own(peaks, layer, head).map((row) => [row.position, row])) })),
  };
}

const NAMES = ["position", "kind", "text", "word", "sentence", "index", "form", "head_word", "head_form", "relation"];

const positionsOf = (sheet) => sheet.positions.map((row) => Object.fromEntries(NAMES.map((name, at) => [name, row[at]])));

const isWord = (position) => position.kind === "word" || position.kind === "token";

// The pairs (dependent, head), both word ids, of the relation that is context for.
function goldPairs({ sheet, relation, number }, saved) {
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
export function linesOf(sheet, maps) {
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

function drawn(options, { saved, byHead }) {
  const { sheet, heads, coreference, relation, special, run, tree } = options;
  const pairs = goldPairs(options, saved);
  const drawing = document.createElement("div");
  if (tree) {
    if (!sheet.tree) throw new Fault("The sentence has no tree.", "Leave tree out.");
    drawing.append(parsed(sheet.tree));
  }
  heads.forEach(([layer, head], at) => {
    const svg = parsed(coreference && sheet.mentions ? sheet.panel_with_mentions : sheet.panel);
    svg.setAttribute("aria-label", `What head ${layer}-${head} attends to`);
    const panel = svg.querySelector(".panel");
    panel.id = `panel${at}`;
    Object.assign(panel.dataset, { layer, head, name: `head ${layer}-${head}` });
    const arcs = goldArcs(options, pairs, byHead[at].peaks);
    addLines(panel, linesOf(sheet, byHead[at].maps), arcs, { sheet, coreference, special, measure: run.measure });
    const figure = document.createElement("figure");
    const caption = document.createElement("figcaption");
    caption.textContent = `Head ${layer}-${head}`;
    figure.append(caption, svg);
    drawing.append(figure);
  });
  if (relation && !pairs.length) options.none = true;
  return drawing.innerHTML;
}

function parsed(text) {
  const element = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  return document.importNode(element, true);
}

function addLines(panel, lines, arcs, { sheet, coreference, special, measure }) {
  const colours = JSON.parse(document.getElementById("colours").textContent);
  const froms = new Map([...panel.querySelectorAll(".from")].map((element) => [element.dataset.position, element]));
  const tos = new Map([...panel.querySelectorAll(".to")].map((element) => [element.dataset.position, element]));
  const kinds = new Map(positionsOf(sheet).map((position) => [position.position, position]));
  const isSpecial = (position) => position === null || !isWord(kinds.get(position));
  const entities = new Map();
  const mentions = coreference ? sheet.mentions ?? [] : [];
  for (const [one, , , a] of mentions) for (const [other, , , b] of mentions) if (one === other && b < a) entities.set(`${a} ${b}`, one);
  const norms = measure.endsWith("norms");
  const largest = norms ? Math.max(0, ...lines.map(([, , weight]) => weight ?? 0)) || 1 : 1;
  for (const [from, to, storedWeight] of lines) {
    const weight = storedWeight ?? 0;
    const key = `${from} ${to}`;
    const arc = arcs.get(key);
    const marked = arc !== undefined || entities.has(key);
    if (weight / largest < LEAST && !marked) continue;
    if (!special && (isSpecial(from) || (to !== null && isSpecial(to)))) continue;
    const [start, end] = [froms.get(String(from)), tos.get(to === null ? "elsewhere" : String(to))];
    if (!start || !end) continue;
    const [left, right] = [start.querySelector("text"), end];
    const size = Number(left.getAttribute("font-size"));
    let colour = isSpecial(from) || isSpecial(to) ? colours.faint_line : colours.line;
    if (entities.has(key)) colour = colours.entities[entities.get(key) % colours.entities.length];
    if (arc !== undefined) colour = colours.gold;
    const strength = Math.min(weight / largest, 1);
    const ends = [[left, 5], [right, -5]].map(([word, aside]) => [
      fixed(Number(word.getAttribute("x")) + aside, 1), fixed(Number(word.getAttribute("y")) - size * 0.35, 1)]);
    const named = { "data-from": String(from), "data-to": to === null ? "elsewhere" : String(to) };
    if (marked) start.insertBefore(mark(ends, colour, colours.ground, arc, size, named), start.querySelector("rect, text"));
    const line = document.createElementNS(SVG, "line");
    const set = (name, value) => line.setAttribute(name, value);
    set("class", "line");
    ends.forEach(([x, y], at) => { set(`x${at + 1}`, x); set(`y${at + 1}`, y); });
    set("stroke", colour);
    set("stroke-opacity", fixed(strength, 3));
    set("stroke-width", fixed((0.5 + 2.5 * strength) * Math.sqrt(size / 14), 2));
    set("stroke-linecap", "round");
    for (const [name, value] of Object.entries(named)) set(name, value);
    if (storedWeight !== null) set("data-weight", String(Number(weight.toPrecision(9))));
    if (arc !== undefined) set("data-gold", arc ? "found" : "missed");
    start.insertBefore(line, start.querySelector("rect, text"));
  }
}

// What shows that a line is there whatever its weight: dots, and a ring at the end of a gold arc.
function mark([[x1, y1], [x2, y2]], colour, ground, isFound, size, named) {
  const group = document.createElementNS(SVG, "g");
  for (const [name, value] of Object.entries({ class: "arc", ...named })) group.setAttribute(name, value);
  const add = (values) => {
    const path = document.createElementNS(SVG, "path");
    for (const [name, value] of Object.entries(values)) path.setAttribute(name, value);
    group.append(path);
  };
  add({ d: `M${x1} ${y1}L${x2} ${y2}`, fill: "none", stroke: colour, "stroke-width": "0.8", "stroke-dasharray": "1 2.5" });
  if (isFound !== undefined) {
    const [r, wide] = [fixed(size * 0.2, 1), fixed(size * 0.4, 1)];
    const ring = `M${fixed(Number(x2) - size * 0.2, 1)} ${y2}a${r} ${r} 0 1 0 ${wide} 0a${r} ${r} 0 1 0 -${wide} 0Z`;
    add({ d: ring, fill: isFound ? colour : ground, stroke: colour, "stroke-width": "1.2" });
  }
  return group;
}

const COLUMNS = [
  ["sent_id", "text"], ["layer", "integer"], ["head", "integer"], ["position", "integer"], ["index", "integer"],
  ["dependent", "text"], ["found_position", "integer"], ["found", "text"], ["weight", "float"],
  ["gold_head", "text"], ["relation", "text"], ["correct", "boolean"], ["special", "float"], ["run", "text"],
];

// The word that each word attends to most (or that attends most to it), and whether that is its head.
export function tops({ sheet, heads, direction, relation, run, number }, { saved, byHead }) {
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
      const kept = special.map((to) => weights.get(position.position)?.[to] ?? null);
      rows.push({
        sent_id: sheet.name, layer, head, position: position.position, index: position.index, dependent: position.text,
        found_position: found, found: found === null ? null : textAt.get(found) ?? null,
        weight: peak ? (backward ? peak.most_attending_weight : peak.most_attended_weight) : null,
        gold_head: savedHeads ? (gold === null ? null : forms.get(gold) ?? null) : position.head_form,
        relation: savedHeads ? (gold === null ? null : relation) : position.relation,
        correct: gold === null || hidden(position.position, gold) ? null : found !== null && stands.has(`${found} ${gold}`),
        special: kept.includes(null) ? null : kept.reduce((sum, value) => sum + value, 0),
        run: run.name,
      });
    }
  });
  return rows;
}

function topsFrame(options, attention) {
  const name = options.direction === "head_to_dependent" ? "looked_at_by" : "looks_at";
  const frame = frameOf(tops(options, attention), COLUMNS);
  for (const column of frame.columns) column.name = column.name.replace(/^found/, name);
  return frame;
}

function notesOf(run, { sheet, relation, coreference, special }, { byHead }) {
  const notes = [...run.notes];
  if (relation) notes.push(run.notes_of_arcs);
  if (coreference) notes.push(sheet.mentions ? run.notes_of_mentions : "No entity is mentioned twice here.");
  if (!special) notes.push("Special tokens, and attention to them, are left out.");
  const isInPart = byHead.some(({ maps }) => maps.some(({ rest }) => rest === null || rest > 0));
  return [...notes, ...sheet.notes, ...(isInPart ? [run.note_of_rest] : [])];
}

// The text of the sentence in parts, each with whether it is a word of the hit.
function wordsOf(sheet, number, hit) {
  const match = /^(\d+):([\d,]+)$/.exec(hit);
  if (hit && !match) throw new Fault(`hit cannot be ${hit.slice(0, 40)}.`, "A hit is SENTENCE:WORDS, as in 12:3,5.");
  const marked = match && Number(match[1]) === number ? match[2].split(",").map(Number) : [];
  return sheet.written.flatMap(([form, index, space]) => [[form, marked.includes(index)], ...(space ? [[" ", false]] : [])]);
}
