"""Where trials run: this process, processes of our own, an event loop, somebody's executor.

Each kind is a runner: `submit` takes a task, `wait` gives back (task id, answer) pairs, `close` ends
it. `capacity` tasks may be in flight. What an objective does wrong is an answer; what goes wrong with
the machinery raises.
"""

from __future__ import annotations

import asyncio
import concurrent.futures as futures
import multiprocessing
import multiprocessing.connection as connection
import os
import pickle
import signal
import socket
import sys
import threading
import time
import traceback
from typing import Any, Callable, Iterator

from .outcome import Answer, Invalid, answer_of, failure


class Task:
    """One call of the objective. Pickled as it is."""

    __slots__ = ("id", "candidate", "objectives", "baseline", "search", "known")

    def __init__(self, id: int, candidate: Any, objectives: int, baseline: Any, search: str,
                 known: dict[str, tuple[float, ...]] | None):
        self.id, self.candidate, self.objectives = id, candidate, objectives
        self.baseline = baseline  # candidate, for places where it was not measured yet
        self.search = search  # whose baselines these are
        self.known = known  # baselines by place; None: results are not divided by them


def place() -> str:
    """What a baseline is measured for: this host and the GPUs it may use."""
    return f"{socket.gethostname()} {os.environ.get('CUDA_VISIBLE_DEVICES', '')}"


# Of this process: (search, place) to the baseline's values.
_known: dict[tuple[str, str], tuple[float, ...]] = {}


def _failed(error: BaseException, started: float) -> Answer:
    wall = time.perf_counter() - started
    if isinstance(error, Invalid):
        return failure(error.outcome, error.reason or "the objective raised Invalid", wall)
    if isinstance(error, MemoryError):
        return failure("out_of_memory", f"MemoryError: {error}", wall)
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({os.path.basename(frames[-1].filename)}:{frames[-1].lineno})" if frames else ""
    return failure("launch_failed", f"{type(error).__name__}: {error}{where}", wall)


def _normalized(answer: Answer, baseline: tuple[float, ...]) -> Answer:
    values = tuple(v / b for v, b in zip(answer[1], baseline))
    raw = {f"raw_{i + 1}": v for i, v in enumerate(answer[1])}
    return ("ok", values, *answer[2:3], {**answer[3], **raw}, *answer[4:])


def perform(objective: Callable[[Any], Any], task: Task) -> tuple[int, Answer, dict[str, Any]]:
    """Runs in the worker. The third item: baselines that were measured here."""
    started = time.perf_counter()
    try:
        answer = answer_of(objective(task.candidate), task.objectives,
                           time.perf_counter() - started)
        return _finish(task, answer, lambda: objective(task.baseline))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # whatever an objective raises says something of its candidate
        return task.id, _failed(error, started), {}


def _finish(task: Task, answer: Answer, measure: Callable[[], Any]
            ) -> tuple[int, Answer, dict[str, Any]]:
    if task.known is None or answer[0] != "ok":
        return task.id, answer, {}
    key = place()
    baseline = task.known.get(key) or _known.get((task.search, key))
    fresh: dict[str, Any] = {}
    if baseline is None:
        first = answer if task.id == 0 else answer_of(measure(), task.objectives, 0.0)
        if first[0] != "ok" or 0 in first[1]:
            return task.id, failure("unstable", "the baseline, by which results are divided, "
                                    f"failed here or is 0: {first[2]}", answer[6]), {}
        baseline = _known[task.search, key] = fresh[key] = first[1]
    return task.id, _normalized(answer, baseline), fresh


class Serial:
    """In this process, one after the other."""

    capacity = 1

    def __init__(self, objective: Callable[[Any], Any]):
        self._objective = objective
        self._task: Task | None = None

    def submit(self, task: Task) -> None:
        self._task = task

    def wait(self) -> Iterator[tuple[int, Answer, dict[str, Any]]]:
        task, self._task = self._task, None
        assert task is not None
        yield perform(self._objective, task)

    def close(self) -> None:
        pass


def _serve(objective: Callable[[Any], Any], pipe: Any, others: list[Any]) -> None:
    # Ctrl-C is the parent's affair: it ends us. A group of our own: what the objective has started
    # goes with us.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.setpgid(0, 0)
    for other in others:  # inherited by fork; open, they would hide that the parent is gone
        other.close()
    while True:
        try:
            task = pipe.recv()
        except EOFError:
            return
        except BaseException as error:
            pipe.send((None, _failed(error, time.perf_counter()), {}))
            continue
        pipe.send(perform(objective, task))


