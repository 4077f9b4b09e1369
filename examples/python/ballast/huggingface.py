# SPDX-License-Identifier: Apache-2.0
"""Hugging Face Trainer and TRL's SFTTrainer on a planned run, and a drop-in for `trl.pack_dataset`.

    class PlannedTrainer(ballast.huggingface.Planned, Trainer): pass

    trainer = PlannedTrainer(
        plan=plan, model=model, train_dataset=dataset, data_collator=ballast.torch.Packed(huggingface=True),
        args=TrainingArguments(num_train_epochs=1, gradient_accumulation_steps=plan.micro_batches),
    )
    trainer.train(resume_from_checkpoint=True)   # also with another number of processes

The run is one epoch to Trainer, whatever number of epochs it has (`num_train_epochs` is 1 or that number): Trainer asks
for the length of an epoch only once, and loses the number of the epoch when it resumes. docs/python-trainers.md has more of this.
"""

import collections
import json
import os
from functools import partial

import numpy as np

import ballast
from ballast._rows import check_batch, watch
from ballast.accelerate import prepared

__all__ = ["Planned", "knapsack_of_lengths", "pack_dataset"]

STATE = "ballast.json"  # beside trainer_state.json in each checkpoint


class Planned:
    """Mixin in front of `transformers.Trainer` or a subclass: trains on the micro-batches of `plan` instead of dealing
    out the dataset.

    Makes of each checkpoint one that another number of processes can resume. What would train on other samples than
    planned is refused. `check_model` checks a model of transformers once, by its first forward pass: whether it keeps
    the samples of a row apart. `check_lengths` compares each row with the lengths that were planned.
    """

    def __init__(self, *args, plan, check_model=True, check_lengths=True, **kwargs):
        self.plan, self._check_model, self._check_lengths, self._given = plan, check_model, check_lengths, None
        super().__init__(*args, **kwargs)
        self._refuse()
        self.add_callback(_callback(plan))

    def _refuse(self):
        args, plan = self.args, self.plan
        wrong = [
            (
                args.gradient_accumulation_steps != plan.micro_batches,
                f"gradient_accumulation_steps = {args.gradient_accumulation_steps} must be the plan's micro_batches = "
                f"{plan.micro_batches}",
            ),
            (
                args.world_size != plan.ranks,
                f"the plan has ranks = {plan.ranks}, but {args.world_size} processes train",
            ),
            (
                args.num_train_epochs not in (1, plan.epochs),
                f"num_train_epochs = {args.num_train_epochs} must be the plan's epochs = {plan.epochs}, or 1: they "
                "follow one another in one pass of Trainer",
            ),
            (
                args.max_steps > plan.steps,
                f"max_steps = {args.max_steps} is more than the {plan.steps} steps of the plan",
            ),
            (args.ignore_data_skip, "ignore_data_skip starts the run over after a checkpoint: leave it False"),
            (
                not args.average_tokens_across_devices and plan.ranks > 1,
                "average_tokens_across_devices must be True: ranks have unequally many tokens",
            ),
        ]
        for refused, sentence in wrong:
            if refused:
                raise ValueError(sentence)

    def get_train_dataloader(self):
        """The loader of this process's micro-batches, which accelerate does not deal out again."""
        from torch.utils.data import DataLoader
        from transformers.trainer_utils import seed_worker

        if self.train_dataset is None:
            raise ValueError("train_dataset is missing")
        dataset, collator = self.train_dataset, self.data_collator
        if hasattr(dataset, "column_names"):  # a datasets.Dataset
            dataset = self._remove_unused_columns(dataset, description="training")
        else:
            collator = self._get_collator_with_removed_columns(collator, description="training")
        args = self.args
        self.plan.agree(device=args.device)
        batches = self.plan.batches(args.process_index, one_epoch=True, placeholders=True, dataset=dataset)
        if self._check_lengths:
            batches.given = self._given = collections.deque()
        loader = DataLoader(
            dataset,
            batch_sampler=batches,
            collate_fn=collator,
            num_workers=args.dataloader_num_workers,
            pin_memory=args.dataloader_pin_memory,
            persistent_workers=args.dataloader_persistent_workers,
            prefetch_factor=args.dataloader_prefetch_factor,
            worker_init_fn=partial(seed_worker, num_workers=args.dataloader_num_workers, rank=args.process_index),
        )
        return prepared(loader, self.accelerator, check_model=False)

    def training_step(self, model, inputs, *args, **kwargs):
        """As Trainer's, behind the checks of the model and of the row."""
        if self._check_model:
            watch(model, int(self.plan._lengths.max(initial=0)))
            self._check_model = False
        if self._given:
            check_batch(inputs, self._given.popleft(), self.plan._lengths)
        return super().training_step(model, inputs, *args, **kwargs)

    def train(self, resume_from_checkpoint=None, *args, **kwargs):
        """As Trainer's; a checkpoint is resumed with the state of the plan that lies in it."""
        from transformers.trainer_utils import get_last_checkpoint

        if resume_from_checkpoint is True:
            resume_from_checkpoint = get_last_checkpoint(self.args.output_dir)
            if resume_from_checkpoint is None:
                raise ValueError(f"there is no checkpoint in {self.args.output_dir}")
        if resume_from_checkpoint:
            path = os.path.join(resume_from_checkpoint, STATE)
            if not os.path.exists(path):
                raise ValueError(f"{resume_from_checkpoint} has no {STATE}: it was not saved by a planned trainer")
            with open(path) as file:
                self.plan.resume(json.load(file), ranks=self.plan.ranks, micro_batches=self.plan.micro_batches)
        if self.args.num_train_epochs > 1 and self.args.max_steps <= 0:
            self.args.max_steps = self.plan.steps  # the epochs of the plan are one pass to Trainer
        return super().train(resume_from_checkpoint, *args, **kwargs)


