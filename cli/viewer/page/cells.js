// Frames, and their cells as people read them: rounded as on the command line
// (queries/table_formats.py).

// Rows by column: `columns` have a name and a kind. A record that has more (notes, the run that
// answered) keeps it.
export class Frame {
  #rows = null;
  notes = [];

  constructor(record) {
    const at = record.columns.findIndex((column) => column.name === "run");
    const [run = null, ...others] = new Set(record.values[at]);
    this.run = others.length ? null : run; // of all rows
    Object.assign(this, record);
  }

  // The frame of objects; columns are [name, kind].
  static of(rows, columns) {
    return new Frame({
      columns: columns.map(([name, kind]) => ({ name, kind })),
      values: columns.map(([name]) => rows.map((row) => row[name] ?? null)),
    });
  }

  get height() {
    return this.values[0]?.length ?? 0;
  }

  get rows() {
    this.#rows ??= Array.from({ length: this.height }, (_, at) => {
      const row = Object.create(null);
      this.columns.forEach(({ name }, column) => { row[name] = this.values[column][at]; });
      return row;
    });
    return this.#rows;
  }

  // The rows for which a condition holds.
  where(condition) {
    const places = this.rows.flatMap((row, at) => (condition(row) ? [at] : []));
    return new Frame({ ...this, values: this.values.map((values) => places.map((at) => values[at])) });
  }

  slice(first, last) {
    return new Frame({ ...this, values: this.values.map((values) => values.slice(first, last)) });
  }

  // The columns for which a condition holds.
  select(condition) {
    const places = [...this.columns.keys()].filter((at) => condition(this.columns[at], this.values[at]));
    return new Frame({
      ...this, columns: places.map((at) => this.columns[at]), values: places.map((at) => this.values[at]),
    });
  }
}

// Items by a key, in their order: as Map.groupBy, which browsers lacked before 2024.
export function groupBy(items, keyOf) {
  const groups = new Map();
  for (const item of items) {
    const key = keyOf(item);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(item);
  }
  return groups;
}

// A number with so many decimals; of two equally near ones the even, as Python rounds.
export function fixed(value, decimals) {
  const rounded = value.toFixed(decimals);
  const exact = value.toFixed(100);
  const end = exact.indexOf(".") + 1 + decimals;
  if (!/^50*$/.test(exact.slice(end))) return rounded;
  const cut = exact.slice(0, decimals ? end : end - 1);
  return cut.at(-1) % 2 ? rounded : cut;
}

// Three digits, as Python's format .3g.
function significant(value) {
  const [digits, power] = value.toExponential(2).split("e");
  const isPlain = power >= -4 && power < 3;
  const text = isPlain ? fixed(value, 2 - power) : digits;
  const short = text.includes(".") ? text.replace(/\.?0+$/, "") : text;
  return isPlain ? short : `${short}e${power[0]}${power.slice(1).padStart(2, "0")}`;
}

// The decimals of all numbers of a column; null for three digits.
function decimalsOf(values) {
  const most = values.filter(Number.isFinite).reduce((size, value) => Math.max(size, Math.abs(value)), 0);
  if (most && (most >= 1e6 || most < 0.005)) return null;
  return most >= 1000 ? 1 : 3;
}

function rounded(value, decimals, isP = false) {
  if (typeof value === "string") return value;
  if (!Number.isFinite(value)) return String(value).replace("NaN", "nan").replace("Infinity", "inf");
  if (isP && value >= 0 && value < 0.001) return "<0.001";
  const text = decimals === null ? significant(value) : fixed(value, decimals);
  return /^[-0.]*$/.test(text) ? text.replace(/^-/, "") : text;
}

// How two values are sorted: null stands last.
export function compared(one, other) {
  if (one === other) return 0;
  return one === null || (other !== null && one > other) ? 1 : -1;
}

export const isP = (name) => name.split("_").includes("p");

// A text as one line: what has no picture of its own is written out, as on the command line.
function harmless(text) {
  return text.replace(/[\p{C}\p{Z}]/gu, (character) => {
    if (" \u200c\u200d".includes(character)) return character;
    const number = character.codePointAt(0);
    const [sign, width] = number < 0x100 ? ["x", 2] : number < 0x10000 ? ["u", 4] : ["U", 8];
    return { 9: "\\t", 10: "\\n", 13: "\\r" }[number]
      ?? `\\${sign}${number.toString(16).padStart(width, "0")}`;
  });
}

function asText(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number" && !Number.isInteger(value)) return rounded(value, decimalsOf([value]));
  if (Array.isArray(value)) return `[${value.map(inList).join(", ")}]`;
  if (typeof value === "object") {
    const fields = Object.entries(value).map(([name, field]) => `${asText(name)}: ${inList(field)}`);
    return `{${fields.join(", ")}}`;
  }
  return harmless(String(value));
}

const inList = (value) => (value === null || value === undefined ? "null" : asText(value));

// Columns of ids that say where a row stands (sql/ids.py), and how far those of two corpora are apart.
const PLACED = new Set([
  "document", "sentence", "word", "mention", "entity", "first_word", "last_word", "head_word", "dependent",
  "head", "sequence",
]);
const CORPUS = 2 ** 40;

// The columns as text, each with whether it holds numbers.
export function columnsAsText({ columns, values: all }) {
  return columns.map(({ name, kind }, at) => {
    const values = all[at];
    const decimals = isP(name) ? 3 : kind === "float" ? decimalsOf(values) : null;
    // 1099511627788 is the 12th of the second corpus, 2:12.
    const isPlaced = PLACED.has(name) && values.some((id) => id >= CORPUS);
    const cell = (value) => (value === null ? "" : kind === "float" ? rounded(value, decimals, isP(name))
      : isPlaced ? `${Math.floor(value / CORPUS) + 1}:${value % CORPUS}` : asText(value));
    return { name: harmless(name), cells: values.map(cell), is_number: /float|integer/.test(kind) };
  });
}

export function csv({ columns, values }) {
  const cell = (value) => {
    const text = typeof value === "object" ? JSON.stringify(value) : String(value);
    return text === "" || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const rows = Array.from(values[0] ?? [], (_, at) => values.map((column) => column[at] ?? null));
  return [columns.map(({ name }) => name), ...rows]
    .map((row) => `${row.map((value) => (value === null ? "" : cell(value))).join(",")}\n`).join("");
}
