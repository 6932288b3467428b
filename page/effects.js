// What parameters do to the time: how much of the spread of the times each explains by itself, and
// how much more two of them explain together.
//
// Times are taken as logarithms, so that effects are factors. The share of a parameter is the
// variance between the means of its values; that of a pair is the variance between the means of its
// cells that neither explains alone. Groups of few trials differ by chance, too: what that makes is
// taken off (omega squared).

import { medianOf } from "./data.js";

/** The trials whose times tell of their parameters: those of one kernel that were timed. */
export function timedTrials(trials, kernel) {
  const rows = [];
  for (let i = 0; i < trials.count; ++i) {
    if (trials.time_ns[i] != null && trials.kernelOf(i) === kernel) rows.push(i);
  }
  return rows;
}

/** The kernel's parameters that were varied, with only the values that it was tried with. */
export function variedParams(trials, kernel) {
  return trials.params
    .map(({ name, values, at }) => {
      const used = new Set();
      for (let i = 0; i < trials.count; ++i) {
        if (trials.kernelOf(i) === kernel && at[i] >= 0) used.add(at[i]);
      }
      const places = [...used].sort((a, b) => a - b);
      const place = new Map(places.map((old, now) => [old, now]));
      return {
        name,
        values: places.map((one) => values[one]),
        of: (i) => place.get(at[i]),
      };
    })
    .filter(({ values }) => values.length > 1);
}

/** Sum of squares between groups, without what chance makes of them, relative to all. */
function share(logs, groupOf, numGroups, { mean, total }, explained = 0, spent = 0) {
  const sums = new Float64Array(numGroups);
  const counts = new Uint32Array(numGroups);
  for (let k = 0; k < logs.length; ++k) {
    const group = groupOf(k);
    sums[group] += logs[k];
    ++counts[group];
  }
  let between = 0;
  let groups = 0;
  for (let g = 0; g < numGroups; ++g) {
    if (counts[g] === 0) continue;
    ++groups;
    between += counts[g] * (sums[g] / counts[g] - mean) ** 2;
  }
  const left = logs.length - groups;
  if (left < 1) return { raw: between, freedom: groups - 1, ratio: 0 };
  const chance = Math.max(0, (groups - 1 - spent) * ((total - between) / left));
  return { raw: between, freedom: groups - 1, ratio: Math.max(0, between - explained - chance) / total };
}

/**
 * For each varied parameter, the one with the largest share first: {param, alone, partners:
 * [{param, share}], sum}. Empty if there is nothing to tell apart.
 */
export function effects(trials, kernel) {
  const rows = timedTrials(trials, kernel);
  const params = variedParams(trials, kernel);
  const logs = Float64Array.from(rows, (i) => Math.log(trials.time_ns[i]));
  const mean = logs.reduce((sum, log) => sum + log, 0) / logs.length;
  const total = logs.reduce((sum, log) => sum + (log - mean) ** 2, 0);
  if (!(total > 0) || rows.length < 8) return [];
  const all = { mean, total };
  const columns = params.map(({ of }) => Uint16Array.from(rows, (i) => of(i) ?? 0));
  const alone = params.map(({ values }, p) => share(logs, (k) => columns[p][k], values.length, all));
  const found = params.map((param, p) => ({ param, alone: alone[p].ratio, partners: [] }));
  for (let p = 0; p < params.length; ++p) {
    for (let q = p + 1; q < params.length; ++q) {
      const width = params[q].values.length;
      const both = share(logs, (k) => columns[p][k] * width + columns[q][k],
        params[p].values.length * width, all, alone[p].raw + alone[q].raw,
        alone[p].freedom + alone[q].freedom);
      found[p].partners.push({ param: params[q], share: both.ratio });
      found[q].partners.push({ param: params[p], share: both.ratio });
    }
  }
  for (const one of found) {
    one.partners.sort((a, b) => b.share - a.share);
    one.sum = one.alone + one.partners.reduce((sum, partner) => sum + partner.share, 0);
  }
  return found.sort((a, b) => b.sum - a.sum);
}

/** How to sum up the trials of a cell; the first is what a tuner asks about. */
export const SUMMARIES = {
  fastest: (times) => (times.length > 0 ? times.reduce((a, b) => Math.min(a, b)) : null),
  median: (times) => (times.length > 0 ? medianOf(times) : null),
};

/** The times in each cell of two parameters, with how many trials failed there. */
export function cells(trials, kernel, x, y) {
  const all = x.values.map(() => y.values.map(() => ({ times: [], tried: 0 })));
  for (let i = 0; i < trials.count; ++i) {
    if (trials.kernelOf(i) !== kernel) continue;
    const cell = all[x.of(i)]?.[y.of(i)];
    if (!cell) continue;
    ++cell.tried;
    if (trials.time_ns[i] != null) cell.times.push(trials.time_ns[i]);
  }
  return all;
}
