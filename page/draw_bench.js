// Prints how long a page of 50,000 trials takes to be drawn in a browser, three times: the time that
// passes, and the work of the page's thread, which other programs on the machine change less.
// Arguments: the program, the tree.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { chromium } from "playwright-core";
import { makeLarge } from "./test_data.js";

const [assay, tree] = process.argv.slice(2).map((path) => resolve(path));
const work = mkdtempSync(join(tmpdir(), "assay-page-"));
process.on("exit", () => rmSync(work, { recursive: true, force: true }));
const recording = join(work, "large.jsonl"), html = join(work, "large.html");
makeLarge(join(tree, "results/recorded/nvidia_h200/examples_1d.jsonl"), recording, 50000);
execFileSync(assay, ["report", recording, "--html", html, "--kernels", join(tree, "kernels")]);
console.log(`${(statSync(html).size / 1e6).toFixed(2)} MB`);

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium-headless-shell", args: ["--no-sandbox"] });
const page = await browser.newPage();
await page.goto(`file://${html}`);
await page.getByRole("link", { name: /^N=/ }).first().click();
await page.waitForSelector("h2#search");
const url = page.url();
const client = await page.context().newCDPSession(page);
await client.send("Performance.enable", { timeDomain: "threadTicks" });
for (let i = 0; i < 3; ++i) {
  await page.goto("about:blank");
  await page.goto(url);
  const mark = await page.waitForFunction(() => performance.getEntriesByName("drawn").at(-1)?.startTime);
  const { metrics } = await client.send("Performance.getMetrics");
  const workMs = 1000 * metrics.find(({ name }) => name === "TaskDuration").value;
  console.log(`drawn after ${(await mark.jsonValue()).toFixed(0)} ms and ${workMs.toFixed(0)} ms of work`);
}
await browser.close();
