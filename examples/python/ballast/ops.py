# SPDX-License-Identifier: Apache-2.0
"""Operators of PyTorch for plans, layouts and losses of packed rows, on CPU and CUDA: `torch.ops.ballast`.

    import ballast.ops  # compiles them the first time

    offsets, members = torch.ops.ballast.pack(lengths, 8192)
    cu = torch.ops.ballast.cu_seqlens(lengths, members, offsets)

The import compiles sources of this package by torch.utils.cpp_extension, which needs a compiler of C++20 and ninja, and
nvcc for tensors of CUDA; PyTorch keeps the library. BALLAST_OPS names a library that is already compiled, as `LIBRARY`
of such an import is. docs/torch-ops.md lists the operators.
"""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Callable
from typing import Any

import ballast

try:
    import torch
except ImportError as error:
    raise ImportError("ballast.ops needs PyTorch: pip install torch") from error

__all__ = ["LIBRARY", "cost_table"]


def _build() -> str:
    """Compiles the operators where that has not been done, and returns the path of the library."""
    from torch.utils import cpp_extension

    here = os.path.join(os.path.dirname(__file__), "_ops")
    headers = [os.path.join(here, "include")]
    if not os.path.isdir(headers[0]):  # not installed, but in the repository
        root = os.path.join(here, "../../../..")
        headers = [os.path.join(root, "include"), os.path.join(root, "cuda/include")]
    compiler = os.environ.get("CXX", "c++").split()[0]
    for tool, package in ((compiler, "g++"), ("ninja", "ninja-build")):
        if shutil.which(tool) is None:
            raise ImportError(
                f"ballast.ops is compiled on this machine, which has no {tool}: install it (Debian: apt-get install "
                f"{package}), or name a compiled library in the variable BALLAST_OPS"
            )
    sources = [os.path.join(here, "ops.cpp")]
    if torch.version.cuda is not None and torch.cuda.is_available():
        if cpp_extension.CUDA_HOME is not None and shutil.which(os.path.join(cpp_extension.CUDA_HOME, "bin/nvcc")):
            sources.append(os.path.join(here, "ops.cu"))
        else:
            warnings.warn(
                "ballast.ops takes tensors of the CPU only, for this machine has no nvcc: install the CUDA toolkit of "
                f"PyTorch, {torch.version.cuda}, or set CUDA_HOME",
                stacklevel=3,
            )
    flags = ["-std=c++20", "-O2", "-DNDEBUG"]
    built_for = "".join(c if c.isalnum() else "_" for c in torch.__version__)  # another PyTorch needs another library
    return cpp_extension.load(
        f"ballast_ops_{'cuda' if len(sources) > 1 else 'cpu'}_{built_for}",
        sources,
        extra_cflags=flags,
        extra_cuda_cflags=flags,
        extra_include_paths=headers,
        is_python_module=False,
    )


LIBRARY = os.environ.get("BALLAST_OPS") or _build()
"""The library that was loaded."""
torch.ops.load_library(LIBRARY)


def cost_table(cost: Any, longest: int, *, device: Any = None) -> torch.Tensor:
    """The cost of each length up to `longest`, int64, as sample_costs and pack_costs take it.

    `cost` is a ballast.Cost or another function of a length, or the name or config of a model, whose sample_time it is.
    """
    of = cost if callable(cost) and not hasattr(cost, "config") else ballast.sample_time(cost)
    return torch.tensor([of(length) for length in range(longest + 1)], dtype=torch.int64, device=device)


# What the operators return, for tensors without data: torch.compile asks.


def _fake(function: Callable[..., Any]) -> Callable[..., Any]:
    name = function.__name__[1:]

    def checked(*args: Any, **options: Any) -> Any:
        tensors = [x for x in (*args, *options.values()) if isinstance(x, torch.Tensor)]
        for x in tensors[1:]:
            if x.device != tensors[0].device:  # PyTorch comes here for tensors of the CPU beside those of "meta", too
                first = tensors[0].device
                raise ValueError(f"{name}: a tensor is on {x.device} and the first on {first}: move one of them")
        return function(*args, **options)

    torch.library.register_fake(f"ballast::{name}")(checked)
    return function


def _new(like: torch.Tensor, *shape: Any, dtype: torch.dtype = torch.int64) -> torch.Tensor:
    return like.new_empty(shape, dtype=dtype)


def _new_rows(cu: torch.Tensor, row: Any, offsets: torch.Tensor | None, dtype: torch.dtype) -> torch.Tensor:
    return _new(cu, row, dtype=dtype) if offsets is None else _new(cu, offsets.numel() - 1, row, dtype=dtype)


@_fake
def _pack(lengths, capacity, **options):
    entries = torch.library.get_ctx().new_dynamic_size(min=1)
    return _new(lengths, entries), _new(lengths, lengths.numel())


@_fake
def _next_fit(lengths, capacity, **options):
    return _pack(lengths, capacity)


@_fake
def _pack_measures(measures, capacity, **options):
    return _pack(measures[0], capacity)


@_fake
def _pack_levels(lengths, capacities):
    return *_pack(lengths, capacities), _new(lengths, len(capacities) + 1)


@_fake
def _cu_seqlens(lengths, members=None, offsets=None, **options):
    packs = 1 if offsets is None else offsets.numel() - 1
    return _new(lengths, (lengths if members is None else members).numel() + packs, dtype=torch.int32)


@_fake
def _context_cu_seqlens(lengths, members=None, offsets=None, **options):
    return _cu_seqlens(lengths, members, offsets), _cu_seqlens(lengths, members, offsets)


@_fake
def _sequence_lengths(offsets, *, check=True):
    return _new(offsets, offsets.numel() - 1)


