// How figures are written, in one style everywhere: three to four digits, and the unit by size.

const digits = (value, count) => {
  if (value === 0) return "0";
  const before = Math.floor(Math.log10(Math.abs(value))) + 1;
  return value.toFixed(Math.max(0, count - Math.max(before, 1)));
};

const scaled = (value, count, steps) => {
  const [size, unit] = steps.find(([least]) => Math.abs(value) >= least) ?? steps.at(-1);
  return `${digits(value / size, count)} ${unit}`;
};

export const NONE = "–";

export const time = (ns, count = 4) =>
  ns == null
    ? NONE
    : scaled(ns, count, [
        [1e9, "s"],
        [1e6, "ms"],
        [1e3, "µs"],
        [1, "ns"],
      ]);

/** A value beside an axis: "12.50 µs" -> "12.5 µs". */
export const short = (said) => said.replace(/\.0+ |(\.\d*?)0+ /, (_, kept) => `${kept ?? ""} `);
export const tick = (ns) => short(time(ns));

/** 2.05e13, "FLOP" -> "20.5 TFLOP" */
export const amount = (value, unit) =>
  scaled(value, 3, [
    [1e12, `T${unit}`],
    [1e9, `G${unit}`],
    [1e6, `M${unit}`],
    [1e3, `k${unit}`],
    [1, unit],
  ]);

export const rate = (perSecond, unit) => amount(perSecond, `${unit}/s`);

export const percent = (ratio, count = 2) => (ratio == null ? NONE : `${digits(ratio * 100, count)} %`);

/** 1.05 -> "+5.0 %" */
export const change = (ratio) =>
  `${ratio >= 1 ? "+" : "−"}${Math.abs((ratio - 1) * 100).toFixed(1)} %`;

/** 1.648 -> "1.65×"; with another digit where that would hide on which side of 1 it is. */
export const factor = (value) => `${value.toFixed(Math.abs(value - 1) < 0.0195 && value !== 1 ? 3 : 2)}×`;

/** [1.0081, 1.0072, 1.0091] -> ["1.008×", " [1.007, 1.009]"]: as many digits as the interval has. */
export function ratio(value, low, high) {
  if (low == null || high == null || low === high) return [factor(value), ""];
  const count = Math.min(4, Math.max(2, Math.ceil(-Math.log10(high - low))));
  return [`${value.toFixed(count)}×`, ` [${low.toFixed(count)}, ${high.toFixed(count)}]`];
}

export const energy = (joules) => (joules ? `${digits(joules * 1e3, 3)} mJ` : NONE);

/** What the program writes in ASCII, as the page writes it: "28.48 us" -> "28.48 µs". */
export const micro = (sentence) => sentence.replace(/(?<=\d )us\b/g, "µs");

export const count = (number, noun) =>
  `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

export const day = (timestamp) => (timestamp ?? "").slice(0, 10) || NONE;

/** "NVIDIA H100 80GB HBM3" -> "H100"; the whole name where others would be called the same. */
export function gpuNames(names) {
  const short = (name) => name.replace(/\b(NVIDIA|GeForce|Tesla|\d+ ?GB|HBM\d\w*)\b/g, "").replace(/[\s-]+/g, " ").trim() || name;
  return names.map((name) => (names.some((other) => other !== name && short(other) === short(name)) ? name : short(name)));
}

export const config = (object) =>
  Object.entries(object)
    .map(([name, value]) => `${name}=${value}`)
    .join(",");
