// What the program put into the page (harness/report/page_data.cpp), and what follows from it.
import * as text from "./text.js";
import { unpack } from "./unpack.js";

/** Unpacks the data that the page carries. */
export async function load() {
  const data = JSON.parse(await unpack("data"));
  const devices = Object.values(data.devices);
  text.gpuNames(devices.map(({ name }) => name)).forEach((short, i) => (devices[i].short = short));
  for (const question of data.questions) {
    question.title = text.config(question.problem);
    question.id = [question.op, question.title, question.device, question.protocol]
      .concat(question.objective === "time" ? [] : [question.objective])
      .join(" ");
    question.deviceName = data.devices[question.device].name;
    question.gpu = data.devices[question.device].short;
    question.past = data.history.find(
      (one) =>
        one.op === question.op &&
        text.config(one.problem) === question.title &&
        one.device === question.deviceName &&
        one.protocol === question.protocol,
    );
  }
  findRoofs(data);
  for (const question of data.questions) {
    question.verdict = verdictOf(question);
    question.rate = rateOf(question);
  }
  return data;
}

/**
 * The roofs: a rate of memory for each GPU, and one of operations for each op on it. Each result
 * has the least time for its bytes and for its operations, or for what bounds it; work by that time
 * is the rate. The median of all is taken: a launch of few bytes has a rate of its own.
 */
function findRoofs(data) {
  for (const [slug, device] of Object.entries(data.devices)) {
    const known = data.questions.filter((one) => one.device === slug && one.work && one.why);
    const rates = known.filter(({ why, protocol }) => why.memory_ns && protocol !== "hot")
      .map(({ work, why }) => (work.bytes / why.memory_ns) * 1e9);
    device.memory_bytes_per_s ||= medianOf(rates);
    device.operations_per_s = {};
    for (const [op, some] of groupBy(known.filter(({ why }) => why.operations_ns), (one) => one.op)) {
      device.operations_per_s[op] = medianOf(some.map(({ work, why }) => (work.flops / why.operations_ns) * 1e9));
    }
    for (const one of known) {
      const { memory_ns: memory, operations_ns: operations } = one.why;
      if (memory || operations) one.bound = memory > operations ? "memory" : "arithmetic";
    }
  }
}

/** [figure per second, its unit]: of what bounds the work. */
function rateOf({ entry, work, bound }) {
  if (!entry || !work) return null;
  const flops = work.flops > 0 && bound !== "memory";
  const amount = flops ? work.flops : work.bytes;
  return amount > 0 ? { value: (amount / entry.time_ns) * 1e9, unit: flops ? "FLOP" : "B" } : null;
}

/** The rows of each key, in the order of the keys' first rows. */
export function groupBy(rows, keyOf) {
  const groups = new Map();
  for (const row of rows) {
    const key = keyOf(row);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(row);
  }
  return groups;
}

export const medianOf = (numbers) => [...numbers].sort((a, b) => a - b)[numbers.length >> 1];

/** The mean of factors. */
export const geometricMean = (ratios) =>
  Math.exp(ratios.reduce((sum, ratio) => sum + Math.log(ratio), 0) / ratios.length);

/** What the re-rank says of the winner and the baseline. */
function verdictOf({ entry }) {
  if (!entry) return "failed";
  if (entry.verified && !entry.verified.passed) return "refuted";
  if (!entry.reranked) return "screened";
  const { baseline, noise_ratio: noise } = entry;
  if (!baseline || baseline.speedup_low == null) return "alone";
  if (baseline.speedup_low > 1 + (noise ?? 0)) return "faster";
  if (baseline.speedup_high < 1 - (noise ?? 0)) return "slower";
  return "same";
}

/** Words and signs, so that no verdict depends on a colour. */
export const VERDICTS = {
  faster: ["▲", "faster", "than the baseline, by more than the noise"],
  same: ["=", "same", "as fast as the baseline, within the noise"],
  slower: ["▼", "slower", "than the baseline, by more than the noise"],
  alone: ["○", "no baseline", "was timed beside it"],
  screened: ["?", "screened", "the best of the screening; not timed again in turns"],
  refuted: ["✕", "refuted", "its verification failed"],
  failed: ["✕", "nothing correct", "every configuration failed, or was only compiled"],
};

/** What became of a result since another run, worst first. */
export const CHANGES = {
  slower: "▼",
  failed: "✕",
  unsure: "?",
  "not comparable": "○",
  faster: "▲",
  same: "=",
  new: "+",
};

export const STATUSES = {
  correct: "checked and timed",
  "stopped early": "clearly slower than the best so far",
  compiled: "compiled, not run",
  constraints: "excluded by a constraint",
  compile: "does not compile",
  runtime: "the launch failed",
  timeout: "took too long",
  correctness: "wrong result",
};

/** The trials of a question; columns become easy to read. Made once. */
export function trialsOf(data, question) {
  const set = data.trials[question.trials];
  if (!set || set.ids) return set;
  let id = 0;
  set.ids = set.id_steps.map((step) => (id += step));
  for (const param of set.params) param.at ??= new Array(set.count).fill(0);
  set.statusOf = (i) => set.statuses[set.status[i]];
  set.kernelOf = (i) => set.kernels[set.kernel[i]];
  set.configOf = (i) =>
    Object.fromEntries(
      set.params.filter(({ at }) => at[i] >= 0).map(({ name, values, at }) => [name, values[at[i]]]),
    );
  set.best = Math.min(...bySteps(set.time_ns));
  return set;
}

/** The least of each thousand, since Math.min takes only so many arguments. */
function bySteps(times) {
  const least = [Infinity];
  for (let i = 0; i < times.length; ++i) {
    if (times[i] != null && times[i] < least[0]) least[0] = times[i];
  }
  return least;
}

/** A sweep of one configuration on one problem, and the command that runs it. */
export function commandFor(question, kernel, config) {
  const yaml = (value) => (typeof value === "string" ? value : String(value));
  const list = (object, wrap) =>
    Object.entries(object).map(([name, value]) => `${name}: ${wrap(yaml(value))}`).join(", ");
  const precision = question.entry?.precision_ratio ?? 0.005;
  return [
    "cat > again.yaml <<'YAML'",
    "sweep: again",
    `kernels: [${kernel}]`,
    `problems: [{${list(question.problem, (value) => value)}}]`,
    `params: {${list(config, (value) => `[${value}]`)}}`,
    `measure: {protocol: ${question.protocol}, precision: ${(precision * 100).toPrecision(2)}%}`,
    "YAML",
    "build/assay sweep again.yaml --kernels kernels --db again.db",
  ].join("\n");
}
