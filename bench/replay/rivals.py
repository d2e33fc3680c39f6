#!/usr/bin/env python3
"""Replays recorded spaces (the text of convert.py) with the searches that people use today.

usage: rivals.py [-2] METHOD[,METHOD...] FIRST-LAST TRIALS FILE.txt... > results.tsv
       the seeds run from FIRST to LAST
  -2   two objectives, mean time and compile time, without noise; the score is the volume dominated up
       to the medians, as a share of what the exact front dominates

Needs: python3 -m venv V && V/bin/pip install optuna pymoo kernel_tuner && V/bin/python rivals.py ...

Prints `space method seed share@100 share@200 share@500` (as far as TRIALS reaches): the true mean of
the best configuration found so far as a share of the optimum. The rules are those of replay.c:
  - the number that a trial sees is one raw repeat, drawn by (seed, configuration);
  - a failed configuration is a trial without a number;
  - a configuration outside the recording is forbidden: it costs no trial, and the method is told so in
    the way it has for constraints;
  - a configuration proposed again costs no trial either and gets the number it got before.
A method that proposes more than 20 times as much as it may try is stopped.
"""
import random
import sys
import warnings

import numpy as np

warnings.filterwarnings("ignore")
MASK = (1 << 64) - 1
CHECKPOINTS = (100, 200, 500)


