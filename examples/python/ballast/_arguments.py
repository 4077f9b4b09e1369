# SPDX-License-Identifier: Apache-2.0
"""What nanobind leaves out for functions of the native module: signatures that `inspect` reads, and one sentence that
names a wrong argument, where nanobind lists the overloads."""

import ast
import functools
import inspect
import itertools
import operator
import os
import re
import reprlib
from collections.abc import Callable, Mapping, Set
from types import FunctionType, ModuleType
from typing import Any, TypeVar

_F = TypeVar("_F", bound=Callable[..., Any])
_LEVELS = (
    "'auto', 'hbp' or tuples of two or three integers, such as [(8192, 1), (32768, 4)]: tokens of a pack, ranks that share"
    " it, and perhaps recomputed layers"
)
_KINDS: dict[str, tuple[str, Callable[[Any], bool]]] = {  # of annotations without the modules of their names
    "int": ("an integer", lambda x: _is_integer(x)),
    "float": ("a number", lambda x: _is_number(x)),
    "bool": ("True or False", lambda x: _is_bool(x)),
    "str": ("a string", lambda x: isinstance(x, str)),
    "None": ("None", lambda x: x is None),
    "ArrayLike": ("an array", lambda x: x is not None),
    "Callable": ("a function", callable),
    "Dataset": ("a datasets.Dataset", lambda x: hasattr(x, "with_format") and hasattr(x, "__len__") and not isinstance(x, Mapping)),
    "Module": ("a module", lambda x: hasattr(x, "parameters")),
    "Sequence[Any]": ("a sequence", lambda x: _can_iterate(x) and hasattr(x, "__len__")),
    "Sequence[int]": ("a sequence of integers", lambda x: _all(x, _is_integer)),
    "Iterable[int]": ("a sequence of integers", lambda x: _all(x, _is_integer, (Mapping, str, bytes))),
    "Sequence[float]": ("a sequence of numbers", lambda x: _all(x, _is_number)),
    "Sequence[str]": ("a sequence of strings", lambda x: _can_iterate(x)),
    "Sequence[tuple[int, int, int]]": ("a sequence of triples of integers", lambda x: _all(x, _is_triple)),
    "Sequence[Tensor]": ("a sequence of tensors", lambda x: _all(x, lambda y: hasattr(y, "new_full"))),
    "Iterable[Iterable[ArrayLike]]": ("a sequence of packs, each of arrays of tokens", lambda x: _can_iterate(x)),
    "Sequence[ArrayLike]": ("a sequence of arrays", lambda x: _can_iterate(x)),
    "Iterable[ArrayLike]": ("a sequence of arrays", lambda x: _can_iterate(x)),
    "Iterable[tuple[Sample, int]]": ("an iterable of pairs (sample, length)", lambda x: _can_iterate(x)),
    "Sequence[tuple[int, int] | tuple[int, int, int]]": (_LEVELS, lambda x: _can_iterate(x)),
    "dict[str, Any]": ("a dictionary", lambda x: isinstance(x, Mapping)),
    "Mapping[str, object]": ("a config", lambda x: isinstance(x, Mapping)),
    "PathLike[str]": ("a path", lambda x: isinstance(x, os.PathLike)),
    "object": ("the name, the config or the module of a model", lambda x: x is not None),
}
_KEYED = (r"\bmicro_batches = ", "multiple = "), (r"times ranks and micro_batches", "times multiple")
_CU = (r"(?<!build )\bcu_seqlens_padded\b", "padded"), (r"(?<!build )\bcu_seqlens\b(?!:)", "cu")
_SETTING = (
    (r"\bkernels\.", ""),
    (r'recompute\.modules = "" must be .*', 'recompute = "" must be "none", "full" or modules, as in "mlp,layernorm"'),
)
# Of native functions: what the library calls an argument or value in its sentences, and what Python calls it.
_NAMES: dict[str, tuple[tuple[str, str], ...]] = {
    "balance": ((r"\bitems\[", "weights["),),
    "check": (
        (r"\bkeys has", "together has"),
        (r"^capacity, sample_multiple, .* must", "capacity must"),
        (r"members\[\d+\] = (\d+) must be below (\d+)", r"the plan holds sample \1, but lengths has \2 entries"),
    ),
    "context_cu_seqlens": ((r"whole_row$", "None"), (r"; use std::int64_t", "")),
    "label_counts": _CU,
    "least_micro_batches": _KEYED,
    "levels": ((r"(= -\d+) has a square outside .*", r"\1 must be positive"),),
    "longest_sequence": _SETTING,
    "lower_bound": ((r"histogram\.lengths\[\d+\] = (\d+) (.*) \(see oversize policy\)", r"a sample of \1 tokens \2"),),
    "make_run": ((r", or automatic$", ", or None"),),
    "memory": _SETTING,
    "micro_batches": _KEYED,
    "observe_ranks": ((r"^(?=\d+ times? for)", "ms has "),),
    "packed_row": ((r"\blongest = ", "max_seqlen = "),),
    "partition": (
        (r"\blayers\[", "costs["),
        (r"size and capacity", "sizes and capacities"),
        (r"\b(transfer|unit_time)(?=\[| has)", r"\1s"),
    ),
    "plan_steps": ((r", or automatic$", ", or None"),),
    "position_ids": _CU,
    "recompute": ((r"blocks\[(\d+)\]\.(\w+)", r"\2[\1]"),),
    "retained_tasks": ((r"\bretained = ", "retain = "),),
    "segment_ids": _CU,
    "share_packs": ((r"lengths\[\d+\] = (-?\d+) must", r"packs hold a length of \1, which must"),),
    "token_weights": _CU,
    "zigzag_indices": _CU,
    "zigzag_inverse": _CU,
}
_WRONG = 3  # from here on, how far arguments fit a signature of which one is of a wrong kind
_CLASSES: set[str] = set()  # of this package


