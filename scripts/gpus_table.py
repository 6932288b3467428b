#!/usr/bin/env python3
"""What the recordings of two GPUs say of each other, as a table in Markdown.

usage: scripts/gpus_table.py GPU OTHER [OP]

GPU and OTHER are folders of results/recorded. Compared are the recordings that both have: of each
operation the speed-ups over the baselines, and for how many problems the winner on the OTHER wins
or ties on the GPU, of those whose winner the GPU has run. With OP, each of its problems. As in
  scripts/gpus_table.py nvidia_h100_80gb_hbm3 nvidia_h200
"""

import json
import pathlib
import sqlite3
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
RECORDED = ROOT / "results/recorded"


def assay(*arguments):
    command = [str(ROOT / "build/assay"), *map(str, arguments)]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"gpus_table: {' '.join(command)} failed:\n{run.stderr}")
    return run.stdout


def verdicts(gpu, names):
    """{operation: {problem: entry}}, as `assay best` writes them, and what ran: kernel, problem and
    configuration as text."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "all.db"
        assay("db", "merge", *(RECORDED / gpu / name for name in names), "--output", path)
        entries = json.loads(assay("best", "--ties", "--json", "--db", path))["best"]
        ran = set(sqlite3.connect(path).execute(
            """SELECT kernel.name, problem.text, config.text FROM trial
               JOIN kernel ON kernel.id = kernel_id JOIN problem ON problem.id = problem_id
               JOIN config ON config.id = config_id"""))
    by_op = {}
    for entry in entries:
        by_op.setdefault(entry["op"], {})[json.dumps(entry["problem"])] = entry
    return by_op, ran


def text_of(values):
    return ",".join(f"{name}={value}" for name, value in values.items())


def wins_too(there, here, ran):
    """None: the GPU has not run the winner `there`."""
    if there is None or (there["kernel"], text_of(there["problem"]),
                         text_of(there["config"])) not in ran:
        return None
    best = [(one["kernel"], one["config"]) for one in [here, *here["ties"]]]
    return (there["kernel"], there["config"]) in best


def speedups(entries):
    return [one["baseline"]["speedup"] for one in entries.values() if one["baseline"]]


def geomean(values):
    return f"{statistics.geometric_mean(values):.2f}" if values else ""


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(f"usage: {__doc__.split('usage: ')[1].splitlines()[0]}")
    gpu, other = sys.argv[1:3]
    names = sorted(
        {path.name for path in (RECORDED / gpu).glob("*.jsonl")}
        & {path.name for path in (RECORDED / other).glob("*.jsonl")})
    if not names:
        sys.exit(f"gpus_table: {RECORDED} has no recordings that both {gpu} and {other} have")
    (here, ran), (there, _) = verdicts(gpu, names), verdicts(other, names)
    if len(sys.argv) == 4:
        print("| problem | us | baseline us | speed-up | the other's winner |\n|---|---|---|---|---|")
        for problem, one in here.get(sys.argv[3], {}).items():
            sizes = " x ".join(map(str, one["problem"].values()))
            base = one["baseline"]
            ratio = "{speedup:.2f} [{speedup_low:.2f}, {speedup_high:.2f}]".format(**base) if base else ""
            base_us = f"{base['time_ns'] / 1e3:.4g}" if base else ""
            too = {True: "yes", False: "no", None: ""}[
                wins_too(there.get(sys.argv[3], {}).get(problem), one, ran)]
            print(f"| {sizes} | {one['time_ns'] / 1e3:.4g} | {base_us} | {ratio} | {too} |")
        return
    print("| operation | problems | speed-up, geometric mean | on the other | worst "
          "| the other's winner |\n|---|---|---|---|---|---|")
    for op, entries in here.items():
        others = there.get(op, {})
        too = [wins_too(others.get(problem), one, ran) for problem, one in entries.items()]
        known = [one for one in too if one is not None]
        num_too = f"{sum(known)} of {len(known)}" if known else ""
        ratios = speedups(entries)
        worst = f"{min(ratios):.2f}" if ratios else ""
        print(f"| `{op}` | {len(entries)} | {geomean(ratios)} | {geomean(speedups(others))} "
              f"| {worst} | {num_too} |")


if __name__ == "__main__":
    main()
