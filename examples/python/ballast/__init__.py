# SPDX-License-Identifier: Apache-2.0
"""Plans balanced training of large models: packs, steps, micro-batches.

    import ballast

    plan = ballast.plan_steps(lengths, capacity=8192, ranks=8, micro_batches=4, cost="llama-3.1-8b")
    for step in range(plan.steps):
        for pack in plan.packs_of(step, rank): ...  # an array of sample indices

Plans are pure functions of their arguments, so every rank makes the same one. docs/python.md is the manual.
"""

import os as _os
import typing as _typing
from collections.abc import Sequence as _Sequence

for _name in _os.listdir(_os.path.dirname(_os.path.dirname(__file__))):
    if _name.startswith("ballast-") and _name.endswith(".dist-info"):
        raise ImportError(
            f"{_name[:-10]} of PyPI is another project whose package has the same name, and it is installed in the "
            "same folder: pip uninstall ballast ballast-plan, and then install ballast-plan again"
        )

from . import _ballast as _native
from . import lengths, models
from ._arguments import check_arguments_of as _check_arguments_of

_check_arguments_of(_native)  # before the functions are imported

from ._ballast import (  # noqa: E402
    Chunks,
    Cost,
    DegreeCost,
    Levels,
    PackedRow,
    Packing,
    Packs,
    Recompute,
    ShardPass,
    Shards,
    Stages,
    StepPlan,
    Transformer,
    VisionLanguageModel,
    balance,
    check,
    chunks,
    context_cu_seqlens,
    cu_seqlens,
    degree_cost,
    devices,
    gather_indices,
    label_counts,
    layer_tensors,
    least_micro_batches,
    levels,
    longest_sequence,
    loss_presets,
    loss_totals,
    lower_bound,
    memory,
    micro_batches,
    near_optimal,
    pack,
    packed_row,
    padded_batches,
    partition,
    plan_shards,
    plan_steps,
    position_ids,
    presets,
    quadratic_cost,
    recompute,
    retained_tasks,
    sample_cost,
    sample_time,
    segment_ids,
    sequence_weights,
    share_pack,
    share_packs,
    static_rows,
    token_cost,
    token_weights,
    transformer,
    vision_language_model,
    zigzag_indices,
    zigzag_inverse,
)
from .run import TrainingRun  # noqa: E402
from .streams import stream  # noqa: E402

__version__: str = getattr(_native, "__version__")
if _typing.TYPE_CHECKING:
    from . import report as report  # which the types of the native module name

_Sequence.register(Packs)  # pyright: ignore[reportAttributeAccessIssue]

__all__ = [
    "Chunks",
    "Cost",
    "DegreeCost",
    "Levels",
    "PackedRow",
    "Packing",
    "Packs",
    "Recompute",
    "ShardPass",
    "Shards",
    "Stages",
    "StepPlan",
    "TrainingRun",
    "Transformer",
    "VisionLanguageModel",
    "balance",
    "check",
    "chunks",
    "context_cu_seqlens",
    "cu_seqlens",
    "degree_cost",
    "devices",
    "gather_indices",
    "label_counts",
    "layer_tensors",
    "least_micro_batches",
    "lengths",
    "levels",
    "longest_sequence",
    "loss_presets",
    "loss_totals",
    "lower_bound",
    "memory",
    "micro_batches",
    "models",
    "near_optimal",
    "pack",
    "packed_row",
    "padded_batches",
    "partition",
    "plan_shards",
    "plan_steps",
    "position_ids",
    "presets",
    "quadratic_cost",
    "recompute",
    "retained_tasks",
    "sample_cost",
    "sample_time",
    "segment_ids",
    "sequence_weights",
    "share_pack",
    "share_packs",
    "static_rows",
    "stream",
    "token_cost",
    "token_weights",
    "transformer",
    "vision_language_model",
    "zigzag_indices",
    "zigzag_inverse",
]
