"""The smallest search: a function of two numbers and a word."""

import evocc
from evocc import space


def objective(p):
    return (p["x"] - 17) ** 2 + (p["y"] + 0.5) ** 2 + (0 if p["kind"] == "round" else 3)


search = evocc.Search(objective, {"x": space.range(0, 63), "y": space.range(-2.0, 2.0, 0.125),
                                  "kind": space.choice(["square", "round"])})
print(search.start().get_best_result()["params"])
