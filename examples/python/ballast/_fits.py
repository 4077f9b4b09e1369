# SPDX-License-Identifier: Apache-2.0
"""How many tokens of a model of transformers fit on a device; `ballast.torch` has it."""

from __future__ import annotations

import collections
import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

import ballast

from ._data_sets import as_array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from ballast import Transformer

DTYPES = {"float32": 4, "bfloat16": 2, "float16": 2}  # bytes of a value
OWN = ("model", "lengths", "device", "packed", "unit", "dtype", "attention", "stages")  # of the arguments of `fits`


@dataclasses.dataclass(frozen=True)
class Fit:
    """The largest capacity that fits, and why no larger one; `str` is a table. All figures of memory are bytes."""

    capacity: int  # tokens of a pack or, if not packed, of a sequence; 0: not even `unit` tokens fit
    unit: int  # tokens of which it is a multiple
    memory: int  # bytes that may be used
    # what is held with `capacity` tokens, as in ballast.memory, and `masks`; with `unit` tokens if none fit
    parts: dict[str, Any]
    next: dict[str, Any] | None  # the same with a unit more; None where more tokens are not looked at
    longer: NDArray[np.intp]  # indices of the lengths that are above the capacity
    options: dict[str, Any]  # what was assumed: arguments of ballast.memory
    notes: list[str]  # what else to know, a sentence each

    @property
    def lacking(self) -> int:
        """Bytes that are missing for a unit more; 0 where more tokens are not looked at."""
        return int(self.next["peak"]) - self.memory if self.next else 0

    def __str__(self) -> str:
        assumed = ", ".join(f"{name} {value}" for name, value in self.options.items())
        head = f"{self.capacity:,} tokens fit {self.memory:,} bytes: the largest multiple of {self.unit:,}"
        if not self.capacity:
            head = f"not even {self.unit:,} tokens fit {self.memory:,} bytes: {self.lacking:,} more are needed"
        elif self.next:
            head += f"; {self.lacking:,} more are needed for the next, at the moment {self.next['moment']}"
        rows = [(name, value) for name, value in self.parts.items() if isinstance(value, int) and value]
        rows[-1:-1] = [(f"in addition: {at}", value) for at, value in self.parts["extra"].items() if value]
        width = max(len(name) for name, _ in rows)
        table = [f"{name.ljust(width)}  {value:>18,}" for name, value in rows]
        longer = f"{len(self.longer):,} lengths are above it" if len(self.longer) != 1 else "1 length is above it"
        return "\n".join([f"{head}; {longer}", f"assumed: {assumed}", *table, *self.notes])


def fits(
    model: Any,
    lengths: ArrayLike,
    device: Any,
    *,
    packed: bool = True,
    unit: int = 64,
    dtype: Any = None,
    attention: str | None = None,
    trainer: str | None = None,
    framework: str | None = None,
    micro_batch: int | None = None,
    micro_batches: int | None = None,
    tensor: int | None = None,
    context: int | None = None,
    data: int | None = None,
    stages: int = 1,
    expert: int | None = None,
    expert_tensor: int | None = None,
    zero: int | None = None,
    optimizer: str | None = None,
    recompute: str | None = None,
    loss: str | None = None,
    train: str | None = None,
    stored_scores: bool | None = None,
    dropout: bool | None = None,
    value: int | None = None,
    repeated_keys: bool | None = None,
    composed_activation: bool | None = None,
    adapter_value: int | None = None,
    adapter_dropout: bool | None = None,
    stream_pools: bool | None = None,
    hopper: bool | None = None,
) -> Fit:
    """The largest capacity with which a training step of `model` fits on `device`, and which of `lengths` are longer.

    `model` is a module of transformers, with adapters of peft or without, or a config, a config.json or the name of a
    preset. What can be read from it is: the number type, what is trained, the kernel of attention, checkpointing, and
    whether Liger computes the loss. `device` is a name such as "h100" or a CUDA device of PyTorch (nine tenths of its
    memory may be used), or a number of bytes. A `packed` row has several samples; otherwise it is one. `dtype`,
    `attention` (eager, sdpa, flash_attention_2 and so on) and the other arguments, which are those of `ballast.memory`,
    win over what was read if they are not None. The rest is what the Trainer does by default. Raises ValueError with a
    sentence for models that are not known.
    """
    given = {name: value for name, value in locals().items() if name not in OWN and value is not None}
    if stages != 1:
        raise ValueError(
            f"stages = {stages}: a module of transformers is one stage; ballast.longest_sequence takes more"
        )
    lengths = as_array(lengths, "lengths")
    if lengths.ndim != 1 or (lengths.size and lengths.dtype.kind not in "iu"):
        raise ValueError("lengths must be one row of integers, tokens of each sample")
    memory, newer = _memory_of(device)
    read = _read(model, dtype, attention)
    kinds = {"trainer": "transformers", "optimizer": "adam-fp32" if read.value == 4 else "adam-bf16"}
    masked = packed and read.attention == "sdpa"
    options = {**kinds, **read.options, "repeated_keys": masked, "hopper": newer, **given}
    return _fit(read, options, lengths, memory, unit, packed)


