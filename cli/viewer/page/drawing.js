// A sentence with the attention of a head: words in a line with the tree above and arcs below, cut to one
// row where it is an example, or two columns with a line for each weight. queries/pictures/hover.js has what
// the columns do when they are pointed at.
import { svg } from "./dom.js";

const SIZE = 14;
const FONT = '"Liberation Sans", Arial, Helvetica, sans-serif';
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;
const ELSEWHERE = { position: null, text: "elsewhere in the input", is_special: true };
// Of weights, as shares of the largest: the least that is drawn, how faint it is, and the depth of all arcs.
const IN_COLUMNS = { least: 0.01, faintest: 0 };
const IN_LINE = { least: 0.05, faintest: 0.12, deepest: 110 };
const IN_EXAMPLE = { ...IN_LINE, least: 0.1, deepest: 34 };

// Words with the three marks of an example by their positions: the dependent in a box, its gold head in blue,
// the word that is found instead in orange.
export function withMarks(words, { own, gold, predicted }) {
  const marks = new Map([[predicted, "found"], [gold, "gold"], [own, "dependent"]]);
  return words.map((word) => ({ ...word, mark: marks.get(word.position) }));
}

const isRightToLeft = (text) => RIGHT_TO_LEFT.test(text);

const canvas = document.createElement("canvas").getContext("2d");

function textWidth(text, size = SIZE) {
  canvas.font = `${size}px ${FONT}`;
  return canvas.measureText(text).width;
}

const largest = (numbers, least = 0) => Math.max(least, ...numbers);

// What each weight is drawn as: { from, to (null: elsewhere), weight, share, opacity, kind, gold, tip }. A
// weight of 1 is drawn at full width, or the largest norm between two words. What the dependent of an example
// attends to instead attends to the dependent where the record `isBackward`.
function linesOf(record, panel, showsSpecial, { least, faintest }) {
  const special = new Set(record.words.filter((word) => word.is_special).map((word) => word.position));
  const words = new Map(record.words.map((word) => [word.position, word]));
  const gold = new Map(panel.gold.map(([from, to, isFound]) => [`${from} ${to}`, isFound]));
  const entities = new Map(record.mentions.flatMap(([entity, , , head]) => record.mentions
    .filter(([other, , , earlier]) => entity === other && earlier < head)
    .map(([, , , earlier]) => [`${head} ${earlier}`, entity])));
  const others = panel.weights.filter(([from, to]) => from !== to || !special.has(from));
  const full = record.norms ? largest(others.map(([, , weight]) => weight ?? 0)) || 1 : 1;
  return panel.weights.flatMap(([from, to, weight]) => {
    const key = `${from} ${to}`;
    const isSpecial = special.has(from) || to === null || special.has(to);
    const marks = [from, to].map((at) => words.get(at)?.mark).join();
    const isInstead = marks === (record.isBackward ? "found,dependent" : "dependent,found");
    const isMarked = isInstead || gold.has(key) || entities.has(key);
    const share = Math.min((weight ?? 0) / full, 1);
    if (!isMarked && ((!showsSpecial && isSpecial) || share < least)) return [];
    const kind = isInstead ? "instead" : gold.has(key) ? "gold"
      : entities.has(key) ? `entity e${entities.get(key) % 5}` : isSpecial ? "special" : "plain";
    const target = to === null ? ELSEWHERE.text : `to “${words.get(to)?.text}”`;
    const tip = `“${words.get(from)?.text}” attends ${target}: ${weight?.toFixed(2) ?? "weight not known"}`;
    const opacity = Math.max(share, faintest);
    return [{ from, to, weight, share, opacity, kind, gold: gold.get(key), isMarked, tip }];
  });
}

// A decoder's first word is special, but it is a word of the sentence.
const drawnWords = ({ words }, showsSpecial) => (
  words.filter((word) => showsSpecial || !word.is_special || word.index));

