// What the test of the page is made with: pages, a browser, and a test that fails when a page complains.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { chromium } from "playwright-core";
import { readRecording } from "./test_data.js";

export const [assay, tree, pictures] = process.argv.slice(2).map((path) => resolve(path));
export const recorded = join(tree, "results/recorded/nvidia_h200");
export const work = mkdtempSync(join(tmpdir(), "assay-page-"));
process.on("exit", () => rmSync(work, { recursive: true, force: true }));

export function make(name, paths, ...more) {
  const html = join(work, `${name}.html`);
  try {
    execFileSync(assay, ["report", ...paths, "--html", html, "--kernels", join(tree, "kernels"), ...more], { stdio: "pipe" });
  } catch (error) {
    const said = String(error.stderr);
    if (!said.includes("built without the page")) throw error;
    console.log(`skipped: ${said.trim()}`);
    process.exit(77);
  }
  return html;
}

/** How many trials a shipped recording has of a problem, and how many of them have a time. */
export function trialsOf(name, problem) {
  const trials = readRecording(join(recorded, name)).filter((line) => line.configuration && isDeepStrictEqual(line.problem, problem));
  return { all: trials.length, timed: trials.filter((trial) => trial.times?.runtimes).length };
}

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium-headless-shell", args: ["--no-sandbox"] });
export const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
export const at = (view, params = {}) => `#/${view}${view || Object.keys(params).length ? "?" : ""}${new URLSearchParams(params)}`;
let failures = 0;

/** Opens a page from its file. What it says on the console, or asks of a network, fails the test. */
async function open(file, hash = "#/", { width = 1280, theme = "light" } = {}) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: theme, permissions: ["clipboard-read", "clipboard-write"] });
  const page = await context.newPage();
  page.setDefaultTimeout(30000); // others may use the machine, too
  page.complaints = [];
  page.on("console", (message) => page.complaints.push(message.text()));
  page.on("pageerror", (error) => page.complaints.push(String(error)));
  page.on("request", (request) => {
    if (!/^(file|data|blob|about):/.test(request.url())) page.complaints.push(`asks for ${request.url()}`);
  });
  await context.setOffline(true);
  await page.goto(`file://${file}${hash}`);
  await page.waitForSelector("html[data-ready]");
  return page;
}

export async function test(name, body, ...how) {
  const page = await open(...how);
  const start = Date.now();
  try {
    await body(page);
    await page.waitForTimeout(50);
    assert.deepEqual(page.complaints, []);
    console.log(`ok      ${name} (${Date.now() - start} ms)`);
  } catch (error) {
    ++failures;
    console.log(`FAILED  ${name}\n${error.message}\n${page.complaints.join("\n")}`);
  }
  await page.context().close();
}

export const drawn = (page) => page.waitForFunction(() => performance.getEntriesByName("drawn").at(-1)?.startTime);
export const box = (page, id) => page.locator(`section:has(> h2#${id})`);
export const ROW = "tbody tr:not(.group)";
/** What a column of the problems' table says, by its title. */
export async function cells(page, title) {
  const titles = await box(page, "problems").locator("thead th").allTextContents();
  const place = titles.findIndex((one) => one.replace(/[▲▼]/, "") === title) + 1;
  assert.ok(place > 0, `no ${title} in ${titles}`);
  return box(page, "problems").locator(`${ROW} > *:nth-child(${place})`).allTextContents();
}
export const rows = (page) => box(page, "problems").locator(ROW).count();
export const status = (page) => page.getByRole("status").first().textContent();

/** Says how it went. */
export async function finish() {
  await browser.close();
  console.log(failures === 0 ? "all passed" : `${failures} failed`);
  process.exitCode = failures === 0 ? 0 : 1;
}
