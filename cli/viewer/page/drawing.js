// A sentence with the attention of a head: words in a line with the tree above and arcs below, or
// two columns with a line for each weight. queries/pictures/hover.js has what the columns do when they
// are pointed at.
import { repeat, svg } from "./dom.js";

const SIZE = 14;
const FONT = '"Liberation Sans", Arial, Helvetica, sans-serif';
const LEAST = 0.01; // of the largest weight: a weaker line is not drawn
const LEAST_ARC = 0.05; // that of an arc, of which fewer fit below a line
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;
const ELSEWHERE = "elsewhere in the input";

export const isRightToLeft = (text) => RIGHT_TO_LEFT.test(text);

const canvas = document.createElement("canvas").getContext("2d");

export function textWidth(text, size = SIZE, font = FONT) {
  canvas.font = `${size}px ${font}`;
  return canvas.measureText(text).width;
}

const largest = (numbers, least = 0) => Math.max(least, ...numbers);

// What each weight is drawn as: { from, to (null: elsewhere), weight, share, kind, gold, tip }. A weight
// of 1 is drawn at full width, or the largest norm between two words.
function linesOf(record, panel, { showsSpecial, least }) {
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
    const isInstead = [from, to].map((at) => words.get(at)?.mark).sort().join() === "dependent,found";
    const isMarked = isInstead || gold.has(key) || entities.has(key);
    const share = Math.min((weight ?? 0) / full, 1);
    if ((!showsSpecial && isSpecial) || (share < least && !isMarked)) return [];
    const kind = isInstead ? "instead" : gold.has(key) ? "gold"
      : entities.has(key) ? `entity e${entities.get(key) % 5}` : isSpecial ? "special" : "plain";
    const target = to === null ? ELSEWHERE : `to “${words.get(to)?.text}”`;
    const tip = `“${words.get(from)?.text}” attends ${target}: ${weight?.toFixed(2) ?? "weight not known"}`;
    return [{ from, to, weight, share, kind, gold: gold.get(key), isMarked, tip }];
  });
}

// A decoder's first word is special, but it is a word of the sentence.
const wordsOf = ({ words }, { showsSpecial }) => (
  words.filter((word) => showsSpecial || !word.is_special || word.index));

// What a line or an arc of a weight has for who points at it, and for tests.
const weightText = (weight) => (weight === null ? null : Number(weight.toPrecision(9)));
const goldText = (gold) => (gold === undefined ? null : gold ? "found" : "missed");
const ring = (gold, x, y, r) => (gold === undefined ? null
  : svg`<circle class=${gold ? "ring found" : "ring"} cx=${x} cy=${y} r=${r}></circle>`);

// A mention is a bar in the colour of its entity, with a letter.
function letterOf(entity) {
  return String.fromCharCode(65 + (entity % 26)) + (entity >= 26 ? Math.floor(entity / 26) : "");
}

const bar = (entity, [x, y], [width, height], [letterX, letterY]) => svg`
  <rect class=${`mention e${entity % 5}`} x=${x} y=${y} width=${width} height=${height} rx="1.5"></rect>
  <text class=${`letter e${entity % 5}`} x=${letterX} y=${letterY}>${letterOf(entity)}</text>`;

// Lanes for the bars of mentions, so that those that overlap stand side by side.
function lanesOf(mentions) {
  const ends = [];
  return mentions.map(([, first, last]) => {
    let lane = ends.findIndex((end) => end < first);
    if (lane < 0) lane = ends.length;
    ends[lane] = last;
    return lane;
  });
}

// A box around a word of a hit, or one of the three marks of an example.
const markBox = ({ is_matched: isMatched, mark }, [x, y], [width, height]) => (isMatched || mark
  ? svg`<rect class=${mark ? `mark-${mark}` : "matched"} x=${x} y=${y} width=${width} height=${height} rx="2"></rect>`
  : null);

const ROW = 21;
const ACROSS = 120;
const LANE = 14;

