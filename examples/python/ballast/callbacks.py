# SPDX-License-Identifier: Apache-2.0
"""Measures the steps of a `ballast.torch.Plan` while it is trained: what ranks wait, how full packs are, tokens a
second.

    trainer = PlannedTrainer(plan=plan, callbacks=[MeterCallback(plan)], ...)   # Hugging Face Trainer

    meter = Meter(plan, model, log=accelerator.log)                             # a loop of your own
    for step, micro_batches in plan.steps_of(loader):
        with meter:
            ...                                                                 # forward and backward of all of them
        optimizer.step()

Both log `ballast/wait`, `ballast/fill` and `ballast/tokens_per_second`, keep the figures of all steps so far in
`plan.measured`, and with `recalibrate=` plan the rest anew under the cost that was measured.
"""

from __future__ import annotations

import copy
import dataclasses
import time
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

import ballast

from ._arguments import named
from .torch import gathered

if TYPE_CHECKING:
    import torch
    from transformers.trainer_callback import TrainerCallback

    from .torch import Plan
else:
    try:
        from transformers.trainer_callback import TrainerCallback
    except ImportError:  # loops of one's own do without it
        TrainerCallback = object

__all__ = ["Measured", "Meter", "MeterCallback"]


@dataclasses.dataclass(frozen=True)
class Measured:
    """What steps were like; `plan.measured` has all that a meter has seen."""

    waiting: float  # share of the ranks' time in which they wait for the slowest of a step: 1 - mean / slowest
    fill: float  # share of the places of packs that hold a token
    tokens_per_second: float  # of all ranks, by the time between two readings: loading, evaluation and saves count, too
    steps: int
    predicted: bool = False  # `waiting` is by the plan's cost: no process group tells the times of the other ranks