// A weight as a line or an arc that ends at [x, y], with data for who points at it, and for tests.
function drawWeight({ from, to, weight, share, opacity, kind, gold, isMarked, tip }, path, [x, y], label) {
  const target = to ?? "elsewhere";
  const outcome = gold === undefined ? null : gold ? "found" : "missed";
  return svg`<g class=${`attention arc ${kind}`} data-from=${from} data-to=${target}><title>${tip}</title>
    ${isMarked ? svg`<path class="dots" d=${path}></path>` : null}
    <path class=${`line ${kind}`} d=${path} stroke-opacity=${opacity.toFixed(3)}
      stroke-width=${((isMarked ? 1 : 0.5) + 3 * share).toFixed(2)} data-from=${from} data-to=${target}
      data-weight=${weight === null ? null : Number(weight.toPrecision(9))}
      data-gold=${outcome}></path>
    ${outcome && svg`<circle class=${`ring ${outcome}`} cx=${x} cy=${y} r="3"></circle>`}${label}</g>`;
}

// A word on its box, if it is of a hit or has one of the three marks, and on the shade of its surprisal.
function drawWord(word, x, y, wide, shade = null) {
  const isRtl = isRightToLeft(word.text);
  const box = (kind, opacity = null) => svg`<rect class=${kind} x=${x - 2} y=${y - SIZE + 1} width=${wide + 4}
    height=${SIZE + 5} rx="2" fill-opacity=${opacity}></rect>`;
  return svg`${word.mark ? box(`mark-${word.mark}`) : word.is_matched ? box("matched") : null}
    ${shade === null ? null : box("shade", shade)}
    <text class=${word.is_special ? "faint" : null} x=${isRtl ? x + wide : x} y=${y}
      direction=${isRtl ? "rtl" : null}>${word.text}</text>`;
}

// A mention is a bar in the colour of its entity, with a letter.
function bar(entity, [x, y], [width, height], [letterX, letterY]) {
  const letter = String.fromCharCode(65 + (entity % 26)) + (Math.floor(entity / 26) || "");
  const kind = `e${entity % 5}`;
  return svg`<rect class=${`mention ${kind}`} x=${x} y=${y} width=${width} height=${height} rx="1.5"></rect>
    <text class=${`letter ${kind}`} x=${letterX} y=${letterY}>${letter}</text>`;
}

const ROW = 21;
const ACROSS = 120;
const LANE = 14;

// The two columns of a head: the left one attends to the right one.
export function columns(record, panel, number, showsSpecial) {
  const words = drawnWords(record, showsSpecial);
  const lines = linesOf(record, panel, showsSpecial, IN_COLUMNS);
  const beside = LANE * (1 + largest(record.mentions.map(([, , , , lane]) => lane), -1));
  const column = largest(words.map((word) => textWidth(word.text))) + 8;
  const left = beside + column + 8;
  const right = left + ACROSS;
  const targets = lines.some((line) => line.to === null) ? [...words, ELSEWHERE] : words;
  const y = new Map(targets.map((word, at) => [word.position, 8 + (at + 0.5) * ROW]));
  const width = right + Math.max(column + beside, ...targets.map((word) => textWidth(word.text) + 8)) + 8;
  const height = 16 + targets.length * ROW;
  const mentionBars = record.mentions.map(([entity, first, last, head, lane]) => {
    if (!y.has(first) || !y.has(last)) return null;
    const [top, bottom] = [y.get(first) - 8.4, y.get(last) + 8.4];
    return [beside - LANE * (lane + 0.5), right + column + LANE * (lane + 0.5) - 4].map((x) => (
      bar(entity, [x - 1.5, top], [3, bottom - top], [x + 2.5, (y.get(head) ?? y.get(first)) + 4.2])));
  });
  const drawLine = (line) => drawWeight(
    line, `M${left} ${y.get(line.from)}L${right} ${y.get(line.to)}`, [right, y.get(line.to)]);
  const place = (side, word, x, own = null) => svg`<g class=${side} data-index=${word.index}
    data-position=${word.position ?? "elsewhere"}>${own}
    ${drawWord(word, x, y.get(word.position) + 5, textWidth(word.text))}</g>`;
  return svg`<svg class="drawing" width=${width} height=${height} viewBox=${`0 0 ${width} ${height}`}
      role="img" aria-label=${`What ${panel.name} attends to`}>
    <g class="panel" id=${`panel${number}`} data-name=${panel.name} data-layer=${panel.layer}
      data-head=${panel.head} data-sentence=${record.name}>
      ${mentionBars}
      ${words.map((word) => place("from", word, left - 5 - textWidth(word.text),
        lines.filter((line) => line.from === word.position).map(drawLine)))}
      ${targets.map((word) => place("to", word, right + 5))}
    </g></svg>`;
}

const SPACE = 12; // between two words of a line
const LEVEL = 15; // a level of arcs
const BAR = 5; // a mention under its words
const NUMBER = 13; // the share of special tokens under a word