// The two columns of a head: the left one attends to the right one.
export function columns(record, panel, number, options = {}) {
  const words = wordsOf(record, options);
  const lines = linesOf(record, panel, { ...options, least: LEAST });
  const lanes = lanesOf(record.mentions);
  const beside = (largest(lanes, -1) + 1) * LANE;
  const column = largest(words.map((word) => textWidth(word.text))) + 8;
  const hasElsewhere = lines.some((line) => line.to === null);
  const left = beside + column + 8;
  const right = left + ACROSS;
  const y = new Map(words.map((word, at) => [word.position, 8 + (at + 0.5) * ROW]));
  const elsewhere = 8 + (words.length + 0.9) * ROW;
  const width = right + Math.max(column + beside, hasElsewhere ? textWidth(ELSEWHERE) + 8 : 0) + 8;
  const height = 16 + (words.length + (hasElsewhere ? 1.4 : 0)) * ROW;
  const text = (word, x, isEnd) => {
    const wide = textWidth(word.text);
    const at = y.get(word.position);
    return svg`${markBox(word, [isEnd ? x - wide - 2 : x - 2, at - 9.5], [wide + 4, 19])}
      <text class=${word.is_special ? "faint" : null} x=${x} y=${at + 5}
        text-anchor=${isEnd ? "end" : "start"}
        direction=${isRightToLeft(word.text) ? "rtl" : null}>${word.text}</text>`;
  };
  const mentionBars = record.mentions.map(([entity, first, last, head], at) => {
    if (!y.has(first) || !y.has(last)) return null;
    const [top, bottom] = [y.get(first) - 8.4, y.get(last) + 8.4];
    return [beside - LANE * (lanes[at] + 0.5), right + column + LANE * (lanes[at] + 0.5) - 4].map((x) => (
      bar(entity, [x - 1.5, top], [3, bottom - top], [x + 2.5, (y.get(head) ?? y.get(first)) + 4.2])));
  });
  return svg`<svg class="columns-drawing" width=${width} height=${height} viewBox=${`0 0 ${width} ${height}`}
      role="img" aria-label=${`What ${panel.name} attends to`}>
    <g class="panel" id=${`panel${number}`} data-name=${panel.name} data-layer=${panel.layer}
      data-head=${panel.head} data-sentence=${record.name}>
      ${mentionBars}
      ${words.map((word) => svg`<g class="from" data-position=${word.position} data-index=${word.index}>
        ${lines.filter((line) => line.from === word.position).map((line) => (
          drawLine(line, [left, y.get(line.from)], [right, line.to === null ? elsewhere : y.get(line.to)])))}
        ${text(word, left - 5, true)}</g>
        <g class="to" data-position=${word.position} data-index=${word.index}>
          ${text(word, right + 5, false)}</g>`)}
      ${hasElsewhere ? svg`<g class="to" data-position="elsewhere">
        <text class="faint" x=${right + 5} y=${elsewhere + 5}>${ELSEWHERE}</text></g>` : null}
    </g></svg>`;
}

function drawLine({ from, to, weight, share, kind, gold, isMarked, tip }, [x1, y1], [x2, y2]) {
  const target = to ?? "elsewhere";
  const mark = isMarked ? svg`<g class=${`arc ${kind}`} data-from=${from} data-to=${target}>
    <path class="dots" d=${`M${x1} ${y1}L${x2} ${y2}`}></path>${ring(gold, x2, y2, "2.8")}</g>` : null;
  return svg`${mark}<line class=${`line ${kind}`} x1=${x1} y1=${y1} x2=${x2} y2=${y2}
    stroke-opacity=${share.toFixed(3)} stroke-width=${(0.5 + 2.5 * share).toFixed(2)}
    data-from=${from} data-to=${target} data-weight=${weightText(weight)}
    data-gold=${goldText(gold)}><title>${tip}</title></line>`;
}

const SPACE = 12; // between two words of a line
const LEVEL = 15; // a level of arcs
const DEEPEST = 110; // arcs below a line
const FOOT = 26; // the words and their tags
const BAR = 5; // a mention under its words
const NUMBER = 11; // the share of special tokens under a word

