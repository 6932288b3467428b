// How well a winner is known.
import { axis, chart, colours, isNarrow, legend, tooltip } from "./chart.js";
import { h, table } from "./dom.js";
import * as text from "./text.js";

const interval = (one) => (one == null ? text.NONE : text.ratio(...one).join(""));

const nameOf = ({ role, kernel, config }) => (role === "baseline" ? config : `${kernel} ${config}`);

const ROLES = {
  winner: "winner",
  tie: "tie: cannot be told from the winner",
  duplicate: "A/A duplicate",
  baseline: "baseline",
  other: "behind",
};

/** Neighbouring bins share their counts: a clock's ticks would else be combs. */
function smooth(counts) {
  const once = (all) => all.map((n, i) => ((all[i - 1] ?? n) + 2 * n + (all[i + 1] ?? n)) / 4);
  return once(once(once(counts)));
}

/** The distribution of the samples of all that the verdict rests on, a row each. */
export function distributionPlot({ rank }) {
  if (!rank) return [h("p", {}, "The best of the screening was not timed again in turns.")];
  const all = rank.entries.filter(({ counts }) => counts);
  const shown = all.filter(({ role }) => role !== "tie").concat(all.filter(({ role }) => role === "tie").slice(0, 6)).sort((a, b) => all.indexOf(a) - all.indexOf(b));
  const number = { tie: 0, baseline: 0 };
  const names = shown.map(({ role, config }) =>
    role === "baseline" ? config : role === "tie" ? `tie ${++number.tie}` : role === "duplicate" ? "A/A duplicate" : role === "other" ? "screening's best" : role);
  const duplicate = shown.find(({ role }) => role === "duplicate");
  const twin = duplicate && names[shown.findIndex(({ role, kernel, config }) => role !== "duplicate" && kernel === duplicate.kernel && config === duplicate.config)];
  const at = (bin) => rank.bin_low_ns + (bin + 0.5) * rank.bin_step_ns;
  // The last bin also counts what lies beyond it.
  const densities = shown.map(({ counts }) => smooth(counts.slice(0, -1)));
  const option = () => {
    const { series, text: ink, line } = colours();
    const colourOf = ({ role }) => series[{ winner: 0, tie: 2, duplicate: 3, other: 3, baseline: 1 }[role]];
    const last = Math.max(...densities.map((d) => d.findLastIndex((n) => n > 0.002 * Math.max(...d)))) + 2;
    return {
      tooltip: tooltip(({ dataIndex: k }) => `${names[k]}: median ${text.time(shown[k].time_ns)}, ${text.count(shown[k].rounds, "sample")}`),
      grid: { left: isNarrow() ? 96 : 130, right: 16, top: 16, bottom: 44 },
      xAxis: axis("time", { type: "value", min: at(-1), max: at(last), axisLabel: { showMinLabel: false, showMaxLabel: false, formatter: text.tick } }),
      yAxis: { type: "category", inverse: true, data: names, axisLabel: { color: ink, fontSize: 12, width: isNarrow() ? 86 : 120, overflow: "truncate" }, axisTick: { show: false }, axisLine: { lineStyle: { color: line } } },
      series: [{
        type: "custom",
        data: shown.map((_, k) => k),
        renderItem: (_, api) => {
          const k = api.value(0);
          const [, base] = api.coord([at(0), k]);
          const height = api.size([0, 1])[1] * 0.9;
          const floor = base + height / 2;
          const most = Math.max(...densities[k]);
          const outline = densities[k].slice(0, last + 1).map((n, bin) => [api.coord([at(bin), k])[0], floor - (height * n) / most]);
          const [x] = api.coord([shown[k].time_ns, k]);
          const colour = colourOf(shown[k]);
          return { type: "group", children: [
            { type: "polygon", shape: { points: [[outline[0][0], floor], ...outline, [outline.at(-1)[0], floor]] }, style: { fill: colour, opacity: 0.35 } },
            { type: "polyline", shape: { points: outline }, style: { stroke: colour, lineWidth: 1.5, fill: "none" } },
            { type: "line", shape: { x1: x, x2: x, y1: floor, y2: floor - height }, style: { stroke: ink, lineWidth: 1.5, lineDash: [4, 3] } },
          ] };
        },
      }],
    };
  };
  return [
    h("p", {}, `Each row is what ${text.count(rank.rounds, "round")} in turn measured; the dashed line is its median. What took much longer is beyond the right end.${twin ? ` The A/A duplicate is the same code as the ${twin} once more: what tells the two apart is noise.` : ""}`),
    chart(`Distribution of the samples: ${names.map((name, k) => `${name} ${text.time(shown[k].time_ns)}`).join(", ")}`, 80 + 54 * shown.length, option),
    h("details", {}, h("summary", {}, "All that took part, as a table"),
      table("Entries of the re-rank", [
        { name: "role", title: "What", cell: ({ role }) => ROLES[role] },
        { name: "time", title: "Median", number: true, by: (one) => one.time_ns, cell: (one) => text.time(one.time_ns) },
        { name: "ratio", title: "Time to the winner's", number: true, by: (one) => one.ratio?.[0], cell: (one) => (one.role === "duplicate" ? `to its twin: ${interval(one.ratio)}` : interval(one.ratio)) },
        { name: "cycles", title: "In cycles", number: true, by: (one) => one.cycles_ratio?.[0], cell: (one) => interval(one.cycles_ratio) },
        { name: "speedup", title: "Speed-up", number: true, by: (one) => one.speedup?.[0], cell: (one) => interval(one.speedup) },
        ...(rank.entries.some(({ energy_j }) => energy_j) ? [{ name: "energy", title: "Energy", number: true, by: (one) => one.energy_j, cell: (one) => text.energy(one.energy_j) }] : []),
        { name: "rounds", title: "Rounds", number: true, cell: (one) => String(one.rounds) },
        { name: "name", title: "Name", class: "long", cell: (one) => (one.failure ? `${nameOf(one)}: ${one.failure}` : nameOf(one)).replaceAll(",", " ") },
      ], rank.entries, { limit: 40 })),
  ];
}
