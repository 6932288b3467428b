// The page of `assay report` in a browser: what a reader does with it, by mouse and by keyboard, and
// what it must not do. Arguments: the program, the tree; a third one keeps pictures in that folder.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { matcher } from "./query.js";
import { ROW, assay, at, axe, box, cells, drawn, finish, make, pictures, recorded, rows, status, test, tree, trialsOf, work } from "./test_browser.js";
import { HOSTILE, makeBefore, makeLarge, makeNights, makeOfOne, makeOtherGpu, makeTrusted } from "./test_data.js";

const small = join(recorded, "examples_1d.jsonl");
const files = (names) => names.map((name) => join(recorded, name));
// Without the code, which takes minutes to compile; of one problem it is there.
const shipped = make("shipped", files(["gemm_h200.jsonl", "examples.jsonl", "gemm.jsonl"]), "--no-code");
makeOfOne(join(recorded, "gemm_h200.jsonl"), join(work, "one.jsonl"), { M: 64, N: 4096, K: 4096 });
const coded = make("coded", [join(work, "one.jsonl")]);
mkdirSync(join(work, "nights"));
makeNights(small, join(work, "nights"));
makeOtherGpu(small, join(work, "other.jsonl"));
makeLarge(small, join(work, "large.jsonl"), 50000);
const before = join(work, "before.jsonl");
makeBefore(small, before);
const compared = make("compared", [small, "--baseline", before]);
const nights = make("nights", [join(work, "nights"), join(work, "other.jsonl")]);
const large = make("large", [join(work, "large.jsonl")]);
makeTrusted(small, join(work, "trusted.jsonl"), "reduction");
execFileSync("bash", [join(tree, "scripts/example_page.sh"), join(work, "example"), assay], { stdio: "pipe" });
const example = join(work, "example/index.html");
const trusted = make("trusted", [join(work, "trusted.jsonl")], "--no-code");
const several = make("several", [join(tree, "docs/questions_counted.jsonl")], "--no-code");

const gemm = "gemm_bf16 M=64,N=4096,K=4096 nvidia_h200 cold";
const gemmTrials = trialsOf("gemm_h200.jsonl", { M: 64, N: 4096, K: 4096 });
const ofTwoKernels = "gemm_bf16 M=16,N=4096,K=4096 nvidia_h200 cold";

await test("search, filter and sort are kept in the URL", async (page) => {
  const all = await rows(page);
  assert.equal(all, 35);
  await page.getByLabel("Search").fill("softmax 8192");
  assert.equal(await rows(page), 2);
  assert.match(await status(page), /^2 of 35 problems/);
  assert.match(page.url(), /q=softmax/);
  await page.reload();
  await page.waitForSelector("html[data-ready]");
  assert.equal(await rows(page), 2);
  await page.getByLabel("Search").fill("");
  await page.getByLabel("Verdict").selectOption("slower");
  assert.ok((await rows(page)) < all);
  for (const text of await cells(page, "Verdict")) assert.match(text, /slower/);
  await page.getByLabel("Verdict").selectOption("");
  await page.getByRole("button", { name: "Of roofline" }).click();
  const ascending = (await cells(page, "Of roofline")).map(parseFloat);
  assert.deepEqual(ascending, [...ascending].sort((a, b) => a - b));
  await page.getByRole("button", { name: "Of roofline" }).click();
  const descending = (await cells(page, "Of roofline")).map(parseFloat);
  assert.deepEqual(descending, [...descending].sort((a, b) => b - a));
  assert.equal(await page.locator("th[aria-sort=descending]").count(), 1);
  assert.match(page.url(), /sort=roofline.*down=1/);
  await page.getByRole("button", { name: "Of roofline" }).click(); // and in groups again
  assert.ok((await box(page, "problems").locator("tr.group").count()) > 1);
  await page.getByLabel("Search").fill("no such thing");
  await page.getByRole("button", { name: "Show all" }).click();
  await page.waitForSelector("h2#problems"); // a new hash is drawn in a later task
  assert.equal(await rows(page), all);
}, shipped);

