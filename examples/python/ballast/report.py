# SPDX-License-Identifier: Apache-2.0
"""A plan beside what trainers do without one, on the same samples: what `plan.report()` returns."""

from __future__ import annotations

import html
import os
import pathlib
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ._arguments import counted

if TYPE_CHECKING:
    from ._ballast import Comparison

__all__ = ["Measured", "Report", "Row"]


class Measured(Protocol):
    """What was measured of steps, by `ballast.callbacks` or by `TrainingRun.observe`."""

    @property
    def waiting(self) -> float | None:
        """Share of the time of all ranks in which a rank waited, from 0 to 1; None if only whole steps were timed."""
        ...

    @property
    def fill(self) -> float:
        """Share of the capacity that held tokens, from 0 to 1."""
        ...

    @property
    def tokens_per_second(self) -> float:
        """Of all ranks together."""
        ...

    @property
    def steps(self) -> int:
        """Steps that were measured."""
        ...


class Row(NamedTuple):
    """A way to train the samples. Waiting and time are modelled by the cost of the plan."""

    name: str
    how: str  # in a few words
    idle: float  # share of the time of all ranks in which a rank waits for a slower one
    fill: float  # share of the capacity of the packs that holds tokens
    packs: int
    steps: int
    time: float  # of all steps, over that of the plan


class Report:
    """Rows of figures, the last of which is the plan: text where it is printed, a table in a notebook.

    `measured` is what was measured of the plan, or None. `least_idle` and `least_packs` are lower bounds: no plan of
    these samples waits less, or has fewer packs.
    """

    def __init__(self, compared: Comparison, measured: Measured | None = None, model: str = "") -> None:
        self.rows = [Row(*row) for row in compared.rows]
        self.measured = measured
        self.least_idle, self.least_packs = compared.least_idle, compared.least_packs
        self._compared, self._model = compared, model

    def _scope(self) -> str:
        c = self._compared
        return (
            f"{counted(c.samples, 'sample')} of {counted(c.tokens, 'token')} in packs of up to {c.capacity:,}; "
            f"{counted(c.ranks, 'rank')} of {counted(c.micro_batches, 'micro-batch')} a step. "
            f"Waiting and time are modelled{self._model and ' for ' + self._model}."
        )

    def _cells(self) -> list[list[str]]:
        """The table, its head first."""
        lines = [["", "waiting", "fill", "packs", "steps", "time"]]
        for row in self.rows:
            figures = [f"{row.idle:.2%}", f"{row.fill:.2%}", f"{row.packs:,}", f"{row.steps:,}", f"{row.time:.3f}"]
            lines.append([row.name, *figures])
        if self.measured is not None:
            waiting = self.measured.waiting
            shown = "" if waiting is None else f"{waiting:.2%}"
            lines.append(["measured", shown, f"{self.measured.fill:.2%}", "", f"{self.measured.steps:,}", ""])
        return lines

    def _notes(self) -> list[str]:
        notes = [
            f"No plan of these samples waits less than {self.least_idle:.2%}, or has fewer than "
            f"{counted(self.least_packs, 'pack')}."
        ]
        if self.measured is not None:
            notes.append(
                f"Measured: {self.measured.tokens_per_second:,.0f} tokens a second over "
                f"{counted(self.measured.steps, 'step')}."
            )
        return notes

    def __str__(self) -> str:
        cells = self._cells()
        widths = [max(len(line[k]) for line in cells) for k in range(len(cells[0]))]
        table = [
            "  ".join(cell.ljust(w) if k == 0 else cell.rjust(w) for k, (cell, w) in enumerate(zip(line, widths)))
            for line in cells
        ]
        return "\n".join([self._scope(), *(line.rstrip() for line in table), *self._notes()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head, *lines = self._cells()
        how = {row.name: row.how for row in self.rows}
        rows = "".join(
            f'<tr title="{html.escape(how.get(line[0], ""))}"><th>{html.escape(line[0])}</th>'
            + "".join(f"<td>{cell}</td>" for cell in line[1:])
            + "</tr>"
            for line in lines
        )
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self._notes())
        heads = "".join(f"<th>{cell}</th>" for cell in head)
        table = f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
        return f"<p>{html.escape(self._scope())}</p>{table}{notes}"

    def page(self, title: str = "a plan") -> str:
        """The page that the command line writes of a plan, as HTML that needs nothing else."""
        timed = self._compared.timed
        model = self._model or "the cost of the plan"
        device = "the device of that cost" if timed else "no device: a unit of the cost is shown as a millisecond"
        notes = []
        if self.measured is not None:
            waiting = self.measured.waiting
            waited = "" if waiting is None else f", in which ranks waited {waiting:.2%} of the time"
            notes = [f"Measured over {counted(self.measured.steps, 'step')}{waited}. {self._notes()[-1]}"]
        return self._compared.page(title, model, device, notes)


def report_of(
    compared: Comparison,
    path: str | os.PathLike[str] | None = None,
    measured: Measured | None = None,
    model: str = "",
) -> Report:
    """The report, whose page is written where a path is given."""
    report = Report(compared, measured, model)
    if path is not None:
        pathlib.Path(path).write_text(report.page(pathlib.Path(path).stem), encoding="utf-8")
    return report


class Observed:
    """What `TrainingRun.observe` was told."""

    def __init__(self) -> None:
        self.steps, self._ms, self._busy, self._all = 0, 0.0, 0.0, 0.0
        self._tokens, self._places = 0, 0

    def add(self, ms: float | list[float], tokens: int, places: int) -> None:
        """A step: its time or that of each rank, its tokens, and the tokens that it has room for."""
        slowest = max(ms) if isinstance(ms, list) else ms
        if isinstance(ms, list):
            self._busy, self._all = self._busy + sum(ms), self._all + len(ms) * slowest
        self.steps, self._ms = self.steps + 1, self._ms + slowest
        self._tokens, self._places = self._tokens + tokens, self._places + places

    @property
    def waiting(self) -> float | None:
        return 1 - self._busy / self._all if self._all else None

    @property
    def fill(self) -> float:
        return self._tokens / self._places

    @property
    def tokens_per_second(self) -> float:
        return 1e3 * self._tokens / self._ms
