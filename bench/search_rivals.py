#!/usr/bin/env python3
"""Ask and tell pairs a CPU second of other optimizers, over the space and metric of bench_search.

usage: search_rivals.py [CONTROLS TRIALS]       default: 40 1000
Needs: python3 -m venv V && V/bin/pip install optuna pymoo nevergrad && V/bin/python search_rivals.py
"""
import sys
import time
import warnings

import numpy as np

warnings.filterwarnings("ignore")


def sizes(controls):
    return [4 if i % 5 else 10 for i in range(controls)]


def measure(genes):
    return float(sum((x - i % 4) ** 2 for i, x in enumerate(genes)))


def run_optuna(name, controls, trials):
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = {"tpe": optuna.samplers.TPESampler, "nsga2": optuna.samplers.NSGAIISampler}[name](seed=1)
    study = optuna.create_study(sampler=sampler)
    for _ in range(trials):
        trial = study.ask()
        genes = [trial.suggest_int(f"c{i}", 0, n - 1) for i, n in enumerate(sizes(controls))]
        study.tell(trial, measure(genes))


def run_pymoo(name, controls, trials):
    from pymoo.algorithms.soo.nonconvex.ga import GA
    from pymoo.core.problem import Problem
    from pymoo.operators.crossover.sbx import SBX
    from pymoo.operators.mutation.pm import PM
    from pymoo.operators.repair.rounding import RoundingRepair
    from pymoo.operators.sampling.rnd import IntegerRandomSampling
    from pymoo.optimize import minimize

    class Sum(Problem):
        def _evaluate(self, x, out, *args, **kwargs):
            out["F"] = np.array([[measure(row)] for row in x])

    problem = Sum(n_var=controls, n_obj=1, xl=0, xu=np.array(sizes(controls)) - 1, vtype=int)
    repair = RoundingRepair()
    algorithm = GA(
        pop_size=32, n_offsprings=24, sampling=IntegerRandomSampling(),
        crossover=SBX(prob=1.0, eta=3.0, vtype=float, repair=repair),
        mutation=PM(prob=1.0, eta=3.0, vtype=float, repair=repair), eliminate_duplicates=True,
    )
    minimize(problem, algorithm, ("n_eval", trials), seed=1)


def run_nevergrad(name, controls, trials):
    import nevergrad

    genes = nevergrad.p.Tuple(
        *(nevergrad.p.TransitionChoice(list(range(n))) for n in sizes(controls))
    )
    genes.random_state.seed(1)
    optimizer = nevergrad.optimizers.registry[name](parametrization=genes, budget=trials)
    for _ in range(trials):
        candidate = optimizer.ask()
        optimizer.tell(candidate, measure(candidate.value))


RUNS = (
    ("pymoo GA", run_pymoo, "ga"),
    ("nevergrad OnePlusOne", run_nevergrad, "DiscreteOnePlusOne"),
    ("nevergrad DE", run_nevergrad, "DE"),
    ("Optuna NSGA-II", run_optuna, "nsga2"),
    ("Optuna TPE", run_optuna, "tpe"),
)


def main():
    controls, trials = (int(a) for a in sys.argv[1:3]) if len(sys.argv) > 2 else (40, 1000)
    for title, run, name in RUNS:
        run(name, controls, 50)  # imports and first calls
        start = time.process_time()
        run(name, controls, trials)
        print(f"{title:24} {trials / (time.process_time() - start):10.0f} pairs/s", flush=True)


main()
