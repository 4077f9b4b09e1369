# SPDX-License-Identifier: Apache-2.0
"""`TrainingRun`: the steps of several epochs as one object that is saved and resumed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._ballast import make_run, share_packs
from ._data_sets import array_of
from ._levels import How, LevelRun, Setting

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from ._ballast import Cost, Run, Shards, Transformer

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
    "zero_length": "error",
}


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
        `ranks`, `micro_batches`, `epochs`, `cost`, `seed` and `oversize` remain.
        """
        self._lengths = array_of(lengths)
        self._tokens: NDArray[np.int64] | None = None
        self._options: dict[str, Any] = {
            "capacity": capacity,
            "ranks": ranks,
            "micro_batches": micro_batches,
            "epochs": epochs,
            "cost": cost,
            "costs": costs if costs is None else np.asarray(costs),
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
            "levels": levels if levels is None or isinstance(levels, str) else tuple(levels),
            "curriculum": curriculum,
            "device": device,
            "time_for_randomness": time_for_randomness,
            "zero_length": zero_length,
        }
        self._epoch = 0
        self._run = self._made(self._options)

    def _made(self, options: dict[str, Any]) -> Run | LevelRun:
        options = dict(options)
        levels, capacity = options.pop("levels"), options["capacity"]
        curriculum, device = options.pop("curriculum"), options.pop("device")
        if levels is None:
            if capacity is None:
                raise ValueError("capacity is missing: it is the most tokens of a micro-batch")
            if (curriculum, device) != ("hbp", "h100"):
                raise ValueError("curriculum and device are for a run in levels: give levels, too")
            return make_run(self._lengths, **options)
        if options["costs"] is not None:
            raise ValueError("costs is not for a run in levels, in which a sample costs what its ranks take: give cost")
        for name, unset in WITHOUT_LEVELS.items():
            if options[name] != unset:
                raise ValueError(f"{name} is not for a run in levels, whose steps ballast.levels plans")
        if not np.issubdtype(self._lengths.dtype, np.integer) or self._lengths.ndim != 1:
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

    def next(self) -> int:
        """Hands out the next step, whose packs `packs_of` then returns. Returns its number, from 0."""
        step, self._epoch = self._run.next()
        return step

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

    def _packed(self) -> NDArray[np.int64]:
        """Tokens of each sample as it is packed, then of each piece."""
        if isinstance(self._run, LevelRun):
            return self._run.lengths()
        if self._tokens is None:
            pieces = [tokens for _, _, tokens in self.pieces]
            whole = np.minimum(self._lengths, self._options["capacity"])
            self._tokens = np.concatenate([whole, pieces]).astype(np.int64)
        return self._tokens

    def __iter__(self) -> Iterator[int]:
        """The numbers of the steps that are left: `for step in run:` calls `next` before each."""
        while not self.done:
            yield self.next()

    def state(self) -> list[int]:
        """What a checkpoint keeps: a few integers, of which the last is a digest of the others.

        The step that `next` handed out last counts as trained.
        """
        return self._run.words()

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

    def observe(self, ms: float | Sequence[float]) -> None:
        """Takes the measured milliseconds of the step that `next` handed out last: one number, or one for each rank.

        A number is the time from the start of the step until all ranks have finished. Times of ranks are without
        waiting for other ranks, and say more. Call it on the rank that measures; the last 256 steps count.
        """
        if self._options["costs"] is not None:
            raise ValueError("observed times correct cost=, but this run has costs= of its samples")
        if np.ndim(ms) == 0:
            self._run.observe_step(float(ms))  # type: ignore[arg-type]
        else:
            self._run.observe_ranks([float(time) for time in ms])  # type: ignore[union-attr]

    def measured(self) -> list[int]:
        """What the observed times say of the cost, as 8 integers to send to the other ranks: fits may round otherwise there."""
        return self._run.measured()

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

    def __copy__(self) -> TrainingRun:
        """Another run at the same place, without planning again."""
        other = TrainingRun.__new__(TrainingRun)
        other._lengths, other._options, other._epoch = self._lengths, self._options, self._epoch
        other._tokens = self._tokens
        other._run = self._run.copy()
        return other

    def __getstate__(self) -> dict[str, Any]:
        return {"lengths": self._lengths, "options": self._options, "epoch": self._epoch, "state": self.state()}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        self._lengths, self._options, self._epoch = saved["lengths"], saved["options"], saved["epoch"]
        self._tokens, self._run = None, self._made(self._options)
        self._run.resume(saved["state"])

    def __repr__(self) -> str:
        return f"<TrainingRun: {self.step} steps done, {self._options['epochs']} epochs, {self.ranks} ranks>"
