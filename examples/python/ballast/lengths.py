# SPDX-License-Identifier: Apache-2.0
"""Lengths of samples from where they are: Megatron's .idx, Arrow, Parquet, datasets of Hugging Face.

    lengths = ballast.lengths.from_idx("corpus.idx")
    lengths = ballast.lengths.from_parquet("train.parquet", "input_ids")
    lengths = ballast.lengths.from_dataset(dataset)  # input_ids or length
    lengths = ballast.lengths.from_dataset(dataset, tokenizer=tokenizer)  # conversations, texts, images
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from ._arguments import named_in
from ._data_sets import from_dataset

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["from_arrow", "from_dataset", "from_idx", "from_parquet"]


IDX_MAGIC = b"MMIDIDX\0\0"
IDX_HEADER = 34  # bytes in front of the lengths


def idx_header(path: str | os.PathLike[str]) -> tuple[int, int, int]:
    """The token type, the number of sequences and that of document entries in a Megatron index file (.idx)."""
    with open(path, "rb") as file:
        head = file.read(IDX_HEADER)
    if len(head) < IDX_HEADER or head[:9] != IDX_MAGIC:
        raise ValueError(f"{path} is not an index of Megatron: it does not begin with MMIDIDX")
    version = int.from_bytes(head[9:17], "little")
    if version != 1:
        raise ValueError(f"{path} has version {version} of Megatron's index; version 1 is read")
    return head[17], int.from_bytes(head[18:26], "little"), int.from_bytes(head[26:34], "little")


def from_idx(path: str | os.PathLike[str], documents: bool = False) -> NDArray[np.signedinteger[Any]]:
    """The number of tokens of each sequence of a Megatron index file (.idx), as an aligned array of int32.

    With `documents`, that of each document, as int64.
    """
    _, count, entries = idx_header(path)
    lengths = np.fromfile(path, "<i4", count, offset=IDX_HEADER)  # a copy: in the file they are misaligned
    if len(lengths) < count:
        raise ValueError(f"{path} ends after {len(lengths)} of {count} lengths")
    if not documents:
        return lengths.astype(np.int32, copy=False)
    ends = np.fromfile(path, "<i8", entries, offset=IDX_HEADER + 12 * count)
    if len(ends) < entries:
        raise ValueError(f"{path} ends after {len(ends)} of {entries} ends of documents")
    if entries and (ends[0] != 0 or ends[-1] != count or (np.diff(ends) < 0).any()):
        raise ValueError(f"{path} is damaged: its documents are not all of its {count} sequences in their order")
    tokens: NDArray[np.int64] = np.diff(np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])[ends])
    return tokens


def from_arrow(column: Any, first: int = 0) -> NDArray[Any]:
    """The length of each row of a column of lists, an Array or ChunkedArray of pyarrow, or one that holds lengths.

    `first` is the number of its first row, for sentences.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_integer(kind):
        counts = column
    elif "list" in str(kind).partition("<")[0]:  # list, large_list, fixed_size_list and list views
        counts = pc.list_value_length(column)  # pyright: ignore[reportAttributeAccessIssue]
    else:
        raise ValueError(f"a column of {kind} has no lengths: it must hold lists, or integers that are lengths")
    if counts.null_count:
        first += pc.index(counts.is_null(), True).as_py()
        raise ValueError(f"row {first} is null, one of {counts.null_count} such rows: drop them, they have no length")
    if isinstance(counts, pa.ChunkedArray):
        counts = counts.combine_chunks()
        if isinstance(counts, pa.ChunkedArray):  # of no chunks, in older versions
            counts = pa.concat_arrays(counts.chunks)
    out: NDArray[Any] = counts.to_numpy(zero_copy_only=False)
    return out


def from_parquet(path: str | os.PathLike[str], column: str) -> NDArray[Any]:
    """The length of each row of a column of a Parquet file, read row group by row group."""
    import pyarrow.parquet as pq

    parts, first = [], 0
    for batch in pq.ParquetFile(path).iter_batches(columns=[column]):
        parts.append(from_arrow(batch.column(0), first))
        first += batch.num_rows
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


named_in(globals())
