// What heads gain over fixed offsets: all of them against n, the best one from step to step of a training, and one by
// the distance of the words that it finds.
import { thousands } from "./context.js";
import { html, svg } from "./dom.js";
import { headOf, isSignificant, percent } from "./measures.js";
import { verdict } from "./profile.js";

const [LEFT, RIGHT, TOP, BOTTOM] = [34, 364, 10, 130];
const FARTHEST = 10; // words from a dependent to its head: more count as so many
const LEAST = 10; // dependents at a distance: of fewer the share says little

// Heads by the gain of their best relation and its dependents, on a logarithmic scale. `choose` and `hover` are
// called with a head.
export function gainPlot(rows, chosen, { choose, hover }) {
  const [gains, logs] = [rows.map((row) => row.gain), rows.map((row) => Math.log(row.n))];
  const [lowest, highest] = [Math.min(0, ...gains), Math.max(...gains)];
  const [first, last] = [Math.min(...logs), Math.max(...logs)];
  const x = (n) => LEFT + (RIGHT - LEFT) * (last > first ? (Math.log(n) - first) / (last - first) : 0.5);
  const y = (gain) => BOTTOM - ((BOTTOM - TOP) * (gain - lowest)) / (highest - lowest || 1);
  const mark = (row) => {
    const name = headOf(row);
    return svg`<circle class=${isSignificant(row) ? "value sure" : "value"} cx=${x(row.n)} cy=${y(row.gain)}
      r=${name === chosen ? 7 : 4} @click=${() => choose(name)} @pointerenter=${() => hover(name)}>
      <title>${name}: ${row.relation}, n ${thousands(row.n)}, gain ${row.gain.toFixed(2)}; ${verdict(row)}</title></circle>`;
  };
  const label = (text, at, height, anchor) => svg`<text class="axis" x=${at} y=${height}
    text-anchor=${anchor}>${text}</text>`;
  const n = (log) => `n ${thousands(Math.round(Math.exp(log)))}`;
  return html`${svg`<svg class="profile" viewBox="0 0 380 152" role="group" aria-label="All heads: gain against n">
      <line class="rule" x1=${LEFT} x2=${RIGHT + 8} y1=${y(0)} y2=${y(0)}></line>
      ${label("0", LEFT - 4, y(0) + 4, "end")}${label(highest.toFixed(2), LEFT - 4, TOP + 6, "end")}
      ${label(n(first), LEFT, 148, "start")}${label(n(last), RIGHT + 8, 148, "end")}
      ${rows.map(mark)}</svg>`}
    <p class="key">Each head: the gain of its best relation, by the number of dependents; hollow: not significant</p>`;
}

// The frequent relations that no head finds significantly above a fixed offset, each with its best head.
export const unfound = (rows) => rows.map((row) => [
  `${row.relation} (${thousands(row.n)})`,
  `best head ${headOf(row)}: ${percent(row.accuracy)}; best fixed offset (${row.offset}): ${percent(row.offset_accuracy)}`,
]);

// The best head of a relation at each step, chosen on one half of the documents and scored on the other, beside
// the best fixed offset: rows of relation_history.
export function historyOf(steps, here, history) {
  const byStep = new Map(history.map((row) => [row.step, row]));
  const rows = steps.map(([at]) => byStep.get(at));
  if (rows.filter(Boolean).length < 2) return null;
  const x = (at) => 8 + (240 * at) / (steps.length - 1);
  const y = (share) => 52 - 48 * share;
  const line = (kind, of) => svg`<polyline class=${kind}
    points=${rows.flatMap((row, at) => (row ? [`${x(at)},${y(row[of])}`] : [])).join(" ")}></polyline>`;
  const point = (row, at) => row && svg`<circle class="value sure" cx=${x(at)} cy=${y(row.accuracy)}
    r=${at === here ? 5 : 3}><title>step ${thousands(row.step)}: head ${headOf(row)} finds ${percent(row.accuracy)} of ${
      thousands(row.n)}; best fixed offset ${percent(row.offset_accuracy)}</title></circle>`;
  return html`${svg`<svg class="profile history" viewBox="0 0 256 58" role="img" aria-label="The best head by step">
    ${line("offset", "offset_accuracy")}${line("interval", "accuracy")}${rows.map(point)}</svg>`}
    <p class="key">The best head at each step on text that did not choose it; grey: best fixed offset</p>`;
}

// How often a head is right by the distance from the dependent to its head, and the best fixed offset, which finds all
// at its own distance and none elsewhere: rows of head_examples of this breakdown.
export function distanceCurve(rows, direction, offset, toExamples) {
  const points = rows.map((row) => ({ ...row, distance: Number(row.value), isSure: row.n >= LEAST }));
  const most = Math.max(...points.map(({ n }) => n));
  const x = (distance) => 137 + 10 * distance;
  const y = (share) => 88 - 80 * share;
  const isAtOffset = ({ distance }) => (direction === "later_to_earlier" ? -Math.abs(distance) : distance) === offset;
  const line = (kind, shareOf) => [-1, 1].map((side) => svg`<polyline class=${kind}
    points=${points.filter(({ distance, isSure }) => isSure && distance * side > 0)
      .map((point) => `${x(point.distance)},${y(shareOf(point))}`).join(" ")}></polyline>`);
  const mark = ({ breakdown, value, distance, n, correct, share, isSure }) => {
    const words = Math.abs(distance);
    const where = `${words} ${words === 1 ? "word" : "words"}${words === FARTHEST ? " or more" : ""} ${
      distance < 0 ? "before" : "after"} it`;
    return svg`<a href=${toExamples(breakdown, value)}><title>${where}: ${thousands(correct)} of ${thousands(n)} found</title>
      <circle class=${isSure ? "value sure" : "value"} cx=${x(distance)} cy=${y(share)}
        r=${1.8 + 4.2 * Math.sqrt(n / most)}></circle></a>`;
  };
  const signed = (distance) => (Math.abs(distance) === FARTHEST ? `${distance < 0 ? "≤" : "≥"}${distance}`
    : distance > 0 ? `+${distance}` : distance);
  const below = (text, at, height) => svg`<text class="axis" x=${x(at)} y=${height} text-anchor="middle">${text}</text>`;
  const level = (share) => svg`<line class="rule" x1=${x(-FARTHEST)} x2=${x(FARTHEST)} y1=${y(share)} y2=${y(share)}></line>
    <text class="axis" x="32" y=${y(share) + 4} text-anchor="end">${percent(share)}</text>`;
  return html`<figure><figcaption>by the distance of its head, in words</figcaption>
    ${svg`<svg class="profile distances" viewBox="-8 0 256 124" role="group" aria-label="Accuracy by distance">
      ${[0, 0.5, 1].map(level)}${[-10, -5, -1, 1, 5, 10].map((distance) => below(signed(distance), distance, 106))}
      ${below(`hollow: n < ${LEAST}${offset ? `; dashed: best offset (${signed(offset)})` : ""}`, 0, 121)}
      ${offset ? line("offset", (point) => Number(isAtOffset(point))) : null}
      ${line("interval", ({ share }) => share)}${points.map(mark)}</svg>`}</figure>`;
}