def shown(value: Any) -> str:
    """A value as sentences show it, in one line."""
    return " ".join(reprlib.repr(value).split())


def counted(number: int, what: str) -> str:
    """A number of things in words: "1 step", "3,000 steps", "2 micro-batches"."""
    return f"{number:,} {what}" + ("" if number == 1 else "es" if what.endswith("tch") else "s")


def integer(name: str, value: Any) -> int:
    """The value of an argument that must be an integer."""
    number = _integer(value)
    if number is None:
        raise TypeError(f"{name} = {shown(value)} must be an integer")
    return number


def levels(value: Any) -> Any:
    """Levels as a tuple of tuples of integers, unless they are a name or None."""
    if value is None or isinstance(value, str):
        return value
    try:
        out = tuple(tuple(integer("levels", number) for number in level) for level in value)
    except TypeError:
        out = ((),)
    if any(len(level) not in (2, 3) for level in out):
        raise TypeError(f"levels = {shown(value)} must be {_LEVELS}")
    for number in itertools.chain(*out):
        if not -(2**63) <= number < 2**63:
            raise ValueError(f"levels = {shown(value)}: {number} is too large")
    return out


def _is_bool(x: Any) -> bool:
    return x is True or x is False


def _can_iterate(x: Any) -> bool:
    try:
        return iter(x) is not None
    except TypeError:
        return False


def _all(x: Any, test: Callable[[Any], bool], unlike: Any = (Mapping, Set, str, bytes)) -> bool:
    """Whether all entries pass a test, which those of an iterator do unseen: they come once. Sets have no order."""
    return _can_iterate(x) and not isinstance(x, unlike) and (iter(x) is x or all(map(test, x)))


def _is_integer(x: Any) -> bool:
    return _integer(x) is not None


def _is_triple(x: Any) -> bool:
    return _all(x, _is_integer) and len(tuple(x)) == 3


def _integer(x: Any) -> int | None:
    """The value of an integer; None of a boolean, and of arrays, which have an `__index__` too."""
    try:
        return None if _is_bool(x) else operator.index(x)
    except TypeError:
        return None


def _is_number(x: Any) -> bool:
    try:
        return not (_is_bool(x) or isinstance(x, (str, bytes))) and isinstance(float(x), float)
    except (OverflowError, TypeError, ValueError):
        return False