// The words in a line, wrapped to a width, with the tree above and the head's attention below.
export function line(record, panel, tree, width, options = {}) {
  const rows = wrapped(wordsOf(record, options), width);
  const places = new Map(rows.flatMap((row, at) => row.map((place) => (
    [place.word.position, { ...place, row: at, middle: place.x + place.wide / 2 }]))));
  const treeArcs = (tree?.heads ?? []).flatMap((head, at) => (head === null ? [] : [{
    from: tree.positions[head], to: tree.positions[at], label: tree.relations[at] ?? "",
    isWrong: tree.wrong.includes(at),
  }]));
  const lines = linesOf(record, panel, { ...options, least: LEAST_ARC })
    .filter((arc) => arc.to !== null && arc.from !== arc.to);
  const edges = rows.isRtl ? [width, 0] : [0, width];
  const pieces = (arcs, row) => levelled(arcs.flatMap((arc) => pieceIn(arc, places, row, edges)));
  const shares = options.shares ?? new Map(); // of its attention that a word gives to special tokens
  const lanes = lanesOf(record.mentions);
  const mostSurprisal = largest(record.words.map((word) => word.surprisal)) || 1;
  let y = 0;
  const drawnRows = rows.map((row, at) => {
    const [above, below] = [pieces(treeArcs, at), pieces(lines, at)];
    const [levels, depth] = [above, below].map((arcs) => LEVEL * largest(arcs.map((piece) => piece.level)));
    const base = y + LEVEL + levels + (above.length ? 6 : 0) + SIZE;
    const bars = record.mentions.flatMap(([entity, first, last], mention) => {
      const own = row.filter(({ word }) => word.position >= first && word.position <= last);
      if (!own.length) return [];
      const [left, right] = [Math.min(...own.map(({ x }) => x)), largest(own.map(({ x, wide }) => x + wide))];
      return [{ entity, lane: lanes[mention], left, right }];
    });
    const foot = base + 6 + BAR * (1 + largest(bars.map(({ lane }) => lane), -1)) + (shares.size ? NUMBER : 0);
    y = foot + FOOT - SIZE - 6 + 10 + Math.min(DEEPEST, depth) + 8;
    const drawWord = ({ word, x, wide }) => {
      const nats = word.surprisal ?? null;
      const box = [[x - 2, base - SIZE + 1], [wide + 4, SIZE + 5]];
      return svg`<g class="word" tabindex="0" data-position=${word.position}>
        <title>${word.text}${nats === null ? null : `: surprisal ${nats.toFixed(2)} nats`}</title>
        ${markBox(word, ...box)}
        ${nats === null ? null : svg`<rect class="shade" x=${x - 2} y=${base - SIZE + 1}
          width=${wide + 4} height=${SIZE + 5} rx="2"
          fill-opacity=${(0.7 * nats / mostSurprisal).toFixed(2)}></rect>`}
        <text class=${word.is_special ? "faint" : null} x=${isRightToLeft(word.text) ? x + wide : x} y=${base}
          direction=${isRightToLeft(word.text) ? "rtl" : null}>${word.text}</text></g>`;
    };
    return svg`<g class="text-row">
      ${above.map((piece) => treeArc(piece, base - SIZE - 2))}
      ${below.map((piece) => attentionArc(piece, foot, DEEPEST / Math.max(DEEPEST, depth)))}
      ${repeat(row, ({ word }) => word.position, drawWord)}
      ${shares.size ? row.map(({ word: { position }, x, wide }) => svg`<text class="share" x=${x + wide / 2}
        y=${foot - 1} text-anchor="middle">${shares.get(position)?.toFixed(2)}</text>`) : null}
      ${bars.map(({ entity, lane, left, right }) => (
        bar(entity, [left, base + 5 + BAR * lane], [right - left, 3], [right + 1, base + 9 + BAR * lane])))}
    </g>`;
  });
  const height = Math.ceil(y);
  return svg`<svg class="line-drawing" width=${width} height=${height} viewBox=${`0 0 ${width} ${height}`}
      role="group" aria-label=${`What ${panel.name} attends to`}
      @pointerover=${point} @pointerout=${release} @focusin=${point} @focusout=${release}>${drawnRows}</svg>`;
}

