# SPDX-License-Identifier: Apache-2.0
"""`stream`: balanced steps of samples whose lengths are not known before they come."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ._arguments import integer, named, shown
from ._ballast import make_stream

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ._ballast import Cost, Transformer

__all__ = ["stream"]

Sample = TypeVar("Sample")


class stream(Generic[Sample]):  # noqa: N801, used like a function
    """Steps of samples that come one by one: samples of much work wait until a step is balanced with them.

        steps = ballast.stream(samples, capacity=8192, ranks=4, cost="llama-3.1-8b")  # of pairs (sample, length)
        for step in steps:
            for micro_batch in step[rank]: ...  # a list of samples

    Every rank that reads the same samples makes the same steps, without talking to the others. `steps.state()` is a
    list of integers, the last a digest of the others; a stream made with `state=` reads its samples from the beginning,
    skips those that left, and goes on.
    """

    @named
    def __init__(
        self,
        samples: Iterable[tuple[Sample, int]],
        capacity: int,
        ranks: int,
        *,
        micro_batches: int = 1,
        cost: str | Cost | Transformer | ArrayLike | None = None,
        fill: float = 0.8,
        deadline: int = 16,
        outlier: int = 450,
        delay_price: int = 225,
        drop_last: bool = False,
        state: Sequence[int] | None = None,
    ) -> None:
        """Starts a stream, or goes on from `state`.

        A step is made of each block of `fill` times the capacity of its micro-batches; less leaves room to balance.
        No sample waits more than `deadline` steps; those above `outlier` thousandths of the usual work of a micro-batch
        may. `delay_price` is docs/streams.md's. A micro-batch is empty only in a step of fewer samples than
        micro-batches: at the end, where `drop_last` leaves such steps out, or among samples nearly as long as the
        capacity. No step is without samples: blocks whose samples all wait make none.
        """
        if not 0 < fill <= 1:
            raise ValueError(f"fill = {fill} must be above 0 and at most 1")
        places = 1  # of tokens in a step
        for name, value in (("capacity", capacity), ("ranks", ranks), ("micro_batches", micro_batches)):
            places *= integer(name, value)
            if value < 1:
                raise ValueError(f"{name} = {value} must be positive")
            if value >= (2**63 if name == "capacity" else 2**31):
                raise TypeError(f"{name} = {value} is too large")
        self._samples, self._capacity, self._ranks, self._drop_last = samples, capacity, ranks, drop_last
        if places >= 2**62:
            raise ValueError(f"capacity = {capacity} times ranks and micro_batches must be below 2^62")
        words = [] if state is None else [int(word) for word in state]
        if state is not None and (not words or words.pop() != _digest(words)):
            raise ValueError(
                "the state is not one of a stream, or is damaged: its last integer is no digest of the others;"
                " give all that state() returned, or an older state"
            )
        self._ended = words[0] if words else 0  # steps handed out after the last sample came
        self._last: list[int] = []  # the state when it came
        words = words[1:]
        self._stream = make_stream(
            capacity=capacity,
            micro_batches=ranks * micro_batches,
            cost=cost,
            tokens=max(1, int(places * fill)),
            deadline=deadline,
            outlier=outlier,
            delay_price=delay_price,
            words=words,
        )
        self._here: set[int] = set()  # samples of a resumed stream that have not left
        self._pushed = 0
        if words:
            waiting, pending = words[3], words[4]
            self._pushed = words[0] + pending
            self._here = {*words[5 : 5 + waiting], *range(words[0], self._pushed)}
        self._held: dict[int, Any] = {}

    def state(self) -> list[int]:
        """What a checkpoint keeps: a few integers. The step that was handed out last counts as trained."""
        words = [self._ended, *(self._last or self._stream.words())]
        return [*words, _digest(words)]

    def __iter__(self) -> Iterator[list[list[list[Sample]]]]:
        """The steps: for each rank, a list of micro-batches, each a list of samples; without empty micro-batches."""
        for number, pair in enumerate(self._samples):
            try:
                sample, length = pair
            except (TypeError, ValueError):
                raise TypeError(f"samples[{number}] = {shown(pair)} must be a pair (sample, length)") from None
            if number < self._pushed:
                if number in self._here:
                    self._held[number] = sample
            else:
                self._held[number] = sample
                if not 0 < integer(f"samples[{number}]: length", length) <= self._capacity:
                    raise ValueError(f"samples[{number}]: length = {length} must be in 1 ... capacity = {self._capacity}")
                self._stream.push(length)
            if number + 1 >= self._pushed:
                yield from self._complete()
        yield from self._complete()
        yield from self._rest()

    def _complete(self) -> Iterator[list[list[list[Sample]]]]:
        """The steps of complete blocks."""
        while self._stream.ready():
            step = self._step_of(self._stream.pop())
            if any(step):
                yield step

    def _rest(self) -> Iterator[list[list[list[Sample]]]]:
        self._last = self._stream.words()
        for place, groups in enumerate(self._stream.flush()):
            step = self._step_of(groups)
            if place < self._ended:
                continue
            self._ended += 1
            if any(step) and (not self._drop_last or all(groups)):
                yield step

    def _step_of(self, groups: list[list[int]]) -> list[list[list[Sample]]]:
        out: list[list[list[Sample]]] = [[] for _ in range(self._ranks)]
        for place, numbers in enumerate(_filled(groups)):
            if numbers:
                out[place % self._ranks].append([self._held.pop(n) for n in numbers])
        return out


def _digest(words: list[int]) -> int:
    return zlib.crc32(" ".join(map(str, words)).encode())


def _filled(groups: list[list[int]]) -> list[list[int]]:
    """The groups, none of which is empty if there are as many numbers: the largest give one to those that are."""
    for group in groups:
        largest = max(groups, key=len)
        if not group and len(largest) > 1:
            group.append(largest.pop())
    return groups
