// Rows as a table with pages, and the views that are made of one: an analysis, SQL, the contents of
// the bank.
import { columnsAsText, heightOf, rowsOf } from "./cells.js";
import { command, pictureOf, rowsCommand, shell } from "./commands.js";
import { thousands } from "./context.js";
import { html } from "./dom.js";
import { Fault } from "./fault.js";
import { choice, faultBox, runBox, runLine } from "./forms.js";

const LONGEST_CELL = 2000;

// The page of a frame. `links` make an address from a row, by column; `hides` are columns left out.
export function table(context, frame, caption, { links = {}, hides = [], name = "page" } = {}) {
  if (!heightOf(frame)) return html`<p>No rows.</p>`;
  const paging = context.paging(heightOf(frame), { name, more: frame.isCut });
  const from = Math.max(0, paging.first - 1);
  const page = { columns: frame.columns, values: frame.values.map((values) => values.slice(from, paging.last)) };
  const hidden = new Set(hides);
  const run = page.columns.findIndex((column) => column.name === "run");
  if (run >= 0 && new Set(page.values[run]).size <= 1) hidden.add("run");
  const targets = { ...usualLinks(context, page), ...links };
  const shown = page.columns.map((column, at) => at).filter((at) => !hidden.has(page.columns[at].name));
  const columns = columnsAsText({ columns: shown.map((at) => page.columns[at]), values: shown.map((at) => page.values[at]) });
  const cell = (column, row, at) => {
    const text = column.cells[at];
    const href = text ? targets[column.name]?.(row) : null;
    const cut = html`<bdi>${text.length > LONGEST_CELL ? `${text.slice(0, LONGEST_CELL)}…` : text}</bdi>`;
    return html`<td class=${column.is_number ? "number" : null}>${href ? html`<a href=${href}>${cut}</a>` : cut}</td>`;
  };
  return html`<div class="wide" tabindex="0" role="region" aria-label=${caption}><table><caption>${caption}</caption>
    <thead><tr>${columns.map((column) => html`<th scope="col" class=${column.is_number ? "number" : null}>${column.name.replaceAll("_", " ")}</th>`)}</tr></thead>
    <tbody>${rowsOf(page).map((row, at) => html`<tr>${columns.map((column) => cell(column, row, at))}</tr>`)}</tbody></table></div>
    ${pages(paging, "Rows", caption)}`;
}

// Heads and sentences lead to their own views.
function usualLinks(context, frame) {
  const names = new Set(frame.columns.map((column) => column.name));
  const links = {};
  for (const end of ["", "_a", "_b"]) {
    if (!names.has(`layer${end}`) || !names.has(`head${end}`)) continue;
    links[`head${end}`] = (row) => {
      const [layer, head] = [row[`layer${end}`], row[`head${end}`]];
      if (!Number.isInteger(layer) || !Number.isInteger(head)) return null;
      return context.link(`/head/${layer}-${head}`, {
        run: end ? row[`run${end}`] : context.run, relation: row.relation, direction: row[`direction${end}`],
      });
    };
  }
  if (names.has("sent_id")) links.sent_id = (row) => context.link("/sentence", { sentence: row.sent_id, run: context.run });
  return links;
}

export function pages({ first, last, total, more, previous, next }, what, label) {
  if (!previous && !next && !more) return null;
  return html`<nav class="pages" aria-label=${`Pages of ${label}`}>
    ${previous ? html`<a href=${previous} rel="prev">← previous</a>` : null}
    <span>${`${what} ${thousands(first)} to ${thousands(last)} of ${more ? "the first " : ""}${thousands(total)}`}</span>
    ${next ? html`<a href=${next} rel="next">next →</a>` : null}</nav>`;
}

