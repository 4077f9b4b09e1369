# SPDX-License-Identifier: Apache-2.0
"""Whether a model keeps the samples of a packed row apart, and a row is what was planned; `ballast.torch` has both."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor
    from torch.nn import Module
    from torch.utils.hooks import RemovableHandle
    from torch.utils.data import Dataset

Batch = dict[str, Any]
_WATCHED: weakref.WeakKeyDictionary[Module, RemovableHandle] = weakref.WeakKeyDictionary()  # by `watch`
SIZES = (7, 5, 6)  # tokens of the samples by which a model is checked at its first forward pass
BOUNDS = ("cu_seq_lens_q", "cu_seq_lens_k", "cu_seqlens")
LONGEST = ("max_length_q", "max_length_k", "max_seqlen")
LEFT_OUT = (
    "labels",
    "past_key_values",
    "logits_to_keep",
    "num_logits_to_keep",
    "fused_lm_head",
)  # all logits are compared


def check_model(
    model: Module, samples: Iterable[Any] | Dataset[Any], *, collate: Callable[[list[Any]], Batch] | None = None
) -> None:
    """Raises ValueError unless `model` computes the same for three samples in a packed row as for each alone.

    Compares the logits of `model(**collate(samples))`, in train mode with dropout off, on the first three of `samples`.
    `collate` is that of the loader; by default `Packed`, for a model of transformers with `huggingface=True`. The model
    is left as it was. ballast.torch.Plan.steps_of(loader, model), ballast.accelerate.prepared and
    ballast.huggingface.Planned do the same at the first step of a model of transformers.
    """
    from .torch import Packed

    collate = collate or Packed(huggingface=hasattr(_config_owner(model), "config"))
    rows: Any = samples  # a Dataset is read by number
    chosen = list(itertools.islice(rows, 3))
    if len(chosen) < 2:
        raise ValueError(f"samples has {len(chosen)} entries: a packed row to check needs two or three")
    device = next(model.parameters()).device

    def row(members: list[Any]) -> Batch:
        batch = {name: value for name, value in collate(members).items() if name not in LEFT_OUT}
        return {name: value.to(device) if hasattr(value, "to") else value for name, value in batch.items()}

    packed = row(chosen)
    _judge(model, packed, _off(model, packed, [row([sample]) for sample in chosen]))


def watch(model: Module, longest: int) -> None:
    """Checks a model of transformers at its next forward pass, with what the loop passes.

    `longest` is the length of the longest sample that was planned.

    The rows that it is checked by have the names of the loop's arguments, so every rank makes as many forward passes.
    """
    if not hasattr(getattr(_config_owner(model), "config", None), "model_type"):
        return

    def first(module: Module, args: tuple[Any, ...], kwargs: Batch) -> None:
        given = dict(inspect.signature(_unwrapped(module).forward).bind_partial(*args, **kwargs).arguments)
        given.update(given.pop("kwargs", {}))
        tokens, mask = given.get("input_ids"), given.get("attention_mask")
        if tokens is None or tokens.dim() != 2 or (mask is not None and getattr(mask, "dim", int)() != 2):
            handle.remove()  # embeddings, or a mask that the loop has made itself
            return
        positions = given.get("position_ids")
        told = any(given.get(name) is not None for name in (*BOUNDS, "seq_idx"))
        if tokens.shape[0] != 1 or (positions is None and not told and tokens.shape[1] <= longest):
            return  # padded rows, or a row of one sample
        handle.remove()
        restarts = positions is not None and bool((positions.diff() < 0).any())
        if not told and not restarts and tokens.shape[1] > longest:
            raise ValueError(
                f"a row of {tokens.shape[1]} tokens has several samples, since the longest has {longest}, but the loop "
                "does not pass where each begins: pass position_ids that restart, as in model(**batch) with "
                "ballast.torch.Packed"
            )
        parts = tokens.flatten()[_arange(tokens, sum(SIZES)) % tokens.numel()].unsqueeze(0)
        alone = [_like(given, part, (part.shape[1],)) for part in parts.split(SIZES, 1)]
        packed = _like(given, parts, SIZES)
        try:
            off = _off(module, packed, alone)
        except Exception as error:  # a forward pass of its own, which takes or returns something else
            warnings.warn(
                f"whether the model keeps the samples of a row apart was not checked: {error!r}", stacklevel=2
            )
            return
        _judge(module, packed, off)

    if model in _WATCHED:  # a loop that ended before its first forward pass
        _WATCHED[model].remove()
    _WATCHED[model] = handle = model.register_forward_pre_hook(first, with_kwargs=True, prepend=True)


def _arange(like: Tensor, end: int) -> Tensor:
    import torch

    return torch.arange(end, device=like.device)


def _like(given: Batch, tokens: Tensor, sizes: Sequence[int]) -> Batch:
    """The arguments of a forward pass, for other tokens in samples of these sizes."""
    import torch

    position = torch.cat([_arange(tokens, size) for size in sizes])
    number = torch.cat([torch.full_like(_arange(tokens, size), i) for i, size in enumerate(sizes)])
    made = {
        "input_ids": tokens,
        "attention_mask": torch.ones_like(tokens),
        "token_type_ids": torch.zeros_like(tokens),
        "seq_idx": number.to(torch.int32).unsqueeze(0),
    }
    ends = torch.tensor([0, *itertools.accumulate(sizes)], dtype=torch.int32, device=tokens.device)
    out: Batch = {}
    for name, value in given.items():
        if name in LEFT_OUT:
            continue
        if not isinstance(value, torch.Tensor):
            out[name] = max(sizes) if name in LONGEST and value is not None else value
        elif name == "position_ids":
            out[name] = position.expand(*value.shape[:-1], len(position))
        elif name in BOUNDS:
            out[name] = ends
        elif name in LONGEST:
            out[name] = torch.tensor(max(sizes))
        elif name in made:
            out[name] = made[name]
    return out


def _off(model: Module, packed: Batch, alone: list[Batch]) -> float:
    """By how much the logits of the second and third sample differ, in parts of their size; 0 if that is rounding."""
    import torch

    with _without_dropout(model):
        compiled = model is not _unwrapped(model) or any(
            getattr(m, "_compiled_call_impl", None) for m in model.modules()
        )
        with torch.compiler.set_stance("force_eager") if compiled else contextlib.nullcontext():
            row, *ones = (_logits(_unwrapped(model)(**batch)) for batch in (packed, *alone))
    first, ones_joined = ones[0].shape[1], torch.cat(ones, dim=1)
    row, one = (
        centred[0, first : ones_joined.shape[1]]
        for centred in (x.double() - x.double().mean(-1, keepdim=True) for x in (row, ones_joined))
    )
    off = float(((row - one).norm(dim=-1) / one.norm(dim=-1).clamp_min(1e-30)).median())
    return 0.0 if off < _digits(model, ones_joined) ** 0.5 else off  # half of the digits


def _judge(model: Module, packed: Batch, off: float) -> None:
    """Raises ValueError, and says what to change, if a sample depends on those before it."""
    if off == 0.0:
        return
    owner = _config_owner(model)
    config = getattr(owner, "config", None)
    kernel = getattr(config, "_attn_implementation", None)
    raise ValueError(
        f"{type(owner).__name__} attends across the samples of a packed row"
        + (f" with the attention {kernel!r}" if kernel else "")
        + f": the logits of a sample are off by {off:.2g} of their size, beside those that it has alone. "
        + _mend(packed, config)
    )


def _mend(packed: Batch, config: Any) -> str:
    """What to change."""
    positions = packed.get("position_ids")
    if packed.get("use_cache") is not False and getattr(config, "use_cache", False):
        return "Pass use_cache=False, as in model(**batch): with a cache the row is taken for one sequence"
    if positions is None:
        return "Pass position_ids that restart at each sample"
    if "mrope_section" in str(config) and positions.dim() == 2:
        return "It tells samples apart by four axes of positions: collate by ballast.torch.Packed(axes=4)"
    if packed.get("attention_mask") is not None:
        return "Pass no attention_mask: without one the samples are taken from position_ids"
    return (
        "Nothing tells it where a sample begins: choose another attn_implementation, or train on padded rows "
        "(ballast.padded_batches)"
    )


def _digits(model: Module, logits: Tensor) -> float:
    """The relative precision of the coarsest type that takes part."""
    import torch

    device = logits.device.type
    types = {logits.dtype, *(p.dtype for p in model.parameters() if p.dtype in (torch.bfloat16, torch.float16))}
    if torch.is_autocast_enabled(device):
        types.add(torch.get_autocast_dtype(device))
    least = torch.finfo(torch.float32).eps if device == "cpu" else 2.0**-10  # TensorFloat-32
    return max(least, *(torch.finfo(kind).eps for kind in types))


def _logits(out: Any) -> Tensor:
    import torch

    if isinstance(out, torch.Tensor):
        return out
    found = out.get("logits") if hasattr(out, "get") else getattr(out, "logits", None)
    if found is None:
        found = out["last_hidden_state"] if hasattr(out, "keys") and "last_hidden_state" in out else out[0]
    if not isinstance(found, torch.Tensor) or found.dim() != 3:
        raise ValueError("the model returns no logits of shape [rows, tokens, vocabulary], so it cannot be checked")
    return found


def _unwrapped(model: Module) -> Any:
    """The module that a forward pass without gradients, and without compiling, may call."""
    import torch

    while True:
        if hasattr(model, "_orig_mod"):
            model = model._orig_mod  # type: ignore[assignment]
        elif isinstance(model, torch.nn.parallel.DistributedDataParallel):
            model = model.module
        else:
            return model


def _config_owner(model: Module) -> Any:
    """The module of transformers inside its wrappers; of another model the innermost."""
    inner: Any = _unwrapped(model)
    while hasattr(inner, "module") and hasattr(inner.module, "forward"):
        inner = _unwrapped(inner.module)
    return inner.get_base_model() if hasattr(inner, "peft_config") and hasattr(inner, "get_base_model") else inner


@contextlib.contextmanager
def _without_dropout(model: Module) -> Iterator[None]:
    """Train mode without dropout and gradients; random numbers and all settings are afterwards as before."""
    import torch

    modules = list(model.modules())
    was = [(module, module.training) for module in modules]
    holders = modules + list({id(m.config): m.config for m in modules if hasattr(m, "config")}.values())
    off = [
        (holder, name, value)
        for holder in holders
        for name, value in list(getattr(holder, "__dict__", {}).items())
        if isinstance(value, float) and (name == "p" or "drop" in name or "jitter" in name)
    ]
    device = next(model.parameters()).device
    devices = [device.index or 0] if device.type == "cuda" else []
    try:
        for module in modules:
            module.training = True
        for holder, name, _ in off:
            setattr(holder, name, 0.0)
        with torch.no_grad(), torch.random.fork_rng(devices=devices):
            yield
    finally:
        torch.clear_autocast_cache()  # it would hand out copies of the weights that have no gradient
        for holder, name, value in off:
            setattr(holder, name, value)
        for module, training in was:
            module.training = training


def check_rows(dataset: Any, planned: int) -> None:
    """Raises ValueError unless the data set has as many rows as were planned."""
    if hasattr(dataset, "__len__") and len(dataset) != planned:
        raise ValueError(
            f"the data set has {len(dataset)} rows, but {planned} lengths were planned: it is another one, or was "
            "filtered since; plan with the lengths of this one"
        )


def check_batch(batch: Any, members: Sequence[int], planned: NDArray[np.int64]) -> None:
    """Raises ValueError, and names the sample, unless the samples of a batch have the lengths they were planned with.

    On a device only shapes are read, unless they are wrong: the loop does not wait for it.
    """
    tokens = batch.get("input_ids") if hasattr(batch, "get") else None
    if tokens is None or getattr(tokens, "dim", int)() != 2:
        return
    wanted = planned[members]
    ends = next((batch[name] for name in BOUNDS if batch.get(name) is not None), None)
    if tokens.shape[0] != 1:
        mask = batch.get("attention_mask")
        if mask is None or mask.device.type != "cpu" or len(mask) != len(members):
            return
        found = mask.sum(1).numpy()
    else:
        total = int(wanted.sum())
        exact = ends is None or len(ends) == len(members) + 1
        if tokens.device.type != "cpu" and total <= tokens.shape[1] and not (exact and total != tokens.shape[1]):
            return
        if ends is not None:
            found = np.diff(ends.cpu().numpy())[: len(members)]
        elif batch.get("position_ids") is not None:
            positions = batch["position_ids"].reshape(-1, tokens.shape[1])[0].cpu().numpy()
            found = np.diff(np.append(np.flatnonzero(positions == 0), len(positions)))[: len(members)]
        else:
            if total > tokens.shape[1]:
                raise ValueError(
                    f"a row of samples {list(members)} has {tokens.shape[1]} tokens instead of the {total} planned"
                )
            return
    if len(found) != len(members):
        raise ValueError(f"a row has {len(found)} samples instead of the {len(members)} planned: {list(members)}")
    wrong = np.flatnonzero(np.asarray(found) != wanted)
    if len(wrong):
        at = int(wrong[0])
        raise ValueError(
            f"sample {members[at]} has {int(found[at])} tokens, but was planned with {int(wanted[at])}: the lengths are "
            "those of another data set, or of this one before a shuffle, a filter or a change of its rows"
        )
