"""The lookup rules of those who read our exports, each written down here from what its
documentation and source say. Usage: consumers.py FORMAT FILE [ARGUMENT...]; prints what the reader
would find, or says what the reader would not accept."""
import ast
import json
import math
import os
import re
import sys
import xml.etree.ElementTree as xml


def require(condition, message):
    if not condition:
        sys.exit(message)


def require_keys(item, keys):
    for key, kinds in keys.items():
        require(key in item and isinstance(item[key], kinds), f"{key} is {item.get(key)!r}")


def wisdom(text, key, device, *problem):
    """Kernel Launcher: the device's own rows first, then the problem itself, then the least
    difference of volumes, then the least objective."""
    lines = text.splitlines()
    header = json.loads(lines[0])
    require(header["version"] == "1.0" and header["key"] == key, "header")
    names = header["tunable_parameters"]
    asked = [int(size) for size in problem]
    volume = lambda sizes: math.prod(sizes + [1] * (3 - len(sizes)))
    best = None
    for line in lines[1:]:
        row = json.loads(line)
        require(len(row["config"]) == len(names), "config")
        require(len(row["problem_size"]) <= 3, "problem_size")
        own = row["environment"]["device_name"] == device
        match = 2 if own and row["problem_size"] == asked else 1 if own else 0
        rank = (-match, abs(volume(row["problem_size"]) - volume(asked)), row[header["objective"]])
        if best is None or rank < best[0]:
            best = (rank, dict(zip(names, row["config"])))
    print(json.dumps(best[1]))


def triton(text):
    """The file as Python would run it, with a triton of our own."""
    class Config:
        def __init__(self, kwargs, num_warps=4, num_stages=3):
            require(isinstance(kwargs, dict) and isinstance(num_warps, int), "kwargs")
            require(num_warps & (num_warps - 1) == 0 and num_stages >= 0, "num_warps")
            self.all = {**kwargs, "num_warps": num_warps, "num_stages": num_stages}

    module = type(sys)("triton")
    module.Config = Config
    sys.modules["triton"] = module
    scope = {}
    exec(compile(ast.parse(text), "export", "exec"), scope)
    print(json.dumps([[problem, config.all] for problem, config in scope["CONFIGS"]]))


def vllm_name(experts, width, device, dtype=None):
    device = re.sub(r"[\s/]+", "_", device)
    if "H200" in device.split("_"):
        device = "NVIDIA_H200"
    suffix = "" if dtype is None else f",dtype={dtype}"
    return f"E={experts},N={width},device_name={device}{suffix}.json"


def vllm_moe(text, path, experts, width, device, tokens):
    """vLLM: the file by its name, every key an integer, the nearest key; the first of two."""
    require(os.path.basename(path) == vllm_name(experts, width, device), "file name")
    require(text.endswith("}\n"), "no newline at the end")
    rows = {int(key): row for key, row in json.loads(text).items()}
    require(list(rows) == sorted(rows), "keys do not ascend")
    for row in rows.values():
        require_keys(row, dict.fromkeys(["BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K",
                                         "GROUP_SIZE_M", "num_warps", "num_stages"], int))
    print(json.dumps(rows[min(rows, key=lambda key: abs(key - int(tokens)))]))


