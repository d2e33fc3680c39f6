#!/usr/bin/env python3
"""Spilled bytes of real kernels: evocc beside random search and Optuna over the same controls.

usage: bench_search_spills.py [-m METRIC] [-t TRIALS] [-s FIRST-LAST] METHOD[,METHOD...] KERNEL.ptx...
       defaults: spill_bytes, 488 trials, seeds 1-5
       SPILLS=build/release/bench/bench_search_spills, which compiles; ptxas as evocc finds it
Needs: python3 -m venv V && V/bin/pip install optuna && V/bin/python bench_search_spills.py ...

Prints `file method seed best@20 best@50 best@100 best@200 best@488 first trials proposals`: `first` is
the trial with which the best came (the baseline is trial 1 of all). A run ends at 0 bytes: there is
nothing better.

Rules, the same for all: controls, values and evaluation are those of a study. A candidate proposed
again costs no trial; neither does one that the space forbids, and Optuna is told so by its
constraints_func. One that does not compile is a trial without a number (Optuna: FAIL).

  evocc            the engine at its defaults
  random           the engine's own sampler, which knows how often a control is better left alone
  random-uniform   every value of every control alike, as who lists the controls would begin
  optuna-...       categorical parameters, the default one of the values; at its defaults
  ...-told         the first 32 trials are the baseline and 31 candidates of evocc's sampler
"""
import os
import random
import subprocess
import sys
import time
import warnings

warnings.filterwarnings("ignore")
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAM = os.environ.get("SPILLS", os.path.join(ROOT, "build/release/bench/bench_search_spills"))
CHECKPOINTS = (20, 50, 100, 200, 488)
PROPOSALS = 20  # times the trials: who proposes more is stopped


class Finished(Exception):
    pass


class Kernel:
    """The program that compiles, and what it says of the controls."""

    def __init__(self, path, metric):
        self.name = os.path.basename(path)
        self.process = subprocess.Popen([PROGRAM, path, metric], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.controls = [line.split(" ") for line in self.ask_block("controls")]
        self.known = {}

    def ask(self, request):
        self.process.stdin.write(request + "\n")
        self.process.stdin.flush()
        return self.read()

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{PROGRAM} ended")
        return line.rstrip("\n")

    def ask_block(self, request):
        line = self.ask(request)
        while line:
            yield line
            line = self.read()

    def samples(self, seed, count):
        return [self.ask(f"sample {seed} {count}")] + [self.read() for _ in range(count - 1)]

    def measure(self, candidate):
        """(canonical candidate, value or None); None: forbidden."""
        if candidate not in self.known:
            self.known[candidate] = parse(self.ask("measure " + candidate))
        return self.known[candidate]


def parse(answer):
    kind, _, rest = answer.partition(" ")
    if kind == "forbidden":
        return None
    value, _, candidate = rest.partition(" ")
    return candidate, float(value) if kind == "ok" else None


class Run:
    """Counts trials and keeps the curve."""

    def __init__(self, kernel, seed, trials):
        self.kernel, self.seed, self.trials = kernel, seed, trials
        self.curve, self.seen, self.best, self.proposals = [], {}, float("inf"), 0

    def note(self, candidate, value):
        if candidate in self.seen:
            return
        self.seen[candidate] = value
        if value is not None:
            self.best = min(self.best, value)
        self.curve.append(self.best)
        if len(self.curve) >= self.trials or self.best == 0:
            raise Finished

    def __call__(self, candidate):
        """(allowed, value or None)."""
        self.proposals += 1
        if self.proposals > PROPOSALS * self.trials:
            raise Finished
        answer = self.kernel.measure(candidate)
        if answer is None:
            return False, None
        self.note(*answer)
        return True, answer[1]

    def row(self):
        at = [self.curve[min(c, len(self.curve)) - 1] for c in CHECKPOINTS if c <= self.trials]
        first = self.curve.index(self.best) + 1
        return [f"{v:.0f}" for v in at] + [first, len(self.curve), self.proposals]


def run_evocc(run, _):
    for answer in run.kernel.ask_block(f"search {run.seed} {run.trials}"):
        run.proposals += 1
        try:
            run.note(*parse(answer))
        except Finished:
            pass  # the program ends by the same rule


def run_random(run, _):
    run("")
    for candidate in run.kernel.samples(run.seed, 2 * run.trials):
        run(candidate)


def text_of(kernel, values):
    words = [f"{name}={value}" for (name, *_), value in zip(kernel.controls, values) if value != "absent"]
    return " ".join(words)


def run_uniform(run, _):
    generator = random.Random(run.seed)
    run("")
    while True:
        run(text_of(run.kernel, [generator.choice(values) for _, *values in run.kernel.controls]))


def run_optuna(run, setup):
    import optuna

    make, told = setup
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = make(optuna, run.seed, lambda trial: (trial.user_attrs["forbidden"],))
    study = optuna.create_study(sampler=sampler)
    controls = run.kernel.controls
    for candidate in [""] + (run.kernel.samples(run.seed, 31) if told else []):
        given = dict(word.rsplit("=", 1) for word in candidate.split())
        study.enqueue_trial({name: given.get(name, values[0]) for name, *values in controls})
    while True:
        trial = study.ask()
        values = [trial.suggest_categorical(name, values) for name, *values in controls]
        trial.set_user_attr("forbidden", 0.0)
        allowed, value = run(text_of(run.kernel, values))
        trial.set_user_attr("forbidden", -1.0 if allowed else 1.0)
        if allowed and value is None:
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
        else:
            study.tell(trial, value if allowed else 1e9)


def tpe(startup):
    return lambda optuna, seed, constraints: optuna.samplers.TPESampler(
        seed=seed, n_startup_trials=startup, constraints_func=constraints)


def nsga2(population):
    return lambda optuna, seed, constraints: optuna.samplers.NSGAIISampler(
        seed=seed, population_size=population, constraints_func=constraints)


METHODS = {
    "evocc": (run_evocc, None),
    "random": (run_random, None),
    "random-uniform": (run_uniform, None),
    "optuna-tpe": (run_optuna, (tpe(10), False)),
    "optuna-tpe-told": (run_optuna, (tpe(32), True)),
    "optuna-nsga2": (run_optuna, (nsga2(50), False)),
    "optuna-nsga2-32-told": (run_optuna, (nsga2(32), True)),
}


def main():
    settings = {"-m": "spill_bytes", "-t": "488", "-s": "1-5"}
    words = sys.argv[1:]
    while len(words) > 1 and words[0] in settings:
        settings[words[0]] = words[1]
        words = words[2:]
    if len(words) < 2:
        sys.exit(__doc__)
    first, last = (int(seed) for seed in settings["-s"].split("-"))
    kernels = [Kernel(path, settings["-m"]) for path in words[1:]]
    for seed in range(first, last + 1):
        for method in words[0].split(","):
            function, setup = METHODS[method]
            for kernel in kernels:
                run = Run(kernel, seed, int(settings["-t"]))
                begin = time.monotonic()
                try:
                    function(run, setup)
                except Finished:
                    pass
                print(kernel.name, method, seed, *run.row(), f"{time.monotonic() - begin:.0f} s",
                      sep="\t", flush=True)


main()
