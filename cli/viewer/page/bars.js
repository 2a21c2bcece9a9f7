// Where a head is right and wrong, as small bars: by what the dependent is, and by what it finds instead.
import { html, svg } from "./dom.js";
import { percent } from "./measures.js";

const MOST = 4; // bars of a kind

// The accuracy of a head by properties of the dependent.
export function dependentBars(rows) {
  return bars("How often it is right, by the dependent", rows, {
    kinds: [["order", "by its side"], ["distance", "by its distance"], ["upos", "by its part of speech"]],
    kindOf: (row) => row.property, share: (row) => row.accuracy, colour: "right", label: (row) => percent(row.accuracy),
    title: (row) => `${row.value}: ${row.correct} of ${row.n} found`,
  });
}

// The commonest wrong words of each kind.
export function errorBars(errors) {
  return bars("What it finds instead", errors, {
    kinds: [["relation", "by relation"], ["upos", "by part of speech"], ["distance", "by distance from the dependent"]],
    kindOf: (row) => row.breakdown, share: (row) => row.share, colour: "wrong", label: (row) => row.n.toLocaleString("en-US"),
    title: (row) => `${row.value}: ${row.n} errors, ${percent(row.share)} of all`,
  });
}

function bars(heading, rows, { kinds, kindOf, share, colour, label, title }) {
  if (!rows.length) return null;
  return html`<h3>${heading}</h3><div class="bars">${kinds.map(([kind, caption]) => html`<figure><figcaption>${caption}</figcaption>
    ${rows.filter((row) => kindOf(row) === kind).slice(0, MOST).map((row) => html`<div class="bar" title=${title(row)}><span>${row.value}</span>
      ${svg`<svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect class=${colour} width=${100 * share(row)} height="10"></rect></svg>`}<span class="number">${label(row)}</span></div>`)}</figure>`)}</div>`;
}