// The words in a line, wrapped to a width or as an example cut to it, with the tree above and the head's
// attention below. `shares` are what words give to special tokens of their attention, by position.
export function line(record, panel, tree, width, { showsSpecial, isExample, shares, label } = {}) {
  const words = drawnWords(record, showsSpecial);
  const rows = wrapped(isExample ? cutTo(words, width) : words, width);
  const shape = isExample ? IN_EXAMPLE : IN_LINE;
  const places = new Map(rows.flatMap((row, at) => row.map((place) => (
    [place.word.position, { ...place, row: at, middle: place.x + place.wide / 2 }]))));
  const treeArcs = (tree?.arcs ?? []).map(([from, to, label, isWrong]) => ({ from, to, label, isWrong }));
  const lines = linesOf(record, panel, showsSpecial, shape).filter(({ from, to }) => from !== to);
  const edges = rows.isRtl ? [width, 0] : [0, width];
  const pieces = (arcs, row) => levelled(arcs.flatMap((arc) => pieceIn(arc, places, row, edges)));
  const lanes = 1 + largest(record.mentions.map(([, , , , lane]) => lane), -1);
  const mostSurprisal = largest(record.words.map((word) => word.surprisal)) || 1;
  let y = 0;
  const drawnRows = rows.map((row, at) => {
    const above = pieces(treeArcs, at);
    const below = lowered(pieces(lines, at), shape.deepest);
    const base = y + SIZE + 4 + (above.length ? LEVEL * (1 + largest(above.map((piece) => piece.level))) : 0);
    const foot = base + 6 + BAR * lanes + (shares?.size ? NUMBER : 0);
    const bars = record.mentions.map(([entity, first, last, , lane]) => {
      const own = row.filter(({ word }) => word.position >= first && word.position <= last);
      if (!own.length) return null;
      const [left, right] = [Math.min(...own.map(({ x }) => x)), largest(own.map(({ x, wide }) => x + wide))];
      return bar(entity, [left, base + 5 + BAR * lane], [right - left, 3], [right + 1, base + 9 + BAR * lane]);
    });
    y = foot + 10 + largest(below.map((piece) => piece.low));
    const place = ({ word, x, wide }) => {
      const { position, text, surprisal: nats = null } = word;
      const tip = nats === null ? text : `${text}: surprisal ${nats.toFixed(2)} nats`;
      const shade = nats && (0.7 * nats / mostSurprisal).toFixed(2);
      return svg`<g class="word" tabindex=${isExample ? null : 0} data-position=${position}>
        ${isExample ? null : svg`<title>${tip}</title>`}${drawWord(word, x, base, wide, shade)}</g>`;
    };
    return svg`<g class="text-row">
      ${above.map((piece) => treeArc(piece, base - SIZE - 2))}
      ${below.map((piece) => attentionArc(piece, foot))}
      ${row.map(place)}
      ${shares?.size ? row.map(({ word, x, wide }) => svg`<text class="share" x=${x + wide / 2} y=${foot - 4}
        text-anchor="middle">${shares.get(word.position)?.toFixed(2)}</text>`) : null}
      ${bars}</g>`;
  });
  const height = Math.ceil(y);
  return svg`<svg class="drawing line-drawing" width=${width} height=${height} viewBox=${`0 0 ${width} ${height}`}
      role=${isExample ? "img" : "group"} aria-label=${label ?? `What ${panel.name} attends to`}
      @pointerover=${point} @pointerleave=${point} @focusin=${point} @focusout=${point}>${drawnRows}</svg>`;
}

const widthOf = (word) => Math.max(textWidth(word.text), 10) + SPACE;

// The words that there is room for in one row: the marked ones, then their neighbours; and … for others.
function cutTo(words, width) {
  const marked = [...words.keys()].filter((at) => words[at].mark);
  const distance = (at) => (marked.length ? Math.min(...marked.map((other) => Math.abs(other - at))) : at);
  const cut = { text: "…", is_special: true, isCut: true };
  let room = width - widthOf(cut) * (1 + marked.length);
  const shown = new Set();
  for (const at of [...words.keys()].sort((a, b) => distance(a) - distance(b) || a - b)) {
    room -= widthOf(words[at]);
    if (room >= 0 || !distance(at)) shown.add(at);
  }
  return words.flatMap((word, at) => (shown.has(at) ? [word]
    : at && !shown.has(at - 1) ? [] : [{ ...cut, position: `cut ${at}` }]));
}

