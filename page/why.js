// What the winner's time is made of, and what tells it from the runner-up and from the baseline.
import { h, table } from "./dom.js";
import { micro } from "./text.js";

const names = { "runner-up": "the runner-up", baseline: "the baseline" };

function beside({ role, kernel, config, headline, because, figures }) {
  const title = `Beside ${names[role]}`;
  return [
    h("h3", {}, title),
    h("p", { class: "wrap" }, `The second is ${kernel} ${config}: ${micro(headline)}.`),
    because.length > 0 ? h("p", {}, "What of the time differs, the first | the second:") : null,
    because.length > 0 ? h("ul", {}, because.map((part) => h("li", {}, micro(part)))) : null,
    figures.length > 0
      ? table(`${title}: what differs`, [
          { name: "name", title: "Figure", cell: ({ name }) => name },
          { name: "before", title: "The first", class: "long", cell: ({ before }) => micro(before) },
          { name: "after", title: "The second", class: "long", cell: ({ after }) => micro(after) },
        ], figures)
      : null,
  ].filter(Boolean);
}

const titles = { winner: "Winner", "runner-up": "Runner-up", baseline: "Baseline" };

/** The instructions of each by class: as they stand, and with those in loops counted more often. */
function codeView({ classes, columns }) {
  const known = columns.filter(({ none }) => !none);
  const count = (one, values, title) => ({
    name: `${one.role} ${values}`,
    title: `${titles[one.role]}${title}`,
    number: true,
    cell: (row) => String(one[values][row.at]),
    by: (row) => one[values][row.at],
  });
  return [
    h("h3", {}, "What the code is made of"),
    known.length > 0
      ? table("Instructions by class", [
          { name: "class", title: "Instructions", cell: ({ name }) => name },
          ...known.flatMap((one) => [count(one, "once", ""), count(one, "weighted", ", weighted")]),
        ], classes.map((name, at) => ({ name, at })))
      : null,
    ...columns.filter(({ none }) => none).map(({ role, none }) =>
      h("p", { class: "quiet" }, `The code of ${names[role] ?? "the winner"} is not known: ${none}.`)),
    known.length > 0
      ? h("p", { class: "quiet" }, `Counted in the ${known[0].set}. Weighted, each instruction counts ten times for each loop `
          + "that it is in.")
      : null,
  ].filter(Boolean);
}

export function whyView({ headline, causes, against, code }) {
  return [
    h("p", {}, `${micro(headline)}.`),
    h("dl", { class: "facts" }, causes.flatMap(({ name, share, text }) => [
      h("dt", {}, name),
      h("dd", {}, `${share == null ? "" : `${Math.round(100 * share)} %: `}${micro(text)}`)])),
    h("p", { class: "quiet" }, "Each sentence follows from the figure in it. The first is the winner. "
      + "assay explain says more of it: it reads the code, too."),
    ...against.flatMap(beside),
    ...(code ? codeView(code) : []),
  ];
}