class _Worker:
    def __init__(self, context: Any, objective: Callable[[Any], Any], siblings: list[_Worker]):
        self.pipe, theirs = context.Pipe()
        forked = context.get_start_method() == "fork"
        others = [self.pipe, *(s.pipe for s in siblings)] if forked else []
        self.process = context.Process(target=_serve, args=(objective, theirs, others), daemon=True)
        self.process.start()
        theirs.close()
        self.tasks: list[Task] = []  # the first runs, a second waits in the pipe
        self.started = 0.0  # the first

    def give(self, task: Task) -> None:
        self.pipe.send(task)
        self.tasks.append(task)
        if len(self.tasks) == 1:
            self.started = time.perf_counter()

    def done(self) -> Task:
        self.started = time.perf_counter()
        return self.tasks.pop(0)

    def kill(self) -> None:
        for end in (lambda: os.killpg(self.process.pid, signal.SIGKILL), self.process.kill):
            try:
                end()
            except (ProcessLookupError, PermissionError):
                pass  # gone, or not yet a group of its own
        self.process.join()
        self.pipe.close()


class Processes:
    """Processes of our own. A task that takes longer than `timeout` seconds, or whose process dies, is
    an answer; the process is replaced. reuse=False: one process a task.

    While tasks are short, each process has its next one in its pipe already, so that none waits for
    this one to wake up. Long ones are handed out one by one: then it matters more that none waits
    behind another while a process is free.
    """

    SHORT_S = 0.1

    def __init__(self, objective: Callable[[Any], Any], count: int, timeout: float | None,
                 reuse: bool, start_method: str | None):
        self._objective, self._timeout, self._reuse = objective, timeout, reuse
        self._context = multiprocessing.get_context(start_method or _start_method())
        self._workers: list[_Worker] = []
        self._mean_s = self.SHORT_S
        for _ in range(count):
            self._workers.append(_Worker(self._context, objective, self._workers))

    @property
    def capacity(self) -> int:
        ahead = self._reuse and self._mean_s < self.SHORT_S
        return len(self._workers) * (2 if ahead else 1)

    def submit(self, task: Task) -> None:
        worker = min(self._workers, key=lambda w: len(w.tasks))
        try:
            worker.give(task)
        except (BrokenPipeError, ConnectionResetError):
            if worker.tasks:
                worker.tasks.append(task)  # wait() finds the death and hands this one on
            else:
                self._replace(worker).give(task)

    def _replace(self, worker: _Worker) -> _Worker:
        """Another process in its place, with the tasks that it had not begun."""
        worker.kill()
        index = self._workers.index(worker)
        siblings = self._workers[:index] + self._workers[index + 1:]
        self._workers[index] = _Worker(self._context, self._objective, siblings)
        for task in worker.tasks:
            self._workers[index].give(task)
        return self._workers[index]

    def _remaining(self) -> float | None:
        if self._timeout is None:
            return None
        busy = [w.started for w in self._workers if w.tasks]
        return max(0.0, min(busy) + self._timeout - time.perf_counter())

    def wait(self) -> Iterator[tuple[int, Answer, dict[str, Any]]]:
        busy = {w.pipe: w for w in self._workers if w.tasks}
        for pipe in connection.wait(list(busy), self._remaining()):
            worker = busy[pipe]
            passed = time.perf_counter() - worker.started
            try:
                _, answer, fresh = pipe.recv()
            except (EOFError, OSError):
                yield worker.done().id, self._died(worker, passed), {}
                continue
            task = worker.done()
            self._mean_s += 0.2 * (passed - self._mean_s)
            if not self._reuse:
                self._replace(worker)
            yield task.id, answer, fresh
        if self._timeout is None:
            return
        for worker in list(self._workers):
            passed = time.perf_counter() - worker.started
            if worker.tasks and passed >= self._timeout and not worker.pipe.poll():
                id = worker.done().id
                self._replace(worker)
                yield id, failure("run_timeout", f"stopped after {self._timeout:g} s", passed), {}

    def _died(self, worker: _Worker, passed: float) -> Answer:
        worker.process.join(5)
        code = worker.process.exitcode
        self._replace(worker)
        if code is not None and code < 0:
            how = f"was killed by {signal.Signals(-code).name}"
        else:
            how = f"ended with status {code}"
        return failure("launch_failed", f"the worker process {how}", passed)

    def close(self) -> None:
        for worker in self._workers:
            worker.kill()


def _start_method() -> str:
    """fork, which takes any function along, unless this process has threads or CUDA: neither lives on
    in a forked child."""
    torch = sys.modules.get("torch")
    cuda = torch is not None and torch.cuda.is_initialized()
    return "spawn" if cuda or threading.active_count() > 1 else "fork"


