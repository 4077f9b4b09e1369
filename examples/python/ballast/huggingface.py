# SPDX-License-Identifier: Apache-2.0
"""Hugging Face Trainer and TRL's SFTTrainer on a planned run, and a drop-in for `trl.pack_dataset`.

    class PlannedSFT(ballast.huggingface.Planned, SFTTrainer): pass

    trainer = PlannedSFT(model, SFTConfig("out", max_length=4096), train_dataset=texts, processing_class=tokenizer)
    trainer.train(resume_from_checkpoint=True)   # also with another number of processes

The mixin plans by itself, or trains on the `plan` that it is given. The run is one pass to Trainer, whatever number of
epochs it has: Trainer asks for the length of an epoch only once, and loses the number of the epoch when it resumes.
docs/python-trainers.md has more of this.
"""

from __future__ import annotations

import collections
import copy
import json
import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

import ballast
from ballast._arguments import named_in
from ballast._rows import check_batch, watch
from ballast.accelerate import on_device, prepared
from ballast.callbacks import MeterCallback
from ballast.torch import Packed, Pieces, Plan

if TYPE_CHECKING:
    from datasets import Dataset
    from numpy.typing import ArrayLike, NDArray
    from torch.utils.data import DataLoader
    from transformers import Trainer as _Trainer
    from transformers import TrainerCallback
else:
    _Trainer = object

__all__ = ["Planned", "knapsack_of_lengths", "pack_dataset"]

STATE = "ballast.json"  # beside trainer_state.json in each checkpoint


