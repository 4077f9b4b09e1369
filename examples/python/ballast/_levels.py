# SPDX-License-Identifier: Apache-2.0
"""The steps of several epochs in levels: what a `TrainingRun` with levels is made of."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ._ballast import Levels
from ._ballast import levels as plan_levels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ._ballast import Transformer

WARM_UP = 500  # most steps on the shortest level before others in the order "hbp"; half of these steps at most
VERSION = 1  # of the state
RULES = ("given", "auto", "hbp")


class Setting(NamedTuple):
    """A level: the most tokens of a pack, the ranks that share it, and the layers that compute again."""

    tokens: int
    degree: int
    recomputed_layers: int


@dataclasses.dataclass(frozen=True)
class How:
    """For whom steps are planned."""

    ranks: int
    micro_batches: int
    levels: str | tuple[tuple[int, int] | tuple[int, int, int], ...]
    capacity: int | None = None

    def words(self) -> list[int]:
        rule = RULES.index(self.levels) if isinstance(self.levels, str) else 0
        levels = () if isinstance(self.levels, str) else self.levels
        settings = [number for level in levels for number in (*level, 0)[:3]]
        return [self.ranks, self.micro_batches, rule, self.capacity or 0, len(settings), *settings]

    @property
    def longest(self) -> int:
        """Tokens of the longest pack."""
        return (self.capacity or 0) if isinstance(self.levels, str) else max(level[0] for level in self.levels)


def _how_of(words: list[int]) -> How:
    """Takes what `How.words` made from the front of a list."""
    ranks, micro_batches, rule, capacity, count = (words.pop(0) for _ in range(5))
    flat = [words.pop(0) for _ in range(count)]
    settings = tuple((flat[i], flat[i + 1], flat[i + 2]) for i in range(0, count, 3))
    return How(ranks, micro_batches, RULES[rule] if rule else settings, capacity or None)


@dataclasses.dataclass
class _Part:
    """Steps of an epoch that were planned at once: all of them, or those that other ranks had left."""

    how: How
    plan: Levels
    numbers: NDArray[np.uint32]  # of each sample of the plan: its number in the epoch
    warm_up: int  # steps on the shortest level at its beginning
    taken: int = 0  # steps handed out

    def members(self, packs: Iterable[int]) -> list[NDArray[np.uint32]]:
        """The samples of some packs, by their numbers in the epoch."""
        return [self.numbers[self.plan.packs[int(pack)]] for pack in packs]

    def left(self) -> NDArray[np.int64]:
        """The samples, as the plan numbers them, of steps that were not handed out."""
        packs = np.unique(self.plan.steps[self.taken :])
        members = [self.plan.packs[int(pack)] for pack in packs if pack >= 0]
        return np.sort(np.concatenate([np.zeros(0, np.int64), *members]).astype(np.int64))


def _digest(numbers: Sequence[int], data: bytes = b"") -> int:
    text = data + b",".join(b"%d" % int(number) for number in numbers)
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


class LevelRun:
    """Steps in levels, as the `Run` of the native module has steps of packs of one length."""

    def __init__(
        self,
        lengths: NDArray[np.int64],
        how: How,
        *,
        epochs: int,
        cost: str | Transformer | None,
        device: str,
        curriculum: str,
        oversize: str,
        seed: int,
        zero_length: str,
    ) -> None:
        if epochs < 1:
            raise ValueError(f"epochs = {epochs} must be positive")
        self._lengths, self._how, self._epochs = lengths, how, epochs
        self._cost, self._device, self._curriculum, self._oversize = cost, device, curriculum, oversize
        self._seed, self._zero_length = seed, zero_length
        self._step, self._epoch = 0, 0
        self._counts: dict[int, int] = {}  # steps of each epoch, as this run plans it
        self._data = _digest([len(lengths), seed], lengths.tobytes() + f"{oversize} {curriculum}".encode())
        self._parts = [self._begin(0, how)]

    def _planned(self, lengths: NDArray[np.int64], how: How, epoch: int, oversize: str, warm_up: int) -> Levels:
        try:
            return plan_levels(
                lengths,
                how.levels,
                gpus=how.ranks,
                cost=self._cost,
                capacity=how.capacity,
                micro_batches=how.micro_batches,
                device=self._device,
                curriculum=self._curriculum,
                oversize=oversize,
                seed=self._seed,
                epoch=epoch,
                warm_up=warm_up if self._curriculum == "hbp" else None,
                zero_length=self._zero_length,
            )
        except (TypeError, ValueError) as error:  # which names the argument of ballast.levels
            raise type(error)(str(error).replace("gpus = ", "ranks = ")) from None

    def _begin(self, epoch: int, how: How) -> _Part:
        """An epoch from its first step on."""
        plan = self._planned(self._lengths, how, epoch, self._oversize, WARM_UP)
        if len(plan) == 0:
            raise ValueError("every sample is longer than the longest level and set aside: there is nothing to train on")
        short = int((plan.levels == plan.levels.min()).sum())
        warm_up = min(WARM_UP, short // 2) if self._curriculum == "hbp" and epoch == 0 else 0
        return _Part(how, plan, np.arange(len(plan.lengths), dtype=np.uint32), warm_up)

    def _rest(self, part: _Part, epoch: int, how: How) -> _Part | None:
        """What a part has left, planned for others, with what is left of a warm-up; None if nothing is."""
        left = part.left()
        if not len(left):
            return None
        lengths = part.plan.lengths[left]
        if lengths.max() > how.longest:
            at = int(lengths.argmax())
            raise ValueError(
                f"sample {part.numbers[left[at]]} has {lengths[at]} tokens and is not trained in this epoch yet, but the "
                f"longest level has {how.longest}: go on with levels that hold it"
            )
        warm_up = max(part.warm_up - part.taken, 0)
        return _Part(how, self._planned(lengths, how, epoch, "reject", warm_up), part.numbers[left], warm_up)

    @property
    def _now(self) -> _Part:
        return self._parts[-1]

    def _at(self) -> int:
        """The step of the part that was handed out last."""
        if self._now.taken == 0:
            raise ValueError("no step was handed out since the run began or was planned anew: call next first")
        return self._now.taken - 1

    def steps(self) -> int:
        if self._epoch >= self._epochs:
            return self._step
        for epoch in range(self._epoch + 1, self._epochs):
            if epoch not in self._counts:
                self._counts[epoch] = len(self._begin(epoch, self._how).plan)
        later = sum(self._counts[epoch] for epoch in range(self._epoch + 1, self._epochs))
        return self._step + len(self._now.plan) - self._now.taken + later

    def step(self) -> int:
        return self._step

    def done(self) -> bool:
        finished = self._now.taken == len(self._now.plan)
        return self._epoch + finished >= self._epochs  # a resumed run may have fewer epochs than before

    def next(self) -> tuple[int, int]:
        if self.done():
            raise ValueError(f"all {self._step} steps of the run are done")
        if self._now.taken == len(self._now.plan):
            self._parts = [self._begin(self._epoch + 1, self._how)]
            self._epoch += 1
        self._now.taken += 1
        self._step += 1
        return self._step - 1, self._epoch

    def packs_of(self, rank: int) -> list[NDArray[np.uint32]]:
        if not 0 <= rank < self._now.how.ranks:
            raise IndexError(f"rank {rank} is out of range: there are {self._now.how.ranks}")
        places = self._now.plan.steps[self._at(), rank]
        return self._now.members(places[places >= 0])

    def words(self) -> list[int]:
        parts = [part for part in self._parts if part.taken or part is self._parts[0]]
        words = [VERSION, self._data, self._step, self._epoch, len(parts)]
        for part in parts:
            words += [*part.how.words(), part.taken, part.plan.hash()]
        return [*words, _digest(words)]

    def resume(self, words: Sequence[int]) -> None:
        words = list(words)
        if len(words) < 6 or words[-1] != _digest(words[:-1]) or words[0] != VERSION:
            raise ValueError(
                "the state is damaged, or not that of a run in levels: its digest is another; give all that state()"
                " returned, or an older state"
            )
        if words[1] != self._data:
            raise ValueError("the state is of a run with other samples, seed, order or policy for long samples")
        _, _, step, epoch, count = words[:5]
        words = words[5:-1]
        parts: list[_Part] = []
        saved = []
        for _ in range(count):
            how = _how_of(words)
            saved.append((how, words.pop(0), words.pop(0)))
        for how, taken, planned in saved:
            part = self._rest(parts[-1], epoch, how) if parts else self._begin(epoch, how)
            if part is None or part.plan.hash() != planned:
                raise ValueError("the state is of a run with another cost: its steps are planned otherwise")
            part.taken = taken
            parts.append(part)
        if parts[-1].how.words() != self._how.words():
            rest = self._rest(parts[-1], epoch, self._how)
            parts += [rest] if rest else []
        self._parts, self._step, self._epoch, self._counts = parts, step, epoch, {}

    def hash(self) -> int:
        return _digest([*self.words(), *self._how.words(), self._epochs, self._now.plan.hash()])

    def copy(self) -> LevelRun:
        other = LevelRun.__new__(LevelRun)
        other.__dict__.update(self.__dict__)
        other._parts, other._counts = [dataclasses.replace(part) for part in self._parts], dict(self._counts)
        return other

    def micro_batches(self) -> int:
        return int(self._now.plan.steps.shape[2])

    def pieces(self) -> list[tuple[int, int, int]]:
        return self._parts[0].plan.pieces

    def set_aside(self) -> NDArray[np.uint32]:
        return self._parts[0].plan.set_aside

    def dropped(self) -> NDArray[np.uint32]:
        return np.zeros(0, np.uint32)

    def repeated(self) -> NDArray[np.uint32]:
        return np.zeros(0, np.uint32)

    def idle(self) -> float:
        return self._now.plan.idle

    def fill(self, capacity: int | None) -> float:
        plan = self._now.plan
        each = [tokens / degree for tokens, degree, _ in plan.settings]
        room = sum(each[level] for level in plan.levels) * plan.steps.shape[1] * plan.steps.shape[2]
        return float(plan.lengths[plan.members].sum() / room)

    def slowest(self) -> tuple[int, int]:
        raise ValueError("a run in levels has no lower bound of its time: none is known")

    def settings(self) -> list[Setting]:
        return [Setting(*each) for each in self._now.plan.settings]

    def level(self) -> int:
        return int(self._now.plan.levels[self._at()])

    def lengths(self) -> NDArray[np.int64]:
        """Tokens of each sample as it is packed, then of each piece."""
        return self._parts[0].plan.lengths

    def _not_measured(self) -> ValueError:
        return ValueError("a run in levels is not planned anew by measured times")

    def observe_step(self, ms: float) -> None:
        raise self._not_measured()

    def observe_ranks(self, ms: Sequence[float]) -> None:
        raise self._not_measured()

    def measured(self) -> list[int]:
        raise self._not_measured()

    def recalibrate(self, found: Sequence[int]) -> bool:
        raise self._not_measured()