await test("what became of each result since another run is a column", async (page) => {
  const { results } = JSON.parse(execFileSync("bash", ["-c", `'${assay}' compare '${before}' '${small}' --json || true`], { encoding: "utf8" }));
  assert.equal(await rows(page), results.length);
  const fates = results.map(({ verdict }) => verdict);
  const slower = fates.filter((fate) => fate === "slower").length;
  assert.ok(slower > 0 && fates.includes("faster"));
  assert.equal((await cells(page, "Change")).filter((text) => /slower \+[78]\.\d %/.test(text)).length, slower);
  await page.getByLabel("Change", { exact: true }).selectOption("slower");
  assert.match(page.url(), /change=slower/);
  assert.equal(await rows(page), slower);
  await page.getByLabel("Change", { exact: true }).selectOption("");
  await page.getByRole("button", { name: "Change", exact: true }).click();
  assert.match((await cells(page, "Change"))[0], /slower/);
  assert.match(page.url(), /sort=change/);
  await page.reload();
  await page.waitForSelector("html[data-ready]");
  assert.match(await page.locator("main").textContent(), /examples_1d.jsonl since .*before.jsonl: \d+ results: \d+ slower/);
}, compared);

await test("columns are sorted by keyboard", async (page) => {
  const header = page.getByRole("button", { name: "Time", exact: true });
  await header.focus();
  for (const order of ["ascending", "descending", null]) {
    await page.keyboard.press("Enter");
    assert.equal(await header.locator("xpath=..").getAttribute("aria-sort"), order);
    assert.equal(await header.evaluate((element) => element === document.activeElement), true);
  }
}, shipped);

await test("a word with a number asks for that number alone", async (page) => {
  for (const query of ["M=16", "gemm m=16"]) {
    await page.getByLabel("Search").fill(query);
    const found = await cells(page, "Problem");
    assert.ok(found.length > 0);
    for (const problem of found) assert.match(problem, /^M=16 /);
  }
  await page.getByLabel("Search").fill("M=16,64 K=8192");
  assert.deepEqual((await cells(page, "Problem")).map((text) => text.match(/^\S+/)[0]), ["M=16", "M=64"]);
  const isFound = (query, said) => matcher(query, () => [], (text) => text)(said);
  assert.ok(isFound("16", "gemm_bf16 M=16,N=2") && isFound("0.5", "density=0.5") && isFound("bf16", "gemm_bf16"));
  for (const said of ["gemm_bf16", "M=160", "M=116", "density=0.16", "16.5"]) assert.ok(!isFound("16", said), said);
}, shipped);

await test("opens on what changed and on a tile for each op", async (page) => {
  const parts = await page.locator("main h2").evaluateAll((all) => all.map(({ id }) => id));
  assert.deepEqual(parts, ["changes", "summary", "problems"]);
  const { verdicts: counts } = JSON.parse(execFileSync("bash", ["-c", `'${assay}' compare '${before}' '${small}' --json || true`], { encoding: "utf8" }));
  const said = await box(page, "changes").locator("p").first().textContent();
  for (const [fate, count] of Object.entries(counts)) if (count > 0) assert.match(said, new RegExp(`${count} ${fate}`));
  assert.match(await box(page, "changes").locator(ROW).first().textContent(), /slower \+[78]/);
  const tile = page.locator(".tile").first();
  const op = await tile.locator("h3 a").textContent();
  const says = await tile.textContent();
  const shown = await tile.locator(".mean").textContent();
  await tile.locator("h3 a").click();
  await page.waitForFunction(() => location.hash.includes("op="));
  const ratios = (await cells(page, "Over baseline")).map(parseFloat);
  assert.equal(await rows(page), ratios.length);
  for (const group of await box(page, "problems").locator("tr.group").allTextContents()) assert.ok(group.startsWith(op));
  const mean = Math.exp(ratios.reduce((sum, ratio) => sum + Math.log(ratio), 0) / ratios.length);
  assert.ok(Math.abs(parseFloat(shown) - mean) < 0.01, `${says} ${mean}`);
  assert.match(says, new RegExp(`worst ${Math.min(...ratios).toFixed(2)}`));
}, compared);

