# SPDX-License-Identifier: Apache-2.0
"""The options of `TrainingRun` that `ballast.torch.Plan` passes on, by name and type for checkers of types."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ._ballast import Cost, Transformer


class RunOptions(TypedDict, total=False):
    epochs: int
    cost: str | Cost | Transformer | ArrayLike | None
    costs: ArrayLike | None
    seed: int
    steps_per_epoch: int
    tokens_per_step: int
    oversize: str
    order: str | None
    key: str
    buckets: int
    left_over: str
    synchronisation: str
    stages: int
    equal_micro_batches: bool
    time_for_randomness: int | None
    zero_length: str
