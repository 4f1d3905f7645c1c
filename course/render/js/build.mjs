// npm run build: build assets/vendor/ and ojs-compiler.js, with the licences of their packages.
// `node build.mjs FOLDER` writes everything below FOLDER instead, for the test that compares.
import {build} from "esbuild";
import confusing from "confusing-browser-globals";
import globals from "globals";
import {mkdirSync, readdirSync, readFileSync, writeFileSync} from "node:fs";
import {dirname, join, resolve} from "node:path";
import {fileURLToPath} from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const root = resolve(here, "../../..");
const target = resolve(process.argv[2] ?? root);
const BANNER = "Built by `npm run build`; licences in LICENSES.txt.";

// Names that a cell may use because every browser has them, without those that are mostly slips,
// such as `name` and `event`.
const browserNames = Object.keys({...globals.builtin, ...globals.browser})
  .filter((name) => !confusing.includes(name)).sort();

const common = {
  absWorkingDir: root,
  bundle: true,
  minify: true,
  charset: "utf8",
  legalComments: "none",
  target: "es2020", // what Quarto's dependency parser reads
  write: false,
  metafile: true,
  external: ["./markdown.js", "./d3.js"],
  // The runtime's default library loads from public CDNs; runtime.js passes its own.
  alias: {"@observablehq/stdlib": "./course/render/js/no-stdlib.js"}
};

/** Bundle `files`, {file name: entry}, into one folder. */
async function bundle(folder, files, options) {
  const used = new Map();
  for (const [name, entry] of Object.entries(files)) {
    const result = await build({...common, ...options, entryPoints: [join("course/render/js", entry)]});
    write(join(folder, name), `// @ts-nocheck ${BANNER}\n${result.outputFiles[0].text}`);
    for (const input of Object.keys(result.metafile.inputs)) addPackage(used, input, name);
  }
  return used;
}

function addPackage(used, input, name) {
  const match = /^(?:.*\/)?node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
  if (match) used.set(match[1], (used.get(match[1]) ?? new Set()).add(name));
}

function licences(folder, used) {
  const parts = [...used].sort().map(([name, files]) => {
    const at = join(root, "node_modules", name);
    const {version, license} = JSON.parse(readFileSync(join(at, "package.json"), "utf8"));
    const file = readdirSync(at).find((entry) => /^licen[cs]e/i.test(entry));
    if (!file) throw new Error(`${name} comes without a licence text`);
    const text = readFileSync(join(at, file), "utf8").replace(/\r/g, "").trim();
    return `${name} ${version} (${license}), in ${[...files].join(", ")}\n\n${text}\n`;
  });
  write(join(folder, "LICENSES.txt"), parts.join(`\n${"-".repeat(80)}\n\n`));
}

function write(path, text) {
  const file = join(target, path);
  mkdirSync(dirname(file), {recursive: true});
  writeFileSync(file, text);
}

const vendor = await bundle("assets/vendor", {
  "observable.js": "observable.js",
  "markdown.js": "markdown.js",
  "d3.js": "d3.js",
  "lit.js": "lit.js",
  "minisearch.js": "minisearch.js",
  "ojs-runtime.js": "runtime.js"
}, {format: "esm"});
licences("assets/vendor", vendor);

const compiler = await bundle("course/render/js", {"ojs-compiler.js": "compile.js"}, {
  format: "iife",
  define: {BROWSER_NAMES: JSON.stringify(browserNames)}
});
for (const name of ["globals", "confusing-browser-globals"]) compiler.set(name, new Set(["ojs-compiler.js"]));
licences("course/render/js", compiler);
