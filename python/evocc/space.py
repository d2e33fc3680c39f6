"""What is searched: parameters of your own, and the options of compilers.

A parameter space is a dictionary, nested if you like, whose leaves are domains::

    from evocc import space

    space.ParamSpace({
        "tile": space.log_sampling(8, 128),            # 8, 16, 32, 64, 128
        "stages": space.range(1, 5),                   # 1, 2, 3, 4, 5: both ends
        "order": space.choice(["ijk", "ikj"]),
        "pad": space.choice([0, 1], knockout_prob=0.5),
        "epilogue": {"fused": space.choice([False, True])},
        "dtype": space.literal("fp16"),                # a constant, handed through
    }, constraints=["tile * stages <= 256"])

Candidates then are dictionaries of the same shape. The first trial of a search, its baseline, has
every domain at its default: ``default=``, or the first value.
"""

from __future__ import annotations

import builtins
import json
import math
import os
import re
from typing import Any, Callable, Iterable, Mapping, Sequence

from . import _native

__all__ = ["ClangSpace", "Domain", "GccSpace", "ParamSpace", "PtxSpace", "PtxasSpace", "Space",
           "choice", "literal", "log_sampling", "range"]

_MISSING: Any = object()


class Domain:
    """The values one parameter can have, in order. Made by range, choice, literal, log_sampling."""

    def __init__(self, values: Sequence[Any], *, ordered: bool, default: Any = _MISSING,
                 knockout_prob: float = 0.0, when: Mapping[str, Any] | None = None,
                 help: str = "", group: str | None = None):
        self.values = tuple(values)
        if not self.values:
            raise ValueError("a domain needs at least one value")
        if not 0 <= knockout_prob <= 1:
            raise ValueError(f"knockout_prob must be 0 to 1, not {knockout_prob!r}")
        if default is _MISSING:
            default = None if knockout_prob > 0 and None not in self.values else self.values[0]
        elif default is not None and default not in self.values:
            raise ValueError(f"the default {default!r} is not among {_some(self.values)}")
        self.ordered = ordered
        self.default = default
        self.knockout_prob = float(knockout_prob)
        self.when = dict(when or {})
        self.help = help
        self.group = group

    def __repr__(self) -> str:
        return f"Domain({_some(self.values)}, default={self.default!r})"


def _some(values: Sequence[Any]) -> str:
    shown = ", ".join(repr(v) for v in values[:6])
    return shown + (f", ... ({len(values)} values)" if len(values) > 6 else "")


def range(low: float, high: float, step: float = 1, *, log_sampling: bool = False,
          points: int | None = None, **options: Any) -> Domain:
    """low, low + step, ... up to and including high. Whole numbers stay int. With log_sampling as
    ``log_sampling(low, high, points)``. Further keywords: default, knockout_prob, when, help, group.
    """
    if log_sampling:
        return _log(low, high, points, options)
    if points is not None:
        raise ValueError("points belong to log_sampling")
    if not (math.isfinite(low) and math.isfinite(high)) or high < low or not step > 0:
        raise ValueError(f"range({low!r}, {high!r}, {step!r}): low <= high and step > 0 are needed")
    count = int(math.floor((high - low) / step + 1e-9)) + 1
    if count > 1_000_000:
        raise ValueError(f"range({low!r}, {high!r}, {step!r}) has {count} values: choose a step")
    whole = all(isinstance(x, int) for x in (low, high, step))
    values = [low + i * step if whole else float(f"{low + i * step:.12g}")
              for i in builtins.range(count)]
    return Domain(values, ordered=True, **options)


def log_sampling(low: float, high: float, points: int | None = None, **options: Any) -> Domain:
    """Values evenly spaced in the logarithm: `points` of them; without points the powers of two from
    low to high, which must be whole numbers. Keywords as range."""
    return _log(low, high, points, options)