def kernel_tuner(text, *config):
    """A cachefile: rows on lines of their own, found by their values joined by commas; a tuner
    that goes on cuts the end and appends."""
    require(text.endswith("}\n}"), "end")
    require(json.loads(text[:-3] + ',\n"x": {}\n}\n}')["cache"]["x"] == {}, "cannot go on")
    cache = json.loads(text)
    require_keys(cache, {"device_name": str, "kernel_name": str, "problem_size": list,
                         "tune_params_keys": list, "tune_params": dict, "objective": str})
    require(list(cache["tune_params"]) == cache["tune_params_keys"], "tune_params")
    for key, row in cache["cache"].items():
        values = [row[name] for name in cache["tune_params_keys"]]
        require(key == ",".join(str(value) for value in values), f"key {key}")
        for name, value in zip(cache["tune_params_keys"], values):
            require(value in cache["tune_params"][name], f"{name}={value}")
        failed = "__error__" in row
        require(isinstance(row["time"], str if failed else float), f"time of {key}")
        require(not failed or row["time"] in ("InvalidConfig", "CompilationFailedConfig",
                                              "RuntimeFailedConfig"), "failure")
    require(text.count("\n") == text[:text.index('"cache"')].count("\n") + len(cache["cache"]) + 2,
            "a row is not one line")
    print(json.dumps(cache["cache"][",".join(config)]["time"]))


def t4(text):
    """The schema 1.0.0."""
    document = json.loads(text)
    require(re.match(r"^[0-9]+.[0-9]+.[0-9]+$", document["schema_version"]), "schema_version")
    for result in document["results"]:
        require_keys(result, {"timestamp": str, "configuration": dict, "objectives": list,
                              "times": dict, "correctness": (int, float), "measurements": list})
        require(result["invalidity"] in ("timeout", "compile", "runtime", "correctness",
                                         "constraints", "correct"), "invalidity")
        require(isinstance(result["times"].get("runtimes", []), list), "runtimes")
        require(isinstance(result["times"]["compilation_time"], (int, float)), "compilation_time")
        for measurement in result["measurements"]:
            require_keys(measurement, {"name": str, "value": (int, float, str, list), "unit": str})
    print(len(document["results"]))


def google_benchmark(text, name):
    """What compare.py and other tools read."""
    document = json.loads(text)
    require("context" in document, "context")
    names = [row["name"] for row in document["benchmarks"]]
    require(len(set(names)) == len(names), "a name twice")
    for row in document["benchmarks"]:
        require_keys(row, {"name": str, "run_name": str, "run_type": str, "iterations": int,
                           "real_time": (int, float), "cpu_time": (int, float), "time_unit": str})
        require(row["time_unit"] in ("ns", "us", "ms", "s"), "time_unit")
    print(document["benchmarks"][names.index(name)]["real_time"])


def github_action_benchmark(text, name):
    """customSmallerIsBetter: an array; results of two commits are compared by their names."""
    rows = json.loads(text)
    require(isinstance(rows, list), "no array")
    for row in rows:
        require_keys(row, {"name": str, "unit": str, "value": (int, float)})
        for key in ("range", "extra"):
            require(isinstance(row.get(key, ""), str), key)
    require(len({row["name"] for row in rows}) == len(rows), "a name twice")
    print(next(row["value"] for row in rows if row["name"] == name))


def bencher(text, name):
    """Bencher Metric Format: benchmarks, their measures, and of each a value with bounds."""
    document = json.loads(text)
    for measures in document.values():
        for metric in measures.values():
            require_keys(metric, {"value": (int, float)})
            require(set(metric) <= {"value", "lower_value", "upper_value"}, "metric")
            require(metric.get("lower_value", -1) <= metric["value"], "lower_value")
            require(metric.get("upper_value", math.inf) >= metric["value"], "upper_value")
    print(document[name]["latency"]["value"])


def junit(text):
    """A suite whose counts are those of its cases."""
    suite = xml.fromstring(text)
    cases = suite.findall("testcase")
    failures = [case for case in cases if case.find("failure") is not None]
    require(int(suite.get("tests")) == len(cases), "tests")
    require(int(suite.get("failures")) == len(failures), "failures")
    for case in cases:
        require(case.get("name") and case.get("classname") and float(case.get("time")) > 0, "case")
    print(len(cases), len(failures))


def main():
    name, path, *arguments = sys.argv[1:]
    text = open(path, encoding="utf-8").read()
    reader = globals()[name.replace("-", "_")]
    reader(text, path, *arguments) if name == "vllm-moe" else reader(text, *arguments)


main()
