# SPDX-License-Identifier: Apache-2.0
"""Plans balanced training of large models: packs, steps, micro-batches.

    import ballast

    plan = ballast.plan_steps(lengths, capacity=8192, ranks=8, micro_batches=4, cost="llama-3.1-8b")
    for step in range(plan.steps):
        for pack in plan.packs_of(step, rank): ...  # an array of sample indices

Plans are pure functions of their arguments, so every rank makes the same one. docs/python.md is the manual.
"""

from collections.abc import Sequence as _Sequence

from . import lengths, models
from ._ballast import (
    Cost,
    PackedRow,
    Packing,
    Packs,
    Recompute,
    Stages,
    StepPlan,
    Transformer,
    VisionLanguageModel,
    balance,
    check,
    cu_seqlens,
    devices,
    label_counts,
    layer_tensors,
    least_micro_batches,
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
    plan_steps,
    position_ids,
    presets,
    quadratic_cost,
    recompute,
    sample_cost,
    sample_time,
    segment_ids,
    sequence_weights,
    static_rows,
    token_cost,
    token_weights,
    transformer,
    vision_language_model,
)
from .run import TrainingRun
from .streams import stream

_Sequence.register(Packs)

__all__ = [
    "Cost",
    "PackedRow",
    "Packing",
    "Packs",
    "Recompute",
    "Stages",
    "StepPlan",
    "TrainingRun",
    "Transformer",
    "VisionLanguageModel",
    "balance",
    "check",
    "cu_seqlens",
    "devices",
    "label_counts",
    "layer_tensors",
    "least_micro_batches",
    "lengths",
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
    "plan_steps",
    "position_ids",
    "presets",
    "quadratic_cost",
    "recompute",
    "sample_cost",
    "sample_time",
    "segment_ids",
    "sequence_weights",
    "static_rows",
    "stream",
    "token_cost",
    "token_weights",
    "transformer",
    "vision_language_model",
]
