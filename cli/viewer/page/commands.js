// The commands that give what a view shows, as somebody types them in a shell.

// A word as a shell takes it.
export function shell(text) {
  if (/^[\w@%+=:,./-]+$/.test(text)) return text;
  const word = String(text);
  return word.includes("'") && !/["$`\\!]/.test(word) ? `"${word}"` : `'${word.replaceAll("'", "'\"'\"'")}'`;
}

export const quoted = (name) => `"${String(name).replaceAll('"', '""')}"`;

// A value as SQL has it.
export function literal(value) {
  if (value === null || value === undefined) return "null";
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return `'${String(value).replaceAll("'", "''")}'`;
}

// A command with options; those that are empty are left out.
export function command(context, what, options = {}) {
  const parts = [`attnbank -b ${shell(context.bank.address)} ${what}`];
  for (const [name, value] of Object.entries(options)) {
    const flag = `--${name.replaceAll("_", "-")}`;
    if (value === true) parts.push(flag);
    else if (value) parts.push(`${flag} ${shell(String(value))}`);
  }
  return parts.join(" ");
}

// The commands that print the rows of an analysis, or only those with these values in columns, and that draw it with
// some options.
export function commandsOf(context, name, given, frame, { columnValues = {}, ...drawing } = {}) {
  const { plot, parameters } = context.bank.analyses[name];
  const isSwitch = (key) => parameters.some(({ name: known, type }) => known === key && type === "boolean");
  const options = Object.fromEntries(Object.entries(given).map(([key, value]) => (
    isSwitch(key) && value ? [String(value) === "true" ? key : `no_${key}`, true] : [key, value])));
  const conditions = Object.entries(columnValues).map(([key, value]) => `${key} = ${literal(value)}`);
  const values = Object.entries(given).filter(([, value]) => value !== null)
    .map(([key, value]) => `${key} := ${literal(value)}`);
  const statement = `from ${name}(${values.join(", ")}) where ${conditions.join(" and ")}`;
  const isWhole = !conditions.length;
  const isDrawn = plot && frame?.height && !frame.undrawn;
  return {
    command: isWhole ? command(context, `query ${name}`, options) : command(context, `sql ${shell(statement)}`),
    plotCommand: isDrawn ? command(context, `plot ${name}`, { ...options, ...drawing, output: `${name}.svg` }) : null,
  };
}
