# SPDX-License-Identifier: Apache-2.0
"""Plans balanced training of large models: packs, steps, micro-batches.

    import ballast

    plan = ballast.plan_steps(lengths, capacity=8192, ranks=8, micro_batches=4, cost="llama-3.1-8b")
    for step in range(plan.steps):
        for pack in plan.packs_of(step, rank): ...  # an array of sample indices

Plans are pure functions of their arguments, so every rank makes the same one. docs/python.md is the manual.
"""

from collections.abc import Sequence as _Sequence

from . import lengths
from ._ballast import (
    Cost,
    Packing,
    Packs,
    StepPlan,
    Transformer,
    balance,
    least_micro_batches,
    lower_bound,
    micro_batches,
    near_optimal,
    pack,
    plan_steps,
    presets,
    quadratic_cost,
    sample_cost,
    token_cost,
    transformer,
)

_Sequence.register(Packs)

__all__ = [
    "Cost",
    "Packing",
    "Packs",
    "StepPlan",
    "Transformer",
    "balance",
    "least_micro_batches",
    "lengths",
    "lower_bound",
    "micro_batches",
    "near_optimal",
    "pack",
    "plan_steps",
    "presets",
    "quadratic_cost",
    "sample_cost",
    "token_cost",
    "transformer",
]
