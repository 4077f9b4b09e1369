# SPDX-License-Identifier: Apache-2.0
"""What nanobind leaves out for functions of the native module: signatures that `inspect` reads, and one sentence that
names a wrong argument, where nanobind lists the overloads."""

import ast
import functools
import inspect
import numbers
import operator
import re
import reprlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

_KINDS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "int": ("an integer", lambda x: _integer(x) is not None),
    "float": ("a number", lambda x: isinstance(x, numbers.Real) and not _is_bool(x)),
    "bool": ("True or False", lambda x: _is_bool(x)),
    "str": ("a string", lambda x: isinstance(x, str)),
    "None": ("None", lambda x: x is None),
    "numpy.typing.ArrayLike": ("an array", lambda x: x is not None),
    "collections.abc.Sequence[int]": (
        "a sequence of integers",
        lambda x: isinstance(x, list) and None not in map(_integer, x),
    ),
    "collections.abc.Sequence[float]": ("a sequence of numbers", lambda x: False),
}


def integer(name: str, value: Any) -> int:
    """The value of an argument that must be an integer."""
    number = _integer(value)
    if number is None:
        raise TypeError(f"{name} = {reprlib.repr(value)} must be an integer")
    return number


def _is_bool(x: Any) -> bool:
    return x is True or x is False


def _integer(x: Any) -> int | None:
    """The value of an integer; None of a boolean, and of arrays, which have an `__index__` too."""
    try:
        return None if _is_bool(x) else operator.index(x)
    except TypeError:
        return None


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


def _wrong(signature: inspect.Signature, bound: dict[str, Any]) -> str | None:
    """The sentence about the first value that is of no kind its annotation allows."""
    for name, value in bound.items():
        annotation = signature.parameters[name].annotation
        kinds = [] if annotation is inspect.Parameter.empty else annotation.split(" | ")
        if kinds and all(kind in _KINDS and not _KINDS[kind][1](value) for kind in kinds):
            wanted = " or ".join(_KINDS[kind][0] for kind in dict.fromkeys(kinds))
            return f"{name} = {reprlib.repr(value)} must be {wanted}"
    return None


def _complaint(what: str, signature: inspect.Signature, args: Any, kwargs: Any) -> tuple[int, str]:
    """What is wrong with arguments that nanobind refused, and how far they fit the signature."""
    try:
        bound = signature.bind(*args, **kwargs).arguments
    except TypeError as error:
        return 0, f"{what}: {error}"
    sentence = _wrong(signature, bound)
    if sentence:
        return 2, sentence
    for name, value in bound.items():
        number = _integer(value)
        if number is not None and not 0 <= number < 2**63:
            return 2, f"{name} = {value} " + ("must not be negative" if number < 0 else "is too large")
    large = [f"{name} = {value}" for name, value in bound.items() if (_integer(value) or 0) >= 2**31]
    if large:  # for parameters of 32 bits
        return 1, f"{' or '.join(large)} is too large"
    return 1, f"{what}: no such types: " + ", ".join(
        f"{name} ({type(value).__name__})" for name, value in bound.items() if name != "self"
    )


def _checked(function: Any, what: str) -> Any:
    signatures = [_signature(text, defaults) for text, _, defaults in function.__nb_signature__]
    only = signatures[0] if len(signatures) == 1 else None

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if only and (bool in map(type, args) or bool in map(type, kwargs.values())):  # for nanobind, True is 1
            try:
                sentence = _wrong(only, only.bind(*args, **kwargs).arguments)
            except TypeError:
                sentence = None
            if sentence:
                raise TypeError(sentence)
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            if f"{function.__name__}(): incompatible function arguments" not in str(error):
                raise
        raise TypeError(max((_complaint(what, s, args, kwargs) for s in signatures), key=lambda found: found[0])[1])

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
            for method, inner in list(vars(function).items()):
                if hasattr(inner, "__nb_signature__") and (method[:2] != "__" or method == "__call__"):
                    setattr(function, method, _checked(inner, method))
