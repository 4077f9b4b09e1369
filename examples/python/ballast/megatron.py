# SPDX-License-Identifier: Apache-2.0
"""Megatron-LM: packs from its data format (.bin and .idx), and packs written in it.

    # in the file that calls pretrain(), started with --dataloader-type external --micro-batch-size 1
    # --global-batch-size <data-parallel ranks x micro-batches>
    plan = ballast.torch.Plan(ballast.megatron.lengths("corpus"), capacity=8192, ranks=dp_size, micro_batches=4,
                              epochs=2, seed=1, cost="llama-3.1-8b")

    def datasets_provider(samples):
        return ballast.megatron.PackedBatches("corpus", plan, dp_rank), None, None

`lengths` and `PackedBatches` read the files without Megatron. `write` puts packs into a new pair of files, one document
for each pack.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._arguments import named_in
from .lengths import IDX_HEADER, IDX_MAGIC, from_idx, idx_header

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike, NDArray

    from .torch import Plan

__all__ = ["PackedBatches", "Sequences", "lengths", "write"]

TYPES: dict[int, type[np.number[Any]]] = {1: np.uint8, 2: np.int8, 3: np.int16, 4: np.int32, 5: np.int64, 6: np.float64, 7: np.float32, 8: np.uint16}


class Sequences:
    """The sequences of `prefix`.bin and `prefix`.idx: `len`, an item's tokens as an array, `lengths`, `documents`.

    `documents` has the first sequence of each document, and the number of sequences at the end.
    """

    def __init__(self, prefix: str | os.PathLike[str]) -> None:
        path = f"{prefix}.idx"
        kind, count, entries = idx_header(path)
        if kind not in TYPES:
            raise ValueError(f"{path} has token type {kind}; known are types 1 to 8")
        self.lengths = from_idx(path)
        self._starts = np.fromfile(path, "<i8", count, offset=IDX_HEADER + 4 * count)
        self.documents = np.fromfile(path, "<i8", entries, offset=IDX_HEADER + 12 * count)
        if len(self.documents) != entries:
            raise ValueError(
                f"{path} ends early: {count} sequences and {entries} entries of documents do not fit into it"
            )
        self._type: np.dtype[Any] = np.dtype(TYPES[kind]).newbyteorder("<")
        self._bytes: NDArray[np.uint8] = (
            np.memmap(f"{prefix}.bin", np.uint8, "r") if count and self.lengths.any() else np.zeros(0, np.uint8)
        )

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, index: int) -> NDArray[Any]:
        start, length = int(self._starts[index]), int(self.lengths[index])
        return np.frombuffer(self._bytes[start : start + length * self._type.itemsize], self._type)


def lengths(prefix: str | os.PathLike[str], multiple: int = 1) -> NDArray[np.int64]:
    """Tokens of each sequence, rounded up to `multiple`: what to plan with.

    With context parallelism over cp ranks every sequence is padded to a multiple of 2 cp; plan with that multiple.
    """
    tokens = Sequences(prefix).lengths.astype(np.int64)
    return np.asarray(-(-tokens // multiple) * multiple)


def write(
    prefix: str | os.PathLike[str], packs: Iterable[Iterable[ArrayLike]], token_type: DTypeLike = np.int32
) -> None:
    """Writes packs, each a list of token arrays, in Megatron's format: a sequence for each sample and a document for
    each pack.

    Written in the order step, micro-batch, rank, they are dealt out as planned by whoever reads documents one after the
    other.
    """
    kind: np.dtype[Any] = np.dtype(token_type).newbyteorder("<")
    codes: dict[Any, int] = {np.dtype(t): c for c, t in TYPES.items()}
    code = codes.get(np.dtype(token_type))
    if code is None:
        raise ValueError(
            f"token_type = {token_type} is not among Megatron's: {', '.join(np.dtype(t).name for t in TYPES.values())}"
        )
    sizes: list[int] = []
    documents = [0]
    with open(f"{prefix}.bin", "wb") as file:
        for pack in packs:
            for tokens in pack:
                row = np.asarray(tokens)
                if (
                    kind.kind in "iu"
                    and len(row)
                    and not np.iinfo(kind).min <= row.min() <= row.max() <= np.iinfo(kind).max
                ):
                    raise ValueError(
                        f"pack {len(documents) - 1} has a token that {np.dtype(token_type).name} cannot hold"
                    )
                file.write(row.astype(kind).tobytes())
                sizes.append(len(row))
            documents.append(len(sizes))
    starts = np.cumsum([0, *sizes], dtype=np.int64)[: len(sizes)] * kind.itemsize
    with open(f"{prefix}.idx", "wb") as file:
        file.write(
            IDX_MAGIC
            + np.array([1], "<u8").tobytes()
            + bytes([code])
            + np.array([len(sizes), len(documents)], "<u8").tobytes()
        )
        for values, form in ((sizes, "<i4"), (starts, "<i8"), (documents, "<i8")):
            file.write(np.asarray(values).astype(form).tobytes())


class PackedBatches:
    """The micro-batches of one rank, as the iterator that `--dataloader-type external` takes.

    Each has `tokens`, `labels`, `loss_mask` and `position_ids` of shape [1, tokens], `cu_seqlens` and
    `cu_seqlens_padded` (int32), and `max_seqlen`. Labels are the tokens one place on; the last token of a sequence and
    padding have `loss_mask` 0. `multiple` pads each sequence, as context parallelism wants it; plan then with
    `lengths(prefix, multiple)`. It ends with the epochs of the plan. The trainer reports its steps by
    `plan.step_done()` and keeps `plan.state()` in its checkpoints.
    """

    def __init__(
        self, prefix: str | os.PathLike[str], plan: Plan, rank: int, *, multiple: int = 1, padding: int = 0
    ) -> None:
        self._sequences, self._lists = Sequences(prefix), iter(plan.batches(rank, one_epoch=True))
        self._multiple, self._padding = multiple, padding

    def __iter__(self) -> PackedBatches:
        return self

    def __next__(self) -> dict[str, Any]:
        return self._batch([self._sequences[i] for i in next(self._lists)])

    def _batch(self, rows: Sequence[NDArray[Any]]) -> dict[str, Any]:
        import torch

        sizes = np.array([len(row) for row in rows])
        padded = -(-sizes // self._multiple) * self._multiple
        ends, room = (np.concatenate([[0], np.cumsum(n)]).astype(np.int32) for n in (sizes, padded))
        tokens = np.full(room[-1], self._padding, np.int64)
        labels, mask = tokens.copy(), np.zeros(room[-1], np.float32)
        for row, at in zip(rows, room):
            tokens[at : at + len(row)] = row
            labels[at : at + len(row) - 1] = row[1:]
            mask[at : at + len(row) - 1] = 1
        columns = {
            "tokens": tokens,
            "labels": labels,
            "loss_mask": mask,
            "position_ids": np.arange(room[-1]) - np.repeat(room[:-1], padded),
        }
        return {
            **{name: torch.from_numpy(column).unsqueeze(0) for name, column in columns.items()},
            "cu_seqlens": torch.from_numpy(ends),
            "cu_seqlens_padded": torch.from_numpy(room),
            "max_seqlen": int(padded.max()),
        }


named_in(globals())
