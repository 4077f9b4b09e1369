# SPDX-License-Identifier: Apache-2.0
"""Lengths in files that the command line does not read itself: Parquet, Arrow, WebDataset, object arrays, and texts."""

from __future__ import annotations

import difflib
import gzip
import io
import itertools
import json
import pickle
import re
import tarfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ._tokens import Tokens
from .lengths import from_arrow

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Lengths = NDArray[np.int64]
    Where = Callable[[int], str]  # of an entry

ROWS = 4096  # that are looked at together
LARGEST_MEMBER = 64 << 20  # bytes of a member of a tar file that is read
LARGEST = 2**63 - 1
TURN_KEYS = {"role", "from"}
ARROW = {"a Parquet file", "an Arrow file", "an Arrow stream", "a Feather file"}


@dataclass
class Asked:
    """What is read of a row."""

    columns: list[list[str]] = field(default_factory=list)  # each measure is the sum of these; none: the only column
    texts: list[list[str]] = field(default_factory=list)  # further measures, which are tokens of these
    tokens: Tokens | None = None
    turns: bool = False
    histogram: bool = False

    @property
    def measures(self) -> list[list[str]]:
        return [*self.columns, *self.texts]

    def counted(self, values: Sequence[Any], wheres: Iterable[str]) -> Lengths:
        """The tokens of texts."""
        assert self.tokens is not None
        return self.tokens.count(values, wheres)

    @property
    def names(self) -> list[str]:
        return list(dict.fromkeys(name for measure in self.measures for name in measure))


def kind_of(path: str) -> str:
    """What a file is, if the command line does not read it; empty otherwise."""
    with open(path, "rb") as file:
        head = file.read(1024)
    if head.startswith(b"\x1f\x8b"):
        try:
            with gzip.open(path) as unpacked:
                head = unpacked.read(512)
        except (OSError, EOFError, zlib.error):
            return ""  # the command line says what is wrong with it
        return "a tar file" if head[257:262] == b"ustar" else ""
    for magic, kind in (
        (b"PAR1", "a Parquet file"),
        (b"ARROW1", "an Arrow file"),
        (b"FEA1", "a Feather file"),
        (b"\xff\xff\xff\xff", "an Arrow stream"),
        (b"\x28\xb5\x2f\xfd", "compressed by zstd"),
    ):
        if head.startswith(magic):
            return kind
    if head[257:262] == b"ustar":
        return "a tar file"
    if head.startswith(b"\x93NUMPY") and b"'|O'" in head:
        return "an array of objects"
    return ""


def lengths_in(path: str, kind: str, asked: Asked, shown: str) -> Lengths:
    """The measures of all rows, as int64: one column each, or one dimension for one measure. Raises ValueError."""
    if kind in ARROW:
        parts = _of_arrow(path, kind, asked, shown)
    elif kind == "a tar file":
        parts = _of_rows(_tar_rows(path, kind, asked, shown), asked)
    elif kind == "an array of objects":
        return _of_objects(path, asked, shown)
    else:
        parts = _of_rows(_json_rows(path, kind, asked, shown), asked)
    try:
        read = list(parts)
    except (OSError, EOFError, zlib.error) as fault:
        raise ValueError(f"{shown}: is damaged or ends early: {fault}") from None
    out = np.concatenate(read) if read else np.zeros((0, max(1, len(asked.measures))), np.int64)
    return out[:, 0] if out.shape[1] == 1 else out


def _entries(shown: str, first: int) -> Where:
    """Says where an entry is, if entry 0 is behind `first` others."""
    return lambda i: f"{shown}: entry {first + i + 1}"


def _column_named(name: str, names: Sequence[str], shown: str, what: str = "column") -> str:
    if name in names:
        return name
    if name.isascii() and name.isdigit() and 1 <= int(name) <= len(names):
        return names[int(name) - 1]
    near = difflib.get_close_matches(name, names, 1)
    listed = f"{len(names)} {what}{'' if len(names) == 1 else 's'} ({', '.join(names[:50])})"
    raise ValueError(
        f"{shown}: there is no {what} {name} among its {listed}" + (f"; did you mean {near[0]}?" if near else "")
    )


def _whole(values: NDArray[Any], where: Where, column: str) -> Lengths:
    """Numbers as int64. `where(i)` says where value i is."""
    if values.dtype.kind == "f":
        bad = ~((values >= 0) & (values < 2.0**63) & (values == np.floor(values)))
    elif values.dtype.kind == "u":
        bad = values > np.uint64(LARGEST)
    else:
        bad = values < 0
    if bad.any():
        first = int(np.argmax(bad))
        raise ValueError(
            f"{where(first)}: {values[first]} in {column} is not a length: lengths are whole numbers from 1 to 2^63-1"
        )
    return values.astype(np.int64)


