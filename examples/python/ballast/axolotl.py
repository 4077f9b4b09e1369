# SPDX-License-Identifier: Apache-2.0
"""A plugin of axolotl that trains on a planned run: two lines of its YAML.

    plugins:
      - ballast.axolotl.Planned

Rows have at most micro_batch_size * sequence_len tokens, as with axolotl's sample_packing, which the plugin takes over.
`ballast_cost: llama-3.1-8b` names the cost of a sample; without it, it is read from the model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from axolotl.integrations.base import BasePlugin
from pydantic import BaseModel

from . import huggingface
from .torch import Packed

if TYPE_CHECKING:
    from transformers import Trainer

__all__ = ["Arguments", "Planned"]


class Arguments(BaseModel):
    """What the plugin adds to axolotl's configuration."""

    ballast_cost: str | None = None


class Planned(BasePlugin):  # type: ignore[misc]
    """`plugins: [ballast.axolotl.Planned]`"""

    def get_input_args(self) -> str:
        """The name of the class that has the plugin's fields."""
        return "ballast.axolotl.Arguments"

    def get_trainer_cls(self, cfg: Any) -> type[Trainer]:
        """axolotl's trainer behind `ballast.huggingface.Planned`."""
        for name in ("rl", "reward_model", "process_reward_model", "pretraining_dataset", "processor_type"):
            if cfg.get(name):
                raise ValueError(f"{name} is not for ballast.axolotl.Planned, which plans fine-tuning on text")
        from axolotl.core.trainers import AxolotlTrainer

        capacity = huggingface.tokens_of_micro_batch(cfg.micro_batch_size, cfg.sequence_len)
        cost = cfg.get("ballast_cost")
        evaluation = not cfg.sample_packing or cfg.eval_sample_packing is not False

        class PlannedAxolotlTrainer(huggingface.Planned, AxolotlTrainer):  # type: ignore[misc]
            def __init__(self, *args: Any, **kwargs: Any) -> None:
                super().__init__(*args, capacity=capacity, cost=cost, pack_evaluation=evaluation, **kwargs)

            @property
            def model_accepts_loss_kwargs(self) -> bool:
                """What Trainer found. axolotl says no after it, and the loss would weigh all rows alike."""
                return bool(self.__dict__["_accepts"])

            @model_accepts_loss_kwargs.setter
            def model_accepts_loss_kwargs(self, value: bool) -> None:
                self.__dict__.setdefault("_accepts", value)

        return PlannedAxolotlTrainer

    def get_training_args(self, cfg: Any) -> dict[str, Any]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The steps are those of the plan, not what axolotl estimates for its own packing, and labels weigh alike."""
        changed = {"max_steps": cfg.max_steps or -1, "average_tokens_across_devices": True}
        if cfg.get("warmup_steps") is None:  # or axolotl's part of its estimate
            changed["warmup_steps"] = 0.03 if cfg.get("warmup_ratio") is None else cfg.warmup_ratio
        return changed

    def get_collator_cls_and_kwargs(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, cfg: Any, is_eval: bool = False
    ) -> tuple[Any, dict[str, Any]]:
        """Rows without padding."""
        return _packed, {}


def _packed(*tokenizer: Any, **padding: Any) -> Packed:
    return Packed(huggingface=True)
