"""What a search found."""

from __future__ import annotations

import csv
import html
import json
from typing import Any

from . import _native
from .space import CompilerCandidate, Space

__all__ = ["Results", "read_study"]


class Results:
    """The trials of a study. Rows are dictionaries: "trial", "generation", "outcome", "params",
    "score_1", ... (None unless the outcome is "ok"), "detail", "wall_s", and further metrics by name.

    In a notebook it shows the report, drawings included.
    """

    def __init__(self, study: _native.Study, space: Space | None, config: Any = None):
        self._study, self._space, self._config = study, space, config
        self._json = json.loads(study.report("json"))
        self._rows = [self._row(t) for t in study.trials()]
        self._by_id = {row["trial"]: row for row in self._rows}

    def _row(self, trial: dict[str, Any]) -> dict[str, Any]:
        row: dict[str, Any] = {"trial": trial["id"], "generation": trial["generation"],
                               "outcome": trial["outcome"], "params": self._params(trial)}
        for name in self.score_names:
            row[name] = None
        row.update(trial["metrics"])
        row["detail"], row["wall_s"] = trial["detail"], trial["wall_s"]
        return row

    def _params(self, trial: dict[str, Any]) -> dict[str, Any]:
        if self._space is not None:
            return self._space.params(self._space.native.genes(trial["candidate"]))
        return dict(word.split("=", 1) for word in trial["candidate"].split())

    @property
    def score_names(self) -> list[str]:
        return [o["metric"] for o in self._json["objectives"]]

    def __len__(self) -> int:
        return len(self._rows)

    # ---- Looking

    def get_best_result(self) -> dict[str, Any] | None:
        """The best row: of several objectives the point of the front with the greatest weighted mean
        gain over the baseline. None: no trial was valid."""
        best = self._json["best"]
        return None if best is None else dict(self._by_id[best["trial"]])

    def pareto_front(self) -> list[dict[str, Any]]:
        """The rows that no other is better than, by rising trial."""
        return [dict(self._by_id[point["trial"]]) for point in self._json["front"]]

    def get_results(self) -> Any:
        """All rows: a pandas.DataFrame where pandas is installed, else a list."""
        try:
            import pandas
        except ImportError:
            return [dict(row) for row in self._rows]
        return pandas.DataFrame(self._flat_rows())

    def rows(self) -> list[dict[str, Any]]:
        """All rows, by rising trial."""
        return [dict(row) for row in self._rows]

    def candidate(self, row: dict[str, Any] | int) -> Any:
        """The candidate of a row, or of a trial number, as the objective was given it."""
        if self._space is None:
            raise ValueError("the space is not known: the study was opened for reading")
        id = row if isinstance(row, int) else row["trial"]
        for trial in self._study.trials():
            if trial["id"] == id:
                return self._space.candidate(self._space.native.genes(trial["candidate"]))
        raise LookupError(f"there is no trial {id}")

    def importance(self, objective: int = 0) -> dict[str, float]:
        """How much each parameter matters by itself, 0 to 1, as far as the trials tell."""
        assert self._space is not None
        names = [self._space.native.control(i)[0] for i in range(len(self._space))]
        return dict(zip(names, self._study.importance(objective)))

    @property
    def summary(self) -> dict[str, Any]:
        """What `evocc report --json` prints."""
        return self._json

    def __str__(self) -> str:
        return self._study.report("table")

    # ---- Keeping

    def save(self, path: Any) -> None:
        """The best candidate: of a compiler as a controls file (.acf), else its parameters as JSON."""
        best = self.get_best_result()
        if best is None:
            raise ValueError("no trial was valid: there is nothing to save")
        candidate = self.candidate(best) if self._space is not None else None
        parts = candidate if isinstance(candidate, list) else [candidate]
        compilers = [p for p in parts if isinstance(p, CompilerCandidate) and hasattr(p, "save")]
        if str(path).endswith(".acf"):
            if len(compilers) != 1:
                raise ValueError("a controls file is for one PTX file; name a .json file")
            compilers[0].save(path)
            return
        with open(path, "w", encoding="utf-8") as file:
            json.dump(best, file, indent=2, default=repr)
            file.write("\n")

    def _flat_rows(self) -> list[dict[str, Any]]:
        rows = []
        for row in self._rows:
            flat = {k: v for k, v in row.items() if k != "params"}
            flat.update(_flatten(row["params"], "params"))
            rows.append(flat)
        return rows

    def to_csv(self, path: Any) -> None:
        """All rows, one column a parameter: params.tile, params.epilogue.fused."""
        rows = self._flat_rows()
        columns = list(dict.fromkeys(name for row in rows for name in row))
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, columns)
            writer.writeheader()
            writer.writerows(rows)

    def report(self, path: Any) -> None:
        """The report as one page for a browser, drawings inside."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self._study.report("html"))

    def _repr_html_(self) -> str:
        page = html.escape(self._study.report("html"), quote=True)
        return f'<iframe srcdoc="{page}" style="width:100%;height:600px;border:0"></iframe>'


def _flatten(params: dict[str, Any], above: str) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in params.items():
        if isinstance(value, dict):
            flat.update(_flatten(value, f"{above}.{name}"))
        else:
            flat[f"{above}.{name}"] = value
    return flat


def read_study(path: Any) -> Results:
    """The results in any study file, those of ``evocc tune`` too, while it is being written and
    afterwards. Parameters are texts then, and defaults are left out."""
    return Results(_native.Study.read(path), None)