// Words in rows of a width, each with its place in the row; from right to left if most words are.
function wrapped(words, width) {
  const rows = [[]];
  rows.isRtl = words.filter((word) => isRightToLeft(word.text)).length * 2 > words.length;
  let used = 0;
  for (const word of words) {
    const wide = Math.max(textWidth(word.text), 10) + SPACE;
    if (used + wide > width && rows.at(-1).length) {
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
  const end = (place) => (place.row === row ? place.middle : place.row < row ? before : after);
  return [{ ...arc, start: end(from), stop: end(to), hasEnd: to.row === row }];
}

// Arcs with the level at which each is free of those beneath it.
function levelled(pieces) {
  const placed = [];
  const length = ({ start, stop }) => Math.abs(start - stop);
  for (const piece of [...pieces].sort((a, b) => length(a) - length(b))) {
    const [low, high] = [piece.start, piece.stop].sort((a, b) => a - b);
    const isBeneath = ({ start, stop }) => Math.min(start, stop) >= low && Math.max(start, stop) <= high;
    const beneath = placed.filter(isBeneath);
    placed.push({ ...piece, level: 1 + largest(beneath.map((other) => other.level)) });
  }
  return placed;
}

function treeArc({ start, stop, label, level, isWrong, hasEnd }, base) {
  const top = base - LEVEL * level;
  const turn = Math.min(8, Math.abs(stop - start) / 2) * Math.sign(stop - start || 1);
  // Over a short arc the subtype would stand over the labels beside it.
  const text = textWidth(label, 10.5) > Math.abs(stop - start) + 12 ? label.split(":")[0] : label;
  const middle = Math.max((start + stop) / 2, textWidth(text, 10.5) / 2 + 2);
  const path = `M${start} ${base}V${top + 6}q0 -6 ${turn} -6H${stop - turn}q${turn} 0 ${turn} 6V${base}`;
  return svg`<g class=${isWrong ? "tree-arc wrong" : "tree-arc"}><path d=${path}></path>
    ${hasEnd ? svg`<path class="tip" d=${`M${stop - 3} ${base - 5}h6l-3 5z`}></path>` : null}
    <title>${label}</title><text x=${middle} y=${top - 2} text-anchor="middle">${text}</text></g>`;
}

function attentionArc({ from, to, start, stop, level, weight, share, kind, gold, isMarked, tip }, base, squeeze) {
  const deep = base + (8 + LEVEL * level * squeeze) / 0.75;
  const path = `M${start} ${base}C${start} ${deep} ${stop} ${deep} ${stop} ${base}`;
  return svg`<g class=${`attention ${kind}`} data-from=${from} data-to=${to}><title>${tip}</title>
    ${isMarked ? svg`<path class="dots" d=${path}></path>` : null}
    <path class=${`line ${kind}`} d=${path} stroke-opacity=${Math.max(0.12, share).toFixed(3)}
      stroke-width=${(0.6 + 3.4 * share).toFixed(2)} data-from=${from} data-to=${to}
      data-weight=${weightText(weight)} data-gold=${goldText(gold)}></path>
    ${ring(gold, stop, base, "3")}
    <text class="weight" x=${(start + stop) / 2} y=${base + 0.75 * (deep - base) + 9}
      text-anchor="middle">${weight?.toFixed(2)}</text></g>`;
}

// The arcs from the word under the pointer stand out, with their weights.
function point({ target, currentTarget: drawing }) {
  const word = target.closest(".word");
  if (!word) return;
  drawing.classList.add("pointed");
  for (const arc of drawing.querySelectorAll(".attention")) {
    arc.classList.toggle("shown", arc.dataset.from === word.dataset.position);
  }
}

function release({ currentTarget: drawing, relatedTarget: next }) {
  if (!drawing.contains(next) || !next.closest?.(".word")) drawing.classList.remove("pointed");
}

// A tree by itself: words with arcs above them, wrapped.
export function treeDrawing(tree, width) {
  const words = tree.words.map((text, at) => ({ text, position: tree.positions[at], index: at + 1 }));
  return line({ words, mentions: [] }, { name: "the tree", weights: [], gold: [] }, tree, width);
}
