// How figures are written: units chosen by size, three to four digits.

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

export const rate = (perSecond, unit) =>
  scaled(perSecond, 3, [
    [1e12, `T${unit}/s`],
    [1e9, `G${unit}/s`],
    [1e6, `M${unit}/s`],
    [1, `${unit}/s`],
  ]);

export const percent = (ratio, count = 2) => (ratio == null ? NONE : `${digits(ratio * 100, count)} %`);

/** 1.05 -> "+5.0 %" */
export const change = (ratio) =>
  `${ratio >= 1 ? "+" : "−"}${Math.abs((ratio - 1) * 100).toFixed(1)} %`;

/** 1.648 -> "1.65×"; with another digit where that would hide on which side of 1 it is. */
export const fine = (value) => value.toFixed(Math.abs(value - 1) < 0.0195 && value !== 1 ? 3 : 2);
export const factor = (value) => `${fine(value)}×`;

export const count = (number, noun) =>
  `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

export const day = (timestamp) => (timestamp ?? "").slice(0, 10) || NONE;

export const config = (object) =>
  Object.entries(object)
    .map(([name, value]) => `${name}=${value}`)
    .join(",");
