#!/usr/bin/env python3
"""What the spine must show, on this machine: prints Markdown for docs/benchmarks.md.

usage: bench/spine.py [spills] [same] [workers] [overhead]       (default: all)
       EVOCC=build/release/bin/evocc, ptxas as evocc finds it; python3 alone, no packages
       RUNS=3: how often overhead is measured

  spills    attention files, three seeds: spilled bytes before and after, by the study and by ptxas -v
            under the wrapper
  same      the code of the wrapper's cubin is that of the study's best trial, byte for byte
  workers   the same trials with 1 and with 8 workers
  overhead  wall time of a study against the same compilations, generation by generation, by xargs -P;
            for fewer bytes of code, as a search for spilled bytes ends when none are left
"""
import json
import os
import re
import shlex
import shutil
import sqlite3
import statistics
import struct
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
EVOCC = os.environ.get("EVOCC", os.path.join(ROOT, "build/release/bin/evocc"))
SMALL = os.path.join(ROOT, "examples/triton_attention_128x64_w4_sm90a.ptx")
LARGE = os.path.join(ROOT, "examples/triton_attention_128x128_w4_sm90a.ptx")
ARCH = "sm_90a"


def run(*argv, **options):
    done = subprocess.run([str(a) for a in argv], capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(map(str, argv))}: exit {done.returncode}\n{done.stderr}")
    return done


class Study:
    """One finished `evocc tune`; its files live in a folder."""

    def __init__(self, folder, kernel, *options, objective="spill_bytes"):
        self.kernel = kernel
        self.db = os.path.join(folder, "study.db")
        self.acf = os.path.join(folder, "best.acf")
        begin = time.monotonic()
        done = run(EVOCC, "tune", kernel, "--arch", ARCH, "--minimize", objective, "--study",
                   self.db, "-o", self.acf, "--json", "--quiet", *options)
        self.wall_s = time.monotonic() - begin
        self.result = json.loads(done.stdout)

    def query(self, text):
        with sqlite3.connect(f"file:{self.db}?mode=ro", uri=True) as connection:
            return connection.execute(text).fetchall()

    def spilled(self):
        """(trial, spilled bytes) of all valid trials in the order of the trials."""
        return self.query("SELECT t.id, m.value FROM trial t JOIN metric m ON m.trial = t.id"
                          " WHERE m.name = 'spill_bytes' AND t.outcome = 'ok' ORDER BY t.id")

    def best(self):
        """(trial, candidate, code hash) of the trial that the ACF was made from."""
        trial = self.result["best"]["trial"]
        return self.query(f"SELECT id, candidate, code_hash FROM trial WHERE id = {int(trial)}")[0]


def spills_by_ptxas(kernel, output, *options):
    said = run(EVOCC, "ptxas", *options, "-v", f"-arch={ARCH}", kernel, "-o", output).stderr
    found = re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", said)
    return int(found[1]) + int(found[2])


