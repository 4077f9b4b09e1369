# SPDX-License-Identifier: Apache-2.0
"""Drop-ins for verl's micro-batches and partitions, with the same signatures and results in the same form.

    VERL_USE_EXTERNAL_MODULES=ballast.verl python -m verl.trainer.main_ppo ...      # set it in Ray's runtime_env too

verl imports the modules named there before any of its trainers, and this one then puts its functions in place of
verl's. Without the variable nothing is replaced until `install()` is called.

What changes: as few micro-batches as a search finds under the token limit, one collective instead of several, and
errors (ValueError) that all ranks raise together. What does not: the numbers of samples of equal partitions, the rule
by which micro-batches are ordered, the loss.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import ballast

from ._arguments import named_in, shown
from ._data_sets import as_array

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch.distributed import ProcessGroup

    Maxima = Callable[[list[int]], list[int]]  # of the integers of all ranks

__all__ = ["get_group_balanced_partitions", "get_seqlen_balanced_partitions", "install", "rearrange_micro_batches"]

LINEAR, QUADRATIC = 24576, 1  # verl's workload of a sample of length l: 24576 l + l^2


def install() -> None:
    """Replaces verl's functions, also in the modules that have imported them by name already."""
    import verl.utils.seqlen_balancing as theirs

    for function in (rearrange_micro_batches, get_seqlen_balanced_partitions, get_group_balanced_partitions):
        name = function.__name__
        old = getattr(theirs, name, None)
        if old is None or old is function:
            continue
        for module in [
            module for key, module in list(sys.modules.items()) if key.split(".")[0] == "verl" and module is not None
        ]:
            if vars(module).get(name) is old:
                setattr(module, name, function)


def get_seqlen_balanced_partitions(seqlen_list: Any, k_partitions: int, equal_size: bool) -> list[list[int]]:
    """`k_partitions` sorted lists of indices, none empty, whose sums of `seqlen_list` are level."""
    weights = _whole(seqlen_list)
    _positive(k_partitions=k_partitions)
    if len(weights) < k_partitions:
        raise ValueError(f"{len(weights)} items are too few for k_partitions = {k_partitions} parts that are not empty")
    if equal_size and len(weights) % k_partitions:
        raise ValueError(f"{len(weights)} items cannot make {k_partitions} partitions of equal size")
    return [sorted(part.tolist()) for part in ballast.balance(weights, k_partitions, equal_size)]


def get_group_balanced_partitions(seqlen_list: Any, uid_list: Sequence[Any], k_partitions: int) -> list[list[int]]:
    """Partitions with equally many groups, whose workloads are level; a group is a run of samples with the same uid."""
    lengths = _whole(seqlen_list)
    _positive(k_partitions=k_partitions)
    uids = list(getattr(uid_list, "tolist", lambda: uid_list)())  # of arrays and tensors
    if len(lengths) != len(uids):
        raise ValueError(f"seqlen_list has {len(lengths)} entries but uid_list has {len(uids)}")
    if float((LINEAR + lengths.astype(float)) @ lengths) >= 2.0**62:
        raise ValueError("seqlen_list holds lengths so large that the work of all samples reaches 2^62")
    starts = [i for i, uid in enumerate(uids) if i == 0 or uid != uids[i - 1]]
    if len(starts) < k_partitions:
        raise ValueError(f"{len(starts)} groups of uid_list are too few for k_partitions = {k_partitions}")
    workloads = np.add.reduceat(LINEAR * lengths + QUADRATIC * lengths * lengths, starts)
    ends = [*starts[1:], len(lengths)]
    parts = get_seqlen_balanced_partitions(workloads, k_partitions, equal_size=True)
    return [[i for group in part for i in range(starts[group], ends[group])] for part in parts]


def rearrange_micro_batches(
    batch: Any,
    max_token_len: int,
    dp_group: ProcessGroup | None = None,
    num_batches_divided_by: int | None = None,
    same_micro_num_in_dp: bool = True,
    min_num_micro_batch: int | None = None,
    use_dynamic_bsz_balance: bool = True,
    force_group_size: int = 1,
) -> tuple[list[Any], list[list[int]]]:
    """The batch in micro-batches of at most `max_token_len` tokens, and the indices of each, as verl's function.

    `min_num_micro_batch` is a lower bound of their number, `num_batches_divided_by` a divisor, and `force_group_size`
    consecutive samples stay together. The number is the same on all ranks of `dp_group`, by one reduction.
    """
    from verl.utils import tensordict_utils

    multiple = 1 if num_batches_divided_by is None else num_batches_divided_by
    _positive(max_token_len=max_token_len, num_batches_divided_by=multiple, force_group_size=force_group_size)
    parts = micro_batch_indices(
        _lengths_of(batch),
        min(int(max_token_len), 2**50),  # above that, nothing is limited
        min(int(force_group_size), 2**50),
        min_num_micro_batch or 1,
        multiple,
        use_dynamic_bsz_balance,
        _all_max(dp_group) if same_micro_num_in_dp else None,
    )
    return [tensordict_utils.index_select_tensor_dict(batch, part) for part in parts], parts


