# SPDX-License-Identifier: Apache-2.0
"""Feeds PyTorch from a planned run: a batch sampler for each rank, a collator of packed rows, a loop that counts steps.

    plan = Plan(lengths, capacity=8192, ranks=world, micro_batches=4, epochs=3, seed=1, cost="llama-3.1-8b")
    loader = DataLoader(dataset, batch_sampler=plan.batches(rank, one_epoch=True), collate_fn=Packed(), num_workers=2)
    for step, micro_batches in plan.steps_of(loader, model):
        ...                           # forward, backward, update
        saved = plan.state()          # what the checkpoint keeps: a few integers
    print(fits(model, lengths, "h100"))  # the largest capacity of a pack, and which lengths are longer
    plan.resume(saved, ranks=3)       # before the sampler is made: plans what is left for three ranks

docs/python-trainers.md says what else has to be known. PyTorch is imported when a tensor or a collective is first
needed.
"""

from __future__ import annotations

import collections
import copy
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import ballast

from ._arguments import counted, integer, named_in
from ._fits import Fit, fits
from ._rows import check_batch, check_model, check_rows, watch

if TYPE_CHECKING:
    import os

    from numpy.typing import ArrayLike, NDArray
    from torch.distributed import ProcessGroup
    from typing_extensions import Unpack

    from ._options import RunOptions
    from .report import Measured, Report

__all__ = ["Batches", "Fit", "Packed", "Pieces", "Plan", "check", "check_model", "fits", "labels_of_step"]