def _log(low: float, high: float, points: int | None, options: dict[str, Any]) -> Domain:
    if not 0 < low <= high or not math.isfinite(high):
        raise ValueError(f"log_sampling({low!r}, {high!r}): 0 < low <= high is needed")
    if points is None:
        if not (isinstance(low, int) and isinstance(high, int)):
            raise ValueError("log_sampling without points takes powers of two: whole numbers")
        first = 1 << max(0, (low - 1).bit_length())
        values: list[Any] = []
        while first <= high:
            values.append(first)
            first *= 2
        if not values:
            raise ValueError(f"there is no power of two from {low} to {high}")
    else:
        if points < 1:
            raise ValueError("points must be at least 1")
        ratio = 1.0 if points == 1 else (high / low) ** (1 / (points - 1))
        whole = isinstance(low, int) and isinstance(high, int)
        values = []
        for i in builtins.range(points):
            value = low * ratio**i
            value = round(value) if whole else float(f"{value:.12g}")
            if value not in values:
                values.append(value)
    return Domain(values, ordered=True, **options)


def choice(values: Iterable[Any], **options: Any) -> Domain:
    """One of several values of any type, in no order. Keywords as range."""
    listed = list(values)
    for i, value in enumerate(listed):
        if any(value is other or (type(value) is type(other) and value == other)
               for other in listed[:i]):
            raise ValueError(f"the choice {value!r} is there twice")
    return Domain(listed, ordered=False, **options)


def literal(value: Any) -> Domain:
    """A constant: every candidate has it."""
    return Domain([value], ordered=False)


class Space:
    """What the kinds of spaces have in common. `environment` tells what its candidates' worth
    depends on besides them; a study file is only gone on with when it is the same."""

    native: _native.Space
    environment: str = ""
    allowed: Callable[[tuple[int, ...]], bool] | None = None

    def candidate(self, genes: tuple[int, ...]) -> Any:
        """What the objective is given."""
        raise NotImplementedError

    def params(self, genes: tuple[int, ...]) -> dict[str, Any]:
        """What rows of results show: only what differs from the default, for compilers."""
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self.native)


_WORD = re.compile(r"[A-Za-z0-9_.+-]+\Z")


