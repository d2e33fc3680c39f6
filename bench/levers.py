#!/usr/bin/env python3
"""What each kind of PTX control does to the machine code: prints Markdown for docs/benchmarks.md.

usage: bench/levers.py [-j JOBS] [-s SITES] [-k KIND[,KIND...]] [FILE.ptx...]
       EVOCC=build/release/bin/evocc, ptxas as evocc finds it; python3 alone, no packages

Every value of every entry-wide control, and SITES (default 6) single sites a kind with a value each,
drawn with a fixed seed, go through `evocc compile`. Per kind and file: candidates, different machine
codes other than the baseline's, and the least and most of registers, spilled bytes and code size.
Without files: the four of examples/. Below the table: values that move nothing in any file, and
values that are always the same code as another. Files of an older PTX are given .version 9.0 first, as
`frequency` needs it; that alone leaves the code as it is.
"""
import argparse
import concurrent.futures
import json
import os
import random
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
EVOCC = os.environ.get("EVOCC", os.path.join(ROOT, "build/release/bin/evocc"))
EXAMPLES = sorted(os.path.join(ROOT, "examples", name)
                  for name in os.listdir(os.path.join(ROOT, "examples")) if name.endswith(".ptx"))


def compile_one(path, candidate):
    """The metrics, or None where the candidate does not compile."""
    done = subprocess.run([EVOCC, "compile", path, "--allow-numerics", "--json", "--with", candidate],
                          capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else None


def controls_of(path):
    done = subprocess.run([EVOCC, "ptx", path, "--list-sites", "--allow-numerics", "--json"],
                          capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{path}: {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def raised(path, folder):
    """A copy of the file under the same name with .version 9.0 at least."""
    text = open(path).read()
    major = int(re.search(r"^\s*\.version\s+(\d+)", text, re.M)[1])
    if major < 9:
        text = re.sub(r"^(\s*\.version\s+)\d+\.\d+", r"\g<1>9.0", text, count=1, flags=re.M)
    copy = os.path.join(folder, os.path.basename(path))
    with open(copy, "w") as file:
        file.write(text)
    return copy


def kind_of(control):
    return control["name"].split("/")[1].split("@")[0]


def candidates_of(controls, sites):
    """{kind: [(value of the wide form or None, candidate)]}"""
    draw = random.Random(1)
    found, single = {}, {}
    for control in controls:
        entry = control["name"].split("@")[1]
        rows = found.setdefault(kind_of(control), [])
        if "." in entry:
            single.setdefault(kind_of(control), []).append(control)
        else:
            rows += [(value, f"{control['name']}={value}") for value in control["values"]]
    for kind, all_sites in single.items():
        for control in draw.sample(all_sites, min(sites, len(all_sites))):
            value = draw.choice([v for v in control["values"] if v not in ("off", "keep", "original")])
            found[kind].append((None, f"{control['name']}={value}"))
    return found


def span(values, form="{}"):
    low, high = min(values), max(values)
    return form.format(low) if low == high else f"{form.format(low)}..{form.format(high)}"


def describe(base, results):
    good = [r for r in results if r is not None]
    if not good:
        return f"{len(results)} failed"
    codes = {r["code_hash"] for r in good} - {base["code_hash"]}
    failed = f", {len(results) - len(good)} failed" if len(good) < len(results) else ""
    size = [100 * r["code_bytes"] / base["code_bytes"] - 100 for r in good]
    return (f"{len(codes)} of {len(results)}{failed}; reg {span([r['registers'] for r in good])}; "
            f"spill {span([r['spill_bytes'] for r in good])}; size {span(size, '{:+.0f}')} %")


def equal_values(hashes):
    """Groups of values with the same code in every file. hashes: {value: {path: code}}"""
    groups = {}
    for value, by_path in hashes.items():
        groups.setdefault(tuple(sorted(by_path.items())), []).append(value)
    return [group for group in groups.values() if len(group) > 1]


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("-j", type=int, default=2)
    parser.add_argument("-s", type=int, default=6)
    parser.add_argument("-k", default="")
    parser.add_argument("files", nargs="*", default=EXAMPLES)
    options = parser.parse_args()
    wanted = set(filter(None, options.k.split(",")))
    with tempfile.TemporaryDirectory(prefix="evocc-levers.") as folder:
        measure([raised(path, folder) for path in options.files], options, wanted)


def measure(files, options, wanted):
    base, table, order, hashes = {}, {}, [], {}
    with concurrent.futures.ThreadPoolExecutor(options.j) as pool:
        for path in files:
            base[path] = compile_one(path, "")
            if base[path] is None:
                sys.exit(f"{path}: the baseline does not compile")
            rows = candidates_of(controls_of(path), options.s)
            rows = {k: r for k, r in rows.items() if not wanted or k in wanted}
            for kind in rows:
                if kind not in order:
                    order.append(kind)
            jobs = {kind: [pool.submit(compile_one, path, c) for _, c in r]
                    for kind, r in rows.items()}
            for kind, r in rows.items():
                results = [job.result() for job in jobs[kind]]
                table[kind, path] = describe(base[path], results)
                print(f"{os.path.basename(path)} {kind}: {table[kind, path]}", file=sys.stderr, flush=True)
                for (value, _), result in zip(r, results):
                    if value is not None:
                        code = result["code_hash"] if result else "failed"
                        code = "baseline" if code == base[path]["code_hash"] else code
                        hashes.setdefault(kind, {}).setdefault(value, {})[path] = code
    names = [os.path.basename(p).removesuffix(".ptx") for p in files]
    print("| kind | " + " | ".join(names) + " |\n|" + " --- |" * (len(names) + 1))
    first = [f"reg {b['registers']}; spill {b['spill_bytes']}; {b['code_bytes']} bytes" for b in base.values()]
    print("| baseline | " + " | ".join(first) + " |")
    for kind in order:
        print(f"| {kind} | " + " | ".join(table.get((kind, p), "no site") for p in files) + " |")
    print("\nValues of the entry-wide form that leave the code as it is in every file:\n")
    for kind in order:
        still = [v for v, by in hashes.get(kind, {}).items() if set(by.values()) == {"baseline"}]
        print(f"- {kind}: {', '.join(still) if still else 'none'}")
    print("\nValues with the same code as each other in every file:\n")
    for kind in order:
        groups = [g for g in equal_values(hashes.get(kind, {}))
                  if set(hashes[kind][g[0]].values()) != {"baseline"}]
        if groups:
            print(f"- {kind}: " + "; ".join(" = ".join(g) for g in groups))


main()
