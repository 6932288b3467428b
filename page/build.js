// Puts the page into one HTML file with nothing beside it, and that into a C++ source, which the
// program holds as text. Usage: node build.js OUTPUT.cpp
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { buildSync } from "esbuild";

const folder = fileURLToPath(new URL(".", import.meta.url));
const bundle = (entry) =>
  buildSync({
    absWorkingDir: folder,
    entryPoints: [entry],
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    target: "es2022",
    legalComments: "inline",
    charset: "ascii",
  }).outputFiles[0].text;

// The page runs these two and nothing else, whatever a name in its data is.
const start = bundle("start.js");
const program = bundle("main.js");
const hash = (script) => `'sha256-${createHash("sha256").update(script).digest("base64")}'`;

// As functions: in a text, "$&" would mean what was found.
const html = readFileSync(`${folder}/page.html`, "utf8")
  .replace("/* the style */", () => bundle("style.css"))
  .replace("/* the hashes */", () => `${hash(start)} ${hash(program)}`)
  .replace("/* the program */", () => gzipSync(program, { level: 9 }).toString("base64"))
  .replace("/* the start */", () => start);

// A raw string, in pieces that compilers for other systems take, too.
const pieces = html.match(/[\s\S]{1,8000}/g).map((piece) => `R"~page~(${piece})~page~"\n`);
writeFileSync(
  process.argv[2],
  `#include "report/page_data.h"\nconst std::string_view assay::kPageTemplate =\n${pieces.join("")};\n`,
);
