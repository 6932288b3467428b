// Recordings for the test of the page, made of a shipped one: nights of which one is slower, another
// GPU, failures of every kind with texts that would like to be HTML, and 50,000 trials.
import { readFileSync, writeFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";

const DIGITS = "0123456789bcdfghjklmnpqrsvwyzBCDFGHJKLMNPQRSVWYZ!#$%*+,.:;=?@_";
const TURNS = "/&-<>[]^{|}~";
// What a code is, of the members of a trial.
const OF_CODE = ["kernel", "toolchain", "configuration", "compile"];

/** Times in ms: what results/README.md calls samples as text. */
function unpacked(samples) {
  if (typeof samples !== "string") return samples;
  const [least, step, digits] = samples.split(" ");
  return [...digits.matchAll(/\((\d+)\)|([/&<>[\]^{|}~-]?)(.)/g)].map(([, steps, turn, digit]) =>
    (Number(least) + Number(step) * Number(steps ??
      DIGITS.length * (turn ? TURNS.indexOf(turn) + 1 : 0) + DIGITS.indexOf(digit))) / 1e6);
}

/** A JSON merge patch (RFC 7396). */
function merged(before, patch) {
  if (patch === null || typeof patch !== "object" || Array.isArray(patch)) return patch;
  const result = { ...before };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = merged(result[key], value);
  }
  return result;
}

/** The lines of a recording, each with all that it leaves out, and with lists of times. */
export function readRecording(path) {
  const before = {}, codes = [], kernels = [];
  const part = (line) => Object.fromEntries(OF_CODE.filter((key) => key in line).map((key) => [key, line[key]]));
  return readFileSync(path, "utf8").trim().split("\n").map((text) => {
    let line = JSON.parse(text);
    if (line.define_kernel) kernels.push(line.define_kernel.name);
    if ("baseline" in line) line = before.baseline = merged("op" in line ? {} : before.baseline, line);
    if ("configuration" in line || "code" in line) {
      const { code, ...patch } = line;
      const rest = "kernel" in line ? {} : { ...before.trial };
      if (code !== undefined) for (const key of OF_CODE) delete rest[key];
      line = before.trial = merged({ ...rest, ...codes[code] }, patch);
      if (code === undefined) codes.push(part(line));
    }
    line = structuredClone(line);
    for (const named of [line.noise, ...(line.rank ?? [])]) {
      if (named?.code === undefined) continue;
      const { kernel, configuration } = codes[named.code];
      delete named.code;
      named.kernel = kernels[kernel];
      named.config = Object.entries(configuration).map((pair) => pair.join("=")).join(",");
    }
    for (const timed of [line.times, line.noise, ...(line.rank ?? [])]) {
      if (timed?.runtimes) timed.runtimes = unpacked(timed.runtimes);
    }
    return line;
  });
}
const write = (path, lines) => writeFileSync(path, lines.map((line) => JSON.stringify(line) + "\n").join(""));

/** Evenly spread over 0 to 1, the same each time. */
function* spread() {
  for (let state = 1; ; ) {
    state = (state * 48271) % 2147483647;
    yield state / 2147483647;
  }
}

/** The mean of the middle half, by which the entries of a verdict are in order. */
function midmean(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.slice(sorted.length >> 2, sorted.length - (sorted.length >> 2));
  return middle.reduce((sum, value) => sum + value, 0) / middle.length;
}

/**
 * The recording as if it were of another day: its kernels' times are multiplied, and all that is said
 * of them follows.
 */
function retimed(lines, { day, factorOf, driver, device, code = "" }) {
  const scale = (values, by) => values?.map((value) => (typeof value === "number" ? value * by : value));
  return structuredClone(lines).map((line) => {
    const factor = factorOf(line.problem ?? {});
    if (line.compile?.cubin_hash) line.compile.cubin_hash += code;
    if (line.timestamp) line.timestamp = day + line.timestamp.slice(10);
    if (line.assay_recording) Object.assign(line, { recorded_at: day, device: { ...line.device, ...device, driver } });
    if (line.define_toolchain) line.define_toolchain.driver = driver;
    if (line.identity) line.identity.candidates = ""; // they are found anew
    if (line.times?.runtimes && line.kernel !== undefined) {
      line.times.runtimes = scale(line.times.runtimes, factor);
    }
    if (!line.rank) return line;
    if (line.noise) line.noise.runtimes = scale(line.noise.runtimes, factor);
    for (const one of line.rank) {
      if (one.kernel) one.runtimes = scale(one.runtimes, factor);
    }
    const order = (one) => [one.failure ? 1 : 0, one.eliminated ? 1 : 0, one.failure ? 0 : midmean(one.runtimes)];
    line.rank.sort((a, b) => order(a).map((x, i) => x - order(b)[i]).find((x) => x !== 0) ?? 0);
    return line;
  });
}

