"""Reads the lines of a recording, each with all that it leaves out: results/README.md."""

import json
import re

DIGITS = "0123456789bcdfghjklmnpqrsvwyzBCDFGHJKLMNPQRSVWYZ!#$%*+,.:;=?@_"
TURNS = "/&-<>[]^{|}~"
# What a code is, of the members of a trial.
OF_CODE = ("kernel", "toolchain", "configuration", "compile")


def merged(before, patch):
    """A JSON merge patch (RFC 7396)."""
    if not isinstance(patch, dict):
        return patch
    result = dict(before) if isinstance(before, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def times_ns(runtimes):
    """The samples of a time."""
    if isinstance(runtimes, list):
        return [1e6 * time_ms for time_ms in runtimes]
    least, step, digits = runtimes.split(" ")
    samples = []
    for steps, turn, digit in re.findall(r"\((\d+)\)|([/&<>[\]^{|}~-]?)(.)", digits):
        if not steps:
            steps = len(DIGITS) * (TURNS.index(turn) + 1 if turn else 0) + DIGITS.index(digit)
        samples.append(float(least) + float(step) * int(steps))
    return samples


def read(path):
    before = {}
    codes = []
    kernels = []
    lines = []
    for text in open(path, encoding="utf-8"):
        if not text.strip():
            continue
        line = json.loads(text)
        if "define_kernel" in line:
            kernels.append(line["define_kernel"]["name"])
        elif "configuration" in line or "code" in line:
            base = {} if "kernel" in line else dict(before["trial"])
            number = line.pop("code", None)
            if number is not None:
                for key in OF_CODE:
                    base.pop(key, None)
                base.update(codes[number])
            line = before["trial"] = merged(base, line)
            if number is None:
                codes.append({key: line[key] for key in OF_CODE if key in line})
        elif "baseline" in line:
            line = merged(None if "op" in line else before["baseline"], line)
            before["baseline"] = line
        for entry in [*line.get("rank", []), line.get("noise", {})]:
            if "code" in entry:
                code = codes[entry.pop("code")]
                entry["kernel"] = kernels[code["kernel"]]
                names = code["configuration"].items()
                entry["config"] = ",".join(f"{name}={value}" for name, value in names)
        lines.append(line)
    return lines
