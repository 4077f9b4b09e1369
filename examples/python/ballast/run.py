# SPDX-License-Identifier: Apache-2.0
"""`TrainingRun`: the steps of several epochs as one object that is saved and resumed."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._arguments import levels as levels_of
from ._arguments import counted, named
from ._ballast import make_run, share_packs
from ._data_sets import array_of, as_array
from ._levels import How, LevelRun, Setting
from .report import Observed, report_of

if TYPE_CHECKING:
    import os

    from numpy.typing import ArrayLike, NDArray

    from ._ballast import Cost, Run, Shards, Transformer
    from .report import Measured, Report

__all__ = ["TrainingRun"]


# What a run in levels has no use for, with the values that mean nothing.
WITHOUT_LEVELS: dict[str, Any] = {
    "steps_per_epoch": 0,
    "tokens_per_step": 0,
    "order": "",
    "key": "mean_length",
    "buckets": 16,
    "left_over": "split",
    "synchronisation": "per_step",
    "stages": 1,
    "equal_micro_batches": True,
    "time_for_randomness": None,
}


def _kept(lengths: ArrayLike) -> NDArray[Any]:
    """A copy that nobody writes into, of four bytes a length where they fit: the run reads it as long as it lives."""
    given = np.asarray(lengths)
    wide = given.dtype.kind in "iu" and given.dtype.itemsize == 8 and given.size > 0
    kept = given.astype(np.int32) if wide and 0 <= given.min() and given.max() < 2**31 else np.array(given)
    kept.flags.writeable = False
    return kept


class TrainingRun:
    """Walks through the steps of several epochs. Every rank makes the same run, and asks for its own packs.

        run = ballast.TrainingRun(lengths, capacity=8192, ranks=8, micro_batches=4, epochs=3, cost="llama-3.1-8b")
        while not run.done:
            run.next()
            for pack in run.packs_of(rank): ...  # an array of sample indices
            saved = run.state()                  # a list of integers

    After a restart, make the run again and call `resume(saved)`; with another number of ranks, the samples of the epoch
    that were not trained on are planned anew.

    With `levels`, steps differ in how many ranks share a pack, `setting.degree`, and `ballast.execute` runs them:

        run = ballast.TrainingRun(lengths, levels=[(8192, 1), (32768, 4)], ranks=8, epochs=3, cost="llama-3.1-8b")
        for step in run:
            run.setting, run.samples()           # a Setting, and the samples of all ranks
            for work in run.shards().passes_of(rank): ...
    """

    @named
    def __init__(
        self,
        lengths: ArrayLike,
        *,
        capacity: int | None = None,
        ranks: int,
        micro_batches: int = 1,
        epochs: int = 1,
        cost: str | Cost | Transformer | ArrayLike | None = None,
        costs: ArrayLike | None = None,
        seed: int = 0,
        steps_per_epoch: int = 0,
        tokens_per_step: int = 0,
        oversize: str = "reject",
        order: str | None = None,
        key: str = "mean_length",
        buckets: int = 16,
        left_over: str = "split",
        synchronisation: str = "per_step",
        stages: int = 1,
        equal_micro_batches: bool = True,
        levels: str | Sequence[tuple[int, int] | tuple[int, int, int]] | None = None,
        curriculum: str = "hbp",
        device: str = "h100",
        time_for_randomness: int | None = None,
        zero_length: str = "error",
    ) -> None:
        """Plans the first epoch.

        `cost` has no default; `costs`, in its place, are integers, one for each sample. `steps_per_epoch` gives every
        epoch that many steps, and carries the rest of a pass over; 0 gives it as many as its plan has. `tokens_per_step` sets `micro_batches` from the number of ranks. `oversize`
        is "reject", "set_aside" (or "drop"), "truncate" or "split"; with "split", index n + j, for n samples, is `pieces[j]`.
        `order` is None, "random", "ascending", "ascending_buckets" or "shuffled_buckets", by the `key` of a step,
        "mean_length", "longest" or "cost". `zero_length` says what happens to samples without tokens: "error", or "skip",
        which names them in `skipped`. The other options are those of `plan_steps`.

        `levels` plans as `ballast.levels` does: "auto" or "hbp", with packs of up to `capacity` tokens, or tuples of the
        tokens of a pack, the ranks that share it, and perhaps recomputed layers. `curriculum` orders the steps of an
        epoch (the warm-up of "hbp" comes once), `device` is that whose times are modelled, and of the other options
        `ranks`, `micro_batches`, `epochs`, `cost`, `seed`, `oversize` and `zero_length` remain.
        """
        self._lengths = _kept(array_of(lengths))
        self._tokens: NDArray[Any] | None = None
        self._observed = Observed()
        self._options: dict[str, Any] = {
            "capacity": capacity,
            "ranks": ranks,
            "micro_batches": micro_batches,
            "epochs": epochs,
            "cost": cost,
            "costs": costs if costs is None else as_array(costs, "costs"),
            "seed": seed,
            "steps_per_epoch": steps_per_epoch,
            "tokens_per_step": tokens_per_step,
            "oversize": "set_aside" if oversize == "drop" else oversize,
            "order": order or "",
            "key": key,
            "buckets": buckets,
            "left_over": left_over,
            "synchronisation": synchronisation,
            "stages": stages,
            "equal_micro_batches": equal_micro_batches,
            "levels": levels_of(levels),
            "curriculum": curriculum,
            "device": device,
            "time_for_randomness": time_for_randomness,
            "zero_length": zero_length,
        }
        self._epoch = 0
        self._run = self._made(self._options)

    def _made(self, options: dict[str, Any], state: tuple[object, ...] | None = None) -> Run | LevelRun:
        options = dict(options)
        levels, capacity = options.pop("levels"), options["capacity"]
        curriculum, device = options.pop("curriculum"), options.pop("device")
        if levels is None:
            if capacity is None:
                raise ValueError("capacity is missing: it is the most tokens of a micro-batch")
            if (curriculum, device) != ("hbp", "h100"):
                raise ValueError("curriculum and device are for a run in levels: give levels, too")
            for name in ("key", "buckets"):
                if not options["order"] and options[name] != WITHOUT_LEVELS[name]:
                    raise ValueError(f'{name} = {options[name]!r} says how order= sorts steps: give order="ascending", say, too')
            return make_run(self._lengths, **options, state=state)
        if options["costs"] is not None:
            raise ValueError("costs is not for a run in levels, in which a sample costs what its ranks take: give cost")
        for name, unset in WITHOUT_LEVELS.items():
            if options[name] != unset:
                raise ValueError(f"{name} is not for a run in levels, whose steps ballast.levels plans")
        if self._lengths.ndim != 1 or self._lengths.dtype.kind not in "iu" and len(self._lengths):
            raise ValueError(f"lengths must be integers in one dimension, not {self._lengths.dtype} in {self._lengths.ndim}")
        return LevelRun(
            self._lengths.astype(np.int64),
            How(options["ranks"], options["micro_batches"], levels, capacity),
            epochs=options["epochs"],
            cost=options["cost"],
            device=device,
            curriculum=curriculum,
            oversize=options["oversize"],
            seed=options["seed"],
            zero_length=options["zero_length"],
        )

    @property
    def ranks(self) -> int:
        """Number of data-parallel ranks."""
        return int(self._options["ranks"])

    @property
    def micro_batches(self) -> int:
        """Micro-batches of a rank in one step; at most that many."""
        return self._run.micro_batches()

    @property
    def steps(self) -> int:
        """Number of steps of all epochs, exactly. The first question plans all epochs, if their steps are not fixed."""
        return self._run.steps()

    @property
    def step(self) -> int:
        """Number of steps handed out."""
        return self._run.step()

    @property
    def epoch(self) -> int:
        """Epoch of the step that `next` handed out last."""
        return self._epoch

    @property
    def done(self) -> bool:
        """Whether every step was handed out."""
        return self._run.done()

    @property
    def pieces(self) -> list[tuple[int, int, int]]:
        """With oversize="split", the second and later pieces of samples: (sample, first token, tokens)."""
        return self._run.pieces()

    @property
    def set_aside(self) -> NDArray[np.uint32]:
        """With oversize="set_aside", the samples that are longer than the capacity."""
        return self._run.set_aside()

    @property
    def skipped(self) -> NDArray[np.uint32]:
        """With zero_length="skip", the samples without tokens."""
        return np.flatnonzero(self._lengths == 0).astype(np.uint32)

    @property
    def dropped(self) -> NDArray[np.uint32]:
        """With left_over="drop", the samples that are in no step of this pass."""
        return self._run.dropped()

    @property
    def repeated(self) -> NDArray[np.uint32]:
        """With left_over="repeat", the samples that this pass trains on again, once for each repetition."""
        return self._run.repeated()

    @property
    def idle(self) -> float:
        """Share of the time of all ranks in which a rank waits for a slower one, as modelled for this pass."""
        return self._run.idle()

    @property
    def fill(self) -> float:
        """Share of the capacity that holds tokens in this pass."""
        return self._run.fill(self._options["capacity"])

    @property
    def slowest(self) -> int:
        """Sum over the steps of this pass of the cost of the slowest rank."""
        return self._run.slowest()[0]

    @property
    def lower_bound(self) -> int:
        """Lower bound of `slowest`: no other distribution of each step's samples over the ranks costs less."""
        return self._run.slowest()[1]

    def next(self) -> int:
        """Hands out the next step, whose packs `packs_of` then returns. Returns its number, from 0."""
        step, self._epoch = self._run.next()
        return step

    @named
    def packs_of(self, rank: int) -> list[NDArray[np.uint32]]:
        """The micro-batches of a rank in the step that `next` handed out, each an array of sample indices."""
        return self._run.packs_of(rank)

    @property
    def settings(self) -> list[Setting]:
        """The levels of the steps: tokens of a pack, ranks that share it, and recomputed layers; without levels, one."""
        return self._run.settings() if isinstance(self._run, LevelRun) else [Setting(self._options["capacity"], 1, 0)]

    @property
    def level(self) -> int:
        """The level of the step that `next` handed out, an index into `settings`."""
        return self._run.level() if isinstance(self._run, LevelRun) else 0

    @property
    def setting(self) -> Setting:
        """The level of the step that `next` handed out, by its tokens, its degree and its recomputed layers."""
        return self.settings[self.level]

    def samples(self) -> NDArray[np.uint32]:
        """The samples of all ranks in the step that `next` handed out, in the order in which `shards` numbers them."""
        return np.concatenate([pack for _, pack in self._packs()])

    @named
    def shards(self, layout: str = "zigzag") -> Shards:
        """The step that `next` handed out, as shards of `samples()`: what `ballast.execute.passes` takes.

        Each pack is a pass of the ranks that share it, a group of neighbours. Sample i of the shards is `samples()[i]`.
        `layout` is "zigzag" or "contiguous".
        """
        tokens, packs = self._packed(), self._packs()
        return share_packs(
            [tokens[pack] for _, pack in packs],
            first=[first for first, _ in packs],
            degree=self.setting.degree,
            ranks=self.ranks,
            layout=layout,
        )

    def _packs(self) -> list[tuple[int, NDArray[np.uint32]]]:
        """The packs of the step, each with the first rank of those that share it."""
        firsts = range(0, self.ranks, self.setting.degree)
        placed = [(place, first, pack) for first in firsts for place, pack in enumerate(self.packs_of(first))]
        return [(first, pack) for _, first, pack in sorted(placed, key=lambda each: each[0])]

    def _packed(self) -> NDArray[Any]:
        """Tokens of each sample as it is packed, then of each piece."""
        if isinstance(self._run, LevelRun):
            return self._run.lengths()
        if self._tokens is not None:
            return self._tokens
        pieces = [tokens for _, _, tokens in self.pieces]
        capacity = self._options["capacity"]
        cut = self._lengths.max(initial=0) > capacity
        whole: NDArray[Any] = np.minimum(self._lengths, capacity) if cut else self._lengths
        self._tokens = packed = np.concatenate([whole, pieces]).astype(np.int64) if pieces else whole
        return packed

    def __iter__(self) -> Iterator[int]:
        """The numbers of the steps that are left: `for step in run:` calls `next` before each."""
        while not self.done:
            yield self.next()

    def state(self) -> list[int]:
        """What a checkpoint keeps: a few integers, of which the last is a digest of the others.

        The step that `next` handed out last counts as trained.
        """
        return self._run.words()

    @named
    def resume(self, state: Sequence[int], ranks: int | None = None, micro_batches: int | None = None) -> None:
        """Goes on where a run with this state was, for other ranks or micro-batches if they are given.

        Raises ValueError, and leaves the run unchanged, if the state is damaged or of a run with other samples, costs or options.
        """
        options = dict(self._options)
        options["ranks"] = self.ranks if ranks is None else ranks
        if micro_batches is not None:
            options["micro_batches"], options["tokens_per_step"] = micro_batches, 0
        run = self._run if options == self._options else self._made(options)
        run.resume([int(word) for word in state])
        self._run, self._options = run, options

    @named
    def observe(self, ms: float | Sequence[float]) -> None:
        """Takes the measured milliseconds of the step that `next` handed out last: one number, or one for each rank.

        A number is the time from the start of the step until all ranks have finished. Times of ranks are without
        waiting for other ranks, and say more. Call it on the rank that measures; the last 256 steps count.
        """
        if self._options["costs"] is not None:
            raise ValueError("observed times correct cost=, but this run has costs= of its samples")
        times = float(ms) if np.ndim(ms) == 0 else [float(time) for time in ms]  # type: ignore[arg-type, union-attr]
        if isinstance(times, list):
            self._run.observe_ranks(times)
        else:
            self._run.observe_step(times)
        tokens = self._packed()
        taken = sum(int(tokens[pack].sum()) for rank in range(self.ranks) for pack in self.packs_of(rank))
        self._observed.add(times, taken, self.ranks * self.micro_batches * int(self._options["capacity"]))

    @named
    def report(self, path: str | os.PathLike[str] | None = None, *, measured: Measured | None = None) -> Report:
        """The plan of this pass beside the naive order, TRL's, transformers' and verl's, on the same samples.

        It is text where it is printed and a table in a notebook; with a `path`, the page of the command line is written
        there, too. What `observe` was told is shown beside what was predicted, unless other figures are `measured`.
        """
        if isinstance(self._run, LevelRun):
            raise ValueError("a run in levels has no report: `ballast plan --levels --out` writes one")
        cost = self._options["cost"]
        shown = (self._observed if self._observed.steps else None) if measured is None else measured
        return report_of(self._run.compared(), path, shown, cost if isinstance(cost, str) else "")

    def measured(self) -> list[int]:
        """What the observed times say of the cost, as 8 integers to send to the other ranks: fits may round otherwise there."""
        return self._run.measured()

    @named
    def recalibrate(self, measured: Sequence[int] | None = None) -> bool:
        """Plans the rest of the epoch, and all later ones, under what `measured` returned. All ranks need the same integers.

        Without an argument it takes those of this run. Returns whether the steps to come were planned anew; if not, that
        would save less than a thousandth of their time. Call `next` before `packs_of` then.
        """
        if self._options["costs"] is not None:
            raise ValueError("a run with costs= of its samples cannot be recalibrated: give cost=")
        return self._run.recalibrate(self.measured() if measured is None else [int(word) for word in measured])

    def hash(self) -> int:
        """A number of 64 bits that ranks compare once an epoch: it is equal if plans, options and positions are."""
        return self._run.hash()

    def __len__(self) -> int:
        """`steps`."""
        return self.steps

    def __bool__(self) -> bool:
        return True  # and plans no epoch to find out

    def __copy__(self) -> TrainingRun:
        """Another run at the same place, without planning again. Both read the same plan."""
        other = TrainingRun.__new__(TrainingRun)
        other.__dict__.update(self.__dict__)
        other._run, other._observed = self._run.copy(), copy.copy(self._observed)
        return other

    def __deepcopy__(self, memo: dict[int, Any]) -> TrainingRun:
        return self.__copy__()

    def __getstate__(self) -> dict[str, Any]:
        saved = self.state() if isinstance(self._run, LevelRun) else self._run.saved()
        return {
            "lengths": self._lengths,
            "options": self._options,
            "epoch": self._epoch,
            "observed": self._observed,
            "run": saved,
        }

    def __setstate__(self, saved: dict[str, Any]) -> None:
        self._lengths, self._options, self._epoch = saved["lengths"], saved["options"], saved["epoch"]
        self._observed, self._tokens = saved["observed"], None
        if self._options["levels"] is None:
            self._run = self._made(self._options, saved["run"])
        else:
            self._run = self._made(self._options)
            self._run.resume(saved["run"])

    def _line(self) -> str:
        """The plan of this pass in words."""
        if isinstance(self._run, LevelRun):
            levels = ", ".join(f"{counted(level.tokens, 'token')} on {level.degree}" for level in self.settings)
            return (
                f"{counted(len(self._lengths), 'sample')} in levels of {levels}; {counted(self.ranks, 'rank')};"
                f" idle {self.idle:.2%}"
            )
        return self._run.line(self._options["capacity"])

    def __repr__(self) -> str:
        epochs = f"epoch {self._epoch + 1} of {self._options['epochs']}"
        return f"<TrainingRun: {counted(self.step, 'step')} done, {epochs}: {self._line()}>"
