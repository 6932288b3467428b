#!/usr/bin/env python3
"""Says which YAML files a JSON Schema refuses, as an editor would.

usage: validate.py KERNEL.json SWEEP.json FILE.yaml...   (77: a package is missing)
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
for path in sys.argv[1:3]:
    schema = json.loads(pathlib.Path(path).read_text())
    jsonschema.Draft7Validator.check_schema(schema)
    validators.append(jsonschema.Draft7Validator(schema))
for path in sys.argv[3:]:
    try:
        content = yaml.load(pathlib.Path(path).read_text(), yaml.CSafeLoader)
    except yaml.YAMLError as error:
        print(f"{path}: no YAML: {error.problem}")
        continue
    is_sweep = isinstance(content, dict) and "sweep" in content
    error = jsonschema.exceptions.best_match(validators[is_sweep].iter_errors(content))
    if error:
        place = "/".join(map(str, error.absolute_path))
        print(f"{path}: {place}: {error.message[:200]}")