class ParamSpace(Space):
    """Parameters of your own.

    :param parameters: names to domains (or plain values: constants), nested at will.
    :param constraints: rules every candidate must keep: expressions as in space files
        ("tile * stages <= 256"; a nested name is written with "_": epilogue_fused), or functions
        of the candidate. Both must depend on the candidate alone.
    :param forbid: combinations that must not be, as dictionaries: {"order": "ijk", "tile": [8, 16]}.
    """

    def __init__(self, parameters: Mapping[str, Any], *,
                 constraints: Iterable[str | Callable[[dict[str, Any]], bool]] = (),
                 forbid: Iterable[Mapping[str, Any]] = ()):
        self._domains: dict[str, Domain] = {}
        self._paths: list[tuple[str, ...]] = []
        self._constants: list[tuple[tuple[str, ...], Any]] = []
        self._collect(parameters, ())
        if not self._domains:
            raise ValueError("a space needs at least one domain with more than one value")
        self._rules = [c for c in constraints if callable(c)]
        text = self._text([c for c in constraints if not callable(c)], list(forbid))
        self.native = _native.Space.parse(text, "space")
        # Gene -1 is "absent": the last item of each table, and so what Python finds there.
        self._tables = [d.values + (d.default,) for d in self._domains.values()]
        self._flat = all(len(p) == 1 for p in self._paths) and not self._constants
        self._names = [p[0] for p in self._paths]
        self.allowed = self._keeps_rules if self._rules else None

    def _collect(self, parameters: Mapping[str, Any], above: tuple[str, ...]) -> None:
        for name, value in parameters.items():
            path = (*above, name)
            if not isinstance(name, str) or not _WORD.match(name):
                raise ValueError(f"{name!r} cannot be the name of a parameter: letters, digits, "
                                 "'_', '.', '+' and '-'")
            if isinstance(value, Mapping):
                self._collect(value, path)
            elif isinstance(value, Domain) and len(value.values) > 1:
                full = ".".join(path)
                if full in self._domains:
                    raise ValueError(f"two parameters are called {full!r}")
                self._domains[full] = value
                self._paths.append(path)
            elif isinstance(value, Domain) and value.knockout_prob > 0:
                raise ValueError(f"{'.'.join(path)}: a constant cannot be knocked out")
            else:
                constant = value.values[0] if isinstance(value, Domain) else value
                self._constants.append((path, constant))

    def _words(self, domain: Domain) -> list[str]:
        words = []
        for i, value in enumerate(domain.values):
            word = _plain(value)
            words.append(f"v{i}" if word is None or word in words or word == "absent" else word)
        return words

    def _match(self, name: str, wanted: Any) -> list[str]:
        domain = self._domains.get(name)
        if domain is None:
            raise ValueError(f"no parameter is called {name!r}")
        values = wanted if isinstance(wanted, (list, tuple, set)) else [wanted]
        words = self._words(domain)
        result = []
        for value in values:
            if value is None and domain.default is None and None not in domain.values:
                result.append("absent")
                continue
            if value not in domain.values:
                raise ValueError(f"{name}: {value!r} is not among {_some(domain.values)}")
            result.append(words[domain.values.index(value)])
        return result

    def _control(self, name: str, domain: Domain) -> dict[str, Any]:
        values = domain.values
        if domain.ordered and _is_int_range(values):
            control: dict[str, Any] = {"type": "int", "range": [values[0], values[-1]],
                                       "step": values[1] - values[0]}
        elif domain.ordered and _is_powers(values):
            control = {"type": "pow2", "range": [values[0], values[-1]]}
        else:
            control = {"type": "choice", "values": self._words(domain)}
        if domain.default is not None or None in values:
            word = self._words(domain)[values.index(domain.default)]
            control["default"] = word if control["type"] == "choice" else domain.default
        if domain.knockout_prob > 0:
            control["knockout"] = domain.knockout_prob
        if domain.when:
            control["when"] = {n: self._match(n, v) for n, v in domain.when.items()}
        if domain.group:
            control["group"] = domain.group
        if domain.help:
            control["help"] = domain.help
        return control

    def _text(self, constraints: list[str], forbid: list[Mapping[str, Any]]) -> str:
        file: dict[str, Any] = {"evocc-space": 1, "stage": "define"}
        file["controls"] = {n: self._control(n, d) for n, d in self._domains.items()}
        if forbid:
            file["forbid"] = [{n: self._match(n, v) for n, v in f.items()} for f in forbid]
        if constraints:
            file["constraints"] = constraints
        return json.dumps(file)

    def _keeps_rules(self, genes: tuple[int, ...]) -> bool:
        candidate = self.candidate(genes)
        return all(rule(candidate) for rule in self._rules)

    def candidate(self, genes: tuple[int, ...]) -> dict[str, Any]:
        if self._flat:
            return {n: t[g] for n, t, g in zip(self._names, self._tables, genes)}
        result: dict[str, Any] = {}
        for path, value in self._constants:
            _put(result, path, value)
        for path, table, gene in zip(self._paths, self._tables, genes):
            _put(result, path, table[gene])
        return result

    params = candidate


def _put(into: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    for name in path[:-1]:
        into = into.setdefault(name, {})
    into[path[-1]] = value


def _plain(value: Any) -> str | None:
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, (int, float, str)) and _WORD.match(str(value)):
        return str(value)
    return None


def _is_int_range(values: Sequence[Any]) -> bool:
    return (len(values) > 1 and all(type(v) is int for v in values)
            and len({b - a for a, b in zip(values, values[1:])}) == 1)


def _is_powers(values: Sequence[Any]) -> bool:
    return (all(type(v) is int and v > 0 and v & (v - 1) == 0 for v in values)
            and all(b == 2 * a for a, b in zip(values, values[1:])))


