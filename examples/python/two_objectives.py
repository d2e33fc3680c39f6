"""Two objectives at odds: the results are a front, and one point of it that is a fair bargain."""

import evocc
from evocc import space


def objective(p):
    speed = p["threads"] ** 0.8 * (1.3 if p["cache"] else 1.0)
    watts = 20 + 3 * p["threads"] + (15 if p["cache"] else 0)
    return speed, watts


config = evocc.SearchConfig(problem_type=["max", "min"], num_objectives=2, generations=10)
results = evocc.Search(objective, {"threads": space.range(1, 64),
                                   "cache": space.choice([False, True])}, config).start()
print(f"{len(results.pareto_front())} points; the fair bargain:", results.get_best_result()["params"])
