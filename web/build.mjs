// npm run build: build assets/vendor/, with the licences of its packages.
// `node build.mjs FOLDER` writes everything below FOLDER instead, for the test that compares.
import {build} from "esbuild";
import {mkdirSync, readdirSync, readFileSync, writeFileSync} from "node:fs";
import {dirname, join, resolve} from "node:path";
import {fileURLToPath} from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const root = resolve(here, "..");
const target = resolve(process.argv[2] ?? root);
const BANNER = "Built by `npm run build`; licences in LICENSES.txt.";

const common = {
  absWorkingDir: root,
  bundle: true,
  format: "esm",
  minify: true,
  charset: "utf8",
  legalComments: "none",
  target: "es2020", // what Quarto's dependency parser reads
  write: false,
  metafile: true,
  external: ["./markdown.js", "./d3.js"],
  // The runtime's default library loads from public CDNs; runtime.js passes its own.
  alias: {"@observablehq/stdlib": "./web/no-stdlib.js"},
};

const used = new Map(); // package -> names of the files that it is in

async function bundle(name, entry) {
  const result = await build({...common, entryPoints: [join("web", entry)]});
  write(name, `// @ts-nocheck ${BANNER}\n${result.outputFiles[0].text}`);
  for (const input of Object.keys(result.metafile.inputs)) addPackage(input, name);
}

function addPackage(input, name) {
  const match = /^(?:.*\/)?node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
  if (match) used.set(match[1], (used.get(match[1]) ?? new Set()).add(name));
}

function licences() {
  const parts = [...used].sort().map(([name, files]) => {
    const at = join(root, "node_modules", name);
    const {version, license} = JSON.parse(readFileSync(join(at, "package.json"), "utf8"));
    const file = readdirSync(at).find((entry) => /^licen[cs]e/i.test(entry));
    if (!file) throw new Error(`${name} comes without a licence text`);
    const text = readFileSync(join(at, file), "utf8").replace(/\r/g, "").trim();
    return `${name} ${version} (${license}), in ${[...files].join(", ")}\n\n${text}\n`;
  });
  write("LICENSES.txt", parts.join(`\n${"-".repeat(80)}\n\n`));
}

function write(name, text) {
  const file = join(target, "assets/vendor", name);
  mkdirSync(dirname(file), {recursive: true});
  writeFileSync(file, text);
}

for (const name of ["observable", "markdown", "d3", "lit", "minisearch"])
  await bundle(`${name}.js`, `${name}.js`);
await bundle("ojs-runtime.js", "runtime.js");
licences();