await test("stale and verified results are marked, without the code", async (page) => {
  const marks = await cells(page, "Trust");
  const kernels = await cells(page, "Kernel");
  // What is shipped of other kernels may be stale, too, until a GPU measures them again.
  const marksOf = (name) => new Set(marks.filter((_, i) => kernels[i] === name));
  assert.deepEqual(marksOf("reduction"), new Set(["⚠ stale"]));
  assert.deepEqual(marksOf("histogram"), new Set(["✓ verified"]));
  await page.getByLabel("Search").fill("stale");
  assert.ok(!(await cells(page, "Kernel")).includes("histogram"));
  await page.getByLabel("Search").fill("stale reduction");
  assert.deepEqual([...new Set(await cells(page, "Kernel"))], ["reduction"]);
  await box(page, "problems").locator(`${ROW} a`).first().click();
  await page.waitForSelector("h2#result");
  assert.match(await box(page, "result").textContent(), /Stale.*reduction has changed since/);
  assert.equal(await page.getByText("What the code is made of").count(), 0);
}, trusted);

await test("kernel and baseline are in sight, below a header that stays", async (page) => {
  assert.equal(await page.locator("span[title='NVIDIA H200']:text-is('H200')").first().isVisible(), true);
  const header = box(page, "problems").locator("thead");
  for (const title of ["Kernel", "Baseline"]) {
    const { x, width } = await header.getByText(title, { exact: true }).boundingBox();
    assert.ok(x + width < 1280, `${title} ends at ${x + width}`);
  }
  await box(page, "problems").locator(ROW).last().scrollIntoViewIfNeeded();
  assert.equal((await header.locator("th").first().boundingBox()).y, 0);
  for (const width of [950, 1110, 1280, 1920]) { // what does not fit is left out, the least needed first
    await page.setViewportSize({ width, height: 900 });
    await page.waitForFunction(() => document.documentElement.scrollWidth <= innerWidth);
    const table = await box(page, "problems").locator("table").boundingBox();
    assert.ok(table.width > width - 110, `${table.width} of ${width} pixels are used`);
  }
}, shipped);

await test("every section has a link that survives a reload", async (page) => {
  const isInSight = async (id) => page.waitForFunction((wanted) => {
    const { top } = document.getElementById(wanted).getBoundingClientRect();
    return top >= -1 && top < innerHeight / 2 && scrollY > 0;
  }, id);
  await page.getByLabel("Across").selectOption("STAGES");
  await page.getByRole("navigation", { name: "Sections" }).getByRole("link", { name: "Every trial" }).click();
  await isInSight("search");
  assert.match(page.url(), /x=STAGES.*at=search/);
  await page.reload();
  await page.waitForSelector("html[data-ready]");
  await isInSight("search");
  for (const section of await page.locator("main section > h2").all()) {
    const id = await section.getAttribute("id");
    assert.match(await section.locator("a").getAttribute("href"), new RegExp(`x=STAGES.*at=${id}$`));
  }
  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 900 });
    await page.goto("about:blank");
    await page.goto(`file://${shipped}${at("", { at: "op-softmax_f32" })}`);
    await page.waitForSelector("h2#problems");
    await isInSight("op-softmax_f32");
  }
}, shipped, at("problem", { id: gemm }));

await test("a phone shows tables, and filters when they are asked for", async (page) => {
  assert.equal(await page.getByLabel("Search").isVisible(), false);
  const table = await box(page, "problems").locator("table").boundingBox();
  assert.ok(table.x >= 0 && table.x + table.width <= 390, JSON.stringify(table));
  assert.match(await box(page, "problems").locator(ROW).first().innerText(), /faster|same|slower|no baseline/);
  await page.getByText("Search and filter").click();
  await page.getByLabel("Search").fill("softmax");
  assert.equal(await rows(page), 2);
}, shipped, "#/", { width: 390 });

