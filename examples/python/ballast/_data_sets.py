# SPDX-License-Identifier: Apache-2.0
"""Lengths of data sets and of rows; `ballast.lengths` has `from_dataset`."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _texts

if TYPE_CHECKING:
    from numpy.typing import NDArray

TEXTS = (("messages",), ("conversations",), ("prompt", "completion"), ("text",))
IMAGES = ("images", "image")
BATCH = 1000  # rows that are counted at once
CHECKED = 4  # rows with images of different sizes that a processor makes in full


def as_array(values: Any, name: str) -> NDArray[Any]:
    """What NumPy makes an array of, or an array of a library that knows no NumPy but DLPack, which is read in place."""
    try:
        if hasattr(values, "__array__") or not hasattr(values, "__dlpack__"):
            return np.asarray(values)
        return np.from_dlpack(values)
    except ValueError:
        raise ValueError(f"{name} has entries of different lengths: it must have one dimension") from None
    except (BufferError, RuntimeError, TypeError) as error:
        raise ValueError(f"{name} is an array of type {type(values).__name__}, which cannot be read where it is: {error}") from None


def array_of(values: Any) -> NDArray[Any]:
    """The array of an argument that holds lengths; raises ValueError for rows, data sets and what has no order."""
    if hasattr(values, "__array__") or hasattr(values, "__dlpack__"):
        array = as_array(values, "lengths")
        if array.dtype != object:
            return array
    elif not (hasattr(values, "__getitem__") and hasattr(values, "__len__")) or isinstance(values, Mapping):
        raise ValueError(_no_lengths(type(values).__name__))
    elif _is_column(values) and len(values) and isinstance(values[0], int):
        return _of_column(values.source, values.column_name)
    elif hasattr(values, "column_names") or (len(values) and _is_row(values[0])):
        inner = f" of {type(values[0]).__name__}" if len(values) else ""
        raise ValueError(_no_lengths(f"{type(values).__name__}{inner}"))
    else:
        try:
            array = np.asarray(values)
        except ValueError:  # of several sizes
            array = np.array([None])
    if array.dtype == object and not all(isinstance(value, int) for value in array):
        raise ValueError(_no_lengths(f"{type(values).__name__}, with several kinds of values"))
    return array


def _is_row(value: Any) -> bool:
    return hasattr(value, "__len__") and getattr(value, "shape", None) != ()  # a tensor may be a number


def _no_lengths(what: str) -> str:
    return (
        f"lengths is of type {what}: it must be an array of integers, the tokens of each sample, such as "
        "ballast.lengths.from_dataset(...) makes of a data set, of rows of tokens, or of texts with a tokenizer"
    )


def from_dataset(
    dataset: Any,
    column: str | Sequence[str] | None = None,
    *,
    tokenizer: Any = None,
    images: str | bool | None = None,
    add_eos: bool = False,
    template: Mapping[str, Any] | None = None,
    num_proc: int | None = None,
) -> NDArray[Any]:
    """The tokens of each row of a data set, in its order: a `datasets.Dataset`, also after shuffle, select and filter,
    one of PyTorch, or an iterable of rows, which are tokens or mappings.

    `column` names lists of tokens, lengths, texts or conversations; several names, as in ("prompt", "completion"),
    are joined. By default it is the first of these that is there: input_ids, length, lengths, messages, conversations,
    prompt with completion, text.

    Texts and conversations need `tokenizer`, a tokenizer or processor of transformers. Conversations go through its
    chat template, with the columns `tools` and `chat_template_kwargs` if there are such, and with the arguments
    `template`. `add_eos` puts the tokenizer's end behind texts that lack it, as TRL does. A `datasets.Dataset` counts
    in `num_proc` processes and keeps what it counted in its cache.

    A processor also counts the column `images`, by default "images" or "image", from the sizes of the images alone;
    `images=False` leaves it out. Up to four rows are processed in full, to see whether the counts are right.
    """
    if _is_column(dataset):
        dataset, column = dataset.source, column or dataset.column_name
    rows: Any = dataset if columns_of(dataset) is not None or _is_numbered(dataset) else list(dataset)
    names = columns_of(rows)
    if names is None and column is None:
        return _of_rows(rows)
    chosen = _chosen(names or (), column)
    kind = _kind_of(rows, chosen)
    if not kind:
        counts = [_of_column(rows, name) for name in chosen]
        return counts[0] if len(counts) == 1 else np.add.reduce(np.stack(counts), axis=0, dtype=np.int64)
    if tokenizer is None:
        raise ValueError(
            f"the column {chosen[0]!r} holds {kind}: give tokenizer=, which says how many tokens they have"
        )
    return _counted(rows, names or (), chosen, tokenizer, images, add_eos, dict(template or {}), num_proc)


def texts_in(dataset: Any, column: str | Sequence[str] | None = None) -> str:
    """What a data set holds for a tokenizer to count: "texts", "conversations", or nothing; nothing of an iterator."""
    names = columns_of(dataset)
    return "" if names is None else _kind_of(dataset, _chosen(names, column))


def _is_column(values: Any) -> bool:
    """Whether this is a column of a `datasets.Dataset`, as in dataset["length"]."""
    return hasattr(values, "column_name") and hasattr(getattr(values, "source", None), "select_columns")


def _is_numbered(rows: Any) -> bool:
    return hasattr(rows, "__len__") and hasattr(rows, "__getitem__")


def columns_of(dataset: Any) -> list[str] | None:
    """The names of the columns, or those in the first row, where there are such; raises ValueError for what has no
    order."""
    if isinstance(dataset, (Set, str, bytes)):
        raise ValueError(
            f"a {type(dataset).__name__} has no rows in an order, by which a plan names samples: give a list"
        )
    if not isinstance(dataset, Iterable) and not hasattr(dataset, "__getitem__"):
        raise ValueError(f"the data set is of type {type(dataset).__name__}, which has no rows: give a list of rows")
    if isinstance(dataset, Mapping):
        splits = ", ".join(map(repr, list(dataset)[:5]))
        first = next(iter(dataset), "")
        raise ValueError(f"this is a mapping of {splits}: give one of its data sets, as in dataset[{first!r}]")
    names = getattr(dataset, "column_names", None)
    if not hasattr(dataset, "__len__") and (names is not None or hasattr(dataset, "_ex_iterable")):
        raise ValueError(
            f"an {type(dataset).__name__} has no rows by number, and a plan names them: load it without streaming, or "
            "plan it by ballast.stream"
        )
    if names is None and _is_numbered(dataset) and len(dataset) and isinstance(dataset[0], Mapping):
        names = dataset[0]
    return names if names is None else list(names)


def _chosen(names: Sequence[str], column: str | Sequence[str] | None) -> tuple[str, ...]:
    there = ", ".join(names) or "none"
    if column is not None:
        chosen = (column,) if isinstance(column, str) else tuple(column)
        if not chosen:
            raise ValueError(f"column is empty: the columns are {there}")
        for name in chosen:
            if name not in names:
                raise ValueError(f"there is no column {name!r}: the columns are {there}")
        return chosen
    for chosen in (("input_ids",), ("length",), ("lengths",), *TEXTS):
        if all(name in names for name in chosen):
            return chosen
    wanted = "input_ids, length, messages, conversations, prompt with completion, or text"
    raise ValueError(f"none of the columns is known to hold lengths, tokens or texts: {there}; name one, or {wanted}")


def _kind_of(rows: Any, columns: Sequence[str]) -> str:
    """What the first row that is not empty has there: "texts", "conversations", or nothing, if it is tokens or their
    number."""
    shown = rows.select_columns([columns[0]]) if hasattr(rows, "select_columns") else rows
    for i in range(min(len(rows), BATCH)):
        value = shown[i][columns[0]]
        if isinstance(value, str):
            return "texts"
        if value is not None and not (isinstance(value, Sequence) and not len(value)):
            return "conversations" if _is_conversation(value) else ""
    return ""


def _of_column(rows: Any, name: str) -> NDArray[Any]:
    """Of a column of tokens, or of their numbers."""
    if not hasattr(rows, "select_columns"):
        return _of_rows(row[name] for row in rows)
    from .lengths import from_arrow  # which imports this module

    counts = from_arrow(rows.data.column(name)) if len(rows) else np.zeros(0, np.int64)
    indices = getattr(rows, "_indices", None)
    return counts if indices is None or not len(rows) else counts[indices.column(0).to_numpy()]


def _of_rows(rows: Iterable[Any]) -> NDArray[np.int64]:
    """Of rows that are tokens, numbers of tokens, or mappings that hold these."""

    def counts() -> Iterator[int]:
        name = ""
        for i, row in enumerate(_each(rows)):
            value = row
            if isinstance(row, Mapping):
                if name not in row:
                    (name,) = _chosen(list(row), None)[:1]
                value = row[name]
            if isinstance(value, (str, bytes)) or _is_conversation(value):
                raise ValueError(f"row {i} holds a text: give tokenizer=, which says how many tokens it has")
            if _is_row(value):
                yield len(value)
            elif hasattr(value, "__index__") and not isinstance(value, bool):
                yield int(value)
            else:
                raise ValueError(f"row {i} is of type {type(value).__name__}: it must hold tokens, or their number")

    return np.fromiter(counts(), np.int64)


def _is_conversation(value: Any) -> bool:
    return isinstance(value, Sequence) and len(value) > 0 and isinstance(value[0], Mapping)


def _each(rows: Any) -> Iterator[Any]:
    """The rows by number where there is a number of them: a data set of PyTorch may end by no IndexError."""
    return (rows[i] for i in range(len(rows))) if hasattr(rows, "__getitem__") else iter(rows)


def _counted(
    rows: Any,
    names: Sequence[str],
    columns: tuple[str, ...],
    processing: Any,
    images: str | bool | None,
    add_eos: bool,
    template: dict[str, Any],
    num_proc: int | None,
) -> NDArray[Any]:
    """Of texts and conversations, and of the images beside them."""
    from . import __version__  # which imports this module

    if not callable(processing) or not (hasattr(processing, "tokenizer") or hasattr(processing, "eos_token")):
        raise ValueError(f"tokenizer is a {type(processing).__name__}: give a tokenizer or processor of transformers")
    found = next((name for name in IMAGES if name in names), None)
    held = (images if isinstance(images, str) else found) if images is not False else None
    if held is not None and held not in names:
        raise ValueError(f"there is no column {held!r}: the columns are {', '.join(names)}")
    if held is not None and not hasattr(processing, "_get_num_multimodal_tokens"):
        raise ValueError(
            f"{type(processing).__name__} does not say how many tokens the images in {held!r} have: give the processor "
            "of a model that reads images, of transformers 5, or images=False"
        )
    if add_eos and not getattr(getattr(processing, "tokenizer", processing), "eos_token", None):
        raise ValueError("add_eos is True, but the tokenizer has no end: set its eos_token")
    unread = next((name for name in _texts.UNCOUNTED if name in names and hasattr(processing, "tokenizer")), None)
    if unread is not None:
        raise _texts.uncounted(f"the data set has the column {unread!r}")
    counter = _texts.Counter(processing, columns, held, template, add_eos, __version__)
    kept = [name for name in (*columns, *_texts.BESIDE, *([held] if held else [])) if name in names]
    if held is not None:
        counter = dataclasses.replace(counter, beside=_beside(rows, kept, counter, held))
    if not hasattr(rows, "select_columns"):
        parts = []
        for begin in range(0, len(rows), BATCH):
            numbers = range(begin, min(begin + BATCH, len(rows)))
            read = [rows[i] for i in numbers]
            parts.append(counter({name: [row.get(name) for row in read] for name in kept}, numbers)["length"])
        return np.fromiter(itertools.chain.from_iterable(parts), np.int64)
    shown = rows.select_columns(kept)
    counted = shown.with_format(None if held is None else "arrow").map(  # so that images stay files or bytes
        counter, batched=True, with_indices=True, remove_columns=kept, num_proc=num_proc, desc="Counting tokens"
    )
    return _of_column(counted, "length")


def _beside(rows: Any, kept: Sequence[str], counter: _texts.Counter, held: str) -> int:
    """Tokens beside each image that its processor's figure leaves out: by a row in full, and confirmed by others."""
    shown = rows.select_columns(kept) if hasattr(rows, "select_columns") else rows
    beside, seen = 0, list[list[tuple[int, int]]]()
    for i in range(min(len(rows), BATCH)):
        row = shown[i]
        images = _texts.listed(row[held])
        found = [_texts.size_of(image) for image in images]
        if not images or found in seen:
            continue
        batch = {name: [row[name]] for name in kept}
        full, counted = counter.in_full(batch, images), counter(batch, [i])["length"][0]
        if not seen:
            beside = (full - counted) // len(images)
        counted += beside * len(images)
        if counted != full:
            raise ValueError(
                f"row {i} has {full} tokens by {type(counter.processing).__name__}, and {counted} by the sizes of its "
                "images: count them yourself, and give the column"
            )
        seen.append(found)
        if len(seen) == CHECKED:
            break
    return beside
