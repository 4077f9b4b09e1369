# SPDX-License-Identifier: Apache-2.0
"""Hands a planned loader to Hugging Face accelerate without letting it deal the lists out to the processes once more.

accelerator = Accelerator(gradient_accumulation_steps=plan.micro_batches)
loader = DataLoader(dataset, batch_sampler=plan.batches(accelerator.process_index), collate_fn=Packed())
loader = ballast.accelerate.prepared(loader, accelerator)       # never accelerator.prepare(loader)
model, optimizer = accelerator.prepare(model, optimizer)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ballast.torch import check

if TYPE_CHECKING:
    from accelerate import Accelerator
    from torch.utils.data import DataLoader

__all__ = ["check", "prepared"]


def prepared(loader: DataLoader[Any], accelerator: Accelerator, *, check_model: bool = True) -> DataLoader[Any]:
    """The loader as accelerate wants it: on the device, one batch ahead, registered, and with all lists of this
    process.

    Take the sampler of the data-parallel rank where a process also has a place in a tensor or context parallel mesh. On
    a plan that was resumed, the first pass is the epoch that was interrupted. `check_model` lets every model of
    transformers that the accelerator has prepared be checked once, by its first forward pass in the loop: whether it
    keeps the samples of a row apart.
    """
    batches = check(loader)
    if check_model:
        batches.watched = accelerator._models  # the list itself: the models are prepared later
    ready = on_device(loader, accelerator)
    ready.iteration = batches.epoch  # accelerate names the epoch by its own count, from 0 in each process
    ready._is_accelerate_prepared = True
    out: DataLoader[Any] = accelerator.prepare(ready)
    return out


def on_device(loader: DataLoader[Any], accelerator: Accelerator) -> Any:
    """The loader with its batches on the device, and all lists of this process."""
    from accelerate.data_loader import prepare_data_loader

    return prepare_data_loader(loader, device=accelerator.device, num_processes=1, process_index=0, put_on_device=True)