await test("curves: any figure over any number, a line for each baseline or kernel", async (page) => {
  await drawn(page);
  const table = box(page, "curve").locator("table");
  const columns = async () => (await table.locator("thead th").allTextContents()).slice(1);
  await page.getByText("As a table").click();
  assert.match(await page.locator("h2#curve").textContent(), /^Ratio to the best baseline of gemm_bf16 over M/);
  assert.deepEqual(await columns(), ["the best", "cublaslt_best", "cublaslt_first"]);
  await page.getByLabel("Draw the").selectOption("operations per second");
  await page.getByLabel("a line for").selectOption("each kernel");
  await page.reload();
  await page.waitForSelector("html[data-ready]");
  await page.getByText("As a table").click();
  assert.ok((await columns()).includes("gemm_wgmma"));
  const sizes = (await table.locator("tbody th").allTextContents()).map(Number);
  assert.ok(sizes.length > 3);
  assert.deepEqual(sizes, [...sizes].sort((a, b) => a - b));
  for (const cell of await table.locator("tbody td").allTextContents()) assert.match(cell, /^([\d.]+ [GT]FLOP\/s|–)$/);
}, shipped, at("curves", { op: "gemm_bf16", x: "M" }));

await test("a roofline has its roofs", async (page) => {
  await drawn(page);
  await box(page, "roofline").getByText("As a table").click();
  const roofs = await box(page, "roofline").getByRole("region", { name: "Roofs" }).locator("tbody tr").allTextContents();
  assert.match(roofs.join(), /^memory4\.\d+ TB\/s,arithmetic[78]\d\d TFLOP\/s$/);
}, shipped, at("problem", { id: gemm }));

await test("down to a problem and back by keyboard", async (page) => {
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to the content");
  const link = box(page, "problems").getByRole("link", { name: "M=64 N=4096 K=4096" });
  await link.focus();
  await page.keyboard.press("Enter");
  await page.waitForSelector("h1:text('M=64,N=4096,K=4096')");
  await drawn(page);
  assert.match(await page.title(), /M=64/);
  await page.getByRole("link", { name: /^next: / }).focus();
  await page.keyboard.press("Enter");
  await page.waitForSelector("h1:text('M=64,N=28672,K=8192')");
  await page.goBack();
  await page.goBack();
  await page.waitForSelector("h1:text('What is fastest')");
}, shipped);

await test("configurations and commands are copied", async (page) => {
  const copied = async (label) => {
    await page.getByRole("button", { name: `Copy ${label}` }).click();
    await page.waitForSelector(`button[aria-label="Copy ${label}"]:text("Copied")`);
    return page.evaluate(() => navigator.clipboard.readText());
  };
  assert.match(await copied("the configuration as text"), /^SWAP_AB=1,MODE=single,BLOCK_M=32,.*STORE=lanes,EDGE=whole,STREAMED=0$/);
  await page.getByLabel("As", { exact: true }).selectOption("export --format header");
  assert.match(await copied("the configuration as export --format header"), /constexpr/);
  const command = await copied("the command that measures it again");
  assert.match(command, /problems: \[\{M: 64, N: 4096, K: 4096\}\]/);
  // It is a command that works: everything that needs no GPU of it is done.
  const output = execFileSync("bash", ["-c", command.replace("build/assay", assay)
    .replace("--kernels kernels", `--kernels ${tree}/kernels --device none --arch 90a`)], { cwd: work, encoding: "utf8", stdio: "pipe" });
  assert.match(output, /1 of 1 trials/);
}, shipped, at("problem", { id: gemm }));

