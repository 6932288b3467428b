// What a reader asks first: what changed, and how each op does on each GPU.
import { CHANGES, VERDICTS, geometricMean, groupBy } from "./data.js";
import { h, section, svg, table, wrapped } from "./dom.js";
import { link } from "./router.js";
import * as text from "./text.js";

const MOST_CHANGES = 8;

/** A ratio's place on the scale of all strips, from -1 to 1. */
const scaleOf = (questions) => {
  const widest = Math.max(...questions.map(({ entry }) => Math.abs(Math.log2(entry?.baseline?.speedup ?? 1))));
  const span = Math.min(1.5, Math.max(0.2, widest));
  return { span, at: (ratio) => Math.max(-1, Math.min(1, Math.log2(ratio) / span)) };
};

/** A stroke for each problem: up where it is faster than the baseline, down where it is slower. */
function strip(questions, { at }) {
  const x = (ratio) => 100 + 96 * at(ratio);
  const ends = { faster: [2, 12], slower: [12, 22] };
  return svg("svg", { viewBox: "0 0 200 24", preserveAspectRatio: "none", "aria-hidden": "true", class: "strip" },
    svg("line", { x1: 2, x2: 198, y1: 12, y2: 12, class: "rail" }),
    svg("line", { x1: 100, x2: 100, y1: 0, y2: 24, class: "one" }),
    ...questions.map(({ verdict, entry }) => {
      const [y1, y2] = ends[verdict] ?? [8, 16];
      const place = x(entry.baseline.speedup).toFixed(1);
      return svg("line", { x1: place, x2: place, y1, y2, class: `stroke ${verdict}` });
    }));
}

function tile([{ op, device, gpu, deviceName, protocol, objective }], all, scale, showsProtocol) {
  const based = all.filter(({ entry }) => entry?.baseline);
  const ratioOf = ({ entry }) => entry.baseline.speedup;
  const counts = Object.entries(VERDICTS).flatMap(([verdict, [sign, word]]) => {
    const number = all.filter((one) => one.verdict === verdict).length;
    return number > 0 ? [h("span", { class: `verdict ${verdict}` }, h("span", { "aria-hidden": "true" }, sign), ` ${number} ${word}`)] : [];
  });
  const worst = based.reduce((a, b) => (a && ratioOf(a) <= ratioOf(b) ? a : b), null);
  const stale = all.filter((one) => one.stale).length;
  return h("li", { class: "tile" },
    h("h3", {}, h("a", { href: link("overview", { op, gpu: device, at: "problems" }) }, wrapped(op, "_")), " ",
      h("span", { class: "gpu", title: deviceName }, gpu)),
    showsProtocol || objective !== "time" ? h("div", { class: "quiet" }, [showsProtocol && protocol, objective !== "time" && `best in ${objective}`].filter(Boolean).join(", ")) : null,
    based.length === 0 ? h("p", {}, h("span", { class: "mean" }, text.NONE), ` ${text.count(all.length, "problem")}, no baseline`)
      : [h("p", {}, h("span", { class: "mean" }, text.factor(geometricMean(based.map(ratioOf)))),
          h("span", { class: "quiet" }, based.length > 1 ? ` mean of ${based.length}` : " of 1 problem")),
        strip(based, scale),
        based.length > 1 ? h("p", { class: "worst" }, `worst ${text.factor(ratioOf(worst))} `,
          h("a", { href: link("problem", { id: worst.id }) }, wrapped(worst.title))) : null],
    h("p", { class: "counts" }, counts, stale > 0 ? h("span", { class: "stale" }, `⚠ ${stale} stale`) : null));
}

export function tiles(questions) {
  const groups = groupBy(questions, ({ op, device, protocol, objective }) => [op, device, protocol, objective].join("\n"));
  const scale = scaleOf(questions);
  const showsProtocol = new Set(questions.map(({ protocol }) => protocol)).size > 1;
  const end = 2 ** scale.span;
  return section("summary", "Each op on each GPU", [
    h("ul", { class: "tiles" }, [...groups.values()].map((all) => tile(all, all, scale, showsProtocol))),
    h("p", { class: "quiet" }, "The large figure is the geometric mean of the baseline's time by the winner's, with the best baseline of each problem. "
      + `A stroke is a problem: right of the dashed line it is faster than the baseline, and at the ends ${text.factor(1 / end)} and ${text.factor(end)} or more.`),
  ]);
}

/** The step of a result at its newest run. */
const newestChange = ({ past }) => {
  const change = past?.changes.at(-1);
  return change && change.first_after === past.points.length - 1 ? change : null;
};

const DOUBTS = { pending: "pending: one more run will tell", few_runs: "too few runs to tell" };

function changeRow(question) {
  if (question.change) {
    const { fate, ratio, change, remarks } = question.change;
    return { question, fate, ratio, said: ratio == null ? "" : change.replace("-", "−"), remarks };
  }
  const { ratio, kind, changed_beside: beside } = newestChange(question);
  return { question, fate: ratio > 1 ? "slower" : "faster", ratio, said: text.change(ratio), remarks: [DOUBTS[kind], ...beside].filter(Boolean).join("; ") };
}

/** What became of each result since the run before: the baseline of the page, or the one in the data. */
export function changes(data) {
  const compared = data.questions.filter(({ change }) => change);
  const repeated = data.questions.filter(({ past, objective }) => past?.points.length > 1 && objective === "time");
  if (compared.length + repeated.length === 0) {
    return h("p", { class: "quiet" }, "Each result is of one run: nothing is known of changes. ",
      h("code", {}, "assay report --baseline BEFORE"), " shows what changed since another run.");
  }
  const rows = (compared.length > 0 ? compared.filter(({ change }) => change.fate !== "same") : repeated.filter(newestChange)).map(changeRow);
  const worth = ({ ratio }) => Math.abs(Math.log(ratio ?? 1));
  const fates = Object.keys(CHANGES);
  rows.sort((a, b) => fates.indexOf(a.fate) - fates.indexOf(b.fate) || worth(b) - worth(a));
  const of = compared.length > 0 ? compared.length : repeated.length;
  const counts = [...groupBy(rows, ({ fate }) => fate)].map(([fate, some]) => `${some.length} ${fate}`);
  if (of > rows.length) counts.push(`${of - rows.length} same`);
  return section("changes", "What changed since the run before", [
    h("p", {}, `${text.count(of, "result")}: ${counts.join(", ")}.`,
      compared.length > 0 ? "" : ` Only results of several runs are compared; the other ${data.questions.length - of} are of one run.`),
    rows.length > 0 ? table("Changed results", [
      { name: "problem", title: "Problem", class: "problem", cell: ({ question: one }) => h("a", { href: link("problem", { id: one.id }) }, `${one.op} `, wrapped(one.title)) },
      { name: "gpu", title: "GPU", cell: ({ question }) => h("span", { title: question.deviceName }, question.gpu) },
      { name: "change", title: "Change of the time", cell: ({ fate, said }) =>
          h("span", { class: `verdict ${fate}` }, h("span", { "aria-hidden": "true" }, CHANGES[fate]), ` ${fate} ${said}`) },
      { name: "remarks", title: "What else is known", class: "long roomy", cell: ({ remarks }) => remarks || text.NONE },
    ], rows, { limit: MOST_CHANGES }) : null,
    ...data.comparisons.map((sentence) => h("p", { class: "quiet" }, `${sentence}.`)),
  ]);
}