// Words in rows of a width, each with its place in the row; from right to left if most words are.
function wrapped(words, width) {
  const rows = [[]];
  rows.isRtl = words.filter((word) => isRightToLeft(word.text)).length * 2 > words.length;
  let used = 0;
  for (const word of words) {
    const wide = widthOf(word);
    if (used + wide > width && rows.at(-1).length && !word.isCut) {
      rows.push([]);
      used = 0;
    }
    const x = (rows.isRtl ? width - used - wide : used) + SPACE / 2;
    rows.at(-1).push({ word, x, wide: wide - SPACE });
    used += wide;
  }
  return rows;
}

// The part of an arc that is in a row of words; an arc between two rows goes on at their edges.
function pieceIn(arc, places, row, [before, after]) {
  const [from, to] = [places.get(arc.from), places.get(arc.to)];
  if (!from || !to || row < Math.min(from.row, to.row) || row > Math.max(from.row, to.row)) return [];
  const [start, stop] = [from, to].map((place) => (
    place.row === row ? place.middle : place.row < row ? before : after));
  const [left, right] = [Math.min(start, stop), Math.max(start, stop)];
  return [{ ...arc, start, stop, left, right, middle: (left + right) / 2, hasEnd: to.row === row }];
}

// Arcs with the level at which each is free of those beneath it.
function levelled(pieces) {
  const placed = [];
  for (const piece of [...pieces].sort((a, b) => (a.right - a.left) - (b.right - b.left))) {
    const beneath = placed.filter(({ left, right }) => left >= piece.left && right <= piece.right);
    placed.push({ ...piece, level: 1 + largest(beneath.map((other) => other.level)) });
  }
  return placed;
}

// Arcs with the depths of their curves and weights. The marked ones are on top: their weights are always shown,
// and no other stands on them.
function lowered(pieces, deepest) {
  const squeeze = deepest / Math.max(deepest, LEVEL * largest(pieces.map((piece) => piece.level)));
  const placed = [];
  for (const piece of pieces) {
    const depth = 8 + LEVEL * squeeze * piece.level;
    const near = placed.filter((other) => other.isMarked && Math.abs(other.middle - piece.middle) < 24);
    placed.push({ ...piece, depth, low: Math.max(depth + 9, ...near.map((other) => other.low + 10)) });
  }
  return placed.sort((one, other) => one.isMarked - other.isMarked);
}

function treeArc({ start, stop, left, right, middle, label, level, isWrong, hasEnd }, base) {
  const top = base - LEVEL * level;
  const turn = Math.min(8, (right - left) / 2) * Math.sign(stop - start || 1);
  // Over a short arc the subtype would stand over the labels beside it.
  const text = textWidth(label, 10.5) > right - left + 12 ? label.split(":")[0] : label;
  const x = Math.max(middle, textWidth(text, 10.5) / 2 + 2);
  const path = `M${start} ${base}V${top + 6}q0 -6 ${turn} -6H${stop - turn}q${turn} 0 ${turn} 6V${base}`;
  return svg`<g class=${isWrong ? "tree-arc wrong" : "tree-arc"}><path d=${path}></path>
    ${hasEnd ? svg`<path class="tip" d=${`M${stop - 3} ${base - 5}h6l-3 5z`}></path>` : null}
    <title>${label}</title><text x=${x} y=${top - 2} text-anchor="middle">${text}</text></g>`;
}

function attentionArc(arc, base) {
  const deep = base + arc.depth / 0.75;
  const path = `M${arc.start} ${base}C${arc.start} ${deep} ${arc.stop} ${deep} ${arc.stop} ${base}`;
  return drawWeight(arc, path, [arc.stop, base], svg`<text class="weight" x=${arc.middle} y=${base + arc.low}
    text-anchor="middle">${arc.weight?.toFixed(2)}</text>`);
}

// The arcs from the word under the pointer, or with the focus, stand out, with their weights.
function point({ type, target, currentTarget: drawing }) {
  const word = type === "focusout" ? null : target.closest(".word");
  drawing.classList.toggle("pointed", Boolean(word));
  for (const arc of drawing.querySelectorAll(".attention")) {
    arc.classList.toggle("shown", arc.dataset.from === word?.dataset.position);
  }
}
