#!/usr/bin/env python3
r"""Draws how a speed-up over a baseline changes from problem to problem, and prints it as a table.

usage: scripts/speedup_curve.py --over NAME --along NAME --line NAME [--only A=1,B=2]
                                [--output FILE.svg] RECORDING...

--over    baselines whose names begin so; the fastest of them counts
--along   the dimension or trait that changes along a line
--line    what has a line for each value: dimensions, traits or parameters of the kernels, as N,K
--only    only problems with these values

Each point is the fastest configuration that was re-ranked, over the baseline, from the rounds that
both took part in. As in
  scripts/speedup_curve.py --over dense --along density --line M --only F=11008,block=1 \
    results/recorded/nvidia_h200/sparse_{,many_}h200.jsonl
"""

import argparse
import math
import pathlib
import sqlite3
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 400, 56, 130, 48, 46
TICKS = [0.25, 0.33, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.5, 2, 3, 4, 5, 6, 8, 12, 16]
STYLE = """<style>
  text { font: 13px system-ui, sans-serif; fill: #16191d; }
  .heading { font-weight: bold; }
  .back { fill: #ffffff; }
  .grid { stroke: #ccd1d8; }
  .one { stroke: #16191d; stroke-dasharray: 4 3; }
  .line { fill: none; stroke-width: 2; }
  @media (prefers-color-scheme: dark) {
    text { fill: #eceff3; }
    .back { fill: #14171c; }
    .grid { stroke: #3d4550; }
    .one { stroke: #eceff3; }
  }
</style>"""
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00", "#56b4e9", "#999999", "#7a5195"]


def pairs(text):
    return dict(item.split("=", 1) for item in text.split(",") if item)


def entries(recordings):
    """(operation, GPU, problem, kernel, configuration, time over the winner's) of each re-rank."""
    with tempfile.TemporaryDirectory() as folder:
        db = pathlib.Path(folder) / "all.db"
        command = [str(ROOT / "build/assay"), "db", "merge", *recordings, "--output", str(db)]
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode != 0:
            sys.exit(f"speedup_curve: {run.stderr.strip()}")
        return sqlite3.connect(db).execute(
            "SELECT op, device.name, problem.text, kernel, config, ratio_to_best FROM rank_entry"
            " JOIN rank ON rank.id = rank_id JOIN problem ON problem.id = problem_id"
            " JOIN device ON device.id = device_id WHERE ratio_to_best IS NOT NULL").fetchall()


def curves(rows, over, along, line, only):
    """{value of `line`: {value of `along`: speed-up}}"""
    times = {}
    for _, _, text, kernel, config, ratio in rows:
        problem = pairs(text)
        if only.items() - problem.items():
            continue
        if kernel == "":
            if not config.startswith(over):
                continue
            which = None
        else:
            known = problem | pairs(config)
            if not all(name in known for name in line.split(",")):
                continue
            which = " x ".join(known[name] for name in line.split(","))
        best = times.setdefault(text, {})
        best[which] = min(ratio, best.get(which, ratio))
    found = {}
    for text, best in times.items():
        for which in best.keys() - {None}:
            if None in best:
                x = float(pairs(text)[along])
                points = found.setdefault(which, {})
                points[x] = max(best[None] / best[which], points.get(x, 0))
    return found


def in_order(found):
    def numbers(one):
        parts = one.split(" x ")
        is_number = all(part.replace(".", "").isdigit() for part in parts)
        return (0, [float(part) for part in parts]) if is_number else (1, one)

    return sorted(found, key=numbers)


def label(line, one):
    return one if "," in line else f"{line} {one}"


def table(found, along, line):
    print(f"| {along} | " + " | ".join(label(line, one) for one in in_order(found)) + " |")
    print("|---" * (1 + len(found)) + "|")
    for x in sorted({x for points in found.values() for x in points}):
        cells = (f"{found[one][x]:.2f}" if x in found[one] else "" for one in in_order(found))
        print(f"| {x:g} | " + " | ".join(cells) + " |")


def svg(found, along, line, heading):
    xs = sorted({x for points in found.values() for x in points})
    ys = [y for points in found.values() for y in points.values()]
    low, high = min(ys + [1]) / 1.05, max(ys + [1]) * 1.05

    def place(value, first, last, begin, end):
        span = math.log(last / first) or 1
        return begin + (end - begin) * math.log(value / first) / span

    def across(x):
        return place(x, xs[0], xs[-1], LEFT, WIDTH - RIGHT)

    def down(y):
        return place(y, low, high, HEIGHT - BOTTOM, TOP)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
           f'width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="{heading}">', STYLE,
           '<rect class="back" width="100%" height="100%" rx="8"/>',
           f'<text x="12" y="28" class="heading">{heading}</text>']
    written = math.inf
    for y in sorted(TICKS, key=lambda y: (y != 1, y)):
        if low <= y <= high and (y == 1 or abs(down(y) - down(1)) > 12 and written - down(y) > 12):
            written = down(y) if y != 1 else math.inf
            out.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{down(y):.1f}" '
                       f'y2="{down(y):.1f}" class="{"one" if y == 1 else "grid"}"/>')
            out.append(f'<text x="{LEFT - 8}" y="{down(y) + 4:.1f}" text-anchor="end">{y:g}</text>')
    written = -math.inf
    for x in xs:
        if across(x) - written >= 34:
            written = across(x)
            out.append(f'<text x="{written:.1f}" y="{HEIGHT - BOTTOM + 18}" '
                       f'text-anchor="middle">{x:g}</text>')
    out.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2:.1f}" y="{HEIGHT - 10}" '
               f'text-anchor="middle">{along}</text>')
    names = []
    for i, one in enumerate(in_order(found)):
        colour, points = COLOURS[i % len(COLOURS)], sorted(found[one].items())
        path = " ".join(f"{across(x):.1f},{down(y):.1f}" for x, y in points)
        out.append(f'<polyline class="line" stroke="{colour}" points="{path}"/>')
        out += [f'<circle cx="{across(x):.1f}" cy="{down(y):.1f}" r="3.5" fill="{colour}"/>'
                for x, y in points]
        names.append((down(points[-1][1]) + 4, label(line, one), colour))
    lowest = -math.inf
    for y, name, colour in sorted(names):
        lowest = max(y, lowest + 16)
        out.append(f'<text x="{WIDTH - RIGHT + 12}" y="{lowest:.1f}" style="fill: {colour}">'
                   f'{name}</text>')
    return "\n".join(out + ["</svg>"]) + "\n"


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n\n")[0])
    for name in ["--over", "--along", "--line"]:
        parser.add_argument(name, required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--output")
    parser.add_argument("recordings", nargs="+")
    asked = parser.parse_args()
    rows = entries(asked.recordings)
    found = curves(rows, asked.over, asked.along, asked.line, pairs(asked.only))
    if not found:
        sys.exit("speedup_curve: no re-ranked configuration of such a problem beside the baseline")
    table(found, asked.along, asked.line)
    if asked.output:
        op, gpu = rows[0][:2]
        heading = f"{op} on {gpu}: speed-up over {asked.over}"
        pathlib.Path(asked.output).write_text(svg(found, asked.along, asked.line, heading))


if __name__ == "__main__":
    main()