def micro_batch_indices(
    lengths: NDArray[np.int64],
    capacity: int,
    group: int = 1,
    at_least: int = 1,
    multiple: int = 1,
    small_ends: bool = True,
    all_max: Maxima | None = None,
) -> list[list[int]]:
    """What `rearrange_micro_batches` decides, on lengths alone.

    `all_max` is given a list of integers and returns their maxima over the ranks. Every rank learns of every rank's
    trouble in that one reduction, so that all of them raise the same ValueError or none does.
    """
    lengths = np.maximum(lengths, 1)  # a sample that is masked altogether is planned as one token
    uneven = len(lengths) % group
    groups = len(lengths) // group
    together = np.arange(len(lengths), dtype=np.int64) // group
    heaviest = int(np.bincount(together, weights=lengths).max()) if len(lengths) else 0
    least = 0
    if len(lengths) and heaviest <= capacity:
        least = ballast.least_micro_batches(lengths, capacity, together=together if group > 1 else None)
    facts = [least, heaviest, -groups, uneven]
    count, heaviest, fewest, uneven = facts if all_max is None else all_max(facts)
    count = -(-max(count, at_least) // multiple) * multiple
    if uneven:
        raise ValueError(f"the batch size of a rank must be divisible by force_group_size = {group}")
    unit = "forced group" if group > 1 else "sample"
    if heaviest > capacity:
        raise ValueError(
            f"a {unit} has {heaviest} tokens, more than max_token_len = {capacity}; "
            "raise max_token_len, since it cannot be split"
        )
    if count > -fewest:
        raise ValueError(
            f"every rank needs {count} micro-batches of at most max_token_len = {capacity} tokens, but one has only "
            f"{-fewest} {unit}s to fill them; raise max_token_len"
        )
    parts = ballast.micro_batches(
        lengths,
        capacity,
        exactly=count,
        together=together if group > 1 else None,
        order="small_ends" if small_ends else "any",
        cost=ballast.quadratic_cost(LINEAR, QUADRATIC),
    )
    return [sorted(part.tolist()) for part in parts]


def _lengths_of(batch: Any) -> NDArray[np.int64]:
    try:
        tokens = batch["input_ids"]
        lengths = tokens.offsets().diff() if tokens.is_nested else batch["attention_mask"].sum(dim=1)
        return np.asarray(lengths.cpu().numpy(), np.int64)
    except (AttributeError, IndexError, KeyError, TypeError):
        raise TypeError(
            f"batch = {shown(batch)} must be a TensorDict with input_ids: a nested tensor, or one beside attention_mask"
        ) from None


def _all_max(group: ProcessGroup | None) -> Maxima | None:
    from torch import distributed

    if group is None or not distributed.is_initialized():
        return None

    def all_max(numbers: list[int]) -> list[int]:
        import torch
        from verl.utils.device import get_device_name

        device = "cpu" if distributed.get_backend(group) == "gloo" else get_device_name()
        tensor = torch.tensor(numbers, dtype=torch.int64, device=device)
        distributed.all_reduce(tensor, op=distributed.ReduceOp.MAX, group=group)
        return [int(most) for most in tensor.tolist()]

    return all_max


def _positive(**numbers: int) -> None:
    for name, number in numbers.items():
        if number < 1:
            raise ValueError(f"{name} = {number} must be positive")


def _whole(numbers: Any) -> NDArray[np.int64]:
    """Weights as positive integers; floating-point ones, as verl's SFT trainer gives, are scaled to 40 bits."""
    if hasattr(numbers, "detach"):  # a tensor
        numbers = (numbers.float() if numbers.is_floating_point() and numbers.itemsize < 4 else numbers).detach().cpu()
    values = as_array(numbers, "seqlen_list")
    values = values.astype(np.float32) if values.dtype == np.float16 else values
    if values.ndim != 1 or values.dtype.kind not in "iuf":
        raise TypeError(f"seqlen_list = {shown(numbers)} must be a sequence of numbers")
    floats = values.dtype.kind == "f"
    wrong = np.flatnonzero(~((values >= 0) & (values < (np.inf if floats else 2**62))))
    if len(wrong):
        raise ValueError(f"seqlen_list[{wrong[0]}] = {values[wrong[0]]} must be a finite number from 0, or an integer below 2^62")
    if floats and len(values) and ((values != np.floor(values)).any() or values.max() > 2.0**53):
        values = np.rint(values * (2.0**40 / values.max()))
    return np.maximum(values.astype(np.int64), 1)  # no weight is 0, so that no partition is empty


named_in(globals())

if "ballast.verl" in os.environ.get("VERL_USE_EXTERNAL_MODULES", "").split(","):
    install()
