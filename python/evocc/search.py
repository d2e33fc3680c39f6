"""The search: what is asked, who is told, what is written down."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import logging
import math
import uuid
from typing import Any, Callable, Iterable, Sequence

from . import _native
from ._workers import Coroutines, OnExecutor, Processes, Serial, Task, _start_method, check_picklable
from .results import Results
from .space import CompilerCandidate, Space, as_space
from .trackers import Tracker

log = logging.getLogger("evocc")


@dataclasses.dataclass
class SearchConfig:
    """How to search. The defaults spend 488 trials: 32, then 24 in each of 19 generations.

    :param problem_type: "min" or "max"; a list of these, one per objective.
    :param num_objectives: how many numbers the objective returns, 1 to 8.
    :param generations: how many; pool_size: trials of the first; cull_size: of each later one.
    :param mutate_rate: share of the parameters that the configured mutation changes, 0 to 1.
    :param objective_weights: how much each objective matters beside the others; default 1.
    :param normalize: results are divided by the baseline's, measured on each machine (and set of
        GPUs) that trials run on.
    :param seed: the same seed and the same answers give the same trials on every machine.
    :param max_trials: an end before the generations'; None: none.
    :param stale_generations: the search ends after so many without progress; None: never.
    :param lag: None: by generations. A number: asynchronous; trial k waits for the answers to the
        trials up to k - lag only, so that slow ones hold up nobody.
    :param limits: per objective None or the most (of "max": the least) that a result may be.
    :param targets: per objective None or the value at which the search has what it wants.
    :param prescreen: a model learned from the trials picks among several children.
    """

    problem_type: str | Sequence[str] = "min"
    num_objectives: int = 1
    generations: int = 20
    pool_size: int = 32
    cull_size: int = 24
    mutate_rate: float = 0.1
    objective_weights: Sequence[float] | None = None
    normalize: bool = False
    seed: int = 0
    max_trials: int | None = None
    stale_generations: int | None = None
    lag: int | None = None
    limits: Sequence[float | None] | None = None
    targets: Sequence[float | None] | None = None
    prescreen: bool = False

    def __post_init__(self) -> None:
        def need(holds: bool, what: str) -> None:
            if not holds:
                raise ValueError(f"SearchConfig: {what}")

        def whole(name: str, low: int, high: int) -> None:
            value = getattr(self, name)
            need(isinstance(value, int) and not isinstance(value, bool) and low <= value <= high,
                 f"{name} must be a whole number from {low} to {high}, not {value!r}")

        whole("num_objectives", 1, 8)
        whole("generations", 1, 2**31)
        whole("pool_size", 2, 2**20)
        whole("cull_size", 1, 2**20)
        whole("seed", 0, 2**64 - 1)
        types = self._per_objective("problem_type")
        need(all(t in ("min", "max") for t in types),
             f"problem_type must be 'min' or 'max', or a list of these, not {self.problem_type!r}")
        rate = self.mutate_rate
        need(isinstance(rate, (int, float)) and 0 < rate <= 1,
             f"mutate_rate must be above 0 and at most 1, not {rate!r}")
        need(all(isinstance(w, (int, float)) and 0 < w < math.inf
                 for w in self._per_objective("objective_weights")),
             f"objective_weights must be numbers above 0, not {self.objective_weights!r}")
        for name in ("max_trials", "stale_generations"):
            value = getattr(self, name)
            need(value is None or (isinstance(value, int) and value > 0),
                 f"{name} must be a whole number above 0, or None, not {value!r}")
        need(self.lag is None or (isinstance(self.lag, int) and 1 <= self.lag <= 4096),
             f"lag must be 1 to 4096, or None, not {self.lag!r}")
        self._per_objective("limits")
        self._per_objective("targets")

    def _per_objective(self, name: str) -> list[Any]:
        value = getattr(self, name)
        if value is None:
            return [1.0 if name == "objective_weights" else None] * self.num_objectives
        if isinstance(value, str):
            return [value] * self.num_objectives
        listed = list(value)
        if len(listed) != self.num_objectives:
            raise ValueError(f"SearchConfig: {name} has {len(listed)} items for "
                             f"{self.num_objectives} objectives")
        return listed

    @property
    def score_names(self) -> list[str]:
        return [f"score_{i + 1}" for i in range(self.num_objectives)]

    def _objectives(self) -> tuple[tuple[Any, ...], ...]:
        return tuple(zip(self.score_names,
                         [t == "max" for t in self._per_objective("problem_type")],
                         [float(w) for w in self._per_objective("objective_weights")],
                         self._per_objective("limits"), self._per_objective("targets")))


class Search:
    """Finds the candidates for which an objective is best.

    :param objective_function: takes a candidate (a dictionary; of compilers a CompilerCandidate; of a
        list of spaces a list) and returns a number, or one per objective: an int, a float, a sequence,
        an array; or an evocc.Score; or evocc.INVALID. May be a coroutine function. Whatever else it
        does (raises, dies, returns NaN) makes the trial invalid, with the reason on record.
    :param search_space: a space, a dictionary of domains, or a list of these.
    :param search_config: default SearchConfig().
    :param study: the study file. It is gone on with when it is there, and then gives exactly the
        trials that an unbroken search would have had. None: in memory.
    :param title: what is tuned, for reports.
    :param first: candidates to begin with: compiler candidates, at most a quarter of pool_size.
    :param environment: what else results depend on; part of what must be equal to go on.
    """

    def __init__(self, objective_function: Callable[[Any], Any], search_space: Any,
                 search_config: SearchConfig | None = None, *, study: Any = None,
                 title: str | None = None, first: Iterable[CompilerCandidate] = (),
                 environment: str = ""):
        if not callable(objective_function):
            raise TypeError("objective_function must be callable")
        self.objective = objective_function
        self.space: Space = as_space(search_space)
        self.config = search_config or SearchConfig()
        self.title = title or getattr(objective_function, "__name__", "objective")
        self.path = study
        self._first = tuple(c.genes for c in first)
        self._environment = "\n".join(t for t in (self.space.environment, environment) if t)
        self._study: _native.Study | None = None
        self._token = uuid.uuid4().hex
        self._baselines: dict[str, tuple[float, ...]] = {}

    # ---- Before it starts

    def sample(self, n: int) -> list[Any]:
        """n different candidates as the search might begin with, the baseline first; fewer where the
        space has no more. Nothing is run or written."""
        if n < 1:
            return []
        config = dataclasses.replace(self.config, pool_size=max(2, n), lag=None, max_trials=None)
        study = self._open(config, None)
        candidates = []
        while len(candidates) < n and not isinstance(trial := study.ask(), str):
            candidates.append(self.space.candidate(trial[2]))
        study.close()
        return candidates

    def _open(self, config: SearchConfig, path: Any) -> _native.Study:
        return _native.Study(
            space=self.space.native, objectives=config._objectives(), pool_size=config.pool_size,
            cull_size=config.cull_size, generations=config.generations,
            mutate_rate=float(config.mutate_rate), seed=config.seed, lag=config.lag or 0,
            max_trials=config.max_trials or 0, stale_generations=config.stale_generations or 0,
            hypervolume=False, repeat_share=0.0, prescreen=config.prescreen, seeds=self._first,
            allowed=self.space.allowed, path=path, mode="open", title=self.title,
            environment=self._environment)

    # ---- Running

    def start(self, num_workers: int = 1, task_timeout: float | None = None, *,
              executor: Any = None, reuse_workers: bool = True, start_method: str | None = None,
              trackers: Iterable[Tracker] = ()) -> Results:
        """Searches to the end and returns the results.

        :param num_workers: trials at a time. 1 without a timeout: in this process.
        :param task_timeout: seconds after which a trial is stopped: its process is killed, with what
            it has started. (An executor's tasks cannot be stopped: they are no longer waited for.)
        :param executor: a concurrent.futures.Executor to run trials on, or a function that makes one:
            then a worker that dies costs one trial. evocc.ray.RayExecutor, mpi4py's pools.
        :param reuse_workers: False: a new process for every trial.
        :param start_method: of processes: "fork", "spawn", "forkserver"; None: fork, unless this
            process has threads or uses CUDA.
        :param trackers: told of every trial; evocc.trackers.

        Ctrl-C stops what runs and raises KeyboardInterrupt; finished trials are kept, and start()
        goes on from there, in this process or, with a study file, in another.
        """
        if not isinstance(num_workers, int) or num_workers < 1:
            raise ValueError(f"num_workers must be a whole number above 0, not {num_workers!r}")
        if task_timeout is not None and not task_timeout > 0:
            raise ValueError(f"task_timeout must be above 0 s, not {task_timeout!r}")
        if self._study is None:
            self._study = self._open(self.config, self.path)
        runner = self._runner(num_workers, task_timeout, executor, reuse_workers, start_method)
        run = _Run(self, self._study, runner, list(trackers))
        try:
            run.to_end()
        finally:
            runner.close()
            run.finish()
        return self.results()

    def _runner(self, count: int, timeout: float | None, executor: Any, reuse: bool,
                start_method: str | None) -> Any:
        if executor is not None:
            return OnExecutor(self.objective, executor, count, timeout)
        if inspect.iscoroutinefunction(self.objective):
            return Coroutines(self.objective, count, timeout)
        if count == 1 and timeout is None and reuse:
            return Serial(self.objective)
        check_picklable(self.objective, start_method or _start_method())
        return Processes(self.objective, count, timeout, reuse, start_method)

    def results(self) -> Results:
        """What there is so far."""
        if self._study is None:
            self._study = self._open(self.config, self.path)
        return Results(self._study, self.space, self.config)

    def close(self) -> None:
        """Lets go of the study file. Results that were handed out read it no more."""
        if self._study is not None:
            self._study.close()
            self._study = None


class _Run:
    """One call of start()."""

    def __init__(self, search: Search, study: _native.Study, runner: Any, trackers: list[Tracker]):
        self.search, self.study, self.runner, self.trackers = search, study, runner, trackers
        self.space = search.space
        self.genes: dict[int, tuple[int, tuple[int, ...]]] = {}  # in flight
        # Those that an interrupted start() left behind come first.
        self.left = study.pending()
        self.objectives = search.config.num_objectives
        self.baseline = None
        self.known: dict[str, Any] | None = None
        if search.config.normalize:
            self.baseline = self.space.candidate((_native.ABSENT,) * len(self.space))
            self.known = search._baselines
            note = study.get_note("baselines")
            if note:
                self.known.update(_read_baselines(note))

    def _next(self) -> Any:
        return self.left.pop(0) if self.left else self.study.ask()

    def _submit(self) -> str:
        """Fills the runner; what stopped it: "" (full), "wait", "done", "exhausted"."""
        capacity = self.runner.capacity
        while len(self.genes) < capacity:
            trial = self._next()
            if isinstance(trial, str):
                return trial
            id, generation, genes = trial
            self.genes[id] = generation, genes
            self.runner.submit(Task(id, self.space.candidate(genes), self.objectives,
                                    self.baseline, self.search._token, self.known))
            if id == 0 and self.known is not None:
                return ""  # by itself: the others are divided by it
        return ""

    def to_end(self) -> None:
        for tracker in self.trackers:
            tracker.on_start(self.search)
        while True:
            why = "" if 0 in self.genes and self.known is not None else self._submit()
            if not self.genes:
                if why == "wait":
                    raise RuntimeError("the search waits for a trial that is lost")
                log.debug("the search ended: %s", why)
                return
            for id, answer, fresh in self.runner.wait():
                self._tell(id, answer, fresh)

    def _tell(self, id: int, answer: Any, fresh: dict[str, Any]) -> None:
        if fresh and self.known is not None:
            self.known.update(fresh)
            self.study.set_note("baselines", repr(self.known).encode())
        self.study.tell(id, *answer)
        generation, genes = self.genes.pop(id)
        if self.trackers:
            row = {"trial": id, "generation": generation, "outcome": answer[0],
                   "params": self.space.params(genes), "detail": answer[2], "wall_s": answer[6]}
            row.update(zip(self.search.config.score_names, answer[1]))
            for tracker in self.trackers:
                tracker.on_trial(row, self.study.progress())

    def finish(self) -> None:
        for tracker in self.trackers:
            tracker.on_end(self.study.progress())


def _read_baselines(note: bytes) -> dict[str, Any]:
    """Baselines as _tell wrote them: a literal, never code."""
    return ast.literal_eval(note.decode())
