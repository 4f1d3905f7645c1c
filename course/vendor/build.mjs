// Makes assets/vendor/ (what readers load) and course/render/ojs-compiler.js (what the build runs).
// `npm ci && npm run build`; a test rebuilds and compares byte for byte.

import {copyFile, mkdir, readFile, readdir, writeFile} from "node:fs/promises";
import {dirname, join} from "node:path";
import {fileURLToPath} from "node:url";
import {build} from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "../..");
const out = process.argv[2] ?? root;
const modules = join(root, "node_modules");

const bundles = [
  // Quarto's dependency parser reads ES2020; with anything newer it loses what a module imports.
  {from: "observable.mjs", to: "assets/vendor/observable.js", format: "esm"},
  {from: "plot.mjs", to: "assets/vendor/plot.js", format: "esm"},
  {from: "ojs-runtime.mjs", to: "assets/vendor/ojs-runtime.js", format: "esm"},
  // Beside the engine, not among the assets: no reader ever loads the parser.
  {from: "ojs-compiler.mjs", to: "course/render/ojs-compiler.js", format: "iife", globalName: "ojs"}
];

async function bundle({from, to, format, globalName}) {
  const {metafile} = await build({
    entryPoints: [join(here, from)], outfile: join(out, to), format, globalName,
    bundle: true, minify: true, target: "es2020", legalComments: "none", metafile: true,
    absWorkingDir: root, nodePaths: [modules], charset: "utf8"
  });
  return Object.entries(Object.values(metafile.outputs)[0].inputs)
    .filter(([, {bytesInOutput}]) => bytesInOutput > 0)
    .map(([file]) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1])
    .filter(Boolean);
}

async function licence(name) {
  const folder = join(modules, name);
  const {version, license} = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
  const file = (await readdir(folder)).find((entry) => /^licen[cs]e/i.test(entry));
  const text = file ? await readFile(join(folder, file), "utf8") : `Licence: ${license}`;
  return `${name} ${version} (${license})\n${"-".repeat(72)}\n${text.trim()}\n`;
}

await mkdir(join(out, "assets/vendor"), {recursive: true});
const names = ["@observablehq/inputs"]; // its style sheet is copied below
for (const one of bundles) names.push(...(await bundle(one)));
await copyFile(join(modules, "@observablehq/inputs/dist/index.css"), join(out, "assets/vendor/inputs.css"));
const licences = await Promise.all([...new Set(names)].sort().map(licence));
await writeFile(join(out, "assets/vendor/LICENSES.txt"), `${licences.join("\n\n")}`);