await test("why the winner is faster is said, with what differs", async (page) => {
  const section = box(page, "why");
  const said = await section.textContent();
  assert.match(said, /^Why it takes as long as it does(memory|tensor|latency|launch|not known)/);
  assert.match(said, /Beside the runner-up.*Beside the baseline.*the first is [\d.]+ times as fast \[.*timed in turn for \d+ rounds/s);
  const figures = await section.getByRole("region", { name: "Beside the runner-up" }).locator("tbody th").allTextContents();
  assert.ok(figures.includes("time") && figures.some((name) => /^[A-Z_]+$/.test(name)), figures.join());
  const code = await section.getByRole("region", { name: "Instructions by class" }).locator("tbody tr").allTextContents();
  assert.ok(code.some((row) => /^tensor\d+/.test(row)), code.join("; "));
  assert.match(said, /The code of the baseline is not known: it is a library's/);
}, coded, at("problem", { id: gemm }));

await test("what is brushed on an axis is listed", async (page) => {
  await drawn(page);
  const section = box(page, "parallel");
  await section.locator(".canvas").scrollIntoViewIfNeeded();
  const all = await section.getByRole("status").textContent();
  assert.equal(all, `All ${gemmTrials.all} trials`);
  const { x, y, width, height } = await section.locator(".canvas").boundingBox();
  const axis = x + width - 60; // the time's
  await page.mouse.move(axis, y + height - 70);
  await page.mouse.down();
  await page.mouse.move(axis, y + height - 150, { steps: 8 });
  await page.mouse.up();
  // While it is dragged, it has fewer, or none.
  await page.waitForFunction(({ all, timed }) => {
    const said = document.querySelector("section:has(> h2#parallel) [role=status]").textContent;
    const brushed = said.match(new RegExp(`^(\\d+) of ${all}`))?.[1];
    return brushed > 0 && brushed < timed;
  }, gemmTrials);
}, shipped, at("problem", { id: gemm }));

await test("trials are found by words and looked at", async (page) => {
  const section = box(page, "parallel");
  await page.getByLabel("Only trials with").fill("STAGES=4,5 BLOCK_M=32");
  assert.match(await section.getByRole("status").textContent(), new RegExp(`^[1-9]\\d* of ${gemmTrials.all} trials`));
  for (const config of await section.locator("tbody tr > *:nth-child(7)").allTextContents()) {
    assert.match(config, /BLOCK_M=32/);
    assert.match(config, /STAGES=[45]/);
  }
  const first = section.locator("tbody tr").first().getByRole("button");
  const id = await first.textContent();
  await first.click();
  assert.equal(await page.getByRole("heading", { name: `Trial ${id}` }).count(), 1);
  assert.equal(await page.getByRole("button", { name: `Copy the command that measures trial ${id} again` }).count(), 1);
}, shipped, at("problem", { id: gemm }));

await test("parameters are chosen, also in the URL", async (page) => {
  await drawn(page);
  await page.getByLabel("Across").selectOption("STAGES");
  await page.getByLabel("up", { exact: true }).selectOption("BLOCK_N");
  assert.match(page.url(), /x=STAGES&y=BLOCK_N/);
  await page.reload();
  await page.waitForSelector("html[data-ready]");
  assert.equal(await page.getByLabel("Across").inputValue(), "STAGES");
  await page.getByLabel("Parameters of").selectOption("gemm_mma");
  assert.match(page.url(), /kernel=gemm_mma/);
  const offered = await page.getByLabel("Across").locator("option").allTextContents();
  assert.ok(offered.includes("STAGES") && !offered.includes("BLOCK_N"), offered.join()); // it was not varied
}, shipped, at("problem", { id: ofTwoKernels }));

await test("a step in the history is shown with what else changed", async (page) => {
  assert.match(await page.locator("h2").first().textContent(), /nvidia_h200 cold/);
  const changes = page.getByRole("region", { name: "Changes" });
  assert.match(await changes.textContent(), /slower \+[78]\.\d %.*night5\.jsonl.*night6\.jsonl.*driver 580\.1 -> 581\.1/s);
  const [chosen] = await page.getByLabel("Result", { exact: true }).selectOption({ index: 2 });
  await page.waitForSelector(`h2#one >> text="${chosen}"`);
  assert.match(page.url(), /history\?id=/);
}, nights, "#/history");

await test("two GPUs are beside each other", async (page) => {
  assert.equal(await page.locator("section table tbody tr").count(), 6);
  assert.match(await page.locator("section p").first().textContent(), /6 problems in common, 6 with the same winner.*lose/);
}, nights, "#/gpus");

await test("50,000 trials: small, every failure by status, texts stay texts", async (page) => {
  const megabytes = statSync(large).size / 1e6;
  assert.ok(megabytes < 2.5, `${megabytes} MB`);
  await page.getByRole("link", { name: /^N=/ }).first().click();
  await page.waitForSelector("h2#search");
  await drawn(page);
  const said = await box(page, "search").locator("p").first().textContent();
  assert.match(said, /^50,000 trials: /);
  for (const name of ["correct", "stopped early", "compile", "runtime", "timeout", "correctness", "constraints"]) assert.match(said, new RegExp(`\\d+ ${name}`));
  await page.getByLabel("Only trials with").fill("compile");
  await box(page, "parallel").locator("tbody tr").first().getByRole("button").click();
  assert.ok((await page.locator("h3:text('Trial') + p").textContent()).includes(HOSTILE));
  assert.doesNotMatch(await page.title(), /taken/);
}, large);

await test("the example is small and has no code", async (page) => {
  assert.ok(statSync(example).size < 1e6);
  const ops = new Set(await page.locator(".tile h3 a").allTextContents());
  assert.ok(ops.has("gemm_bf16") && ops.has("sparse_ffn_bf16"), [...ops].join());
  await page.locator(".tile .worst a").first().click();
  await page.waitForSelector("h2#why");
  assert.equal(await page.getByText("What the code is made of").count(), 0);
}, example);

await test("several objectives make a Pareto list, the winner first", async (page) => {
  await box(page, "problems").getByRole("link", { name: /^M=4096 / }).first().click();
  const list = box(page, "pareto").locator("table");
  assert.deepEqual(await list.locator("thead th").allTextContents(),
    ["Configuration", "time", "of the winner's", "minimize dram_read", "of the winner's"]);
  const listed = list.locator("tbody tr");
  assert.equal(await listed.count(), 2);
  const winner = await listed.first().locator("th, td").allTextContents();
  assert.match(winner[0], /SCHEDULE=column/);
  assert.deepEqual([winner[2], winner[4]], ["1.00×", "1.00×"]);
  const other = await listed.last().locator("th, td").allTextContents();
  assert.match(other[0], /SCHEDULE=row/);
  assert.ok(parseFloat(other[2]) > 1 && parseFloat(other[4]) < 1, other.join(" "));
  await list.getByRole("button", { name: "minimize dram_read" }).click();
  assert.match(await listed.first().textContent(), /SCHEDULE=row/);
}, several);

await test("what is not there is said", async (page) => {
  assert.equal(await page.locator("h1").textContent(), "No such problem");
  await page.goto(`file://${shipped}#/nowhere`);
  await page.waitForSelector("h1:text('No such view')");
}, shipped, at("problem", { id: "gone" }));

for (const hash of [at("problem", { id: gemm }), "#/", "#/curves"]) {
  await test(`prints ${hash.slice(0, 12)}`, async (page) => {
    if (hash !== "#/") await drawn(page);
    assert.ok((await page.pdf({ format: "A4" })).length > 30000);
  }, shipped, hash);
}

// Every view, wide and light, narrow and dark: readable for all, and as wide as the window. Views of
// the same parts share the two.
const WIDE = [1280, "light"], NARROW = [390, "dark"];
const views = [
  ["overview", shipped, "#/", WIDE],
  ["trusted", trusted, "#/", WIDE],
  ["compared", compared, "#/", NARROW],
  ["curves", shipped, "#/curves", WIDE, NARROW],
  ["problem", coded, at("problem", { id: gemm }), WIDE],
  ["several", several, null, NARROW],
  ["history", nights, "#/history", WIDE, NARROW],
  ["gpus", nights, "#/gpus", WIDE, NARROW],
];
for (const [view, file, hash, ...looks] of views) {
  for (const [width, theme] of pictures ? [WIDE, NARROW, [1280, "dark"], [390, "light"]] : looks) {
    await test(`${view} is accessible, ${width} wide, ${theme}`, async (page) => {
      if (!hash) await page.getByRole("link", { name: /^[MN]=/ }).first().click();
      if (!["overview", "trusted", "compared", "gpus"].includes(view)) await drawn(page);
      await page.evaluate(() => document.querySelectorAll("details").forEach((one) => (one.open = true)));
      if (pictures) await page.screenshot({ path: join(pictures, `${view}-${theme}-${width}.png`), fullPage: true });
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(overflow <= 0, `${overflow} pixels too wide`);
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => axe.run());
      assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 2).map(({ html }) => html.slice(0, 160)).join(" | ")}`), []);
    }, file, hash ?? "#/", { width, theme });
  }
}

await finish();