def sections(path):
    """Name to contents of an ELF file's sections (64-bit, little-endian: a cubin)."""
    data = open(path, "rb").read()
    offset, = struct.unpack_from("<Q", data, 0x28)
    size, count, names = struct.unpack_from("<HHH", data, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", data, offset + i * size) for i in range(count)]
    table = headers[names][4]
    found = {}
    for name, kind, _, _, at, length in headers:
        end = data.index(b"\0", table + name)
        found[data[table + name:end].decode()] = b"" if kind == 8 else data[at:at + length]
    return found


def with_folder(function):
    def wrapped():
        with tempfile.TemporaryDirectory(prefix="evocc-bench.") as folder:
            function(folder)
    return wrapped


@with_folder
def spills(folder):
    print("| file | seed | baseline | best | first trial at the best | by ptxas -v | seconds |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for kernel in (SMALL, LARGE):
        for seed in (1, 2, 3):
            place = tempfile.mkdtemp(dir=folder)
            study = Study(place, kernel, "--seed", seed)
            rows = study.spilled()
            best = min(value for _, value in rows)
            first = min(trial for trial, value in rows if value == best)
            cubin = os.path.join(place, "out.cubin")
            before = spills_by_ptxas(kernel, cubin)
            after = spills_by_ptxas(kernel, cubin, "--apply-controls", study.acf)
            print(f"| {os.path.basename(kernel)} | {seed} | {rows[0][1]:.0f} | {best:.0f} | {first} |"
                  f" {before} -> {after} | {study.wall_s:.0f} |", flush=True)


@with_folder
def same(folder):
    study = Study(folder, SMALL, "--seed", 1)
    trial, candidate, code_hash = study.best()
    wrapper = os.path.join(folder, "wrapper.cubin")
    again = os.path.join(folder, "study.cubin")
    run(EVOCC, "ptxas", "--apply-controls", study.acf, f"-arch={ARCH}", SMALL, "-o", wrapper)
    said = run(EVOCC, "compile", SMALL, "--arch", ARCH, "--with", candidate, "-o", again, "--json")
    equal_hash = json.loads(said.stdout)["code_hash"] == code_hash
    ours, theirs = sections(wrapper), sections(again)
    different = sorted(name for name in ours.keys() | theirs.keys()
                       if ours.get(name) != theirs.get(name))
    code = [name for name in ours if name.startswith((".text.", ".nv.constant"))]
    equal_code = code and not set(code) & set(different)
    print(f"Trial {trial}: `{candidate}`\n")
    print(f"Code hash stored by the study and of the same candidate compiled again: "
          f"{'equal' if equal_hash else 'DIFFERENT'}. Code and constants of the wrapper's cubin and of "
          f"that one ({', '.join(sorted(code))}): "
          f"{'equal byte for byte' if equal_code else 'DIFFERENT'}. Other sections that differ: "
          f"{', '.join(different) or 'none'}.")


@with_folder
def workers(folder):
    text = ("SELECT t.id, t.generation, t.outcome, t.candidate, t.code_hash, t.shared, m.name, m.value"
            " FROM trial t LEFT JOIN metric m ON m.trial = t.id AND m.name <> 'compile_time'"
            " ORDER BY t.id, m.position")
    rows = []
    for count in (1, 8):
        place = tempfile.mkdtemp(dir=folder)
        rows.append(Study(place, SMALL, "--seed", 7, "--workers", count,
                          objective="code_bytes").query(text))
    different = sum(a != b for a, b in zip(*rows)) + abs(len(rows[0]) - len(rows[1]))
    trials = len({row[0] for row in rows[0]})
    print(f"{trials} trials, rows that differ between 1 and 8 workers (all metrics but compile_time): "
          f"{different}")


SHIM = """#!/bin/sh
# Records each compilation of a module as large as the kernel, then is ptxas.
stamp=$(date +%s%N)-$$
for word in "$@"; do
    case $word in
    *.ptx) [ "$(wc -c <"$word")" -gt {size} ] && cp "$word" {record}/$stamp.ptx && {{
        for word in "$@"; do printf '%s\\n' "$word"; done >{record}/$stamp.argv; }} ;;
    esac
done
exec {ptxas} "$@"
"""


def record_compilations(folder, ptxas):
    """One study through a recording ptxas: the argv of its compilations, in order."""
    record = os.path.join(folder, "record")
    os.mkdir(record)
    shim = os.path.join(folder, "ptxas")
    with open(shim, "w") as file:
        file.write(SHIM.format(size=os.path.getsize(SMALL) // 2, record=record, ptxas=ptxas))
    os.chmod(shim, 0o755)
    study = Study(folder, SMALL, "--seed", 1, "--ptxas", shim, objective="code_bytes")
    searched = int(study.query("SELECT value FROM setting WHERE name = 'generations'")[0][0])
    generations = []
    for generation, size in study.query(
            "SELECT generation, count(*) FROM trial GROUP BY generation ORDER BY generation"):
        # Behind the search each trial waits for the one before: it leaves a control out, or not.
        generations += [size] if generation < searched else [1] * size
    lines = []
    for name in sorted(n for n in os.listdir(record) if n.endswith(".argv")):
        words = open(os.path.join(record, name)).read().splitlines()
        stem = os.path.join(record, name[:-5])
        for i, word in enumerate(words):
            if word.endswith(".ptx"):
                words[i] = stem + ".ptx"
            elif i > 0 and words[i - 1] == "-o":
                words[i] = stem + ".cubin"
        lines.append(shlex.join(words))
    return lines, generations


def xargs_s(ptxas, lines, generations, count):
    """Seconds of the compilations, cut into as many parts as there were generations: a part is a
    generation's share of all trials, as trials that were compiled before are no compilations."""
    begin = time.monotonic()
    at = trials = 0
    for size in generations:
        trials += size
        end = round(len(lines) * trials / sum(generations))
        # ptxas fails with status 255, on which xargs would leave out the rest.
        subprocess.run(["xargs", "-r", "-P", str(count), "-L", "1", "sh", "-c", '"$0" "$@" || :', ptxas],
                       text=True, check=True, input="".join(line + "\n" for line in lines[at:end]),
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        at = end
    return time.monotonic() - begin


@with_folder
def overhead(folder):
    ptxas = json.loads(run(EVOCC, "doctor", "--json").stdout)["ptxas"]["text"].split(",")[0]
    lines, generations = record_compilations(folder, ptxas)
    count = os.cpu_count()
    ours, theirs = [], []
    runs = int(os.environ.get("RUNS", "3"))
    for _ in range(runs):
        place = tempfile.mkdtemp(dir=folder)
        ours.append(
            Study(place, SMALL, "--seed", 1, "--workers", count, objective="code_bytes").wall_s)
        shutil.rmtree(place)
        theirs.append(xargs_s(ptxas, lines, generations, count))
    print(f"{sum(generations)} trials, {len(lines)} compilations, {count} at a time, medians of {runs} runs in "
          f"turn: evocc tune {statistics.median(ours):.2f} s, xargs -P {statistics.median(theirs):.2f} s,"
          f" ratio {statistics.median(ours) / statistics.median(theirs):.3f}")


def main():
    parts = {"spills": spills, "same": same, "workers": workers, "overhead": overhead}
    chosen = sys.argv[1:] or list(parts)
    for name in chosen:
        if name not in parts:
            sys.exit(__doc__)
    for name in chosen:
        print(f"### {name}\n", flush=True)
        parts[name]()
        print(flush=True)


main()
