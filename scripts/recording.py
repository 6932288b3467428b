"""Reads the lines of a recording, each with all that it leaves out: results/README.md."""

import json


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


def read(path):
    before = {}
    lines = []
    for text in open(path, encoding="utf-8"):
        if not text.strip():
            continue
        line = json.loads(text)
        for kind, first in ("configuration", "kernel"), ("baseline", "op"):
            if kind in line:
                line = merged(None if first in line else before[kind], line)
                before[kind] = line
        lines.append(line)
    return lines
