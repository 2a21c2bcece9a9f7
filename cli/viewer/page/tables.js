// Rows as a table with pages, and the views that are made of one: an analysis, SQL, the contents of
// the bank.
import { columnsAsText, Frame, groupBy } from "./cells.js";
import { command, commandsOf, shell } from "./commands.js";
import { thousands } from "./context.js";
import { html } from "./dom.js";
import { attempt, Fault } from "./fault.js";
import { choice, definitions, faultBox, field, hint, inWords, note, runBox, runLine, wide } from "./forms.js";

const LONGEST_CELL = 2000;

// The page of a frame. `links` make an address from a row, by column, `texts` what stands in the cell; `shows` are the
// only columns, and `hides` are left out.
export function table(context, frame, caption, { links = {}, texts = {}, shows, hides = [], name = "page" } = {}) {
  if (!frame.height) return html`<p>No rows.</p>`;
  const paging = context.paging(frame.height, { name, more: frame.is_cut });
  const page = frame.slice(paging.from, paging.to);
  const isShown = ({ name: column }, values) => (
    (shows?.includes(column) ?? !hides.includes(column)) && (column !== "run" || new Set(values).size > 1));
  const columns = columnsAsText(page.select(isShown));
  const targets = { ...usualLinks(context, page), ...links };
  const cell = (column, row, at) => {
    const text = texts[column.name]?.(row) ?? column.cells[at];
    const href = text ? targets[column.name]?.(row) : null;
    const cut = html`<bdi>${text.length > LONGEST_CELL ? `${text.slice(0, LONGEST_CELL)}…` : text}</bdi>`;
    return html`<td class=${numberClass(column)}>${href ? html`<a href=${href}>${cut}</a>` : cut}</td>`;
  };
  const row = (own, at) => html`<tr>${columns.map((column) => cell(column, own, at))}</tr>`;
  const heading = (column) => html`<th scope="col" class=${numberClass(column)}>${inWords(column.name)}</th>`;
  return html`${wide(caption, html`<table><caption>${caption}</caption>
      <thead><tr>${columns.map(heading)}</tr></thead><tbody>${page.rows.map(row)}</tbody></table>`)}
    ${pages(paging, "Rows", caption)}`;
}

export const numberClass = (column) => (column.is_number ? "number" : null);

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
        run: row[`run${end}`] ?? context.run, relation: row.relation, direction: row[`direction${end}`],
      });
    };
  }
  const toSentence = (row) => context.link("/sentence", { sentence: row.sent_id, run: context.run });
  return names.has("sent_id") ? { ...links, sent_id: toSentence } : links;
}

export function pages({ from, to, total, more, previous, next }, what, label) {
  if (!previous && !next && !more) return null;
  const first = thousands(total ? from + 1 : 0);
  return html`<nav class="pages" aria-label=${`Pages of ${label}`}>
    ${previous ? html`<a href=${previous} rel="prev">← previous</a>` : null}
    <span>${`${what} ${first} to ${thousands(to)} of ${more ? "the first " : ""}${thousands(total)}`}</span>
    ${next ? html`<a href=${next} rel="next">next →</a>` : null}</nav>`;
}

// All analyses, by section; those that no run of the bank can answer are folded.
export function tablesView(context) {
  const { analyses, unanswered } = context.bank;
  const isAnswered = ({ name }) => unanswered[name]?.runs.length !== 0;
  const given = ({ run }) => (run && context.run ? { run: context.run } : {});
  const thumbnail = (analysis) => {
    const isDrawn = analysis.plot && !unanswered[analysis.name];
    const picture = isDrawn ? context.connector.picture(analysis.name, given(analysis)) : null;
    return picture && image(picture, "", "lazy"); // once it comes into view
  };
  const item = (analysis) => html`
    <li><a href=${context.link(`/tables/${analysis.name}`, given(analysis))}>${thumbnail(analysis)}
      ${analysis.title}</a> <code>${analysis.name}</code>${ableRuns(context, analysis.name)}</li>`;
  const section = ([name, own]) => html`<section><h2>${name}</h2><ul class="titles">
    ${[...own].sort((one, other) => other.plot - one.plot).map(item)}</ul></section>`;
  const all = Object.values(analyses);
  const reasons = all.filter((analysis) => !isAnswered(analysis)).map(({ name, title }) => [
    html`<a href=${context.link(`/tables/${name}`)}>${title}</a>`,
    `${unanswered[name].fact} ${unanswered[name].remedy}`,
  ]);
  return {
    content: html`${[...groupBy(all.filter(isAnswered), (analysis) => analysis.section)].map(section)}
      ${reasons.length ? html`<details class="parameters">
        <summary>${reasons.length} that no run of this bank can answer, and why</summary>
        ${definitions(reasons)}</details>` : null}`,
  };
}

// The runs that can answer an analysis where somebody names them, if it has no default one.
function ableRuns(context, name) {
  const runs = context.bank.unanswered[name]?.runs ?? [];
  return runs.length ? hint(html`Choose a run:${runs.map((run) => html`
    <a href=${context.link(`/tables/${name}`, { run })}><bdi>${run}</bdi></a>`)}`) : null;
}

// A picture on a light or a dark screen.
function image({ light, dark }, alt, loading) {
  const hide = (event) => { event.target.parentElement.hidden = true; };
  return html`<picture><source media="(prefers-color-scheme: dark)" srcset=${dark}>
    <img loading=${loading} src=${light} alt=${alt} @error=${hide}></picture>`;
}