def _signature(text: str, defaults: tuple[Any, ...] | None) -> inspect.Signature:
    """From what nanobind keeps: 'def f(a: int = \\0, b: object | None = \\=1) -> str' and the default values; those with
    an equals sign are texts."""
    named = re.sub(r"\\(=?)(\d+)", lambda m: f"({m[2]}, {bool(m[1])})", text)
    named = re.sub(r"ndarray\[[^\]]*\]", "ndarray", named)
    function = ast.parse(named + ": ...").body[0]
    assert isinstance(function, ast.FunctionDef)

    def value(node: ast.expr | None) -> Any:
        if node is None:
            return inspect.Parameter.empty
        given = ast.literal_eval(node)
        if not isinstance(given, tuple):
            return given
        assert defaults is not None
        kept = defaults[given[0]]
        return ast.literal_eval(kept) if given[1] else kept

    a = function.args
    positional, P = a.posonlyargs + a.args, inspect.Parameter
    kinds = [P.POSITIONAL_ONLY] * len(a.posonlyargs) + [P.POSITIONAL_OR_KEYWORD] * len(a.args)
    given = [None] * (len(positional) - len(a.defaults)) + list(a.defaults)
    rows = list(zip(positional, kinds, given)) + [(x, P.KEYWORD_ONLY, d) for x, d in zip(a.kwonlyargs, a.kw_defaults)]
    return inspect.Signature(
        [
            P(x.arg, kind, default=value(d), annotation=ast.unparse(x.annotation) if x.annotation else P.empty)
            for x, kind, d in rows
        ],
        return_annotation=ast.unparse(function.returns) if function.returns else inspect.Signature.empty,
    )


def _merged(signatures: list[inspect.Signature]) -> inspect.Signature:
    """One signature for all overloads. What not all of them need has the default `...`."""
    P, last = inspect.Parameter, inspect.Parameter.KEYWORD_ONLY
    out: dict[str, inspect.Parameter] = {}
    for number, signature in enumerate(signatures):
        for name, parameter in signature.parameters.items():
            out.setdefault(name, parameter if number == 0 else parameter.replace(kind=last))
    optional = False
    for name, parameter in out.items():
        optional = optional or not all(name in signature.parameters for signature in signatures)
        if parameter.default is P.empty and optional:
            out[name] = parameter.replace(default=...)
    returns = dict.fromkeys(signature.return_annotation for signature in signatures)
    rows = sorted(out.values(), key=lambda parameter: parameter.kind)
    return inspect.Signature(rows, return_annotation=" | ".join(returns))


@functools.cache
def _kinds(annotation: str) -> list[tuple[str, Callable[[Any], bool] | None]]:
    """What an annotation allows, each with a test; without a test where it is of no known kind."""
    node, names = ast.parse(re.sub(r"[\w.]+\.(?=\w)", "", annotation), mode="eval").body, list[str]()
    while isinstance(node, ast.BinOp):
        names.append(ast.unparse(node.right))
        node = node.left
    names = list(dict.fromkeys((ast.unparse(node), *reversed(names))))
    keys = ("Callable" if name.startswith("Callable[") else name for name in names)
    return [_KINDS.get(name) or (f"a {name}", _test_of(name)) for name in keys]


def _test_of(name: str) -> Callable[[Any], bool] | None:
    return (lambda x: name in (c.__name__ for c in type(x).__mro__)) if name in _CLASSES else None


def _wrong(signature: inspect.Signature, bound: dict[str, Any], refused: bool) -> tuple[int, str] | None:
    """The sentence about the first value that is of no kind its annotation allows, and its place. What has a class among
    several kinds may take others that convert to it, unless nanobind `refused` a value."""
    for place, (name, value) in enumerate(bound.items()):
        annotation = signature.parameters[name].annotation
        kinds = [] if annotation is inspect.Parameter.empty else _kinds(annotation)
        others = {text for text, test in kinds if (text, test) in _KINDS.values()} - {"None"}
        if not refused and "True or False" in others and type(value).__name__ in ("bool", "bool_"):  # NumPy's
            continue
        classes = bool(others) and len(others) < len(kinds) - (("None", _KINDS["None"][1]) in kinds)
        if kinds and all(test and not test(value) for _, test in kinds) and (refused or not classes):
            wanted = [text for text, _ in kinds]
            if _LEVELS in wanted:  # which says which strings
                wanted.remove("a string")
            return place, f"{name} = {shown(value)} must be {' or '.join(wanted)}"
    return None