export function makeNights(recording, folder) {
  const lines = readRecording(recording);
  const random = spread();
  for (let night = 1; night <= 9; ++night) {
    const later = night > 5;
    const factor = (later ? 1.08 : 1) * (1 + 0.002 * (random.next().value - 0.5));
    write(`${folder}/night${night}.jsonl`, retimed(lines, {
      day: `2026-12-0${night}`,
      factorOf: () => factor,
      driver: later ? "581.1" : "580.1",
    }));
  }
}

/** What a recording has of one problem. */
export function makeOfOne(recording, path, problem) {
  write(path, readRecording(recording).filter((line) => !line.problem || isDeepStrictEqual(line.problem, problem)));
}

export function makeOtherGpu(recording, path) {
  write(path, retimed(readRecording(recording), {
    day: "2026-12-09",
    factorOf: () => 1.3,
    driver: "581.1",
    device: { name: "NVIDIA H100 PCIe", uuid: "GPU-other", l2_bytes: 52428800 },
  }));
}

/** As it was before its kernels were edited, which made small problems slower and large ones faster. */
export function makeBefore(recording, path) {
  write(path, retimed(readRecording(recording), {
    day: "2026-10-01",
    factorOf: ({ N }) => (N < 2000000 ? 1 / 1.08 : 1.05),
    driver: "580.1",
    code: "before",
  }));
}

/** One kernel was edited since, and the configurations of the others were verified. */
export function makeTrusted(recording, path, edited) {
  const lines = readRecording(recording);
  const kernels = lines.filter((line) => line.define_kernel).map((line) => line.define_kernel);
  for (const kernel of kernels) if (kernel.name === edited) kernel.source_hash = "0".repeat(32);
  for (const line of lines) {
    if (line.invalidity !== "correct" || kernels[line.kernel]?.name === edited) continue;
    line.verification = { timestamp: "2026-12-01T00:00:00Z", toolchain: 0, checks: [{ name: "repeats", result: "passed" }] };
  }
  write(path, lines);
}

export const HOSTILE = "<img src=x onerror=\"document.title='taken'\"></script>";

const KINDS = { compile: "nvrtc", runtime: "launch", timeout: "hang", correctness: "mismatch", constraints: "smem" };

/** A question with `count` trials over six parameters, one in five of which fails. */
export function makeLarge(recording, path, count) {
  const lines = readRecording(recording);
  const definitions = lines.filter((line) => !line.timestamp);
  const model = lines.find((line) => line.invalidity === "correct" && line.problem);
  const random = spread();
  const next = () => random.next().value;
  const trials = [];
  for (let i = 0; i < count; ++i) {
    const of = (base) => Math.floor(i / base);
    const configuration = {
      BLOCK_M: 16 << (i % 6),
      BLOCK_N: 16 << (of(6) % 6),
      STAGES: 2 + (of(36) % 8),
      WARPS: 1 << (of(288) % 4),
      SCHEDULE: ["row", "column", "grouped"][of(1152) % 3],
      SPLIT: 1 + of(3456),
    };
    const seconds = String(i % 60).padStart(2, "0");
    const minutes = String(Math.floor(i / 60) % 60).padStart(2, "0");
    const hours = String(Math.floor(i / 3600)).padStart(2, "0");
    const trial = { timestamp: `2026-12-01T${hours}:${minutes}:${seconds}Z`, kernel: model.kernel, toolchain: 0, protocol: 0,
      problem: model.problem, configuration, times: { compilation_time: 0 } };
    const failure = Object.keys(KINDS)[Math.floor(next() * 25)];
    if (failure) {
      Object.assign(trial, { invalidity: failure, detail: KINDS[failure], message: `${failure} ${HOSTILE}` });
    } else {
      const ms = 0.01 * (1 + Math.abs(Math.log2(configuration.BLOCK_M / 128)) * 0.2 + (configuration.STAGES % 5) * 0.07 +
        (configuration.SPLIT * configuration.WARPS) * 0.01 + 0.3 * next() ** 3);
      Object.assign(trial, { invalidity: "correct", stop: next() < 0.4 ? "raced" : "precision",
        compile: { registers: 32 + 8 * (i % 28), cubin_hash: String(i) } });
      trial.times.runtimes = [ms, ms, ms];
    }
    trials.push(trial);
  }
  write(path, [...definitions, ...trials]);
}