// One analysis: its picture and its rows, and its parameters in a drawer.
export async function analysisView(context) {
  const { bank, connector } = context;
  const name = context.path.split("/")[2];
  if (!Object.hasOwn(bank.analyses, name)) {
    throw new Fault(`There is no analysis ${name}.`, "The page Tables and figures lists them all.");
  }
  const analysis = bank.analyses[name];
  const { title } = analysis;
  const { page, ...given } = context.given;
  const names = analysis.parameters.map((parameter) => parameter.name);
  const unknown = Object.keys(given).find((key) => !names.includes(key));
  const [answer, fault] = await attempt(async () => {
    if (unknown) {
      const fact = `${name} has no parameter ${unknown.slice(0, 60)}.`;
      throw new Fault(fact, `It takes: ${names.join(", ") || "none"}.`);
    }
    for (const key of Object.keys(given)) context.text(key);
    const frame = await context.query(name, given);
    return { frame, rows: table(context, frame, title) };
  });
  const { frame, rows } = answer ?? {};
  const commands = unknown ? {} : commandsOf(context, name, given, frame);
  const { plotCommand } = commands;
  const picture = plotCommand ? connector.picture(name, given) : null;
  if (plotCommand && !picture) {
    context.note("The picture is published only for the default settings; the command below draws it for"
      + " these.");
  }
  return {
    title: name, heading: html`${title} <code>${name}</code>`,
    frame, ...commands, isDrawn: picture !== null,
    files: plotCommand ? connector.files(`/answers/any/${name}`, given) : null,
    content: html`<p>${analysis.paper}</p>
      ${parameterForm(context, analysis, Object.keys(given).length > 0 || fault !== null)}
      ${faultBox(fault ?? frame.undrawn)}${fault && !given.run ? ableRuns(context, name) : null}
      ${runLine(frame?.run)}
      ${picture && wide("Picture", image(picture, `${title}: a picture of the table below`, "eager"))}
      ${rows}
      ${frame && !frame.height && analysis.empty ? html`<p>${capitalised(analysis.empty)}.</p>` : null}
      ${analysis.notes.length ? html`<h2>Notes</h2>${analysis.notes.map((note) => html`<p>${capitalised(note)}</p>`)}` : null}`,
  };
}

export const capitalised = (text) => text.slice(0, 1).toUpperCase() + text.slice(1);

function parameterForm(context, { parameters }, isOpen) {
  if (!parameters.length) return null;
  const box = ({ name, names_run: namesRun, choices, usual, help }) => {
    const [label, given] = [inWords(name), context.given[name] ?? ""];
    if (namesRun) return runBox(context, given, name, label);
    return choices.length ? choice(label, name, [["", `default: ${usual || "none"}`], ...choices], given, { help })
      : field(label, name, given, { placeholder: usual, size: 12, help });
  };
  return html`<details class="parameters" .open=${isOpen}><summary>Parameters</summary>
    <form>${parameters.map(box)}<button>Show</button></form></details>`;
}

export const EXAMPLE = "select upos, count(*) as n from word group by upos order by n desc";

// A statement without the ; that may end it.
export const bare = (statement) => statement.trim().replace(/;\s*$/, "");

export async function statementView(context) {
  const statement = bare(context.text("statement"));
  const isRun = statement && context.app.runs(statement);
  if (statement && !isRun) {
    context.note("This statement came with the address, and has not run: read it, then click Run.");
  }
  const [answer, fault] = await attempt(async () => {
    const fresh = context.number("page", 1, 1, 1_000_000) === 1; // further pages are of the same rows
    const frame = isRun ? await context.connector.frame("/statement.json", { statement, fresh }) : null;
    return { frame, rows: frame && table(context, frame, "Rows") };
  });
  const { frame, rows } = answer ?? {};
  return {
    frame, command: statement ? command(context, `sql ${shell(statement)}`) : null,
    content: html`<form><label class="long">SQL query (read-only)
        <textarea name="statement" rows="6" spellcheck="false" placeholder=${EXAMPLE}
          .value=${statement}></textarea></label><button>Run</button></form>
      ${statement ? null : html`<p>For example
        <a href=${context.link("/sql", { statement: EXAMPLE })}><code>${EXAMPLE}</code></a>.
        A query can only read the bank, and is stopped at its time or memory limit.</p>`}
      ${faultBox(fault)}
      ${rows}
      ${frame?.is_cut ? note("There are more rows. attnbank sql prints all of them.") : null}`,
  };
}

// The contents of the bank, as attnbank info prints them.
export async function contentsView(context) {
  const { size, format, runs, tables } = await context.connector.get("/contents.json");
  const toAtlas = { name: (row) => context.link("/", { run: row.name }) };
  const part = ({ caption, name, frame }, links) => html`<h2>${caption}</h2>
    ${table(context, new Frame(frame), caption, { name, links })}`;
  return {
    command: command(context, "info"),
    content: html`<p>${size}, format ${format}.</p>
      ${runs.columns.length ? part({ caption: "Runs", name: "runs", frame: runs }, toAtlas)
        : html`<h2>Runs</h2><p>The bank has no runs yet. Type: attnbank ingest CORPUS --model MODEL</p>`}
      ${tables.map((own) => part(own))}`,
  };
}