def _callback(plan):
    from transformers import TrainerCallback

    class Report(TrainerCallback):
        """Counts optimiser steps, and writes the plan's state into checkpoints."""

        def on_step_end(self, args, state, control, **_):
            plan.step_done()

        def on_save(self, args, state, control, **_):
            if state.is_world_process_zero:
                with open(os.path.join(args.output_dir, f"checkpoint-{state.global_step}", STATE), "w") as file:
                    json.dump(plan.state(), file)

    return Report()


def pack_dataset(dataset, seq_length, strategy="bfd", map_kwargs=None):
    """The packed rows of a `datasets.Dataset` of token lists: `trl.pack_dataset` with the packs of `ballast.pack`.

    Columns are the given ones, which must be lists of equal lengths, and `seq_lengths`. Unlike TRL it packs all rows
    together instead of a thousand at a time, keeps empty rows out as TRL does, and refuses rows longer than
    `seq_length` instead of cutting them. `map_kwargs` is accepted for the sake of the signature and must be empty. The
    order of rows follows the packs, not a plan of steps: a trainer that shuffles them has no level steps, see `Planned`
    for those.
    """
    import pyarrow as pa

    if strategy != "bfd" or map_kwargs:
        raise ValueError(
            f"strategy = {strategy!r} and map_kwargs = {map_kwargs}: only 'bfd' without map_kwargs is known here"
        )
    from datasets import Dataset

    table = dataset.with_format("arrow")[:]
    if not table.column_names or len(table) == 0:
        raise ValueError("the dataset has no rows to pack")
    lengths = _row_lengths(table)
    too_long = np.flatnonzero(lengths > seq_length)
    if len(too_long):
        raise ValueError(
            f"row {too_long[0]} has {lengths[too_long[0]]} tokens, more than seq_length = {seq_length} "
            f"({len(too_long)} such rows); cut or "
            "drop them first"
        )
    kept = np.flatnonzero(lengths > 0)
    packing = ballast.pack(lengths[kept], capacity=seq_length)
    members = kept[np.concatenate([np.asarray(pack) for pack in packing.packs])]
    counts = np.array([len(pack) for pack in packing.packs])
    sizes, ends = lengths[members], np.concatenate([[0], np.cumsum(counts)])
    tokens = np.concatenate([[0], np.cumsum(sizes)])
    rows = pa.array(tokens[ends], pa.int64())
    columns = {}
    for name in table.column_names:
        values = table.column(name).combine_chunks().take(pa.array(members))
        columns[name] = pa.LargeListArray.from_arrays(rows, values.flatten())
    columns["seq_lengths"] = pa.LargeListArray.from_arrays(pa.array(ends, pa.int64()), pa.array(sizes, pa.int32()))
    return Dataset(pa.table(columns))


def _row_lengths(table):
    """Tokens of each row, equal in all columns."""
    import pyarrow as pa
    import pyarrow.compute as pc

    first = None
    for name in table.column_names:
        column = table.column(name)
        if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)):
            raise ValueError(
                f"column {name!r} is of type {column.type}, not a list; remove it or leave it out by select_columns"
            )
        if column.null_count:
            raise ValueError(f"column {name!r} has a null in row {int(np.flatnonzero(column.is_null().to_numpy())[0])}")
        lengths = pc.list_value_length(column).to_numpy().astype(np.int64)
        if first is None:
            first = (name, lengths)
        elif (lengths != first[1]).any():
            row = int(np.flatnonzero(lengths != first[1])[0])
            raise ValueError(
                f"row {row} has {first[1][row]} values in column {first[0]!r} but {lengths[row]} in {name!r}"
            )
    return first[1]


def knapsack_of_lengths(numbers, capacity):
    """Lists of lengths that fit together, in the form of LLaMA-Factory's `greedy_knapsack`."""
    numbers = np.asarray(numbers, dtype=np.int64)
    return [numbers[np.asarray(pack)].tolist() for pack in ballast.pack(numbers, capacity=capacity).packs]