def _complaint(what: str, signature: inspect.Signature, args: Any, kwargs: Any, refused: bool) -> tuple[int, str]:
    """What is wrong with arguments that nanobind refused, and how far they fit the signature."""
    try:
        bound = signature.bind(*args, **kwargs).arguments
    except TypeError as error:
        return 0, f"{what}: {error}"
    wrong = _wrong(signature, bound, refused)
    if wrong:
        return _WRONG + wrong[0], wrong[1]
    if not refused:
        return 1, ""
    entries = [(f"{name}[{i}]", y) for name, x in bound.items() if isinstance(x, (list, tuple)) for i, y in enumerate(x)]
    for name, value in (*bound.items(), *entries):
        number = _integer(value)
        if number is not None and not 0 <= number < 2**63:
            return 2, f"{name} = {value} " + ("must not be negative" if number < 0 else "is too large")
    large = [f"{name} = {value}" for name, value in bound.items() if (_integer(value) or 0) >= 2**31]
    if large:  # for parameters of 32 bits
        return 1, f"{' or '.join(large)} is too large"
    return 1, f"{what}: no such types: " + ", ".join(
        f"{name} ({type(value).__name__})" for name, value in bound.items() if name != "self"
    )


def _complaint_of_all(
    what: str, signatures: list[inspect.Signature], args: Any, kwargs: Any, refused: bool
) -> tuple[int, str]:
    """The complaint of the overload that the arguments fit best; of several, all that it must be."""
    found = [_complaint(what, signature, args, kwargs, refused) for signature in signatures]
    best = max(fit for fit, _ in found)
    if not refused and any(0 < fit < _WRONG for fit, _ in found):  # one of them takes it
        return 0, ""
    first, *others = dict.fromkeys(sentence for fit, sentence in found if fit == best)
    start = first.partition(" must be ")[0] + " must be "
    return best, " or ".join([first, *(other.removeprefix(start) for other in others if other.startswith(start))])


def named(function: _F) -> _F:
    """The same function of Python, which names an argument that is of no kind its annotation allows."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            wrong = _wrong(signature, signature.bind(*args, **kwargs).arguments, False)
        except TypeError:  # the call says what is missing
            wrong = None
        if wrong:
            raise TypeError(wrong[1])
        return function(*args, **kwargs)

    return call  # type: ignore[return-value]


def named_in(module: dict[str, Any]) -> None:
    """The same for the public functions and constructors of a module of Python, given its names."""
    for name in module["__all__"]:
        thing = module[name]
        if isinstance(thing, FunctionType):
            module[name] = named(thing)
        elif isinstance(thing, type):
            _CLASSES.add(name)
            if "__init__" in vars(thing):
                setattr(thing, "__init__", named(getattr(thing, "__init__")))


def _checked(function: Any, what: str) -> Any:
    signatures = [_signature(text, defaults) for text, _, defaults in function.__nb_signature__]
    only = signatures[0] if len(signatures) == 1 else None
    names = _NAMES.get(what, ())

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if bool in map(type, args) or bool in map(type, kwargs.values()):  # for nanobind, True is 1
            fit, sentence = _complaint_of_all(what, signatures, args, kwargs, False)
            if fit >= _WRONG:
                raise TypeError(sentence)
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            refused = f"{function.__name__}(): incompatible function arguments" in str(error)
            fit, sentence = _complaint_of_all(what, signatures, args, kwargs, refused)
            if fit < _WRONG and not refused:
                raise
        except ValueError as error:
            sentence = functools.reduce(lambda said, by: re.sub(*by, said), names, str(error))
            if type(error) is not ValueError or sentence == str(error):
                raise
            raise ValueError(sentence) from None
        raise TypeError(sentence)

    del call.__wrapped__  # which inspect would ask
    texts = [text for _, text, _ in function.__nb_signature__]
    call.__doc__ = texts[0] if only else "\n\n".join(f"{what}{s}\n\n{text}" for s, text in zip(signatures, texts))
    call.__signature__ = only or _merged(signatures)  # type: ignore[attr-defined]
    return call


def check_arguments_of(module: ModuleType) -> None:
    """Puts such functions in the place of the native ones, methods too."""
    for name, function in list(vars(module).items()):
        if hasattr(function, "__nb_signature__"):
            setattr(module, name, _checked(function, name))
        elif isinstance(function, type):
            _CLASSES.add(name)
            for method, inner in list(vars(function).items()):
                if hasattr(inner, "__nb_signature__") and (method[:2] != "__" or method == "__call__"):
                    setattr(function, method, _checked(inner, method))