def _added(columns: Sequence[Lengths], where: Where) -> Lengths:
    """The sum of columns."""
    total = columns[0]
    for more in columns[1:]:
        if (more > LARGEST - total).any():
            raise ValueError(f"{where(int(np.argmax(more > LARGEST - total)))}: the columns add up to 2^63 or more")
        total = total + more
    return total


def _by_tokenizer(name: str) -> str:
    return f"add --tokenizer tokenizer.json --text-field {name}, which counts its tokens"


# Parquet, Arrow and Feather: batches of columns


def _batches(path: str, kind: str, names: Callable[[Any], list[str] | None], shown: str) -> Iterator[Any]:
    """The names of all columns, and batches of those that `names` chooses of them."""
    try:
        import pyarrow as pa
        import pyarrow.feather
        import pyarrow.parquet as pq
    except ImportError:
        raise ValueError(f"{shown}: is {kind}, which needs the package pyarrow: pip install pyarrow") from None
    try:
        if kind == "a Parquet file":
            file = pq.ParquetFile(path)
            chosen = names(file.schema_arrow)
            yield file.schema_arrow
            yield from file.iter_batches(ROWS, columns=chosen)
        elif kind == "an Arrow file":
            with pa.memory_map(path) as source:
                file = pa.ipc.open_file(source)
                yield file.schema
                for i in range(file.num_record_batches):
                    yield from _slices(file.get_batch(i))
        elif kind == "an Arrow stream":
            with pa.memory_map(path) as source:
                file = pa.ipc.open_stream(source)
                yield file.schema
                for batch in file:
                    yield from _slices(batch)
        else:
            table = pyarrow.feather.read_table(path)
            yield table.schema
            yield from table.to_batches(ROWS)
    except (pa.ArrowException, OSError) as fault:
        raise ValueError(f"{shown}: cannot be read as {kind}: {str(fault).splitlines()[0]}") from None


def _slices(batch: Any) -> Iterator[Any]:
    return (batch.slice(at, ROWS) for at in range(0, batch.num_rows, ROWS))


def _of_arrow(path: str, kind: str, asked: Asked, shown: str) -> Iterator[Lengths]:
    def roots(schema: Any) -> list[str] | None:
        return [_column_named(_root(name, schema.names), schema.names, shown) for name in asked.names] or None

    batches = _batches(path, kind, roots, shown)
    names = next(batches).names
    measures = asked.measures
    if not measures:
        plain = [
            name for name in names if not re.fullmatch("__index_level_[0-9]+__", name)
        ]  # as pandas calls its index
        if len(plain) != (2 if asked.histogram else 1):
            listed = f"has {len(plain)} column{'' if len(plain) == 1 else 's'} ({', '.join(plain[:50])})"
            if asked.histogram:
                raise ValueError(f"{shown}: {listed}; a histogram has two, length and count, see --columns")
            raise ValueError(
                f"{shown}: {listed}; say which one holds the lengths, as in --field {(plain or ['tokens'])[0]}"
            )
        measures = [[name] for name in plain]
    first = 0
    for batch in batches:
        where = _entries(shown, first)
        read: dict[tuple[str, bool], Lengths] = {}
        for name in dict.fromkeys(name for measure in measures for name in measure):
            column = _nested(batch, name, names, shown)
            if any(name in measure for measure in asked.texts):
                rows = column.to_pylist()
                read[name, True] = asked.counted(rows, (f"{where(i)}: {name}" for i in itertools.count()))
            if not asked.texts or any(name in measure for measure in measures[: len(asked.columns)]):
                read[name, False] = _lengths_of(column, name, asked, where)
        yield (
            np.column_stack(
                [
                    _added([read[name, m >= len(measures) - len(asked.texts)] for name in measure], where)
                    for m, measure in enumerate(measures)
                ]
            )
            if batch.num_rows
            else np.zeros((0, len(measures)), np.int64)
        )
        first += batch.num_rows


def _root(name: str, names: Sequence[str]) -> str:
    """The column that a name begins with."""
    return name if name in names else name.partition(".")[0]


