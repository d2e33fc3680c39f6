"""Who wants to know of trials as they end. Subclass Tracker; LoggingTracker and Progress are ready."""

from __future__ import annotations

import logging
import sys
import time
from typing import Any

__all__ = ["LoggingTracker", "Progress", "Tracker"]


class Tracker:
    """Called in the process that runs the search. An exception ends the search, with all finished
    trials kept."""

    def on_start(self, search: Any) -> None:
        """Before the first trial of a start()."""

    def on_trial(self, row: dict[str, Any], progress: dict[str, Any]) -> None:
        """After a trial was written down. row: trial, generation, outcome, params, score_1, ..., detail,
        wall_s. progress: asked, told, valid, budget, generation, generations, stale, diversity."""

    def on_end(self, progress: dict[str, Any]) -> None:
        """After the last, or when the search was stopped."""


class LoggingTracker(Tracker):
    """One line a trial to a logger: valid ones at `level`, the others as warnings."""

    def __init__(self, logger: logging.Logger | None = None, level: int = logging.INFO):
        self._logger, self._level = logger or logging.getLogger("evocc"), level

    def on_trial(self, row: dict[str, Any], progress: dict[str, Any]) -> None:
        if row["outcome"] == "ok":
            scores = ", ".join(f"{n}={v:.6g}" for n, v in row.items() if n.startswith("score_"))
            self._logger.log(self._level, "trial %d of %d: %s", row["trial"], progress["budget"],
                             scores)
        else:
            self._logger.warning("trial %d of %d: %s: %s", row["trial"], progress["budget"],
                                 row["outcome"], row["detail"])


class Progress(Tracker):
    """One line that is rewritten: on a terminal, or under a cell of a notebook; silent elsewhere."""

    def __init__(self, every_s: float = 0.2):
        self._every, self._last, self._display = every_s, 0.0, None
        self._best: float | None = None

    def on_start(self, search: Any) -> None:
        self._maximize = search.config._objectives()[0][1]
        self._last = 0.0
        if "ipykernel" in sys.modules:
            from IPython.display import display

            self._display = display({"text/plain": ""}, raw=True, display_id=True)

    def on_trial(self, row: dict[str, Any], progress: dict[str, Any]) -> None:
        score = row.get("score_1")
        if score is not None:
            better = max if self._maximize else min
            self._best = score if self._best is None else better(self._best, score)
        if time.monotonic() - self._last >= self._every:
            self._show(progress)

    def on_end(self, progress: dict[str, Any]) -> None:
        self._show(progress)
        if self._display is None and sys.stderr.isatty():
            print(file=sys.stderr)

    def _show(self, p: dict[str, Any]) -> None:
        self._last = time.monotonic()
        best = "none valid yet" if self._best is None else f"best {self._best:.6g}"
        text = (f"generation {p['generation'] + 1} of {p['generations']}, trial {p['told']} of "
                f"{p['budget']}, {p['valid']} valid, {best}")
        if self._display is not None:
            self._display.update({"text/plain": text}, raw=True)
        elif sys.stderr.isatty():
            print(f"\r{text}\x1b[K", end="", file=sys.stderr, flush=True)
