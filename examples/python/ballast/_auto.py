# SPDX-License-Identifier: Apache-2.0
"""What `ballast.torch.Plan.auto` chooses: lengths of a data set, a cost, a capacity and a number of ranks."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

import ballast

from . import _data_sets
from ._fits import fits

if TYPE_CHECKING:
    from numpy.typing import NDArray

Result = TypeVar("Result")


def choose(
    dataset: Any,
    model: Any,
    *,
    lengths: Any,
    column: str | Sequence[str] | None,
    tokenizer: Any,
    images: str | bool | None,
    add_eos: bool,
    template: Mapping[str, Any] | None,
    num_proc: int | None,
    capacity: int | None,
    device: Any,
    memory: Mapping[str, Any] | None,
    ranks: int | None,
    micro_batches: int,
    cost: Any = None,
    costs: Any = None,
    **options: Any,
) -> tuple[NDArray[Any], dict[str, Any], dict[str, str]]:
    """The lengths and the arguments of a `Plan`, and a sentence about each that was chosen."""
    if capacity is None and device is None:
        raise ValueError(
            "capacity is missing: say how many tokens a micro-batch may have, or on which device it must fit, as in "
            'device="h100"'
        )
    if capacity is not None and memory is not None:
        raise ValueError("memory says how capacity is found on a device, but capacity is given: leave one of them out")
    if model is None and (capacity is None or cost is costs is None):
        raise ValueError("model is missing: give a name, a config or a module, or give capacity= and cost=")
    chosen: dict[str, str] = {}
    if ranks is None:
        ranks, why = _ranks()
        chosen["ranks"] = f"{ranks}: {why}"

    def counted() -> NDArray[Any]:
        given = tokenizer
        if given is None and (what := _data_sets.texts_in(dataset, column)):
            given = _loaded(model, what, dataset, images)
        return ballast.lengths.from_dataset(
            dataset, column, tokenizer=given, images=images, add_eos=add_eos, template=template, num_proc=num_proc
        )

    tokens: NDArray[Any] = _data_sets.array_of(lengths) if lengths is not None else _from_first_rank(counted)
    if lengths is None:
        longest = int(tokens.max(initial=0))
        chosen["lengths"] = f"{len(tokens):,} rows of {int(tokens.sum()):,} tokens, the longest of {longest:,}"
    if capacity is None:
        known = {"data": ranks, "micro_batches": micro_batches, **(memory or {})}
        fit = fits(model, tokens, device, **known)
        if fit.capacity == 0:
            raise ValueError(f"no micro-batch of this model fits the device: {fit}")
        capacity = _least(fit.capacity)
        chosen["capacity"] = f"{capacity:,} tokens: the most that fit the modelled memory, in multiples of {fit.unit}"
    if cost is None and costs is None:
        named = device.lower() if isinstance(device, str) else ""
        on = named if named in ballast.devices() else "h100"
        cost = ballast.sample_time(ballast.models.shape_of(model, images=True), on, capacity=capacity)
        chosen["cost"] = f"the modelled time of its language model on {on}: {cost}"
    options.update(capacity=capacity, ranks=ranks, micro_batches=micro_batches, cost=cost, costs=costs)
    return tokens, options, chosen


def _group() -> Any:
    """torch.distributed, if this process is one of several."""
    try:
        import torch.distributed as group
    except ImportError:
        return None
    return group if group.is_available() and group.is_initialized() and group.get_world_size() > 1 else None


def _ranks() -> tuple[int, str]:
    group = _group()
    if group is not None:
        return int(group.get_world_size()), "the processes of torch.distributed"
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        return int(os.environ["WORLD_SIZE"]), "WORLD_SIZE of the environment"
    return 1, "torch.distributed is not initialised"


def _from_first_rank(make: Callable[[], Result]) -> Result:
    """What rank 0 makes, on all ranks: texts are counted once. An error there is one of all ranks."""
    group = _group()
    if group is None:
        return make()
    sent: list[Any] = [None, None]
    if group.get_rank() == 0:
        try:
            sent[0] = make()
        except Exception as error:
            sent[1] = error if isinstance(error, ValueError) else RuntimeError(repr(error))
    group.broadcast_object_list(sent, src=0)
    if sent[1] is not None:
        raise sent[1]
    return sent[0]  # type: ignore[no-any-return]


def _least(capacity: int) -> int:
    """The smallest capacity of all ranks, whose devices may differ."""
    group = _group()
    if group is None:
        return capacity
    all_ranks: list[Any] = [None] * group.get_world_size()
    group.all_gather_object(all_ranks, capacity)
    return int(min(all_ranks))


def _loaded(model: Any, what: str, dataset: Any, images: str | bool | None) -> Any:
    """The tokenizer of a model, or its processor where the data set has images, if it is on this machine."""
    config = getattr(model, "config", model)
    name = os.fspath(model) if isinstance(model, (str, os.PathLike)) else getattr(config, "_name_or_path", "")
    wanted = f"the data set holds {what}, which a tokenizer counts: give tokenizer="
    if not name:
        raise ValueError(wanted)
    shown = images is not False and not set(_data_sets.IMAGES).isdisjoint(_data_sets.columns_of(dataset) or ())
    try:
        import transformers

        kind = transformers.AutoProcessor if shown or isinstance(images, str) else transformers.AutoTokenizer
        return kind.from_pretrained(name, local_files_only=True)
    except Exception as error:
        raise ValueError(f"{wanted}, since that of {name!r} was not loaded here: {type(error).__name__}") from error
