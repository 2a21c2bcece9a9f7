// Builds the page of a published bank into a folder: node build.mjs TARGET MODULES LARK_WHEEL
// MODULES are those of cli/viewer/page, which the explorer serves as they are.
// Everything comes from node_modules, as package-lock.json has it by version and digest.
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { gzipSync } from "node:zlib";
import * as esbuild from "esbuild";

const [target, viewer, lark] = process.argv.slice(2);
const here = import.meta.dirname;
const modules = path.join(here, "node_modules");
const packageOf = (name) => path.join(modules, name);
const described = (name) => JSON.parse(fs.readFileSync(path.join(packageOf(name), "package.json"), "utf8"));

fs.rmSync(target, { recursive: true, force: true });
fs.mkdirSync(path.join(target, "pyodide"), { recursive: true });

const built = await esbuild.build({
  entryPoints: [path.join(here, "main.js")],
  alias: { viewer: path.resolve(viewer) },
  bundle: true, minify: true, format: "esm", target: ["es2022"], charset: "utf8",
  outfile: path.join(target, "app.js"), legalComments: "eof", logLevel: "warning", metafile: true,
});

const copies = [
  ["@duckdb/duckdb-wasm/dist/duckdb-browser-eh.worker.js", "duckdb-worker.js"],
  ...["pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json"]
    .map((name) => [`pyodide/${name}`, `pyodide/${name}`]),
];
for (const [from, to] of copies) {
  const bytes = fs.readFileSync(path.join(modules, from));
  // A map of its source lies elsewhere: the page does not look for it.
  const withoutMap = () => bytes.toString("utf8").replace(/^\/\/# sourceMappingURL=.*$/gm, "");
  fs.writeFileSync(path.join(target, to), to.endsWith("js") ? withoutMap() : bytes);
}
fs.copyFileSync(path.join(here, "ranges.js"), path.join(target, "ranges.js"));
// Few hosts compress it, and it is a quarter of its size then.
const wasm = fs.readFileSync(path.join(modules, "@duckdb/duckdb-wasm/dist/duckdb-eh.wasm"));
fs.writeFileSync(path.join(target, "duckdb-eh.wasm.gz"), gzipSync(wasm, { level: 9 }));
fs.copyFileSync(lark, path.join(target, "pyodide", "lark.zip"));

// Which packages went into it, each with its licence.
const used = new Set(["@duckdb/duckdb-wasm", "pyodide"]);
for (const file of Object.keys(built.metafile.inputs)) {
  const found = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file);
  if (found) used.add(found[1]);
}
const lock = JSON.parse(fs.readFileSync(path.join(here, "package-lock.json"), "utf8")).packages;
const packages = [...used].sort().map((name) => {
  const { version, license } = described(name);
  return { name, version, licence: license, integrity: lock[`node_modules/${name}`].integrity };
});
const larkVersion = /lark-([\d.]+)-/.exec(path.basename(lark))[1];
const sha256 = (file) => createHash("sha256").update(fs.readFileSync(file)).digest("hex");
packages.push({
  name: "lark (PyPI)", version: larkVersion, licence: "MIT", integrity: `sha256-${sha256(lark)}`,
});
const texts = JSON.parse(fs.readFileSync(path.join(here, "licences.json"), "utf8"));
const licences = packages.map(({ name, version, licence }) => {
  const folder = packageOf(name);
  const isOfNpm = fs.existsSync(folder);
  const file = isOfNpm ? fs.readdirSync(folder).find((each) => /^licen[sc]e/i.test(each)) : undefined;
  const text = file ? fs.readFileSync(path.join(folder, file), "utf8") : texts[name] ?? "";
  const source = isOfNpm ? described(name).repository?.url ?? "" : "";
  const parts = [`${name} ${version}: ${licence}`, source && `Its source: ${source}`, text.trim()];
  return parts.filter(Boolean).join("\n\n");
});
fs.writeFileSync(path.join(target, "LICENSES.txt"), `${licences.join(`\n\n${"-".repeat(72)}\n\n`)}\n`);

const files = {};
for (const name of fs.readdirSync(target, { recursive: true }).sort()) {
  const file = path.join(target, name);
  if (fs.statSync(file).isFile()) files[name] = fs.statSync(file).size;
}
fs.writeFileSync(path.join(target, "web.json"), `${JSON.stringify({ packages, files }, null, 1)}\n`);
