#!/usr/bin/env python3
"""Lists or checks the keys of what `assay VERB --json` prints.

usage: assay VERB --json | scripts/json_keys.py
       scripts/json_keys.py --check FILE...

docs/json.md has a table of all keys, each with its type, its unit and its meaning. The keys of a
map are of the user, so they are neither listed nor checked. With --check the exit code is 1 when a
document has no schema or version, or a key that is not in the table, or is of another type there.
"""

import json
import pathlib
import re
import sys
import textwrap

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs/json.md"
UNITS = {"ns": "ns", "ms": "ms", "s": "s", "mhz": "MHz", "bytes": "bytes", "w": "W", "c": "°C",
         "j": "J", "ratio": "ratio"}
TYPES = {str: "text", bool: "boolean", int: "number", float: "number", list: "list"}


def read_table():
    """The type and unit of each key."""
    row = r"(?m)^\| `(\w+)` \| ([a-z ]+) \| (.*?) \| "
    rows = re.findall(row, PAGE.read_text())
    return {key: (kind.split(" or "), unit) for key, kind, unit in rows}


TABLE = read_table()


def walk(value, path, visit):
    if isinstance(value, list):
        for each in value:
            walk(each, path + "[]", visit)
    elif isinstance(value, dict):
        for key, each in value.items():
            visit(path, key, each)
            if TABLE.get(key, ([], ""))[0] != ["map"]:
                walk(each, f"{path}.{key}" if path else key, visit)


def tree(document):
    objects = {}
    walk(document, "", lambda path, key, _: objects.setdefault(path, {}).setdefault(key))
    del objects[""]["schema"], objects[""]["version"]
    text = f"{document['schema']}, version {document['version']}\n"
    for path, keys in objects.items():
        begin = f"{path}: " if path else ""
        text += textwrap.fill(begin + ", ".join(keys), 95, subsequent_indent="  ",
                              break_on_hyphens=False) + "\n"
    return text


def unit_of(key):
    return UNITS.get(re.sub(r"_(low|high)$", "", key).split("_")[-1], "")


def mistakes(document):
    wrong = {}
    if not str(document.get("schema")).startswith("assay-") or not document.get("version"):
        wrong["it has no schema, or no version"] = None

    def visit(path, key, value):
        kinds, unit = TABLE.get(key, (None, None))
        if kinds is None:
            wrong[f"docs/json.md lacks {key}, in {path}"] = None
            return
        kind = "map" if isinstance(value, dict) and kinds == ["map"] else (
            TYPES.get(type(value), "object"))
        if value is not None and kind not in kinds:
            wrong[f"{key}, in {path}, is a {kind}, and docs/json.md says {kinds}"] = None
        if isinstance(value, float) and not unit:
            wrong[f"{key}, in {path}, is a number without a unit"] = None

    walk(document, "", visit)
    for key, (_, unit) in TABLE.items():
        if unit_of(key) not in ("", unit):
            wrong[f"docs/json.md says that {key} is in {unit}"] = None
    return list(wrong)


def main():
    if sys.argv[1:2] != ["--check"]:
        print(tree(json.load(sys.stdin)), end="")
        return 0
    wrong = [f"{name}: {each}" for name in sys.argv[2:]
             for each in mistakes(json.loads(pathlib.Path(name).read_text()))]
    print("\n".join(wrong) or f"{len(sys.argv) - 2} documents have the keys of docs/json.md")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