// All analyses, by section; those that no run of the bank can answer are folded.
export function tablesView(context) {
  const { analyses, unanswered } = context.bank;
  const all = Object.values(analyses);
  const isAnswered = ({ name }) => !Object.hasOwn(unanswered, name);
  const missing = all.filter((analysis) => !isAnswered(analysis));
  const given = ({ run }) => (run && context.run ? { run: context.run } : {});
  const thumbnail = (analysis) => {
    const picture = analysis.plot ? context.connector.picture(analysis.name, given(analysis)) : null;
    return picture && image(picture, "", "lazy"); // once it comes into view
  };
  const list = (some) => html`<ul class="titles">${some.toSorted((one, other) => other.plot - one.plot).map((analysis) => html`
    <li><a href=${context.link(`/tables/${analysis.name}`, given(analysis))}>${thumbnail(analysis)}${analysis.title}</a> <code>${analysis.name}</code></li>`)}</ul>`;
  const sections = Map.groupBy(all.filter(isAnswered), (analysis) => analysis.section);
  return {
    title: "Tables and figures",
    content: html`${[...sections].map(([section, some]) => html`<section><h2>${section}</h2>${list(some)}</section>`)}
      ${missing.length ? html`<details class="parameters"><summary>${missing.length} that the default run cannot answer, and why</summary>
        <dl>${missing.map(({ name, title }) => html`<dt><a href=${context.link(`/tables/${name}`)}>${title}</a></dt><dd>${unanswered[name].fact} ${unanswered[name].remedy}</dd>`)}</dl></details>` : null}`,
  };
}

// A picture on a light or a dark screen.
const image = ({ light, dark }, alt, loading) => html`<picture><source media="(prefers-color-scheme: dark)" srcset=${dark}><img loading=${loading} src=${light} alt=${alt} @error=${(event) => { event.target.parentElement.hidden = true; }}></picture>`;

// One analysis: its picture and its rows, and its parameters in a drawer.
export async function analysisView(context) {
  const name = context.path.split("/")[2];
  if (!Object.hasOwn(context.bank.analyses, name)) throw new Fault(`There is no analysis ${name}.`, "The page Tables and figures lists them all.");
  const analysis = context.bank.analyses[name];
  const given = Object.fromEntries(Object.entries(context.given).filter(([key]) => key !== "page"));
  const names = analysis.parameters.map((parameter) => parameter.name);
  const unknown = Object.keys(given).find((key) => !names.includes(key));
  const view = { title: name, command: unknown ? null : rowsCommand(context, name, given) };
  let frame = null;
  let shown = null;
  let picture = null;
  try {
    if (unknown) throw new Fault(`${name} has no parameter ${unknown.slice(0, 60)}.`, `It takes: ${names.join(", ") || "none"}.`);
    for (const key of Object.keys(given)) context.text(key);
    frame = await context.query(name, given);
    shown = table(context, frame, analysis.title);
    Object.assign(view, { frame, answered: null }, pictureOf(context, name, given, frame));
    if (view.plotCommand) {
      picture = context.connector.picture(name, given);
      view.isDrawn = picture !== null;
      if (!picture) context.note("The picture is published only for the default settings; the command below draws it for these.");
    }
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    view.error = error;
  }
  const notes = analysis.notes.filter((note) => !note.includes("is a word of SQL"));
  return {
    ...view,
    content: html`<p>${analysis.title}. ${analysis.paper}</p>
      ${parameterForm(context, analysis, Object.keys(given).length > 0 || view.error)}
      ${faultBox(view.error ?? frame?.undrawn)}
      ${runLine(frame?.run)}
      ${picture ? html`<div class="wide" tabindex="0" role="region" aria-label="Picture">${image(picture, `${analysis.title}: a picture of the table below`, "eager")}</div>` : null}
      ${shown}
      ${frame && !heightOf(frame) && analysis.empty ? html`<p>${capitalised(analysis.empty)}.</p>` : null}
      ${notes.length ? html`<h2>Notes</h2>${notes.map((note) => html`<p>${capitalised(note)}</p>`)}` : null}`,
  };
}

