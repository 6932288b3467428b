#!/usr/bin/env python3
"""Says which YAML files a JSON Schema refuses, as an editor would.

usage: validate.py KERNEL.json SWEEP.json OP.json FILE.yaml...   (77: a package is missing)
"""

import json
import pathlib
import sys

try:
    import jsonschema
    import yaml
except ImportError:
    sys.exit(77)

validators = []
for path in sys.argv[1:4]:
    schema = json.loads(pathlib.Path(path).read_text())
    jsonschema.Draft7Validator.check_schema(schema)
    validators.append(jsonschema.Draft7Validator(schema))
for path in sys.argv[4:]:
    try:
        content = yaml.load(pathlib.Path(path).read_text(), yaml.CSafeLoader)
    except yaml.YAMLError as error:
        print(f"{path}: no YAML: {error.problem}")
        continue
    keys = content if isinstance(content, dict) else {"kernel": None}
    kind = 1 if "sweep" in keys else 0 if "kernel" in keys or "op" not in keys else 2
    error = jsonschema.exceptions.best_match(validators[kind].iter_errors(content))
    if error:
        place = "/".join(map(str, error.absolute_path))
        print(f"{path}: {place}: {error.message[:200]}")