class Meter:
    """A context for the forward and backward passes of each step, in every process that trains.

    The time of a rank goes from the start of the block to its last gradient, which a hook of each parameter of `model`
    notes: DistributedDataParallel waits for the other ranks behind that. Without a `model`
    it goes to the end of the block, which must then be left before ranks wait for each other. On a GPU the times are
    those of CUDA events, elsewhere of `clock`, by default the wall clock.

    Each `every` steps there is a reading: the process waits for its own device, the ranks exchange their times of these
    steps by one all_gather of `every` doubles, and `log` is called as `log(values, step=...)` in every process. The
    ranks of `group` are those of the plan. With `recalibrate=n`, readings n steps or more apart also find what samples
    really cost, and plan the steps anew that are not loaded yet (`Plan.recalibrate`).

    Make it behind `plan.resume`. In a process without a group, on a plan for several ranks, `ballast/wait_predicted`
    takes the place of `ballast/wait`: the waiting of these steps by the cost of the plan.
    """

    @named
    def __init__(
        self,
        plan: Plan,
        model: torch.nn.Module | None = None,
        *,
        log: Callable[..., Any] | None = None,
        every: int = 10,
        recalibrate: int = 0,
        group: Any = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        import torch

        _at_least(1, every=every)
        _at_least(0, recalibrate=recalibrate)
        self.plan, self.log, self.every, self._recalibrate, self._group = plan, log, every, recalibrate, group
        parameters: list[Any] = [] if model is None else [p for p in model.parameters() if p.requires_grad]
        self._device = parameters[0].device if parameters else torch.device("cpu")
        self._cuda, self._clock = self._device.type == "cuda", clock
        together = torch.distributed.is_available() and torch.distributed.is_initialized()
        ranks = torch.distributed.get_world_size(group) if together else 1
        if together and ranks != plan.ranks:
            raise ValueError(
                f"the group has {ranks} processes, but the plan ranks = {plan.ranks}: give group=, that of the "
                "data-parallel ranks"
            )
        self._predicted = ranks != plan.ranks
        self._works = _works(plan) if self._predicted else None
        self._run = copy.copy(plan._reported)
        self._observes = not self._predicted and plan._options.get("costs") is None
        if recalibrate and not self._observes:
            raise ValueError(
                "recalibrate needs the times of all ranks, and a plan by cost=: not by costs= of its samples"
            )
        self._spans: list[list[Any]] = []  # begin and end of each step since the last reading
        self._open: list[Any] | None = None
        self._last: float | None = None  # when the last reading was
        self._observed, self._total = 0, np.zeros(5)
        self._hooks = [p.register_post_accumulate_grad_hook(self._gradient) for p in parameters]

    def __enter__(self) -> Meter:
        if self._last is None:
            self._last = time.perf_counter()
        self._open = [self._mark(), None]
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        span, self._open = self._open, None
        if kind is not None or span is None:
            return
        if span[1] is None:
            span[1] = self._mark()
        self._spans.append(span)
        if len(self._spans) == self.every:
            self.read()

    def close(self) -> None:
        """Takes the hooks off the parameters, behind a last reading, if steps are left for one."""
        self.read()
        for hook in self._hooks:
            hook.remove()
        self._hooks = []

    def _mark(self, again: Any = None) -> Any:
        if not self._cuda:
            return self._clock()
        import torch

        made: Callable[..., torch.cuda.Event] = torch.cuda.Event
        event = again or made(enable_timing=True)
        event.record(torch.cuda.current_stream(self._device))
        return event

    def _gradient(self, _: object) -> None:
        if self._open is not None:
            self._open[1] = self._mark(self._open[1])

    def _seconds(self) -> Iterator[float]:
        for begin, end in self._spans:
            if self._cuda:
                end.synchronize()
            yield max(begin.elapsed_time(end) / 1e3 if self._cuda else end - begin, 1e-9)

    def read(self) -> dict[str, float]:
        """The figures of the steps since the last reading, which are also logged; nothing if there are none.

        Call it in all processes behind the same step, if at all: `every` does it otherwise.
        """
        if not self._spans or self._last is None:
            return {}
        times = gathered(list(self._seconds()), self._group, self._device)
        now = time.perf_counter()
        elapsed = max(now - self._last, 1e-9)
        some = np.array([0, 0, 0, elapsed, len(self._spans)])  # mean and slowest rank, tokens, seconds, steps
        for step in range(len(self._spans)):
            some[:3] += self._take([row[step] for row in times])
        if self.plan.steps_done not in (self._run.step - 1, self._run.step):
            raise ValueError(
                f"the meter is at step {self._run.step}, but the plan counts {self.plan.steps_done}: make the meter "
                "behind plan.resume, and measure every step"
            )
        self._spans, self._last, self._total = [], now, self._total + some
        self.plan.measured = self._measured(self._total)
        values = self._measured(some)
        if self._recalibrate and self._run.step - self._observed >= self._recalibrate:
            self._observed = self._run.step
            self.plan.recalibrate(self._run.measured(), self._group, self._device)
        logged = {
            "ballast/wait_predicted" if values.predicted else "ballast/wait": values.waiting,
            "ballast/fill": values.fill,
            "ballast/tokens_per_second": values.tokens_per_second,
        }
        if self.log is not None:
            self.log(logged, step=self._run.step)
        return logged

    def _take(self, seconds: list[float]) -> list[float]:
        """Turns to the next step, which took the ranks so long: mean and slowest of them, and the tokens of all."""
        if self.plan._next(self._run) is None:
            raise ValueError(f"the meter has measured more than the {self.plan.steps} steps of the plan")
        packs = [self._run.packs_of(rank) for rank in range(self.plan.ranks)]
        if self._observes:
            self._run.observe([1e3 * each for each in seconds])
        if self._works is not None:
            seconds = [sum(map(self._works, own)) for own in packs]
        tokens = sum(int(self.plan._lengths[pack].sum()) for own in packs for pack in own)
        return [sum(seconds) / len(seconds), max(seconds), tokens]

    def _measured(self, sums: np.ndarray) -> Measured:
        mean, slowest, tokens, seconds, steps = sums.tolist()
        places = steps * self.plan.ranks * self.plan.micro_batches * self.plan._options["capacity"]
        waiting = 1 - mean / slowest if slowest else 0.0
        return Measured(waiting, tokens / places, tokens / seconds, int(steps), self._predicted)


def _at_least(least: int, **numbers: int) -> None:
    for name, number in numbers.items():
        if number < least:
            raise ValueError(f"{name} = {number} must be at least {least}")


def _works(plan: Plan) -> Callable[[np.ndarray], int]:
    """What a pack takes by the cost of the plan."""
    warnings.warn(
        f"the plan has ranks = {plan.ranks}, but torch.distributed has no group of them here: the waiting is predicted "
        "by the cost of the plan, not measured",
        stacklevel=4,
    )
    options: dict[str, Any] = plan._options
    cost, costs = options.get("cost"), options.get("costs")
    if costs is not None:
        return lambda pack: int(np.asarray(costs)[pack].sum())
    if isinstance(cost, (list, np.ndarray)):
        cost = np.asarray(cost).__getitem__
    price: Callable[[int], Any] = cost if callable(cost) else ballast.sample_time(cost)
    fixed = getattr(price, "per_micro_batch", 0)
    known: dict[int, int] = {}

    def work(pack: np.ndarray) -> int:
        for length in plan.lengths[pack].tolist():
            known[length] = known[length] if length in known else int(price(length))
        return fixed + sum(known[length] for length in plan.lengths[pack].tolist())

    return work


class MeterCallback(TrainerCallback):
    """`Meter` for `transformers.Trainer`: the figures come with what the trainer logs, wherever that is reported.

    Readings are `every` steps, by default `logging_steps`. A trainer with the mixin `Planned` takes it as one of its
    `callbacks`; any other that trains on `plan` calls `add_to`.
    """

    @named
    def __init__(
        self,
        plan: Plan,
        *,
        every: int = 0,
        recalibrate: int = 0,
        group: Any = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        _at_least(0, every=every, recalibrate=recalibrate)
        self.plan, self._every = plan, every
        self._options: dict[str, Any] = {"recalibrate": recalibrate, "group": group, "clock": clock}
        self._meter: Meter | None = None
        self._values: dict[str, float] = {}

    def add_to(self, trainer: Any) -> None:
        """Adds the callback in front of those that report, so that they see its figures; `Planned` does so itself."""
        handler = trainer.callback_handler
        handler.callbacks = [self, *(each for each in handler.callbacks if each is not self)]

    def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        every = self._every or int(state.logging_steps or 0) or 10
        self._meter = Meter(self.plan, model, every=every, log=self._keep, **self._options)

    def _keep(self, values: dict[str, float], step: int) -> None:
        self._values = values

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self._meter is not None:
            self._meter.__enter__()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self._meter is not None:
            self._meter.__exit__(None)

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **_: Any) -> None:
        if logs is not None and self._values:
            logs.update(self._values)
            if state.log_history:
                state.log_history[-1].update(self._values)  # the trainer has copied the logs into it
            self._values = {}

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self._meter is not None:
            self._meter.close()