class Planned(_Trainer):
    """Mixin in front of `transformers.Trainer` or a subclass: trains on planned micro-batches instead of dealing out
    the dataset, and evaluates on packed rows.

    Without `plan` it plans by itself, with the lengths of train_dataset (of SFTTrainer, as it was tokenised) and the
    ranks, gradient_accumulation_steps, epochs and seed of the arguments. `capacity` is the most tokens of a
    micro-batch, by default per_device_train_batch_size rows of the max_length of SFTConfig; `cost` is what `Plan`
    takes, by default that of the model.

    `packing=True` of SFTConfig is taken over: rows are those of the plan. With the packing_strategy "bfd" samples
    longer than max_length are cut, with "bfd_split" they are split there, as TRL does; "wrapped" is refused.

    Makes of each checkpoint one that another number of processes can resume. What would train on other samples than
    planned is refused. With `pack_evaluation`, every sample of an evaluation is in one packed row, and the loss is the
    mean over all labels. `check_model` checks a model of transformers once, by its first forward pass: whether it keeps
    the samples of a row apart. `check_lengths` compares each row with the lengths that were planned.
    """

    plan: Plan

    def __init__(
        self,
        *args: Any,
        plan: Plan | None = None,
        capacity: int | None = None,
        cost: str | ballast.Cost | ballast.Transformer | ArrayLike | None = None,
        pack_evaluation: bool = True,
        check_model: bool = True,
        check_lengths: bool = True,
        **kwargs: Any,
    ) -> None:
        """The other arguments are those of the trainer."""
        self._check_model, self._check_lengths, self._pack_evaluation = check_model, check_lengths, pack_evaluation
        self._given: collections.deque[list[int]] | None = None
        self._evaluated: list[Any] | None = None
        self._items: Any = None
        if plan is not None and not capacity is cost is None:
            raise ValueError("plan has a capacity and a cost of its own: leave out capacity= and cost=, or plan=")
        given: dict[str, Any] = {**dict(zip(("model", "args", "data_collator"), args)), **kwargs}
        config: Any = given.get("args")
        longest: int | None = None
        if hasattr(config, "packing_strategy"):  # of TRL
            if capacity is None:
                capacity = tokens_of_micro_batch(config.per_device_train_batch_size, config.max_length)
            longest = config.max_length if config.packing and config.packing_strategy == "bfd_split" else None
            self._pack_evaluation = pack_evaluation and config.eval_packing is not False
            config = _unpacked(config)
            if len(args) > 1:
                args = (args[0], config, *args[2:])
            else:
                kwargs["args"] = config
        super().__init__(*args, **kwargs)
        self._set_collator(given.get("data_collator") is not None)
        self.plan = plan if plan is not None else self._plan_by_itself(capacity, cost, longest)
        self._refuse()
        self.add_callback(_callback(self.plan))
        for callback in self.callback_handler.callbacks:
            if isinstance(callback, MeterCallback):
                callback.add_to(self)

    def _set_collator(self, given: bool) -> None:
        """Lets the collator make packed rows: that of TRL, or ours in the place of one that pads or stacks."""
        collator: Any = self.data_collator
        if hasattr(collator, "padding_free"):
            args: Any = self.args
            for holder in (collator, args):
                if hasattr(holder, "padding_free"):
                    holder.padding_free = True
        elif not given and getattr(collator, "__module__", "") == "transformers.data.data_collator":
            self.data_collator = Packed(huggingface=True)

    def _plan_by_itself(self, capacity: int | None, cost: Any, longest: int | None) -> Plan:
        """A plan of train_dataset by the arguments, in which samples of more than `longest` tokens are split."""
        args = self.args
        if self.train_dataset is None:
            raise ValueError("train_dataset is missing: it is what is planned, or give plan=")
        if capacity is None:
            raise ValueError(
                "capacity is missing: give capacity=, the most tokens of a micro-batch, or plan=; "
                "with SFTConfig, it is per_device_train_batch_size * max_length"
            )
        epochs = 1 if args.max_steps > 0 else int(args.num_train_epochs)
        if args.max_steps <= 0 and epochs != args.num_train_epochs:
            raise ValueError(
                f"num_train_epochs = {args.num_train_epochs} must be a whole number, since epochs are planned whole: "
                "say by max_steps where to stop"
            )
        if cost is None:
            try:
                cost = ballast.models.shape_of(self.model, images=True)
            except (ValueError, OSError, TypeError) as error:
                raise ValueError(
                    f"what a sample costs cannot be read from the model ({error}): give cost=, as in "
                    'cost="llama-3.1-8b", or plan='
                ) from None
        lengths, seed = _lengths_of(self.train_dataset, "train_dataset"), args.seed
        if not len(lengths):
            raise ValueError("train_dataset is empty: there is nothing to plan")
        seed = seed if args.data_seed is None else args.data_seed
        if longest is not None:
            pieces = ballast.pack(lengths, capacity=longest, oversize="split", zero_length="skip").pieces
            self.train_dataset = Pieces(self.train_dataset, longest, pieces)
            lengths = np.append(np.minimum(lengths, longest), [tokens for *_, tokens in pieces]).astype(np.int64)

        def planned(epochs: int) -> Plan:
            return Plan(
                lengths,
                capacity=capacity,
                ranks=args.world_size,
                micro_batches=args.gradient_accumulation_steps,
                epochs=epochs,
                cost=cost,
                seed=seed,
            )

        try:
            plan = planned(epochs)
        except ValueError as error:
            raise ValueError(f"train_dataset is not planned: {error}; options of a plan need a Plan of yours: plan=") from None
        while plan.steps < args.max_steps:  # an epoch has nearly always equally many steps
            epochs = max(epochs + 1, epochs * args.max_steps // plan.steps)
            plan = planned(epochs)
        return plan

    def _refuse(self) -> None:
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
                args.max_steps <= 0 and args.num_train_epochs not in (1, plan.epochs),
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

    def get_train_dataloader(self) -> DataLoader[Any]:
        """The loader of this process's micro-batches, which accelerate does not deal out again."""
        if self.train_dataset is None:
            raise ValueError("train_dataset is missing")
        args, plan = self.args, self.plan
        plan.agree(device=args.device)
        dataset: Any = self.train_dataset
        if plan._options.get("oversize") in ("split", "truncate") and not isinstance(dataset, Pieces):
            dataset = plan.dataset(dataset)
        batches = plan.batches(args.process_index, one_epoch=True, placeholders=True, dataset=dataset)
        if self._check_lengths:
            batches.given = self._given = collections.deque()
        return prepared(self._loader(dataset, batches, "training"), self.accelerator, check_model=False)

    def get_eval_dataloader(self, eval_dataset: Any = None) -> DataLoader[Any]:
        """The loader of this process's packed rows: over all processes they have every sample once."""
        all_rows: Any = self.eval_dataset
        rows = all_rows if eval_dataset is None else eval_dataset
        rows = all_rows[rows] if isinstance(rows, str) else rows
        if not self._pack_evaluation or not hasattr(rows, "__len__") or isinstance(rows, dict):
            return super().get_eval_dataloader(eval_dataset)
        lengths = _lengths_of(rows, "eval_dataset")
        capacity = max(self.plan._options["capacity"], int(lengths.max(initial=1)))
        batches = _evaluation_rows(lengths, capacity, self.args.world_size, self.args.process_index)
        out: DataLoader[Any] = on_device(self._loader(rows, batches, "evaluation"), self.accelerator)
        return out

    def _loader(self, dataset: Any, batches: Any, description: str) -> DataLoader[Any]:
        """A loader of these lists with the settings of the trainer."""
        from torch.utils.data import DataLoader
        from transformers.trainer_utils import seed_worker

        args, collator = self.args, self.data_collator
        if hasattr(dataset, "column_names"):  # a datasets.Dataset
            dataset = self._remove_unused_columns(dataset, description=description)
        else:
            collator = self._get_collator_with_removed_columns(collator, description=description)
        return DataLoader(
            dataset,
            batch_sampler=batches,
            collate_fn=collator,
            num_workers=args.dataloader_num_workers,
            pin_memory=args.dataloader_pin_memory,
            persistent_workers=args.dataloader_persistent_workers and description == "training",
            prefetch_factor=args.dataloader_prefetch_factor,
            worker_init_fn=partial(seed_worker, num_workers=args.dataloader_num_workers, rank=args.process_index),
        )

    def training_step(self, model: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """As Trainer's, behind the checks of the model and of the row."""
        if self._check_model:
            watch(model, int(self.plan._lengths.max(initial=0)))
            self._check_model = False
        if self._given:
            check_batch(inputs, self._given.popleft(), self.plan._lengths)
        return super().training_step(model, inputs, *args, **kwargs)

    def evaluation_loop(self, dataloader: Any, *args: Any, **kwargs: Any) -> Any:
        """As Trainer's; on packed rows the loss is the mean over the labels of all of them."""
        rows = getattr(dataloader, "batch_sampler", None)
        if not isinstance(rows, _Rows):
            return super().evaluation_loop(dataloader, *args, **kwargs)
        self._evaluated, self._own_rows = [], rows.own
        try:
            output = super().evaluation_loop(dataloader, *args, **kwargs)
            summed = self._evaluated
        finally:
            self._evaluated = None
        if summed:
            import torch

            total = torch.stack(summed).cpu().double().sum(0)
            if self.args.world_size > 1:
                total = self.accelerator.reduce(total.to(self.args.device), reduction="sum")
            metrics: Any = output.metrics
            metrics[f"{kwargs.get('metric_key_prefix', 'eval')}_loss"] = (total[0] / total[1]).item()
        return output

    def prediction_step(self, model: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """As Trainer's; of a packed row, notes its labels and their summed loss."""
        if self._evaluated is None or inputs.get("labels") is None:
            return super().prediction_step(model, inputs, *args, **kwargs)
        import torch

        if len(self._evaluated) >= self._own_rows:  # only lets all processes make equally many steps
            inputs["labels"] = torch.full_like(inputs["labels"], -100)
        labels = (inputs["labels"][..., 1:] != -100).sum()
        self._items = None
        out = super().prediction_step(model, inputs, *args, **kwargs)
        if out[0] is not None:  # the mean over this row, or its part in the mean over the rows of all processes
            items = labels if self._items is None else self._items / self.args.world_size
            loss = (out[0].detach().float() * items).where(labels > 0, 0.0)
            self._evaluated.append(torch.stack([loss, labels.to(loss)]))
        return out

    def _get_num_items_in_batch(self, *args: Any, **kwargs: Any) -> Any:
        """As Trainer's, which makes the loss of an evaluation a part of the mean over the rows of all processes."""
        self._items = super()._get_num_items_in_batch(*args, **kwargs)
        return self._items

    def train(self, resume_from_checkpoint: str | bool | None = None, *args: Any, **kwargs: Any) -> Any:
        """As Trainer's; a checkpoint is resumed with the state of the plan that lies in it."""
        from transformers.trainer_utils import get_last_checkpoint

        if resume_from_checkpoint is True:
            last: Callable[[str], str | None] = get_last_checkpoint
            resume_from_checkpoint = last(str(self.args.output_dir))
            if resume_from_checkpoint is None:
                raise ValueError(f"there is no checkpoint in {self.args.output_dir}")
        if resume_from_checkpoint:
            path = os.path.join(str(resume_from_checkpoint), STATE)
            if not os.path.exists(path):
                raise ValueError(f"{resume_from_checkpoint} has no {STATE}: it was not saved by a planned trainer")
            with open(path) as file:
                try:
                    state = json.load(file)
                except ValueError as error:
                    raise ValueError(f"{path} is damaged ({error}): resume another checkpoint") from None
            self.plan.resume(state, ranks=self.plan.ranks, micro_batches=self.plan.micro_batches)
        if self.args.num_train_epochs > 1 and self.args.max_steps <= 0:
            self.args.max_steps = self.plan.steps  # the epochs of the plan are one pass to Trainer
        return super().train(resume_from_checkpoint, *args, **kwargs)


def tokens_of_micro_batch(rows: int, longest: int | None) -> int | None:
    """The most tokens of a micro-batch of `rows` rows, as TRL and axolotl pack them, and their trainers pad them."""
    return None if longest is None else rows * longest


def _unpacked(config: Any) -> Any:
    """TRL's arguments without its own packing: the plan packs, and the collator makes rows of it afterwards."""
    if not config.packing and not config.padding_free and not config.eval_packing:
        return config
    if config.packing and config.packing_strategy == "wrapped":
        raise ValueError(
            "packing_strategy = 'wrapped' cuts samples wherever a row ends, which is not planned: choose 'bfd', which "
            "cuts samples longer than max_length, or 'bfd_split', which splits them"
        )
    config = copy.copy(config)
    if config.packing and config.packing_strategy == "bfd_split":
        config.max_length = None  # or TRL would cut them
    config.packing = config.padding_free = config.eval_packing = False
    return config


def _lengths_of(dataset: Any, name: str) -> NDArray[Any]:
    """Tokens of each row."""
    if not hasattr(dataset, "__len__"):
        raise ValueError(f"{name} is streamed, so that nobody knows its lengths: what is planned must have a length")
    columns = getattr(dataset, "column_names", None)
    if columns is None:
        try:
            return np.fromiter((len(dataset[i]["input_ids"]) for i in range(len(dataset))), np.int64, len(dataset))
        except (IndexError, KeyError, TypeError) as error:
            raise ValueError(f"{name} has rows without input_ids to take lengths from ({error}): tokenise it") from None
    if "input_ids" not in columns:
        raise ValueError(f"{name} has no column input_ids to take lengths from, but {', '.join(columns)}: tokenise it")
    return ballast.lengths.from_dataset(dataset)


class _Rows(list[list[int]]):
    """The rows of one process in an evaluation. Those behind `own` only let all processes make equally many steps."""

    own = 0


def _evaluation_rows(lengths: NDArray[Any], capacity: int, ranks: int, rank: int) -> _Rows:
    """Packs over all ranks, such that those of one step are alike; samples without tokens have no label."""
    kept = np.flatnonzero(lengths)
    packs = [kept[np.asarray(pack)] for pack in ballast.pack(lengths[kept], capacity=capacity).packs]
    packs.sort(key=lambda pack: -int((lengths[pack].astype(np.int64) ** 2).sum()))
    rows = _Rows(pack.tolist() for pack in packs[rank::ranks])
    rows.own = len(rows)
    if len(rows) * ranks < len(packs):
        rows.append([int(kept[lengths[kept].argmin()])])
    return rows


def _callback(plan: Plan) -> TrainerCallback:
    from transformers import TrainerCallback

    class Report(TrainerCallback):
        """Counts optimiser steps, names the plan's epochs, and writes its state into checkpoints."""

        def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            steps = plan.steps_of_epochs
            self.longest = max(steps.values(), default=1)
            first = plan.steps - sum(steps.values())
            self.ends = [(first + sum(list(steps.values())[: i + 1]), epoch) for i, epoch in enumerate(steps)]

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            plan.step_done()
            end, epoch = next((end, epoch) for end, epoch in self.ends if plan.steps_done <= end)
            state.epoch = epoch + 1 - (end - plan.steps_done) / self.longest
            if plan.steps_done == end and end < plan.steps:  # at the end of the last one, Trainer does it itself
                control.should_log |= args.logging_strategy == "epoch"
                control.should_save |= args.save_strategy == "epoch"
                control.should_evaluate |= args.eval_strategy == "epoch" and state.epoch >= (args.eval_delay or 0)

        def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.is_world_process_zero:
                with open(os.path.join(args.output_dir, f"checkpoint-{state.global_step}", STATE), "w") as file:
                    json.dump(plan.state(), file)

    return Report()


def pack_dataset(
    dataset: Dataset, seq_length: int, strategy: str = "bfd", map_kwargs: dict[str, Any] | None = None
) -> Dataset:
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

    table = cast(pa.Table, dataset.with_format("arrow")[:])
    if seq_length < 1:
        raise ValueError(f"seq_length = {seq_length} must be positive")
    seq_length = min(int(seq_length), 2**62)
    lengths = _row_lengths(table) if table.column_names and len(table) else np.zeros(0, np.int64)
    if not lengths.any():
        raise ValueError("the dataset has no rows with tokens to pack")
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


def _row_lengths(table: Any) -> NDArray[np.int64]:
    """Tokens of each row, equal in all columns."""
    import pyarrow as pa
    import pyarrow.compute as pc

    first: tuple[str, NDArray[np.int64]] | None = None
    for name in table.column_names:
        column = table.column(name)
        if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)):
            raise ValueError(
                f"column {name!r} is of type {column.type}, not a list; remove it or leave it out by select_columns"
            )
        if column.null_count:
            raise ValueError(f"column {name!r} has a null in row {int(np.flatnonzero(column.is_null().to_numpy())[0])}")
        lengths = pc.list_value_length(column).to_numpy().astype(np.int64)  # pyright: ignore[reportAttributeAccessIssue]
        if first is None:
            first = (name, lengths)
        elif (lengths != first[1]).any():
            row = int(np.flatnonzero(lengths != first[1])[0])
            raise ValueError(
                f"row {row} has {first[1][row]} values in column {first[0]!r} but {lengths[row]} in {name!r}"
            )
    assert first is not None  # there is a column
    return first[1]


def knapsack_of_lengths(numbers: Sequence[int], capacity: int) -> list[list[int]]:
    """Lists of lengths that fit together, in the form of LLaMA-Factory's `greedy_knapsack`."""
    lengths = np.asarray(numbers, dtype=np.int64)
    capacity = int(capacity)
    for i in np.flatnonzero((lengths < 1) | (lengths > capacity))[: capacity > 0]:
        what = "must be positive" if lengths[i] < 1 else f"exceeds capacity {capacity}: cut or drop such samples first"
        raise ValueError(f"numbers[{i}] = {lengths[i]} {what}")
    return [lengths[np.asarray(pack)].tolist() for pack in ballast.pack(lengths, capacity=capacity).packs]


named_in(globals())
