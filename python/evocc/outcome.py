"""What an objective says besides a number."""

from __future__ import annotations

import math
import numbers
from typing import Any, Mapping

from . import _native

OUTCOMES = _native.OUTCOMES


class _InvalidType:
    """The objective returns evocc.INVALID for a candidate that is of no use."""

    def __repr__(self) -> str:
        return "evocc.INVALID"

    def __reduce__(self) -> str:
        return "INVALID"


INVALID = _InvalidType()


class Invalid(Exception):
    """Raised by an objective: the candidate is of no use, and why.

    :param reason: one line for people.
    :param outcome: one of evocc.OUTCOMES but "ok"; "rejected" when not said.
    """

    def __init__(self, reason: str = "", outcome: str = "rejected"):
        if outcome not in OUTCOMES or outcome == "ok":
            raise ValueError(f"{outcome!r} is not an outcome of a failed trial: {OUTCOMES[1:]}")
        super().__init__(reason, outcome)
        self.reason, self.outcome = reason, outcome


class Score:
    """A result with more than numbers: what else is known of the trial, for reports.

    :param values: one number, or one per objective.
    :param metrics: further numbers, {"registers": 40}.
    :param code_hash: of the machine code; trials of equal code are counted as such.
    :param command: what reproduces the trial.
    """

    def __init__(self, values: Any, *, metrics: Mapping[str, float] | None = None,
                 code_hash: str = "", command: str = ""):
        self.values, self.metrics = values, dict(metrics or {})
        self.code_hash, self.command = code_hash, command


# outcome, values, detail, metrics, command, code hash, seconds: what Study.tell takes
Answer = tuple[str, tuple[float, ...], str, dict[str, Any], str, str, float]


def answer_of(result: Any, objectives: int, wall_s: float) -> Answer:
    """Judges what an objective returned."""
    metrics: dict[str, Any] = {}
    command = code_hash = ""
    if isinstance(result, Score):
        metrics, command, code_hash = result.metrics, result.command, result.code_hash
        result = result.values
    if result is INVALID:
        return failure("rejected", "the objective returned INVALID", wall_s)
    values, problem = _numbers(result, objectives)
    if problem:
        return failure("wrong_output", problem, wall_s)
    return "ok", values, "", metrics, command, code_hash, wall_s


def failure(outcome: str, detail: str, wall_s: float) -> Answer:
    return outcome, (), detail[:2000], {}, "", "", wall_s


def _numbers(result: Any, objectives: int) -> tuple[tuple[float, ...], str]:
    if isinstance(result, numbers.Real) and not isinstance(result, bool):
        values: tuple[Any, ...] = (result,)
    elif isinstance(result, (str, bytes, Mapping)) or result is None or isinstance(result, bool):
        return (), f"the objective returned {_short(result)}, not a number"
    else:
        try:
            values = tuple(result.tolist() if hasattr(result, "tolist") and
                           getattr(result, "ndim", 1) == 1 else result)
        except TypeError:
            # A scalar of another library: an array without dimensions, a tensor of one element.
            values = (result,)
    if len(values) != objectives:
        return (), (f"the objective returned {len(values)} numbers, not {objectives}: "
                    f"{_short(result)}")
    try:
        converted = tuple(float(v) for v in values)
    except (TypeError, ValueError):
        return (), f"the objective returned {_short(result)}, not numbers"
    if not all(math.isfinite(v) for v in converted):
        return (), f"the objective returned {_short(result)}, which is not finite"
    return converted, ""


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 100 else text[:97] + "..."