def _fit(read: _Read, options: dict[str, Any], lengths: NDArray[Any], memory: int, unit: int, packed: bool) -> Fit:
    shape, notes = read.shape, read.notes
    masked = packed and read.attention == "sdpa"
    # SDPA keeps a mask of the row's samples in each layer, in the model's type; the model has it once, as bytes
    layers = 1 if options.get("recompute") == "full" else shape.layers
    pairs = read.value * layers + 1 if masked else read.value if read.attention == "eager" else 0

    def parts_of(tokens: int) -> dict[str, Any]:
        (parts,) = ballast.memory(shape, sequence=tokens, **options)
        masks = pairs * tokens * tokens // (options.get("tensor", 1) * options.get("context", 1))
        peak = parts.pop("peak")
        return {**parts, "masks": masks, "peak": peak + masks}

    bound = ballast.longest_sequence(shape, memory=memory, unit=unit, packed=packed, **options)["tokens"] // unit
    fitting, failing = 0, bound + 1  # of units; masks make it fewer
    while failing - fitting > 1:
        middle = (fitting + failing) // 2
        if parts_of(middle * unit)["peak"] <= memory:
            fitting = middle
        else:
            failing = middle
    capacity = fitting * unit
    following = parts_of(capacity + unit) if capacity + unit <= 1 << 30 else None
    if masked:
        notes.append("sdpa makes a mask of all pairs of a packed row in each layer; flash_attention_2 makes none")
    if read.cache and packed:
        notes.append("config.use_cache is on: pass use_cache=False, or the samples of a row attend to each other")
    return Fit(
        capacity=capacity,
        unit=unit,
        memory=memory,
        parts=parts_of(capacity or unit),
        next=following,
        longer=np.flatnonzero(lengths > capacity),
        options={name: options[name] for name in options if name != "hopper"},
        notes=notes,
    )


def _memory_of(device: Any) -> tuple[int, bool]:
    """Bytes that may be used, and whether the device is a Hopper or later."""
    known = ballast.devices()
    if isinstance(device, str) and device.lower() in known:
        return known[device.lower()] // 10 * 9, not device.lower().startswith(("v100", "a100"))
    if isinstance(device, (int, np.integer)) and not isinstance(device, bool):
        if device < 1:
            raise ValueError(f"device = {device} must be a positive number of bytes")
        return int(device), True
    if not hasattr(device, "total_memory"):
        import torch

        try:
            named = torch.device(device)
        except (RuntimeError, TypeError):
            raise ValueError(
                f"device = {device!r} is none of {', '.join(known)}, no CUDA device and no bytes"
            ) from None
        if named.type != "cuda" or not torch.cuda.is_available():
            raise ValueError(
                f"device = {device!r} has no memory that PyTorch names here: give one of {', '.join(known)}, or bytes"
            )
        device = torch.cuda.get_device_properties(named)
    return int(getattr(device, "total_memory")) // 10 * 9, getattr(device, "major", 9) >= 9


@dataclasses.dataclass
class _Read:
    """What a model says of its training."""

    shape: Transformer
    value: int  # bytes of a value
    attention: str  # eager, sdpa, or a kernel without scores and masks
    cache: bool
    options: dict[str, Any]  # of ballast.memory
    notes: list[str]


