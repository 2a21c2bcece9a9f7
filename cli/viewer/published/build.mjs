// Builds the page of a published bank into a folder: node build.mjs TARGET MODULES LARK_WHEEL
// MODULES are those of cli/viewer/page, which the explorer serves as they are.
// Everything comes from node_modules, as package-lock.json has it by version and digest.
import fs from "node:fs";
import path from "node:path";
import { gzipSync } from "node:zlib";
import * as esbuild from "esbuild";

const [target, viewer, lark] = process.argv.slice(2);
const here = import.meta.dirname;
const modules = path.join(here, "node_modules");

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

// Which packages went into it, for licences.py.
const used = new Set(["@duckdb/duckdb-wasm", "pyodide"]);
for (const file of Object.keys(built.metafile.inputs)) {
  const [, name] = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file) ?? [];
  if (name) used.add(name);
}
fs.writeFileSync(path.join(here, "used.json"), JSON.stringify([...used].sort()));
