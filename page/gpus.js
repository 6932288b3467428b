// GPUs beside each other: the same problem, and what each one's winner loses on the other.
import { trialsOf } from "./data.js";
import { choice, h, section, table } from "./dom.js";
import { keep, link } from "./router.js";
import * as text from "./text.js";

/** The time of one GPU's winner as another GPU measured it, relative to that one's best trial. */
function lossOn(data, winner, question) {
  const trials = trialsOf(data, question);
  if (!trials) return null;
  const { kernel, config } = winner.entry;
  const wanted = text.config(config);
  for (let i = 0; i < trials.count; ++i) {
    if (trials.kernelOf(i) !== kernel || text.config(trials.configOf(i)) !== wanted) continue;
    const time = trials.time_ns[i];
    return { status: trials.statusOf(i), ratio: time == null ? null : time / trials.best };
  }
  return { status: "not tried", ratio: null };
}

const lossText = (loss) => {
  if (!loss) return text.NONE;
  if (loss.ratio == null) return loss.status;
  return `${loss.status === "stopped early" ? "at least " : ""}${text.change(loss.ratio)}`;
};

export function gpus(data, params) {
  const slugs = Object.keys(data.devices);
  const facts = table("GPUs", [
    { name: "name", title: "GPU", cell: (one) => one.name },
    { name: "cc", title: "Compute capability", number: true, cell: (one) => (one.compute_capability / 10).toFixed(1) },
    { name: "sms", title: "SMs", number: true, cell: (one) => String(one.sm_count) },
    { name: "l2", title: "L2", number: true, cell: (one) => `${(one.l2_bytes / 2 ** 20).toFixed(0)} MiB` },
    { name: "memory", title: "Memory", number: true, cell: (one) => `${(one.memory_bytes / 2 ** 30).toFixed(0)} GiB` },
    { name: "bandwidth", title: "Reads memory at", number: true, cell: (one) => (one.memory_bytes_per_s ? text.rate(one.memory_bytes_per_s, "B") : text.NONE) },
    { name: "driver", title: "Driver", cell: (one) => one.driver ?? text.NONE },
    { name: "problems", title: "Problems", number: true, cell: (one) => String(data.questions.filter(({ deviceName }) => deviceName === one.name).length) },
  ], Object.values(data.devices));
  const head = [h("h1", {}, "GPUs beside each other"), facts];
  if (slugs.length < 2) {
    return [...head, h("p", {}, "All results are of one GPU. Make the page from the databases or recordings of several to see their winners beside each other, and what each loses on the other.")];
  }
  const state = { a: params.get("a") ?? slugs[0], b: params.get("b") ?? slugs[1] };
  const place = h("div");
  const names = slugs.map((slug) => [slug, data.devices[slug].short]);
  function show(changes = {}) {
    Object.assign(state, changes);
    if (Object.keys(changes).length > 0) keep(changes);
    const pairs = data.questions.filter(({ device, entry }) => device === state.a && entry).flatMap((one) => {
      const other = data.questions.find((two) => two.entry && two.device === state.b && two.op === one.op && two.title === one.title && two.protocol === one.protocol && two.objective === one.objective);
      return other && one !== other ? [{ one, other, here: lossOn(data, other, one), there: lossOn(data, one, other) }] : [];
    });
    const [a, b] = [data.devices[state.a].short, data.devices[state.b].short];
    const same = ({ one, other }) => one.entry.kernel === other.entry.kernel && text.config(one.entry.config) === text.config(other.entry.config);
    const losses = pairs.map(({ there }) => there?.ratio).filter((ratio) => ratio != null);
    const mean = Math.exp(losses.reduce((sum, ratio) => sum + Math.log(ratio), 0) / losses.length);
    place.replaceChildren(
      h("p", {}, pairs.length === 0 ? "They have no problem in common."
        : `${text.count(pairs.length, "problem")} in common, ${pairs.filter(same).length} with the same winner. ` +
          (losses.length > 0 ? `The winners of ${a} lose ${text.change(mean)} on ${b} in the mean of the ${losses.length} that were timed there.` : "")),
      pairs.length > 0 ? table(`Winners of ${a} and ${b}`, [
        { name: "problem", title: "Problem", by: ({ one }) => one.title, cell: ({ one }) => h("a", { href: link("problem", { id: one.id }) }, one.title) },
        { name: "op", title: "Op", by: ({ one }) => one.op, cell: ({ one }) => one.op },
        { name: "a", title: `Best on ${a}`, number: true, by: ({ one }) => one.entry.time_ns, cell: ({ one }) => text.time(one.entry.time_ns) },
        { name: "b", title: `Best on ${b}`, number: true, by: ({ other }) => other.entry.time_ns, cell: ({ other }) => h("a", { href: link("problem", { id: other.id }) }, text.time(other.entry.time_ns)) },
        { name: "ratio", title: `${b} to ${a}`, number: true, by: ({ one, other }) => other.entry.time_ns / one.entry.time_ns, cell: ({ one, other }) => text.factor(other.entry.time_ns / one.entry.time_ns) },
        { name: "there", title: `${a}'s winner loses on ${b}`, number: true, by: ({ there }) => there?.ratio, cell: ({ there }) => lossText(there) },
        { name: "here", title: `${b}'s winner loses on ${a}`, number: true, by: ({ here }) => here?.ratio, cell: ({ here }) => lossText(here) },
        { name: "same", title: "Same winner", by: (pair) => same(pair), cell: (pair) => (same(pair) ? "= same" : "≠ other") },
      ], pairs) : "");
  }
  show();
  return [...head,
    section("pair", "Two of them", [
      h("div", { class: "filters" }, choice("GPU", names, state.a, (a) => show({ a })), choice("beside", names, state.b, (b) => show({ b }))),
      place,
      h("p", { class: "quiet" }, "What a winner loses is its median in the screening of the other GPU, relative to the best median there.")])];
}