def _read(model: Any, dtype: Any, attention: str | None) -> _Read:
    module = model if hasattr(model, "named_parameters") else None
    notes: list[str] = []
    options: dict[str, Any] = {"train": "all"}
    base: Any = module
    if module is not None:
        if hasattr(module, "peft_config"):
            base = module.get_base_model()
        if not hasattr(base, "config"):
            raise ValueError(
                f"{type(base).__name__} has no config of transformers: give ballast.memory a shape instead"
            )
    source = base.config if base is not None else model
    shape = ballast.models.shape_of(source)
    bare = source is shape or isinstance(source, str) and source in ballast.presets()
    fields: dict[str, Any] = {} if bare else ballast.models.fields_of(source)
    if fields and fields.get("model_type") not in ballast.models.FAMILIES:
        notes.append(
            f"the tensors of {fields.get('model_type')} in eager PyTorch were not counted one by one, as were those of "
            + ", ".join(ballast.models.FAMILIES)
        )
    act = fields.get("hidden_act", "silu")
    if act != "silu" and fields.get("model_type") in ballast.models.FAMILIES:
        raise ValueError(f"hidden_act = {act!r} in the config is not modelled; 'silu' is")
    kernel = attention or getattr(source, "_attn_implementation", None) or fields.get("attn_implementation")
    if kernel is None:
        kernel = "sdpa"
        notes.append("the model names no kernel of attention: sdpa is assumed")
    attention = kernel if kernel in ("eager", "sdpa") else "fused"
    act = fields.get("activation_function", "gelu_new") if fields.get("model_type") == "gpt2" else None
    if act not in (None, "gelu", "gelu_new", "gelu_pytorch_tanh"):
        raise ValueError(f"activation_function = {act!r} in the config is not modelled; 'gelu_new' is")
    options["composed_activation"] = act == "gelu_new"
    options["stored_scores"] = attention == "eager"
    drops = [fields.get(name) or 0 for name in ("attention_dropout", "attn_pdrop", "embd_pdrop", "resid_pdrop")]
    if any(drops):
        notes.append("masks of dropout are not counted in eager PyTorch: a byte or two for each value that is dropped")
    if module is not None:
        value = _read_parameters(module, base, shape, dtype, options, notes)
        options["recompute"] = "full" if getattr(base, "is_gradient_checkpointing", False) else "none"
        if (getattr(getattr(base, "forward", None), "__module__", None) or "").startswith("liger_kernel"):
            options["loss"] = "fused"
    else:
        named = dtype or fields.get("dtype") or fields.get("torch_dtype")
        if named is None:
            notes.append("the model names no type of its values: bfloat16 is assumed")
        value = _bytes_of(named or "bfloat16")
    options["value"] = value
    return _Read(shape, value, attention, bool(fields.get("use_cache", False)), options, notes)


def _bytes_of(dtype: Any) -> int:
    name = str(dtype).removeprefix("torch.")
    if name not in DTYPES:
        raise ValueError(f"dtype = {name} is not one of {', '.join(DTYPES)}")
    return DTYPES[name]


def _read_parameters(
    module: Any, base: Any, shape: Transformer, dtype: Any, options: dict[str, Any], notes: list[str]
) -> int:
    """What is trained, by requires_grad, and in which type. Returns the bytes of a value."""
    adapted = hasattr(module, "peft_config")
    by: Any = None
    if adapted:
        by = module.peft_config[module.active_adapters[0] if hasattr(module, "active_adapters") else "default"]
        if str(getattr(by.peft_type, "value", by.peft_type)) != "LORA":
            raise ValueError(f"peft_type = {by.peft_type} is not modelled; LORA is")
    kinds: collections.Counter[Any] = collections.Counter()
    adapters: collections.Counter[Any] = collections.Counter()
    trained, count, quantised = 0, 0, False
    for name, parameter in module.named_parameters():
        if "lora_" in name:
            if parameter.requires_grad:
                adapters[parameter.dtype] += parameter.numel()
            continue
        quantised = quantised or type(parameter).__name__ == "Params4bit"
        count += parameter.numel()
        trained += parameter.numel() if parameter.requires_grad else 0
        if parameter.dtype.is_floating_point:
            kinds[parameter.dtype] += parameter.numel()
    family = base.config.model_type
    if not quantised and count != shape.parameters:
        raise ValueError(
            f"{type(base).__name__} has {count:,} parameters, and a language model of type {family} with its config "
            f"{shape.parameters:,}: what it has more or less is not modelled"
        )
    if adapted:
        if trained or not adapters:
            raise ValueError(
                f"{adapters.total():,} parameters of adapters and {trained:,} others are trained; "
                "adapters alone are modelled"
            )
        rank = max([by.r, *getattr(by, "rank_pattern", {}).values()])
        options["train"] = f"{'qlora' if quantised else 'lora'}:{rank}"
        options["adapter_value"] = _bytes_of(adapters.most_common(1)[0][0])
        options["adapter_dropout"] = by.lora_dropout > 0
        notes.append("adapters of all matrices are counted; where fewer are adapted, less is held")
    elif trained == 0:
        options["train"] = "none"
    elif trained != count:
        raise ValueError(
            f"{count - trained:,} of {count:,} parameters are frozen, without adapters of peft: all or none is modelled"
        )
    return _bytes_of(dtype or kinds.most_common(1)[0][0])