class Coroutines:
    """An asynchronous objective, many at a time on one event loop in this thread."""

    def __init__(self, objective: Callable[[Any], Any], count: int, timeout: float | None):
        self.capacity = count
        self._objective, self._timeout = objective, timeout
        self._loop = asyncio.new_event_loop()
        self._running: set[asyncio.Task[Any]] = set()

    async def _perform(self, task: Task) -> tuple[int, Answer, dict[str, Any]]:
        started = time.perf_counter()
        try:
            result = await asyncio.wait_for(self._objective(task.candidate), self._timeout)
        except (asyncio.TimeoutError, TimeoutError) as error:
            passed = time.perf_counter() - started
            if self._timeout is not None and passed >= self._timeout:
                return task.id, failure("run_timeout", f"stopped after {self._timeout:g} s",
                                        passed), {}
            return task.id, _failed(error, started), {}
        except asyncio.CancelledError:
            raise
        except Exception as error:
            return task.id, _failed(error, started), {}
        answer = answer_of(result, task.objectives, time.perf_counter() - started)
        # The baseline came first and alone, on this very machine.
        return _finish(task, answer, lambda: None)

    def submit(self, task: Task) -> None:
        self._running.add(self._loop.create_task(self._perform(task)))

    def wait(self) -> Iterator[tuple[int, Answer, dict[str, Any]]]:
        done, self._running = self._loop.run_until_complete(
            asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED))
        for finished in done:
            yield finished.result()

    def close(self) -> None:
        for task in self._running:
            task.cancel()
        if self._running:
            self._loop.run_until_complete(asyncio.gather(*self._running, return_exceptions=True))
        self._loop.close()


class OnExecutor:
    """Any concurrent.futures.Executor. A task that breaks it (its process died) is an answer when it
    was alone or breaks it twice; `make` makes another executor then."""

    def __init__(self, objective: Callable[[Any], Any], executor: Any, count: int,
                 timeout: float | None):
        self.capacity = count
        self._objective, self._timeout = objective, timeout
        self._make = executor if callable(executor) and not hasattr(executor, "submit") else None
        self._executor = self._make() if self._make else executor
        self._running: dict[Any, tuple[Task, float]] = {}
        self._broke: dict[int, int] = {}
        self._again: list[Task] = []  # suspects: one at a time
        # Worth an exception type of their own: a worker that died with its task.
        self._deaths = getattr(self._executor, "worker_deaths", ())

    def submit(self, task: Task) -> None:
        future = self._executor.submit(perform, self._objective, task)
        self._running[future] = (task, time.perf_counter())

    def wait(self) -> Iterator[tuple[int, Answer, dict[str, Any]]]:
        if not self._running and self._again:
            self.submit(self._again.pop())
        remaining = None
        if self._timeout is not None:
            first = min(started for _, started in self._running.values())
            remaining = max(0.0, first + self._timeout - time.perf_counter())
        done, _ = futures.wait(self._running, remaining, futures.FIRST_COMPLETED)
        broken: list[Task] = []
        for future in done:
            task, started = self._running.pop(future)
            error = future.exception()
            if error is None:
                yield future.result()
            elif isinstance(error, self._deaths):
                yield task.id, failure("launch_failed", f"the worker died: {_line(error)}",
                                       time.perf_counter() - started), {}
            elif isinstance(error, futures.BrokenExecutor):
                broken.append(task)
            else:  # the task could not be sent, or its answer not brought back
                yield task.id, _failed(error, started), {}
        if broken:
            yield from self._mend(broken)
        if self._timeout is not None:
            yield from self._overdue()

    def _mend(self, broken: list[Task]) -> Iterator[tuple[int, Answer, dict[str, Any]]]:
        if self._make is None:
            raise futures.BrokenExecutor(
                "a worker of the executor died, and it takes no more tasks; give a function that "
                "makes an executor (executor=lambda: ProcessPoolExecutor(4)) to go on from there")
        broken += [task for task, _ in self._running.values()]
        alone = len(broken) == 1
        self._running.clear()
        self._executor.shutdown(wait=False)
        self._executor = self._make()
        for task in broken:
            if alone:
                yield task.id, failure("launch_failed", "the worker process died", 0.0), {}
            else:
                self._again.append(task)

    def _overdue(self) -> Iterator[tuple[int, Answer, dict[str, Any]]]:
        for future, (task, started) in list(self._running.items()):
            passed = time.perf_counter() - started
            if passed >= self._timeout and not future.done():
                # An executor cannot stop what runs; its answer, should it come, is not waited for.
                future.cancel()
                del self._running[future]
                yield task.id, failure("run_timeout", f"not done after {self._timeout:g} s",
                                       passed), {}

    def close(self) -> None:
        for future in self._running:
            future.cancel()
        if self._make is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300]


def check_picklable(objective: Callable[[Any], Any], start_method: str) -> None:
    if start_method != "fork":
        try:
            pickle.dumps(objective)
        except Exception as error:
            raise TypeError("the objective cannot be sent to another process "
                            f"({error}): define it at the top of a module") from None
