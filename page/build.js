// Puts the page into one HTML file with nothing beside it, and that into a C++ source, which the
// program holds as text. Usage: node build.js OUTPUT.cpp
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
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

// The page runs this program and nothing else, whatever a name in its data is.
const program = bundle("main.js");
const hash = `sha256-${createHash("sha256").update(program).digest("base64")}`;

// As functions: in a text, "$&" would mean what was found.
const html = readFileSync(`${folder}/page.html`, "utf8")
  .replace("/* the style */", () => bundle("style.css"))
  .replace("/* the hash */", () => hash)
  .replace("/* the program */", () => program);

// A raw string, in pieces that compilers for other systems take, too.
const pieces = html.match(/[\s\S]{1,8000}/g).map((piece) => `R"~page~(${piece})~page~"\n`);
writeFileSync(
  process.argv[2],
  `#include "report/page.h"\nconst std::string_view assay::kPageTemplate =\n${pieces.join("")};\n`,
);
