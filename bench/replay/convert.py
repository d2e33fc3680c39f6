#!/usr/bin/env python3
"""Turns recorded auto-tuning spaces (Kernel Tuner caches, gzip JSON) into the text that replay reads.

usage: convert.py OUTPUT_FOLDER FILE.json.gz...

The text, one item a line:
    space NAME
    parameter NAME VALUE...          parameters with a single value are left out
    config I,I,... ok COMPILE_MS TIME TIME...     indices of the values; all raw repeats, ms
    config I,I,... failed COMPILE_MS
A configuration without a line is forbidden by the kernel's constraints.
"""
import gzip
import json
import os
import sys


def load(path):
    with gzip.open(path, "rt") as stream:
        text = stream.read().rstrip().rstrip(",")
    for ending in ("", "}", "}}"):  # some files lack their closing braces
        try:
            return json.loads(text + ending)
        except json.JSONDecodeError:
            continue
    sys.exit(f"{path}: not a Kernel Tuner cache")


def convert(path, folder):
    data = load(path)
    name = os.path.basename(path).removesuffix(".json.gz")
    parameters = [(key, values) for key, values in data["tune_params"].items() if len(values) > 1]
    with open(os.path.join(folder, name + ".txt"), "w") as out:
        print("space", name, file=out)
        for key, values in parameters:
            print("parameter", key, *values, file=out)
        for config in data["cache"].values():
            indices = ",".join(str(values.index(config[key])) for key, values in parameters)
            compile_ms = config.get("compile_time") or 0
            if isinstance(config["time"], str):
                print("config", indices, "failed", compile_ms, file=out)
            else:
                print("config", indices, "ok", compile_ms, *config["times"], file=out)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    os.makedirs(sys.argv[1], exist_ok=True)
    for path in sys.argv[2:]:
        convert(path, sys.argv[1])


main()