def _nested(batch: Any, name: str, names: Sequence[str], shown: str) -> Any:
    """A column of a batch; meta.tokens is the field tokens of the column meta."""
    import pyarrow as pa
    import pyarrow.compute as pc

    root = _root(name, names)
    at = batch.schema.get_field_index(_column_named(root, names, shown))
    if at < 0:
        raise ValueError(f"{shown}: has two columns called {root}; rename one")
    column = batch.column(at)
    for inner in name[len(root) + 1 :].split(".") if name != root else ():
        kind = column.type
        if not pa.types.is_struct(kind):
            raise ValueError(f"{shown}: there is no column {name}; {root} is of type {kind} and has no fields")
        inner = _column_named(inner, [kind.field(i).name for i in range(kind.num_fields)], f"{shown}: {root}", "field")
        column = pc.struct_field(column, kind.get_field_index(inner))  # pyright: ignore[reportAttributeAccessIssue]
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _lengths_of(column: Any, name: str, asked: Asked, where: Where) -> Lengths:
    import pyarrow as pa

    kind = column.type
    if column.null_count:
        first = column.is_null().index(True).as_py()
        raise ValueError(f"{where(first)}: {name} is null, which has no length; leave such rows out of the file")
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or "string_view" in str(kind):
        raise ValueError(
            f"{where(0)}: {name} is text, and its length in tokens depends on the tokenizer; {_by_tokenizer(name)}"
        )
    if "list" in str(kind).partition("<")[0]:
        of = kind.value_type
        if pa.types.is_struct(of) and not asked.turns and TURN_KEYS & {of.field(i).name for i in range(of.num_fields)}:
            raise ValueError(f"{where(0)}: {name} is a conversation; --turns counts its turns; {_by_tokenizer(name)}")
        return from_arrow(column).astype(np.int64)
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise ValueError(
            f"{where(0)}: {name} is of type {kind}, which has no length; lists have one, and numbers may be lengths"
        )
    return _whole(np.asarray(column.to_numpy(zero_copy_only=False)), where, name)


# Arrays of objects: what NumPy makes of rows of different lengths


class _Arrays(pickle.Unpickler):
    """Reads arrays, lists and numbers. Nothing else is made, so nothing in a file is executed."""

    def find_class(self, module: str, name: str) -> Any:
        if module in ("numpy.core.multiarray", "numpy._core.multiarray") and name == "_reconstruct":
            return lambda *_: np.ndarray(0, np.int8)
        if module == "numpy" and name in ("ndarray", "dtype"):
            return getattr(np, name)
        raise pickle.UnpicklingError(f"it holds {module}.{name}")


def _of_objects(path: str, asked: Asked, shown: str) -> Lengths:
    if asked.measures or asked.histogram:
        raise ValueError(
            f"{shown}: is an array of rows, which has no columns; leave out --field, --columns and --histogram"
        )
    with open(path, "rb") as file:
        try:
            version = np.lib.format.read_magic(file)
            header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, _, _ = header(file)
            rows = _Arrays(file).load()
            rows = rows.tolist() if isinstance(rows, np.ndarray) and rows.dtype == object else None
        except Exception as fault:  # of a damaged pickle, any
            raise ValueError(f"{shown}: cannot be read as an array of rows of numbers: {fault}") from None
    if len(shape) != 1 or not isinstance(rows, list) or len(rows) != shape[0]:
        raise ValueError(f"{shown}: is no array of one dimension, whose entries are rows of token ids")
    return np.array([_size_of(row, "it", asked, f"{shown}: entry {i}") for i, row in enumerate(rows, 1)], np.int64)


# JSON and tar files: rows as Python objects