class CompilerCandidate:
    """What a compiler is to be told. It travels between processes.

    ``arguments`` are the words for its command line; ``str(candidate)`` is what differs from the
    defaults, as everywhere in evocc: "ptxas/register-usage-level=0".
    """

    def __init__(self, space: Space, genes: tuple[int, ...]):
        self.space = space
        self.genes = genes

    def __str__(self) -> str:
        return self.space.native.text(self.genes)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {str(self) or 'baseline'}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CompilerCandidate) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    @property
    def controls(self) -> dict[str, str]:
        """{"ptxas/register-usage-level": "0"}: what differs from the defaults."""
        return dict(word.split("=", 1) for word in str(self).split())

    @property
    def arguments(self) -> list[str]:
        """Words for the command line of the compiler."""
        compiler = getattr(self.space, "compiler", "ptxas")
        return self.space.native.arguments(self.genes, compiler).splitlines()


class _CompilerSpace(Space):
    compiler: str

    def __init__(self, path: str | None = None, arch: str | None = None):
        """The options of the compiler that this machine has.

        :param path: which one; None: the one that evocc finds (EVOCC_REAL_PTXAS and the like, PATH).
        :param arch: what to compile for; None: what it compiles for by itself.
        :raises evocc.NotFoundError: there is none; the message says where it was looked for.
        """
        self.path, self.arch = path, arch
        self.native = _native.Space.probe(self.compiler, path, arch)
        self.environment = f"{self.compiler} {path or ''} {arch or ''}"

    def __reduce__(self) -> Any:
        return type(self), (self.path, self.arch)

    def candidate(self, genes: tuple[int, ...]) -> CompilerCandidate:
        return CompilerCandidate(self, genes)

    def params(self, genes: tuple[int, ...]) -> dict[str, Any]:
        return CompilerCandidate(self, genes).controls


class PtxasSpace(_CompilerSpace):
    """Options of ptxas that leave results as they are."""

    compiler = "ptxas"


class GccSpace(_CompilerSpace):
    """Options and parameters of gcc, read from its own help and tried."""

    compiler = "gcc"


class ClangSpace(_CompilerSpace):
    """Options of clang, read from its own help and tried."""

    compiler = "clang"


class KernelCandidate(CompilerCandidate):
    """A candidate for one PTX file: can be compiled and saved."""

    space: PtxSpace

    def compile(self, code: bool = True) -> Compilation:
        """See evocc.compile."""
        return Compilation(**self.space.native_kernel.compile(self.genes, code))

    def save(self, path: Any) -> None:
        """Writes an advanced controls file, for ``evocc ptxas --apply-controls``."""
        self.space.native_kernel.save(self.genes, path)


class Compilation:
    """What became of one compilation.

    outcome: "ok", "compile_failed", ...; metrics: registers, spill_bytes, stack_bytes, code_bytes,
    shared_bytes (bytes), compile_time (s), None where the compiler did not say; code: the cubin, None
    unless asked for; code_hash, detail, command: texts; wall_s: seconds.
    """

    def __init__(self, outcome: str, metrics: dict[str, float | None], detail: str, command: str,
                 code_hash: str, wall_s: float, code: bytes | None):
        self.outcome, self.metrics, self.detail = outcome, metrics, detail
        self.command, self.code_hash, self.wall_s, self.code = command, code_hash, wall_s, code

    def __repr__(self) -> str:
        return f"<Compilation {self.outcome} {self.metrics or self.detail}>"


_kernels: dict[tuple[Any, ...], _native.Kernel] = {}


