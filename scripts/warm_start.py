#!/usr/bin/env python3
"""How near a search without an expert comes to an expert's sweep.

usage: scripts/warm_start.py [--device 0|0,1] [--configs COUNT] EXPERT.yaml OPEN.yaml RECORDING...

EXPERT.yaml has the constraints that an expert wrote, OPEN.yaml has none, and the RECORDINGs are of
EXPERT.yaml. For each of their problems, OPEN.yaml is searched knowing the recordings of all the
other problems. Then EXPERT.yaml is swept, and the first four of both are timed in turn by a sweep
of their own. Printed is the time of what was found, as a ratio to that of the expert's best.
Several GPUs share the problems. As in
  scripts/warm_start.py sweeps/gemm_h200.yaml sweeps/gemm_open.yaml \\
      results/recorded/nvidia_h100_80gb_hbm3/gemm_h200.jsonl
"""

import argparse
import concurrent.futures
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile

from recording import read, times_ns

ROOT = pathlib.Path(__file__).resolve().parent.parent
NUM_FIRST = 4  # of each sweep's verdict


def assay(*arguments):
    command = [str(ROOT / "build/assay"), *map(str, arguments)]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed:\n{run.stderr}")


def write_without(problem, recording, path):
    lines = (json.dumps(entry) for entry in recording if entry.get("problem") != problem)
    path.write_text("\n".join(lines) + "\n")


def verdict(folder, db, sweep, problem):
    """The last re-rank of a sweep for a problem: {(kernel, configuration): time in ns}."""
    recording = folder / f"{sweep}.jsonl"
    assay("export", "--format", "recording", "--sweep", sweep, "--db", db, "--output", recording)
    ranks = [e["rank"] for e in read(recording) if "rank" in e and e["problem"] == problem]
    if not ranks:
        raise RuntimeError(f"{sweep} found nothing correct for {problem}")
    return {(e["kernel"], e["config"]): statistics.median(times_ns(e["runtimes"]))
            for e in ranks[-1] if e.get("kernel") and e["runtimes"]}


def write_pinned(path, problem, candidates):
    """A sweep of the candidates alone: one constraint for each kernel, which names them."""
    kernels = sorted({kernel for kernel, _ in candidates})
    any_of = []
    for kernel in kernels:
        configs = [config for of, config in candidates if of == kernel]
        alike = ["(" + config.replace("=", " == ").replace(",", " && ") + ")" for config in configs]
        any_of.append("  - " + " || ".join(alike))
    sizes = ", ".join(f"{name}: {size}" for name, size in problem.items())
    path.write_text(
        f"sweep: pinned\nkernels: [{', '.join(kernels)}]\nproblems:\n  - {{{sizes}}}\n"
        + "constraints:\n" + "\n".join(any_of)
        + "\nmeasure: {protocol: cold, precision: 0.5%}\n"
        + "rerank: {top: 8, rounds: 18, precision: 0.1%}\n")


def ratio_for(problem, device, options, recordings):
    text = ",".join(f"{name}={size}" for name, size in problem.items())
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        db = folder / "others.db"
        for recording in recordings:
            write_without(problem, recording, folder / "others.jsonl")
            assay("import", folder / "others.jsonl", "--db", db)
        first = {}
        for sweep in options.open, options.expert:
            budget = ["--budget-configs", options.configs] if sweep == options.open else []
            assay("sweep", sweep, "--problem", text, "--device", device, "--db", db, *budget)
            times = verdict(folder, db, sweep.stem, problem)
            first[sweep] = sorted(times, key=times.get)[:NUM_FIRST]
        write_pinned(folder / "pinned.yaml", problem, set(sum(first.values(), [])))
        assay("sweep", folder / "pinned.yaml", "--kernels", ROOT / "kernels",
              "--device", device, "--db", folder / "pinned.db")
        times = verdict(folder, folder / "pinned.db", "pinned", problem)
        best = {sweep: min(times[one] for one in first[sweep] if one in times) for sweep in first}
    return best[options.open] / best[options.expert]


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("--device", default="0")
    parser.add_argument("--configs", type=int, default=60)
    parser.add_argument("expert", type=pathlib.Path)
    parser.add_argument("open", type=pathlib.Path)
    parser.add_argument("recordings", type=pathlib.Path, nargs="+")
    options = parser.parse_args()
    recordings = [read(path) for path in options.recordings]
    problems = []
    for entry in sum(recordings, []):
        if "rank" in entry and entry["problem"] not in problems:
            problems.append(entry["problem"])
    if not problems:
        sys.exit("warm_start: the recordings have no verdict on any problem")
    ratios = []
    untried = iter(problems)  # next() of a list's iterator is atomic

    def try_on(device):
        for problem in untried:
            ratio = ratio_for(problem, device, options, recordings)
            ratios.append(ratio)
            sizes = "x".join(map(str, problem.values()))
            print(f"{sizes:20} {ratio:.4f}  GPU {device}", flush=True)

    with concurrent.futures.ThreadPoolExecutor() as pool:
        for done in [pool.submit(try_on, device) for device in options.device.split(",")]:
            done.result()
    geomean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    num_within = sum(ratio <= 1.01 for ratio in ratios)
    print(f"within 1 %: {num_within} of {len(ratios)}, worst {max(ratios):.4f}, "
          f"geometric mean {geomean:.4f}")


if __name__ == "__main__":
    try:
        main()
    except RuntimeError as error:
        sys.exit(f"warm_start: {error}")
