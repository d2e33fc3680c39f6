#!/usr/bin/env python3
"""Object size of a C file under gcc's own controls: evocc, random search and Optuna's TPE.

    bench/program_size.py --evocc build/bin/evocc --trials 250 --seeds 3 examples/programs/lz.c ...

All three search the same controls with the same values (those that evocc keeps in its cache for
`gcc -Os`, less the ones that may change results) and spend the same number of compilations: as many as
evocc did in all, those of leaving controls out at its end included. Random
search leaves a control alone as often as evocc's own first pool does; Optuna (`pip install optuna`)
has "absent" as one more value. Size is what evocc calls code_bytes: text and data of size(1).
One line a search: file, method, seed, trials, bytes at -Os, best bytes, seconds.
"""
import argparse
import glob
import json
import os
import random
import subprocess
import sys
import tempfile
import time

KINDS = {1: "bool", 2: "choice", 3: "int", 4: "pow2"}


def read_controls(cache):
    """Name, values as words, share of candidates that leave it alone; exact ones only."""
    for path in glob.glob(os.path.join(cache, "evocc", "gcc-space-*")):
        lines = open(path, encoding="utf-8").read().splitlines()
        if lines[1].endswith(" -Os"):
            break
    else:
        sys.exit("no controls of gcc -Os in the cache: run evocc first")
    controls = []
    for line in lines[2:-1]:
        name, kind, low, high, step, choices, initial, numerics, _, option, _ = line.split("\t")
        if numerics != "0":
            continue
        kind, low, high, step = KINDS[int(kind)], int(low), int(high), int(step)
        if kind == "bool":
            values = ["false", "true"]
        elif kind == "choice":
            values = choices.split("|")
        elif kind == "int":
            values = [str(v) for v in range(low, high + 1, step)]
        else:
            values = [str(low << i) for i in range(40) if low << i <= high]
        words = {}
        for value in values:
            if value != initial:
                hole = value
                if kind == "bool":
                    hole = "no-" if value == "false" else ""
                words[value] = option.replace("{}", hole)
        knockout = 0.5 if name == "O" else 0.99 if name.startswith("param.") else 0.97
        controls.append((name, words, knockout))
    return controls


class Compiler:
    def __init__(self, source, folder):
        self.source, self.object = source, os.path.join(folder, "candidate.o")

    def size(self, words):
        """Bytes; None where it does not compile."""
        command = ["gcc", "-Os", *words, "-c", self.source, "-o", self.object]
        try:
            done = subprocess.run(command, capture_output=True, timeout=60)
        except subprocess.TimeoutExpired:
            return None
        if done.returncode != 0:
            return None
        out = subprocess.run(["size", self.object], capture_output=True, text=True, check=True)
        text, data = out.stdout.splitlines()[1].split()[:2]
        return int(text) + int(data)


def search_randomly(compiler, controls, trials, seed):
    rng = random.Random(seed)
    best = baseline = compiler.size([])
    for _ in range(trials - 1):
        words = [rng.choice(list(w.values())) for _, w, k in controls if w and rng.random() >= k]
        size = compiler.size(words)
        if size is not None and size < best:
            best = size
    return baseline, best


def search_with_optuna(compiler, controls, trials, seed):
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    baseline = compiler.size([])

    def objective(trial):
        words = []
        for name, w, _ in controls:
            value = trial.suggest_categorical(name, ["absent", *w])
            if value != "absent":
                words.append(w[value])
        size = compiler.size(words)
        if size is None:
            raise optuna.TrialPruned()
        return size

    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    study.enqueue_trial({name: "absent" for name, _, _ in controls})
    study.optimize(objective, n_trials=trials)
    return baseline, int(study.best_value)


def search_with_evocc(evocc, source, folder, trials, seed):
    program = os.path.join(folder, "size.yaml")
    with open(program, "w", encoding="utf-8") as out:
        out.write(
            "evocc-program: 1\ncompiler: gcc\nbase: [-Os]\nbuild:\n"
            f'  - ["{{compiler}}", "{{options}}", -c, "{os.path.abspath(source)}", -o, x.o]\n'
            "code: [x.o]\n"
        )
    generations = 1 + round((trials - 32) / 24)
    command = [evocc, "tune", program, "--minimize", "code_bytes", "--seed", str(seed), "--json"]
    command += ["--generations", str(generations), "-q", "--study", os.path.join(folder, "s.db")]
    command += ["-o", os.path.join(folder, "best.acf")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--evocc", required=True)
    parser.add_argument("--trials", type=int, default=248, help="32 + 24 n")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--methods", default="evocc,random,optuna")
    parser.add_argument("sources", nargs="+")
    options = parser.parse_args()
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    for source in options.sources:
        for seed in range(options.first_seed, options.first_seed + options.seeds):
            trials = options.trials
            for method in options.methods.split(","):
                with tempfile.TemporaryDirectory() as folder:
                    started = time.monotonic()
                    if method == "evocc":
                        found = search_with_evocc(
                            options.evocc, source, folder, options.trials, seed
                        )
                        result = size_of_report(found)
                        trials = found["trials"]
                    else:
                        controls = read_controls(cache)
                        compiler = Compiler(source, folder)
                        run = search_randomly if method == "random" else search_with_optuna
                        result = run(compiler, controls, trials, seed)
                    seconds = time.monotonic() - started
                print(
                    f"{os.path.basename(source)} {method} seed {seed} trials {trials} "
                    f"-Os {result[0]} best {result[1]} {seconds:.0f} s",
                    flush=True,
                )


def size_of_report(found):
    metric = "code_bytes"
    baseline = found["baseline"][metric]
    front = found.get("front") or []
    best = min([p["metrics"][metric] for p in front] + [baseline])
    return int(baseline), int(best)


if __name__ == "__main__":
    main()
