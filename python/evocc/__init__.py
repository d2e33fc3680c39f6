"""Evolutionary search over the decisions of a compiler, and over parameters of your own.

    import evocc
    from evocc import space

    def objective(params):
        return measure(tile=params["tile"], stages=params["stages"])

    search = evocc.Search(objective, {"tile": space.log_sampling(8, 128),
                                      "stages": space.range(1, 5)}, study="matmul.db")
    print(search.start(num_workers=2).get_best_result())
"""

from . import space, trackers
from ._native import (ArgumentError, BusyError, DamagedError, Error, MismatchError, NotFoundError,
                      ParseError, RefusedError, UnsupportedError)
from ._native import version as __version__
from .outcome import INVALID, OUTCOMES, Invalid, Score
from .results import Results, read_study
from .search import Search, SearchConfig
from .space import (ClangSpace, Compilation, GccSpace, KernelCandidate, ParamSpace, PtxasSpace,
                    PtxSpace)
from .trackers import LoggingTracker, Progress, Tracker

__all__ = ["INVALID", "OUTCOMES", "ArgumentError", "BusyError", "ClangSpace", "Compilation",
           "DamagedError", "Error", "GccSpace", "Invalid", "KernelCandidate", "LoggingTracker",
           "MismatchError", "NotFoundError", "ParamSpace", "ParseError", "Progress", "PtxSpace",
           "PtxasSpace", "RefusedError", "Results", "Score", "Search", "SearchConfig", "Tracker",
           "UnsupportedError", "__version__", "compile", "read_study", "space", "trackers"]


def compile(candidate: KernelCandidate, code: bool = True) -> Compilation:
    """Compiles one candidate of a PtxSpace; without `code` nothing is compiled twice."""
    return candidate.compile(code)