class PtxSpace(Space):
    """The controls of one PTX file: options of ptxas, and rewritings of the PTX that compute the same.

    :param path: the PTX file.
    :param arch: "sm_90a"; None: the file's own target.
    :param entry: the kernel, where the file has several.
    :param arguments: your own options of ptxas.
    :param ptxas: the program; None: the one that evocc finds.
    :param whole_module: metrics are summed over all entries.
    :param allow_numerics: also controls that may change rounding.
    :param timeout: seconds for one compilation; 0: ten minutes.
    """

    compiler = "ptxas"

    def __init__(self, path: Any, arch: str | None = None, *, entry: str | None = None,
                 arguments: Sequence[str] = (), ptxas: str | None = None,
                 whole_module: bool = False, allow_numerics: bool = False, timeout: float = 0):
        self._given = (str(path), arch, entry, tuple(arguments), ptxas, whole_module,
                       allow_numerics, float(timeout))
        self.native = self.native_kernel.space
        self.environment = self.native_kernel.environment

    @property
    def native_kernel(self) -> _native.Kernel:
        """One a process: candidates that arrive in a worker find it there. A forked process must
        not use its parent's, whose compilers answer the parent; nor may it free it."""
        key = os.getpid(), *self._given
        kernel = _kernels.get(key)
        if kernel is None:
            path, arch, entry, arguments, ptxas, whole, numerics, timeout = self._given
            kernel = _native.Kernel(path=path, arch=arch, entry=entry, arguments=arguments,
                                    ptxas=ptxas, whole_module=whole, allow_numerics=numerics,
                                    timeout=timeout)
            _kernels[key] = kernel
        return kernel

    def __reduce__(self) -> Any:
        return _open_ptx, self._given

    def candidate(self, genes: tuple[int, ...]) -> KernelCandidate:
        return KernelCandidate(self, genes)

    def params(self, genes: tuple[int, ...]) -> dict[str, Any]:
        return KernelCandidate(self, genes).controls

    def load(self, path: Any) -> KernelCandidate:
        """The candidate that a controls file for this very kernel holds.

        :raises evocc.MismatchError: it is for another kernel, compiler or command.
        """
        return KernelCandidate(self, self.native_kernel.load(path))

    def parse(self, text: str) -> KernelCandidate:
        """The candidate "ptxas/register-usage-level=0 ptx/order@fa=late"; "" is the baseline."""
        return KernelCandidate(self, self.native.genes(text))


def _open_ptx(path: str, arch: Any, entry: Any, arguments: Any, ptxas: Any, whole: bool,
              numerics: bool, timeout: float) -> PtxSpace:
    return PtxSpace(path, arch, entry=entry, arguments=arguments, ptxas=ptxas, whole_module=whole,
                    allow_numerics=numerics, timeout=timeout)


class JointSpace(Space):
    """Several spaces searched together: the objective is given a list, one candidate a space."""

    def __init__(self, parts: Sequence[Space]):
        self.parts = list(parts)
        self.native = _native.Space.join([p.native for p in self.parts])
        self.environment = "\n".join(p.environment for p in self.parts if p.environment)
        self._slices, start = [], 0
        for part in self.parts:
            self._slices.append(slice(start, start + len(part)))
            start += len(part)
        if any(p.allowed for p in self.parts):
            self.allowed = self._keeps_rules

    def _keeps_rules(self, genes: tuple[int, ...]) -> bool:
        return all(p.allowed is None or p.allowed(genes[s])
                   for p, s in zip(self.parts, self._slices))

    def candidate(self, genes: tuple[int, ...]) -> list[Any]:
        return [p.candidate(genes[s]) for p, s in zip(self.parts, self._slices)]

    def params(self, genes: tuple[int, ...]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for part, where in zip(self.parts, self._slices):
            result.update(part.params(genes[where]))
        return result


def as_space(given: Any) -> Space:
    """A Space as it is, a dictionary as a ParamSpace, a list as a JointSpace."""
    if isinstance(given, Space):
        return given
    if isinstance(given, Mapping):
        return ParamSpace(given)
    if isinstance(given, (list, tuple)) and given:
        return JointSpace([as_space(part) for part in given])
    raise TypeError("search_space must be a space, a dictionary of domains, or a list of these, not "
                    f"{type(given).__name__}")