@_fake
def _unpad_rows(mask):
    tokens = torch.library.get_ctx().new_dynamic_size()
    rows = _new(mask, mask.shape[0] + 1, dtype=torch.int32)
    return _new(mask, tokens), rows, _new(mask, dtype=torch.int32)


@_fake
def _max_seqlen(cu):
    return _new(cu, dtype=cu.dtype)


@_fake
def _position_ids(cu, row, *, offsets=None, check=True):
    return _new_rows(cu, row, offsets, torch.int64)


@_fake
def _segment_ids(cu, row, *, padded=None, offsets=None, check=True):
    return _new_rows(cu, row, offsets, torch.int32)


@_fake
def _zigzag_indices(cu, row, *, ranks, rank, check=True):
    return _new(cu, row // ranks)


@_fake
def _zigzag_inverse(cu, row, *, ranks, check=True):
    return _new(cu, row)


@_fake
def _gather_rows(values, cu, starts, members, row, offsets=None, **options):
    shape = (row, *values.shape[1:])
    return values.new_empty(shape if offsets is None else (offsets.numel() - 1, *shape))


@_fake
def _scatter_rows(rows, cu, starts, members, stored, offsets=None, *, check=True):
    return rows.new_empty((stored, *rows.shape[1 if offsets is None else 2 :]))


@_fake
def _sample_costs(lengths, table, *, check=True):
    return _new(lengths, lengths.numel())


@_fake
def _pack_costs(lengths, offsets, table, *, members=None, check=True):
    return _new(lengths, offsets.numel() - 1)


@_fake
def _segment_loads(expert_of, offsets, experts, *, check=True):
    return _new(expert_of, offsets.numel() - 1, experts)


@_fake
def _clip_rows(expert_of, experts, capacity, *, check=True):
    return _new(expert_of, experts), _new(expert_of, expert_of.numel(), dtype=torch.int32)


@_fake
def _label_counts(labels, cu, **options):
    return _new(labels, cu.numel() - 1)


@_fake
def _loss_totals(counts, preset, *, check=True):
    return _new(counts, 5)


@_fake
def _sequence_weights(counts, totals, preset, **options):
    return _new(counts, counts.numel(), dtype=torch.float64)


@_fake
def _weighted_loss(losses, labels, cu, weights, **options):
    loss = _new(losses, dtype=losses.dtype if losses.dtype == torch.float64 else torch.float32)
    return loss, _new(losses, labels.numel(), dtype=losses.dtype), _new(losses, cu.numel(), 4)


@_fake
def _token_weights(weights, labels, cu, factor=None, *, dtype, **options):
    return _new(weights, labels.numel(), dtype=dtype)


@_fake
def _segment_figures(values, cu, *, check=True):
    n = cu.numel() - 1
    figures = [_new(values, n, dtype=values.dtype) for _ in range(2)]
    return *figures, _new(values, n, 4), _new(values, n, dtype=torch.float64)


# Gradients. What a forward pass has checked is not checked again, but for what only scatter_rows asks.


def _autograd(operator: str, keep: Callable[..., None], backward: Callable[..., Any]) -> None:
    torch.library.register_autograd(f"ballast::{operator}", backward, setup_context=keep)


def _keep_labels(ctx: Any, inputs: Any, output: Any, keyword_only_inputs: Any) -> None:
    ctx.mark_non_differentiable(*output[1:])
    ctx.save_for_backward(*inputs[1:])
    ctx.options = {**keyword_only_inputs, "dtype": inputs[0].dtype, "check": False}


def _loss_backward(ctx: Any, of_loss: torch.Tensor, *of_others: Any) -> Any:
    labels, cu, weights = ctx.saved_tensors
    return torch.ops.ballast.token_weights(weights, labels, cu, of_loss, **ctx.options), None, None, None


def _keep_weights(ctx: Any, inputs: Any, output: Any, keyword_only_inputs: Any) -> None:
    ctx.save_for_backward(*inputs)
    ctx.options = {**keyword_only_inputs, "dtype": torch.float64, "check": False}


def _weights_backward(ctx: Any, of_weights: torch.Tensor) -> Any:
    *inputs, factor = ctx.saved_tensors
    of_factor = None
    if ctx.needs_input_grad[3]:
        of_factor = (of_weights * torch.ops.ballast.token_weights(*inputs, **ctx.options)).sum()
        of_factor = of_factor.to(factor.dtype).view(factor.shape)
    return None, None, None, of_factor


def _keep_packs(ctx: Any, inputs: Any, output: Any, keyword_only_inputs: Any) -> None:
    values, *packs, extent, offsets = inputs
    ctx.save_for_backward(*packs, offsets)
    ctx.extent = values.shape[values.dim() - output.dim() if values.dim() > output.dim() else 0]  # tokens
    ctx.check = keyword_only_inputs["check"]


def _gather_backward(ctx: Any, of_rows: torch.Tensor) -> Any:
    *packs, offsets = ctx.saved_tensors
    of_values = torch.ops.ballast.scatter_rows(of_rows, *packs, ctx.extent, offsets, check=ctx.check)
    return of_values, None, None, None, None, None


def _scatter_backward(ctx: Any, of_values: torch.Tensor) -> Any:
    *packs, offsets = ctx.saved_tensors
    of_rows = torch.ops.ballast.gather_rows(of_values, *packs, ctx.extent, offsets, check=False)
    return of_rows, None, None, None, None, None


_autograd("weighted_loss", _keep_labels, _loss_backward)
_autograd("token_weights", _keep_weights, _weights_backward)
_autograd("gather_rows", _keep_packs, _gather_backward)
_autograd("scatter_rows", _keep_packs, _scatter_backward)