export const capitalised = (text) => text.slice(0, 1).toUpperCase() + text.slice(1);

const unquoted = (text) => text.replace(/^'+|'+$/g, "");

function parameterForm(context, { parameters }, isOpen) {
  if (!parameters.length) return null;
  const field = ({ name, names_run, choices, type, help, default: usual }) => {
    const label = name.replaceAll("_", " ");
    if (names_run) return runBox(context, context.given[name], name, label);
    if (choices.length || type === "boolean") {
      const written = { false: "no", true: "yes", null: "none" }[usual] ?? unquoted(usual);
      const options = [["", `default: ${written}`], ...(choices.length ? choices : ["true", "false"]).map((value) => [value, value])];
      return choice(label, name, options, context.given[name] ?? "", help);
    }
    return html`<label title=${help}>${label} <input name=${name} value=${context.given[name] ?? ""} placeholder=${usual === "null" ? "" : unquoted(usual)} size="12"></label>`;
  };
  return html`<details class="parameters" .open=${Boolean(isOpen)}><summary>Parameters</summary>
    <form>${parameters.map(field)}<button>Show</button></form></details>`;
}

export const EXAMPLE = "select upos, count(*) as n from word group by upos order by n desc";

// A statement without the ; that may end it.
export const bare = (statement) => statement.trim().replace(/;\s*$/, "");

export async function statementView(context) {
  const statement = bare(context.text("statement"));
  const view = { title: "SQL" };
  let rows = null;
  if (statement) {
    view.command = command(context, `sql ${shell(statement)}`);
    try {
      if (context.app.runs(statement)) {
        view.frame = await context.connector.statement(statement, context.number("page", 1, 1, 1_000_000) === 1);
        rows = table(context, view.frame, "Rows");
      } else {
        context.note("This statement came with the address, and has not run: read it, then click Run.");
      }
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      view.error = error;
    }
  }
  return {
    ...view,
    content: html`<form><label class="long">SQL query (read-only)
        <textarea name="statement" rows="6" spellcheck="false" placeholder=${EXAMPLE} .value=${statement}></textarea></label><button>Run</button></form>
      ${statement ? null : html`<p>For example <a href=${context.link("/sql", { statement: EXAMPLE })}><code>${EXAMPLE}</code></a>. A query can only read the bank, and is stopped at its time or memory limit.</p>`}
      ${faultBox(view.error)}
      ${rows}
      ${view.frame?.isCut ? html`<p class="note">There are more rows. attnbank sql prints all of them.</p>` : null}`,
  };
}

// The contents of the bank, as attnbank info prints them.
export async function contentsView(context) {
  const { size, format, runs, tables } = await context.connector.contents();
  const toAtlas = { name: (row) => context.link("/", { run: row.name }) };
  return {
    title: "Contents of the bank",
    command: command(context, "info"),
    content: html`<p>${size}, format ${format}.</p>
      <h2>Runs</h2>
      ${heightOf(runs) ? table(context, legible(runs), "Runs", { links: toAtlas, name: "runs" }) : html`<p>The bank has no runs yet. Type: attnbank ingest CORPUS --model MODEL</p>`}
      ${tables.filter(({ frame }) => heightOf(frame)).map(({ caption, name, frame }) => html`<h2>${caption}</h2>${table(context, legible(frame), caption, { name })}`)}`,
  };
}

// A frame with separators in counts, with short digests, and without empty columns.
function legible({ columns, values }) {
  const filled = columns.map((_, at) => at).filter((at) => values[at].some((value) => value !== null && value !== ""));
  const cell = (value, { name, kind }) => (kind === "integer" && value !== null && name !== "id" && !name.endsWith("seed") ? thousands(value)
    : /^[0-9a-f]{64}$/.test(value) ? `${value.slice(0, 12)}…` : value);
  return { columns: filled.map((at) => columns[at]), values: filled.map((at) => values[at].map((value) => cell(value, columns[at]))) };
}