def _size_of(value: Any, name: str, asked: Asked, where: str) -> int:
    """The length that a value says or has."""
    if isinstance(value, np.ndarray) and value.ndim == 1:
        return len(value)
    if isinstance(value, list):
        if not asked.turns and any(isinstance(turn, dict) and TURN_KEYS & turn.keys() for turn in value):
            raise ValueError(f"{where}: {name} is a conversation; --turns counts its turns; {_by_tokenizer(name)}")
        return len(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if 0 <= value <= LARGEST and value == int(value):
            return int(value)
        raise ValueError(f"{where}: {value} in {name} is not a length: lengths are whole numbers from 1 to 2^63-1")
    if isinstance(value, str):
        raise ValueError(
            f"{where}: {name} is text, and its length in tokens depends on the tokenizer; {_by_tokenizer(name)}"
        )
    kind = "null" if value is None else f"of type {type(value).__name__}"
    raise ValueError(f"{where}: {name} is {kind}, which has no length")


def _of_rows(rows: Iterator[tuple[str, dict[str, Any]]], asked: Asked) -> Iterator[Lengths]:
    """Parts of measures. `rows` are pairs: where a row is, and its values by name."""
    while some := list(itertools.islice(rows, ROWS)):
        where = [at for at, _ in some].__getitem__
        columns = []
        for m, measure in enumerate(asked.measures or [[""]]):
            sums = []
            for name in measure:
                values = [row[name] for _, row in some]
                if m >= len(asked.columns) and asked.texts:
                    sums.append(asked.counted(values, (f"{at}: {name}" for at, _ in some)))
                else:
                    sums.append(
                        np.array([_size_of(v, name or "it", asked, at) for v, (at, _) in zip(values, some)], np.int64)
                    )
            columns.append(_added(sums, where))
        yield np.column_stack(columns)


def _field(value: Any, name: str, where: str) -> Any:
    """A field of a JSON object; meta.tokens is the field tokens of the object meta."""
    if not isinstance(value, dict):
        raise ValueError(f"{where}: is no object, in which --field and --text-field name fields")
    if name in value:
        return value[name]
    root, dot, inner = name.partition(".")
    if dot and isinstance(value.get(root), dict):
        return _field(value[root], inner, where)
    near = difflib.get_close_matches(name, value, 1)
    raise ValueError(f"{where}: the object has no field {name}" + (f"; did you mean {near[0]}?" if near else ""))


def _parsed(text: str | bytes, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as fault:
        raise ValueError(f"{where}: is not valid JSON: {fault}") from None


def _json_rows(path: str, kind: str, asked: Asked, shown: str) -> Iterator[tuple[str, dict[str, Any]]]:
    with _opened(path, kind, shown) as file:
        head = file.peek(64).removeprefix(b"\xef\xbb\xbf").lstrip()
        if head[:1] == b"[":
            values = _parsed(file.read(), shown)
            entries = ((f"{shown}: entry {i}", value) for i, value in enumerate(values, 1))
        elif head[:1] == b"{":
            entries = ((f"{shown}:{i}", line) for i, line in enumerate(file, 1) if line.strip())
            entries = ((at, _parsed(line.removeprefix(b"\xef\xbb\xbf"), at)) for at, line in entries)
        else:
            raise ValueError(
                f"{shown}: holds no JSON objects, whose fields are read; there are Parquet, Arrow and tar files, too"
            )
        for at, value in entries:
            yield at, {name: _field(value, name, at) for name in asked.names} or {"": value}


def _opened(path: str, kind: str, shown: str) -> io.BufferedReader:
    if kind != "compressed by zstd":
        with open(path, "rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
        return io.BufferedReader(gzip.open(path)) if packed else open(path, "rb")
    try:
        import pyarrow as pa
    except ImportError:
        raise ValueError(f"{shown}: is {kind}, which needs the package pyarrow: pip install pyarrow") from None
    return io.BufferedReader(pa.CompressedInputStream(pa.OSFile(path), "zstd"))


def _tar_rows(path: str, kind: str, asked: Asked, shown: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Samples of a shard of WebDataset: members that follow each other and are called alike up to the first dot."""
    if not asked.names:
        raise ValueError(
            f"{shown}: is a tar file; say which member of a sample has the length, as in --field json.tokens"
        )
    key: str | None = None
    found: dict[str, Any] = {}
    there: list[str] = []

    def sample() -> tuple[str, dict[str, Any]]:
        for name in asked.names:
            if name not in found:
                has = ", ".join(there[:20]) or "none"
                raise ValueError(f"{shown}: sample {key} has no member for {name}; its members are {has}")
        return f"{shown}: sample {key}", found

    try:
        with _opened(path, kind, shown) as file, tarfile.open(fileobj=file, mode="r:") as tar:
            while member := tar.next():
                tar.members.clear()  # type: ignore[attr-defined]  # which it keeps
                parts = re.fullmatch(r"((?:.*/)?[^./]+)\.([^/]+)", member.name, re.DOTALL) if member.isfile() else None
                if parts is None:
                    continue
                if parts[1] != key:
                    if key is not None:
                        yield sample()
                    key, found, there = parts[1], {}, []
                there.append(parts[2])
                for name in asked.names:
                    if name == parts[2] or name.startswith(parts[2] + "."):
                        inner = name[len(parts[2]) + 1 :]
                        found[name] = _member(tar, member, inner, f"{shown}: {member.name}")
        if key is not None:
            yield sample()
    except tarfile.TarError as fault:
        raise ValueError(f"{shown}: cannot be read as a tar file: {fault}") from None


def _member(tar: tarfile.TarFile, member: tarfile.TarInfo, inner: str, where: str) -> Any:
    if member.size > LARGEST_MEMBER or member.issparse():
        raise ValueError(f"{where}: has more than {LARGEST_MEMBER >> 20} MiB, or holes; a text or JSON is expected")
    file = tar.extractfile(member)
    data = file.read() if file else b""
    if member.name.endswith(".npy"):
        try:
            return np.load(io.BytesIO(data), allow_pickle=False)
        except (ValueError, EOFError) as fault:
            raise ValueError(f"{where}: cannot be read as an array: {fault}") from None
    if member.name.endswith(".json"):
        value = _parsed(data, where)
        return _field(value, inner, where) if inner else value
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise ValueError(f"{where}: is no text, and no JSON or array that has a length") from None
    return int(text) if re.fullmatch(r"\s*[0-9]{1,18}\s*", text, re.ASCII) else text