def mix(z):
    """The finaliser of SplitMix64, as in replay.c."""
    z = (z + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


class Space:
    def __init__(self, path):
        self.parameters, self.index, self.times, self.configs = [], {}, [], []
        self.compile_times = []
        with open(path) as stream:
            for line in stream:
                words = line.split()
                if words[0] == "space":
                    self.name = words[1]
                elif words[0] == "parameter":
                    self.parameters.append((words[1], words[2:]))
                else:
                    config = tuple(int(i) for i in words[1].split(","))
                    self.index[config] = len(self.configs)
                    self.configs.append(config)
                    self.compile_times.append(float(words[3]))
                    self.times.append(np.array(words[4:], dtype=float) if words[2] == "ok" else None)
        self.sizes = [len(values) for _, values in self.parameters]
        self.means = [None if t is None else t.mean() for t in self.times]
        self.optimum = min(m for m in self.means if m is not None)
        ok = [(m, c) for m, c in zip(self.means, self.compile_times) if m is not None]
        self.medians = [sorted(p[k] for p in ok)[len(ok) // 2] for k in (0, 1)]
        self.exact = self.volume(ok)

    def volume(self, points):
        """What points dominate up to the medians."""
        total, least = 0.0, self.medians[1]
        for x, y in sorted(points):
            if x < self.medians[0] and y < least:
                total += (self.medians[0] - x) * (least - y)
                least = y
        return total


class Finished(Exception):
    pass


class Replay:
    """One run: evaluates, counts, and keeps the score."""

    objectives = 1

    def __init__(self, space, seed, trials):
        self.space, self.seed, self.trials = space, seed, trials
        self.known, self.best, self.best_share, self.shares = {}, None, 0.0, []
        self.proposals = 0

    def allowed(self, config):
        return tuple(config) in self.space.index

    def __call__(self, config):
        """A tuple of numbers; None: failed. Raises Finished when the budget is spent."""
        self.proposals += 1
        if len(self.shares) >= self.trials or self.proposals > 20 * self.trials:
            raise Finished
        i = self.space.index.get(tuple(config))
        if i is None or i in self.known:
            return self.known.get(i)
        self.known[i] = None if self.space.times[i] is None else self.measure(i)
        self.shares.append(self.best_share)
        return self.known[i]

    def measure(self, i):
        times = self.space.times[i]
        value = times[mix(mix(self.seed) ^ i) % len(times)]
        if self.best is None or value < self.best:
            self.best = value
            self.best_share = self.space.optimum / self.space.means[i]
        return (value,)


class ReplayOfTwo(Replay):
    objectives = 2

    def measure(self, i):
        self.best = (self.best or []) + [(self.space.means[i], self.space.compile_times[i])]
        self.best_share = self.space.volume(self.best) / self.space.exact
        return self.best[-1]


def run_random(replay, _):
    order = list(replay.space.configs)
    random.Random(replay.seed).shuffle(order)
    for config in order:
        replay(config)


def run_optuna(replay, sampler):
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(directions=["minimize"] * replay.objectives, sampler=sampler(replay.seed, lambda t: (t.user_attrs["c"],)))
    while True:
        trial = study.ask()
        config = tuple(
            trial.suggest_int(name, 0, len(values) - 1)
            if len(values) > 2
            else trial.suggest_categorical(name, list(range(len(values))))
            for name, values in replay.space.parameters
        )
        allowed = replay.allowed(config)
        trial.set_user_attr("c", -1.0 if allowed else 1.0)
        value = replay(config)
        if allowed and value is None:
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
        else:
            study.tell(trial, value or [1e9] * replay.objectives)


def tpe(startup):
    def make(seed, constraints):
        import optuna

        return optuna.samplers.TPESampler(
            seed=seed, n_startup_trials=startup, constraints_func=constraints
        )

    return make


def optuna_nsga2(population):
    def make(seed, constraints):
        import optuna

        return optuna.samplers.NSGAIISampler(
            seed=seed, population_size=population, constraints_func=constraints
        )

    return make


def run_pymoo(replay, setup):
    from pymoo.algorithms.moo.nsga2 import NSGA2
    from pymoo.algorithms.moo.nsga3 import NSGA3
    from pymoo.algorithms.soo.nonconvex.ga import GA
    from pymoo.core.problem import Problem
    from pymoo.operators.crossover.sbx import SBX
    from pymoo.operators.mutation.pm import PM
    from pymoo.operators.repair.rounding import RoundingRepair
    from pymoo.optimize import minimize
    from pymoo.util.ref_dirs import get_reference_directions

    name, population = setup
    space = replay.space

    class Recorded(Problem):
        def __init__(self):
            super().__init__(
                n_var=len(space.sizes), n_obj=replay.objectives, n_ieq_constr=1, xl=0,
                xu=np.array(space.sizes) - 1, vtype=int,
            )

        def _evaluate(self, x, out, *args, **kwargs):
            f, g = [], []
            for row in x:
                config = tuple(int(v) for v in row)
                value = replay(config)
                g.append(-1.0 if replay.allowed(config) else 1.0)
                f.append(value or [1e9] * replay.objectives)
            out["F"], out["G"] = np.array(f), np.array(g)[:, None]

    # The integer recipe of pymoo's documentation; the first population is drawn from what is allowed.
    first = np.array(random.Random(replay.seed).sample(space.configs, population))
    extra = {}
    if name == "nsga3":
        extra["ref_dirs"] = get_reference_directions("das-dennis", 2, n_partitions=population - 1)
    algorithm = {"ga": GA, "nsga2": NSGA2, "nsga3": NSGA3}[name](
        pop_size=population, sampling=first,
        crossover=SBX(prob=1.0, eta=3.0, vtype=float, repair=RoundingRepair()),
        mutation=PM(prob=1.0, eta=3.0, vtype=float, repair=RoundingRepair()),
        eliminate_duplicates=True, **extra,
    )
    minimize(Recorded(), algorithm, ("n_gen", 100000), seed=replay.seed, verbose=False)


class KernelTunerCost:
    """Stands in for kernel_tuner's CostFunc, which would compile and run."""

    replay = None

    def __init__(self, searchspace, tuning_options, runner):
        self.searchspace, self.results = searchspace, []

    def get_start_pos(self):
        return list(self.searchspace.get_random_sample(1)[0])

    def eval_all(self, population, check_restrictions=True):
        values = [KernelTunerCost.replay(dna) for dna in population]
        return [sys.float_info.max if v is None else v[0] for v in values]


def run_kernel_tuner(replay, population):
    from types import SimpleNamespace

    from kernel_tuner.searchspace import Searchspace
    from kernel_tuner.strategies import genetic_algorithm

    space = replay.space
    if not hasattr(space, "kernel_tuner"):
        cache = {",".join(map(str, c)): dict(zip((n for n, _ in space.parameters), c)) for c in space.configs}
        space.kernel_tuner = Searchspace(
            None, None, None,
            from_cache={
                "tune_params": {n: list(range(len(v))) for n, v in space.parameters},
                "tune_params_keys": [n for n, _ in space.parameters],
                "cache": cache,
            },
        )
    random.seed(replay.seed)
    np.random.seed(replay.seed)
    KernelTunerCost.replay = replay
    genetic_algorithm.CostFunc = KernelTunerCost
    options = {} if population is None else {"popsize": population}
    options["maxiter"] = 100000
    genetic_algorithm.tune(
        space.kernel_tuner, None, SimpleNamespace(strategy_options=options, verbose=False)
    )


METHODS = {
    "random": (run_random, None),
    "optuna-tpe": (run_optuna, tpe(10)),
    "optuna-tpe-32": (run_optuna, tpe(32)),
    "optuna-nsga2": (run_optuna, optuna_nsga2(50)),
    "optuna-nsga2-32": (run_optuna, optuna_nsga2(32)),
    "pymoo-ga": (run_pymoo, ("ga", 100)),
    "pymoo-ga-32": (run_pymoo, ("ga", 32)),
    "pymoo-nsga2": (run_pymoo, ("nsga2", 100)),
    "pymoo-nsga2-32": (run_pymoo, ("nsga2", 32)),
    "pymoo-nsga3": (run_pymoo, ("nsga3", 100)),
    "pymoo-nsga3-32": (run_pymoo, ("nsga3", 32)),
    "kernel-tuner-ga": (run_kernel_tuner, None),
    "kernel-tuner-ga-32": (run_kernel_tuner, 32),
}


def main():
    replay_kind = ReplayOfTwo if "-2" in sys.argv[1:2] else Replay
    sys.argv[1:2] = [a for a in sys.argv[1:2] if a != "-2"]
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    first, last = (int(seed) for seed in sys.argv[2].split("-"))
    trials = int(sys.argv[3])
    for path in sys.argv[4:]:
        space = Space(path)
        for method in sys.argv[1].split(","):
            run, setup = METHODS[method]
            for seed in range(first, last + 1):
                replay = replay_kind(space, seed, trials)
                try:
                    run(replay, setup)
                except Finished:
                    pass
                shares = replay.shares + [replay.best_share] * (trials - len(replay.shares))
                cells = [f"{shares[c - 1]:.6f}" for c in CHECKPOINTS if c <= trials]
                print(space.name, method, seed, *cells, len(replay.shares), replay.proposals,
                      sep="\t", flush=True)


main()