class Plan:
    """A training run that any number of loaders read, and that counts the steps which the trainer has finished.

    `options` are those of `ballast.TrainingRun` but for levels. Every process makes the same plan by itself; `hash()` says whether
    they agree. Loaders read ahead of the trainer, so each sampler walks a run of its own, and `state()` counts only
    what was reported.
    """

    def __init__(
        self, lengths: ArrayLike, *, capacity: int, ranks: int, micro_batches: int = 1, **options: Unpack[RunOptions]
    ) -> None:
        self._options: dict[str, Any] = {"capacity": capacity, **options}
        if self._options.get("levels") is not None:
            raise ValueError(
                "in a run in levels several ranks share a pack, which a sampler of packs cannot say: run "
                "ballast.TrainingRun(levels=...) by ballast.execute"
            )
        self._ranks, self._micro_batches = ranks, micro_batches
        self._start = ballast.TrainingRun(lengths, ranks=ranks, micro_batches=micro_batches, **self._options)
        self._reported, self._first, self._counted = self._run(), 0, 0
        self._changes: dict[int, list[int]] = {}  # by `recalibrate`: what is measured, for the first step it is used for
        self._read = 0  # the steps that a sampler has handed out
        self._table: dict[int, int] | None = None
        self.chosen: dict[str, str] = {}  # by `auto`: a sentence about each argument that was not given

    @classmethod
    def auto(
        cls,
        dataset: Any,
        model: Any = None,
        *,
        capacity: int | None = None,
        device: Any = None,
        tokenizer: Any = None,
        ranks: int | None = None,
        micro_batches: int = 1,
        lengths: ArrayLike | None = None,
        column: str | Sequence[str] | None = None,
        images: str | bool | None = None,
        add_eos: bool = False,
        template: Mapping[str, Any] | None = None,
        num_proc: int | None = None,
        memory: Mapping[str, Any] | None = None,
        **options: Unpack[RunOptions],
    ) -> Plan:
        """A plan for a data set and a model, which chooses what is not given, and says in `chosen` what it was.

        `dataset` is what ballast.lengths.from_dataset takes, with its options `column`, `images`, `add_eos`, `template`
        and `num_proc`; texts are counted by `tokenizer`, a tokenizer or processor, or by that of the model if it is on
        this machine. `model` is a name, a config, a directory with config.json or a module, as for `cost`. Without
        `capacity`, it is the most that fits `device` by `fits`, to which `memory={"zero": 2, ...}` passes arguments.
        `ranks` are the processes of torch.distributed, of which the first counts for all: call it in each. `cost` or
        `costs`, `lengths` in the place of counted ones, and all other options are those of `Plan`.
        """
        from ._auto import choose

        counted, arguments, chosen = choose(
            dataset,
            model,
            lengths=lengths,
            column=column,
            tokenizer=tokenizer,
            images=images,
            add_eos=add_eos,
            template=template,
            num_proc=num_proc,
            capacity=capacity,
            device=device,
            memory=memory,
            ranks=ranks,
            micro_batches=micro_batches,
            **options,
        )
        plan = cls(counted, **arguments)
        plan.chosen = chosen
        return plan

    def _run(self) -> ballast.TrainingRun:
        """A run that stands where this plan was resumed, or at its beginning: a copy, which plans nothing."""
        return copy.copy(self._start)

    def _next(self, run: ballast.TrainingRun) -> ballast.TrainingRun | None:
        """The run in its next step, by the costs that `recalibrate` has named for it; None at the end."""
        if run.done:
            return None
        if run.step in self._changes:
            run.recalibrate(self._changes[run.step])
        run.next()
        return run

    def _read_next(self, run: ballast.TrainingRun) -> ballast.TrainingRun | None:
        """The same for whoever hands the step out: `recalibrate` leaves it as it is."""
        out = self._next(run)
        self._read = max(self._read, run.step)
        return out

    @property
    def ranks(self) -> int:
        """Data-parallel processes that train."""
        return self._ranks

    @property
    def micro_batches(self) -> int:
        """Micro-batches of each rank in each step."""
        return self._micro_batches

    @property
    def epochs(self) -> int:
        """Passes over the data set, or runs of `steps_per_epoch` steps."""
        return int(self._options.get("epochs", 1))

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Tokens of each sample as it is trained on, then of each piece of samples that are split."""
        return self._lengths.astype(np.int64)

    @property
    def skipped(self) -> NDArray[np.uint32]:
        """With zero_length="skip", the samples without tokens."""
        return self._start.skipped

    @property
    def _lengths(self) -> NDArray[Any]:
        """The same, as the run keeps them."""
        return self._start._packed()

    @property
    def idle(self) -> float:
        """Share of the time of all ranks in which a rank waits for a slower one, as modelled for this epoch."""
        return self._reported.idle

    @property
    def fill(self) -> float:
        """Share of the capacity that holds tokens in this epoch."""
        return self._reported.fill

    @property
    def slowest(self) -> int:
        """Sum over the steps of this epoch of the cost of the slowest rank."""
        return self._reported.slowest

    @property
    def lower_bound(self) -> int:
        """Lower bound of `slowest`: no other distribution of each step's samples over the ranks costs less."""
        return self._reported.lower_bound

    @property
    def set_aside(self) -> NDArray[np.uint32]:
        """With oversize="set_aside", the samples that are longer than the capacity."""
        return self._reported.set_aside

    @property
    def dropped(self) -> NDArray[np.uint32]:
        """With left_over="drop", the samples that are in no step of this epoch."""
        return self._reported.dropped

    @property
    def repeated(self) -> NDArray[np.uint32]:
        """With left_over="repeat", the samples that this epoch trains on again, once for each repetition."""
        return self._reported.repeated

    measured: Measured | None = None  # which ballast.callbacks sets

    def report(self, path: str | os.PathLike[str] | None = None, *, measured: Measured | None = None) -> Report:
        """The plan beside what trainers do without one, and what was measured, as `TrainingRun.report`."""
        return self._reported.report(path, measured=measured or self.measured)

    def __len__(self) -> int:
        """`steps`."""
        return self.steps

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[list[list[NDArray[np.uint32]]]]:
        """The steps that are left: of each rank, the list of its micro-batches. The plan stays where it is."""
        run = copy.copy(self._reported)
        while self._next(run) is not None:
            yield [run.packs_of(rank) for rank in range(self._ranks)]

    def __repr__(self) -> str:
        return (
            f"<Plan: {counted(self.steps_done, 'step')} done, {counted(self.epochs, 'epoch')}: {self._reported._line()}>"
        )

    def __copy__(self) -> Plan:
        """Another plan that counts its own steps, without planning again."""
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._reported, other._changes = copy.copy(self._reported), dict(self._changes)
        return other

    def __deepcopy__(self, memo: dict[int, Any]) -> Plan:
        return self.__copy__()

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        if self._counted == 0:  # it stands where the plan starts
            del state["_reported"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "_reported" not in state:
            self._reported = self._run()

    @property
    def steps(self) -> int:
        """Optimiser steps of all epochs, those before `resume` among them."""
        return self._first + sum(self.steps_of_epochs.values())

    @property
    def steps_done(self) -> int:
        """Optimiser steps reported since the very first epoch began."""
        return self._first + self._counted

    @property
    def steps_of_epochs(self) -> dict[int, int]:
        """{epoch: steps that it still had when the plan was made or resumed}."""
        return self._checked()

    def _checked(self) -> dict[int, int]:
        if self._table is None:
            self._table = self._counted_steps(self._run())
        return self._table

    def _counted_steps(self, run: ballast.TrainingRun) -> dict[int, int]:
        """Walks the run once: counts the steps of each epoch, and refuses a step in which a rank would have to wait."""
        table: dict[int, int] = {}
        for step in run:
            for rank in range(self._ranks):
                packs = len(run.packs_of(rank))
                if packs != self._micro_batches:
                    raise ValueError(
                        f"step {step} has {packs} micro-batches for rank {rank} instead of {self._micro_batches}: "
                        "the other ranks would wait for ever; plan with fewer ranks or micro-batches, or leave out "
                        "what fills no step"
                    )
            table[run.epoch] = table.get(run.epoch, 0) + 1
        return table

    def batches(
        self, rank: int, *, one_epoch: bool = False, placeholders: bool = False, dataset: Any = None
    ) -> Batches:
        """The batch sampler of `rank`, see `Batches`. `dataset` is needed only if samples are split or cut."""
        if self._options.get("oversize") in ("split", "truncate") and not isinstance(dataset, Pieces):
            raise ValueError(
                f"oversize={self._options['oversize']!r} makes micro-batches of parts of samples: make wrapped = "
                "plan.dataset(dataset), give "
                "it to the loader, and make the sampler by plan.batches(rank, dataset=wrapped)"
            )
        return Batches(self, rank, one_epoch=one_epoch, placeholders=placeholders)

    def dataset(self, dataset: Any) -> Pieces:
        """The dataset with samples split into pieces, or cut to the capacity, as `oversize` says."""
        return Pieces(dataset, self._options["capacity"], self._start.pieces)

    def steps_of(
        self, loader: Any, model: Any = None, *, check_lengths: bool = True
    ) -> Iterator[tuple[int, Sequence[Any]]]:
        """Yields (step, sequence of its micro-batches) from a loader of this plan, and counts the steps.

        A step counts once the loop has taken all its micro-batches, so that a look at a batch does not. After a
        `break`, another call goes on with the first step that does not count. A `model` of transformers is checked
        once, by its first forward pass in the loop: whether it keeps the samples of a row apart. `check_lengths`
        compares each row with the lengths that were planned.
        """
        batches = None
        if hasattr(loader, "batch_sampler"):
            batches = check(loader)
            if batches.plan is not self:
                raise ValueError(
                    "the loader is one of another plan: make its sampler by plan.batches(rank) of the plan that counts "
                    "the steps"
                )
            if model is not None:
                batches.watched = [model]
            batches.given = collections.deque() if check_lengths else None
        group: list[Any] = []
        for batch in loader:
            if batches is not None and batches.given:
                check_batch(batch, batches.given.popleft(), self._lengths)
            group.append(batch)
            if len(group) == self._micro_batches:
                before = self._counted
                yield self.steps_done, _Step(group, self.step_done)
                if self._counted == before:  # the loop has passed it over
                    self.step_done()
                group = []
        if group:
            raise ValueError(
                f"the loader ended {self._micro_batches - len(group)} micro-batches before its step did: something "
                "between the sampler and "
                "the loop has dropped or dealt out lists; with accelerate use ballast.accelerate.prepared"
            )

    def step_done(self) -> None:
        """Says that all ranks have made one more optimiser step; `steps_of` does it by itself."""
        if self._reported.done:
            raise ValueError(f"all {self.steps} steps of the plan are done already")
        self._read_next(self._reported)
        self._counted += 1

    def state(self) -> dict[str, Any]:
        """A dictionary of integers for the checkpoint: equal on all ranks, whatever their loaders have read ahead."""
        words = [int(word) for word in self._reported.state()]
        return {"words": words, "steps": self.steps_done, "ranks": self._ranks, "micro_batches": self._micro_batches}

    def resume(
        self, state: Mapping[str, Any], *, ranks: int | None = None, micro_batches: int | None = None
    ) -> None:
        """Goes on behind the steps that `state` counts, by default with as many ranks and micro-batches as before.

        Call it before samplers are made. With another number of ranks the samples that are left of the epoch are
        planned anew.
        """
        if not isinstance(state, Mapping) or not {"words", "ranks", "micro_batches"} <= set(state):
            raise ValueError(f"state is of type {type(state).__name__}: it must be what Plan.state() has returned")
        ranks = integer('state["ranks"]', state["ranks"]) if ranks is None else ranks
        if micro_batches is None:
            micro_batches = integer('state["micro_batches"]', state["micro_batches"])
        start = copy.copy(self._start)
        start.resume(state["words"], ranks, micro_batches)
        self._start, self._ranks, self._micro_batches = start, ranks, micro_batches
        self._first, self._counted, self._table = start.step, 0, None
        self._reported = self._run()
        self._changes, self._read = {}, start.step

    def recalibrate(self, measured: Sequence[int], group: Any = None, device: Any = None) -> bool:
        """Plans anew what no sampler has handed out, under what `ballast.TrainingRun.measured` said on rank 0.

        All ranks call it behind the same step; it takes one all_gather. Samplers, `step_done` and `state` go over to the
        new plan where that begins, so each sample is still trained once in each pass. Returns whether steps are planned
        anew: not if that saves less than a thousandth of their time, nor, with a warning, if an epoch would then have
        another number of steps, which `steps_per_epoch` rules out.
        """
        words = [int(word) for word in measured]
        own = [self._read, *(half for word in words for half in (word & 0xFFFFFFFF, word >> 32))]
        rows = gathered(own, group, device)
        begin = int(max(row[0] for row in rows))
        words = [int(low) | int(high) << 32 for low, high in zip(rows[0][1::2], rows[0][2::2])]
        before = copy.copy(self._reported)
        while before.step < begin:
            self._next(before)
        if before.done:
            return False
        after = copy.copy(before)
        anew = after.recalibrate(words)
        try:
            same = self._counted_steps(before) == self._counted_steps(after)
        except ValueError:  # a step is not full
            same = False
        if not same:
            warnings.warn(
                "the plan is not made anew, for an epoch would then have another number of steps than the trainer was "
                "told: give the plan steps_per_epoch",
                stacklevel=2,
            )
            return False
        self._changes[begin] = words
        return anew

    def hash(self) -> int:
        """A number that is equal on all ranks if their plans are."""
        return self._start.hash()

    def agree(self, group: ProcessGroup | None = None, device: Any = None) -> None:
        """Raises ValueError on every rank unless all of them have made the same plan: one reduction of four numbers."""
        import torch

        number = int(self.hash())
        halves = [number & 0xFFFFFFFF, number >> 32 & 0xFFFFFFFF]
        extremes = torch.tensor(halves + [-half for half in halves], dtype=torch.int64, device=device)
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            torch.distributed.all_reduce(extremes, op=torch.distributed.ReduceOp.MAX, group=group)
        if (extremes[:2] + extremes[2:]).any():
            raise ValueError(
                "the ranks have made different plans: give all of them the same lengths, options, seed and state"
            )


class _Step(Sequence[Any]):
    """The micro-batches of a step, which counts when all of them were taken."""

    def __init__(self, batches: list[Any], taken_all: Callable[[], None]) -> None:
        self.batches, self._left, self._taken_all = batches, set(range(len(batches))), taken_all

    def __len__(self) -> int:
        return len(self.batches)

    def __getitem__(self, at: Any) -> Any:
        chosen = self.batches[at]  # an IndexError ends an iteration
        if self._left:
            places = range(len(self.batches))[at]
            self._left.difference_update(places if isinstance(at, slice) else [places])
            if not self._left:
                self._taken_all()
        return chosen


class Batches:
    """Lists of sample indices, one for each micro-batch of one rank, in the order of training: a `batch_sampler`.

    It has no `batch_size` and is no `torch.utils.data.BatchSampler` on purpose: accelerate would then shard it once
    more and drop lists. `one_epoch` yields all epochs of the plan in one pass. Otherwise each pass is an epoch: the one
    that `set_epoch` names, or the next; all epochs must have equally many steps. `placeholders` puts an empty list in
    front for every micro-batch trained before the plan was resumed: for trainers that skip as many lists by themselves.
    """

    def __init__(self, plan: Plan, rank: int, *, one_epoch: bool = False, placeholders: bool = False) -> None:
        if not 0 <= integer("rank", rank) < plan.ranks:
            raise ValueError(f"rank = {rank} must be at least 0 and below ranks = {plan.ranks}")
        if placeholders and not one_epoch:
            raise ValueError("placeholders needs one_epoch=True: the lists of finished epochs are skipped too")
        epochs = plan.steps_of_epochs
        whole = sorted(set(list(epochs.values())[1 if plan.steps_done else 0 :]))  # a resumed epoch may be half done
        if len(whole) > 1 and not one_epoch:
            raise ValueError(
                f"the epochs have {' or '.join(map(str, whole))} steps, but a trainer asks for the length once; set "
                "steps_per_epoch, or "
                "train the run as one epoch (one_epoch=True)"
            )
        self.plan, self.rank, self.one_epoch = plan, rank, one_epoch
        self.epoch = min(epochs, default=0)
        self._placeholders = plan.steps_done if placeholders else 0
        self._ahead: ballast.TrainingRun | None = None
        # where a loop wants to know them, the lists that its loader has not delivered
        self.given: collections.deque[list[int]] | None = None
        self.watched: list[Any] = []  # models to check when a pass begins
        self._seen, self._ended = 0, False
        steps = sum(epochs.values()) if one_epoch else (whole or list(epochs.values()) or [0])[0]
        self._length = (steps + self._placeholders) * plan.micro_batches

    @property
    def sampler(self) -> Batches:
        """Itself: accelerate looks for `batch_sampler.sampler.set_epoch`."""
        return self

    def set_epoch(self, epoch: int) -> None:
        """Names the epoch of the next pass; of no effect on a run that is one epoch."""
        if self.one_epoch:
            return
        if epoch not in self.plan.steps_of_epochs:
            raise ValueError(
                f"epoch {epoch} is not among the epochs left in the plan: {sorted(self.plan.steps_of_epochs)}"
            )
        self.epoch = epoch

    def _open(self, epoch: int) -> ballast.TrainingRun | None:
        """A run that stands in `epoch` or before it, if possible the one that the last pass has left; None if all is
        done."""
        run, self._ahead = self._ahead, None
        if run is None or self.one_epoch or run.epoch != epoch:
            run = self.plan._read_next(self.plan._run())
        return run

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> _Pass:
        for model in self.watched[self._seen :]:
            watch(model, int(self.plan._lengths.max(initial=0)))
        self._seen = len(self.watched)
        return _Pass(self)


def _stepped(run: ballast.TrainingRun) -> ballast.TrainingRun | None:
    """The run at its next step; None if there is none."""
    if run.done:
        return None
    run.next()
    return run


class _Pass:
    """One pass over a sampler's lists, with the state that torchdata's StatefulDataLoader keeps."""

    def __init__(self, batches: Batches) -> None:
        self._batches, self._epoch, self._given = batches, batches.epoch, 0
        self._lists: Iterator[list[int]] | None = None

    def __iter__(self) -> _Pass:
        return self

    def __next__(self) -> list[int]:
        if self._lists is None:
            self._lists = self._walk(self._given)
        try:
            chosen = next(self._lists)
        except StopIteration:
            self._batches._ended = True
            if not self._batches.one_epoch and self._epoch == self._batches.epoch:
                following = [e for e in self._batches.plan.steps_of_epochs if e > self._epoch]
                self._batches.epoch = min(following, default=self._epoch)
            raise
        self._given += 1
        if chosen and self._batches.given is not None:
            self._batches.given.append(chosen)
        return chosen

    def _walk(self, skipped: int) -> Iterator[list[int]]:
        """The lists behind the first `skipped`; passed over steps make no list, nor do steps that count already."""
        batches, each = self._batches, self._batches.plan.micro_batches
        if batches.one_epoch and batches._ended and not skipped:
            raise ValueError(
                f"the sampler has given all {batches.plan.steps} steps already: one_epoch=True has all epochs of the "
                "plan in one pass, so let the trainer make one pass (one epoch), or leave one_epoch out; for a second "
                "run make another plan"
            )
        run = batches._open(self._epoch)
        counted = batches.plan.steps_done if batches.plan._counted and not skipped else 0
        for _ in range(skipped, batches._placeholders * each):
            yield []
        skipped = max(skipped - batches._placeholders * each, 0)
        while run is not None and (batches.one_epoch or run.epoch <= self._epoch):
            earlier = (not batches.one_epoch and run.epoch < self._epoch) or counted >= run.step
            passed = each if earlier else min(skipped, each)
            if passed < each:
                for pack in run.packs_of(batches.rank)[passed:]:
                    yield pack.tolist()
            skipped -= 0 if earlier else passed
            run = batches.plan._read_next(run)
        batches._ahead = run

    def state_dict(self) -> dict[str, int]:
        """Where this pass stands: the epoch, and how many lists it has given."""
        return {"epoch": self._epoch, "lists": self._given}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Goes on where `state_dict` was taken."""
        self._epoch = self._batches.epoch = state["epoch"]
        self._given, self._lists = state["lists"], None


def check(loader: Any) -> Batches:
    """The plan's sampler of a loader; raises ValueError if there is none, or if its lists are dealt out once more.

    Everything needed is in the loader, so each rank finds the same without a collective.
    """
    layer = getattr(loader, "batch_sampler", None)
    again = hasattr(loader, "split_batches")  # accelerate's dispatcher: process 0 reads, and all rows are cut by count
    while layer is not None and not isinstance(layer, Batches):
        again = again or getattr(layer, "num_processes", 1) != 1
        layer = getattr(layer, "batch_sampler", None)
    if layer is None:
        raise ValueError("the loader has no sampler of a plan: give it batch_sampler=plan.batches(rank)")
    if again:
        raise ValueError(
            "accelerate deals this loader's lists out to the processes, though each process has its own already: "
            "most samples would never "
            "be trained on; call ballast.accelerate.prepared(loader, accelerator) instead of "
            "accelerator.prepare(loader)"
        )
    check_rows(getattr(loader, "dataset", None), len(layer.plan._lengths))
    return layer


class Pieces:
    """A map-style dataset in which samples are split or cut as planned; made by `Plan.dataset`.

    A sample is a sequence of tokens, or a mapping whose sequences of as many values as there are `input_ids` are cut
    alike.
    """

    def __init__(self, dataset: Any, capacity: int, pieces: Sequence[tuple[int, int, int]]) -> None:
        self._dataset, self._pieces, self._capacity = dataset, pieces, capacity
        self._first: dict[int, int] = {}
        for sample, begin, _ in pieces:
            self._first[sample] = min(begin, self._first.get(sample, begin))

    def __len__(self) -> int:
        return len(self._dataset) + len(self._pieces)

    def __getitem__(self, index: int) -> Any:
        if index < len(self._dataset):
            sample, begin, end = index, 0, self._first.get(index, self._capacity)
        else:
            sample, begin, tokens = self._pieces[index - len(self._dataset)]
            end = begin + tokens
        row = self._dataset[sample]
        if not hasattr(row, "keys"):
            return row[begin:end]
        size = len(row["input_ids"])
        return {
            name: row[name][begin:end] if hasattr(row[name], "__len__") and len(row[name]) == size else row[name]
            for name in row.keys()
        }


class Packed:
    """Collates samples into one row without padding: the `collate_fn` of a loader whose lists are packs.

    A sample is a sequence of token ids, or a mapping with `input_ids` and perhaps `labels` (lists, NumPy or Arrow
    values, tensors). The batch has `input_ids`, `labels` and `position_ids` of shape [1, tokens], and where each
    sequence ends: `cu_seqlens` (int32, sequences + 1 entries from 0) and `max_seqlen`; with `huggingface=True` under
    the names that transformers knows. `use_cache` is False: with a cache, models of transformers take the row for one
    sequence, and its samples attend to each other. The first label of each sequence is `ignored`, since no token of its
    own sequence precedes it. Labels stand where their tokens do: the model or the loss compares them with the
    prediction one place before. A row of more than `capacity` tokens is an error. Models whose rotary embedding has
    axes take `position_ids` of shape [axes, 1, tokens]: with `axes=4`, Qwen2-VL keeps samples of text apart.

    With `tokens` and `sequences` all batches have tensors of one size, as CUDA graphs need: the row is filled up with
    `pad`, whose labels are `ignored`, as one more sequence that attends to itself alone, and `cu_seqlens` has `sequences` +
    1 entries, of which the last ones repeat the end of the row. `max_seqlen` is then always `tokens`. `static_rows`
    returns both for a plan.
    """

    def __init__(
        self,
        *,
        huggingface: bool = False,
        ignored: int = -100,
        tokens: int = 0,
        sequences: int = 0,
        pad: int = 0,
        capacity: int = 0,
        axes: int = 0,
    ) -> None:
        if (tokens == 0) != (sequences == 0):
            raise ValueError(f"tokens={tokens} and sequences={sequences}: batches of one size need both")
        for name, value in (("tokens", tokens), ("sequences", sequences), ("capacity", capacity), ("axes", axes)):
            if value < 0:
                raise ValueError(f"{name} = {value} must not be negative")
        self._names, self._ignored = huggingface, ignored
        self._tokens, self._sequences, self._pad = tokens, sequences, pad
        self._capacity, self._axes = capacity, axes

    def __call__(self, samples: Sequence[Any]) -> dict[str, Any]:
        import torch

        if not samples:
            raise ValueError("a micro-batch without samples cannot be collated: a placeholder was not skipped")
        for i, sample in enumerate(samples):
            if hasattr(sample, "keys") and "input_ids" not in sample:
                raise ValueError(f"sample {i} of the micro-batch has no input_ids, but {', '.join(sample.keys())}: tokenise it first")
        tokens = [_integers(sample["input_ids"] if hasattr(sample, "keys") else sample) for sample in samples]
        labels = [
            _integers(s["labels"]) if hasattr(s, "keys") and "labels" in s else t for s, t in zip(samples, tokens)
        ]
        for i, (token, label) in enumerate(zip(tokens, labels)):
            if len(token) != len(label):
                raise ValueError(f"sample {i} of the micro-batch has {len(token)} input_ids but {len(label)} labels")
        lengths = np.array([len(token) for token in tokens])
        ends = np.concatenate([[0], np.cumsum(lengths)])
        if self._capacity and ends[-1] > self._capacity:
            longest = int(lengths.argmax())
            raise ValueError(
                f"a micro-batch of {len(samples)} samples has {ends[-1]} tokens, more than capacity = "
                f"{self._capacity}; its longest, sample {longest} of the micro-batch, has {lengths[longest]}: the lengths "
                "that were planned are not those of this data set"
            )
        label = np.concatenate(labels)
        label[ends[:-1][lengths > 0]] = self._ignored
        position = np.arange(ends[-1]) - np.repeat(ends[:-1], lengths)
        rows = {"input_ids": np.concatenate(tokens), "labels": label, "position_ids": position}
        longest = int(lengths.max())
        if self._tokens:
            rows, ends, longest = self._filled(rows, ends)
        batch: dict[str, Any] = {name: torch.from_numpy(row).unsqueeze(0) for name, row in rows.items()}
        if self._axes:
            batch["position_ids"] = batch["position_ids"].repeat(self._axes, 1, 1)
        batch["use_cache"] = False
        bounds = torch.from_numpy(ends.astype(np.int32))
        if not self._names:
            return {**batch, "cu_seqlens": bounds, "max_seqlen": longest}
        return {
            **batch,
            "cu_seq_lens_q": bounds,
            "cu_seq_lens_k": bounds,
            "max_length_q": longest,
            "max_length_k": longest,
        }

    def _filled(
        self, rows: dict[str, NDArray[np.int64]], ends: NDArray[np.int64]
    ) -> tuple[dict[str, NDArray[np.int64]], NDArray[np.int64], int]:
        """The row and the ends of its sequences in their constant sizes, and the longest sequence that there may be."""
        missing, behind = self._tokens - int(ends[-1]), self._sequences + 1 - len(ends)
        if missing < 0 or behind < (missing > 0):
            raise ValueError(
                f"a micro-batch of {ends[-1]} tokens in {len(ends) - 1} sequences does not fit a row of {self._tokens}"
                f" tokens in {self._sequences} sequences, of which one holds the padding"
            )
        fill = {"input_ids": np.full(missing, self._pad), "labels": np.full(missing, self._ignored)}
        fill["position_ids"] = np.arange(missing)
        rows = {name: np.concatenate([row, fill[name]]) for name, row in rows.items()}
        return rows, np.concatenate([ends, np.full(behind, self._tokens)]), self._tokens


def _integers(values: Any) -> NDArray[np.int64]:
    given = np.array(values)  # a copy: the collator writes into it
    if given.ndim != 1 or given.dtype.kind not in "iu" and given.size:
        raise ValueError(
            f"a sample of the micro-batch holds {given.dtype} in {given.ndim} dimensions: its input_ids and labels must "
            "be integers in one dimension"
        )
    return given.astype(np.int64, copy=False)


def gathered(numbers: Sequence[float], group: Any = None, device: Any = None) -> list[list[float]]:
    """The doubles of all ranks, a list for each; without torch.distributed only this process's own."""
    import torch

    own = torch.tensor(numbers, dtype=torch.float64, device=device)
    if not torch.distributed.is_available() or not torch.distributed.is_initialized():
        return [own.tolist()]
    rows = [torch.empty_like(own) for _ in range(torch.distributed.get_world_size(group))]
    torch.distributed.all_gather(rows, own, group=group)
    return [row.tolist() for row in rows]


def labels_of_step(
    micro_batches: Sequence[Mapping[str, Any]], group: ProcessGroup | None = None, ignored: int = -100
) -> int:
    """Labels that count in this step over all ranks: what the summed loss of every micro-batch is divided by.

    Without torch.distributed it is this process's own number. Multiply the loss by the number of ranks where gradients
    are averaged over them, as DistributedDataParallel does.
    """
    import torch

    batches = list(getattr(micro_batches, "batches", micro_batches))  # of a step that does not count for that
    if not batches:
        raise ValueError("micro_batches is empty: a step has labels")
    for i, batch in enumerate(batches):
        if not hasattr(batch, "keys") or "labels" not in batch.keys():
            raise ValueError(f"micro-batch {i} of the step is a {type(batch).__name__} without labels: collate_fn=Packed() makes them")
    own = torch.stack([(batch["labels"] != ignored).sum() for batch in batches]).sum()
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        torch.distributed.all_reduce(own, group=group)
    return int(own)


named_in(globals())
