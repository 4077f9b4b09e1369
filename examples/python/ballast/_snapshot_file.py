# SPDX-License-Identifier: Apache-2.0
"""Reads a pickle of plain containers, numbers and strings, and refuses any other. `ballast.snapshot` uses it."""

from __future__ import annotations

import functools
import gc
import io
import pickle
import pickletools
import re
from typing import Any

__all__ = ["load"]

# The unpickler in C is quick, but trusts its input: it hashes tuples as deep as they are nested, and makes a table as
# long as any index says. So a regular expression reads the file first, and lets through what can neither call nor hang.

_LENGTHS = {0x4B: 1, 0x4D: 2, 0x4A: 4, 0x47: 8, 0x71: 1, 0x68: 1, 0x72: 4, 0x6A: 4, 0x95: 8}  # of arguments, by opcode
_PLAIN = b"N\x88\x89]}()eaus\x94"  # opcodes without arguments that make and fill containers
_STRINGS = {0x8C: 1, 0x58: 4, 0x8D: 8}  # the width of the length in front of a string


@functools.cache
def _plain_words(most: int) -> re.Pattern[bytes]:
    """Matches opcodes that make None, booleans, numbers, short strings, lists, dicts and tuples of integers alone, and
    whose indices of memoised objects are not far above `most`."""

    def counted(opcode: bytes, width: int, longest: int) -> list[bytes]:
        return [re.escape(opcode + n.to_bytes(width, "little")) + b".{%d}" % n for n in range(longest + 1)]

    def at_most(bound: int) -> bytes:  # four bytes, least first, of about that number
        used = max(1, (bound.bit_length() + 7) // 8)
        if used > 4:
            return b".{4}"
        return b".{%d}[\\x00-\\x%02x]" % (used - 1, bound >> 8 * (used - 1)) + re.escape(bytes(4 - used))

    integer = b"(?:K.|M..|J.{4}|\x8a(?:" + b"|".join(counted(b"", 1, 9)) + b"))"
    plain, memoised = b"[" + re.escape(_PLAIN) + b"]", b"r" + at_most(most)
    short = b"(?:K.|M..|\x8a(?:" + b"|".join(counted(b"", 1, 8)[5:]) + b"))"
    begins_no_tuple = b"(?![KMJ\x8a\x85-\x87])"
    often = b"(?:[hq].|" + plain + b"|j.{4}|" + memoised + b"|" + short + begins_no_tuple + b")"
    words = [
        *(b"j...." * 16, b"j...." * 4, b"h." * 16, b"h." * 4),  # at once, for a stack is a list of memoised frames
        often * 4,
        b"[hq].",
        plain,
        *(integer + b"{%d}" % count + bytes([0x84 + count]) for count in (1, 2, 3)),  # a tuple of integers
        integer,
        b"j.{4}",
        memoised,
        b"G.{8}",
        b"\x95.{8}",
        *counted(b"\x8c", 1, 16),
        *counted(b"X", 4, 16),
    ]
    return re.compile(b"(?:" + b"|".join(words) + b"){0,4096}", re.DOTALL)


def _refuse_all_but_plain(data: bytes, path: str) -> None:
    """Raises ValueError unless the pickle has plain containers, numbers and strings alone, and ends."""
    match, at, end = _plain_words(1 << len(data).bit_length()).match, 2, len(data)
    cut = f"{path} is cut: it ends after {end} bytes, inside its pickle"
    while True:
        before = at
        if found := match(data, at):
            at = found.end()
        if at >= end:
            raise ValueError(cut)
        opcode = data[at]
        if opcode == 0x2E:  # the end
            return
        if opcode in _STRINGS:
            begin = at + 1 + _STRINGS[opcode]
            at = begin + int.from_bytes(data[at + 1 : begin], "little")
            if begin > end or at > end:
                raise ValueError(cut)
            continue
        if at > before:
            continue
        length = _LENGTHS.get(opcode)
        if length is not None and at + 1 + length > end:
            raise ValueError(cut)
        if opcode == 0x8A and (at + 1 == end or data[at + 1] <= 9):  # an integer of few bytes
            raise ValueError(cut)
        raise ValueError(
            f"{path} holds {_name_of(data, at)} at byte {at}: a memory snapshot has plain containers, numbers and "
            "strings alone, so it was not read, and nothing in it was executed"
        )


def _name_of(data: bytes, at: int) -> str:
    """What the opcode at a place would have made."""
    opcode = data[at : at + 1]
    if opcode in (b"\x85", b"\x86", b"\x87", b"t"):
        return "a tuple of something else than at most three integers"
    if opcode in (b"\x8a", b"\x8b", b"L", b"I"):
        return "an integer of more than 64 bits" if opcode in (b"\x8a", b"\x8b") else "an integer in text"
    if opcode in (b"c", b"i"):
        names = data[at + 1 : at + 400].split(b"\n")[:2]
        return "the name " + ".".join(name.decode("ascii", "replace")[:80] for name in names)
    if opcode == b"\x93":
        words = []
        try:
            for _, word, _ in pickletools.genops(data[: min(at, 1 << 20)]):
                if type(word) is str:
                    words.append(ascii(word[:80])[1:-1])
        except ValueError:  # the part before the opcode has no end
            pass
        return "the name " + ".".join(words[-2:]) if len(words) > 1 else "a name"
    known = next((one for one in pickletools.opcodes if one.code == opcode.decode("latin-1")), None)
    return f"the opcode {known.name}" if known else f"the byte {data[at]}, no opcode,"


class _Plain(pickle.Unpickler):
    """The second lock: what names a class or a function is refused here too."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"it names {module}.{name}")

    def persistent_load(self, pid: Any) -> Any:
        raise pickle.UnpicklingError("it has a persistent object")


def load(data: bytes, name: str) -> Any:
    """What the pickle in a file holds; ValueError says what is wrong with it."""
    if not data:
        raise ValueError(f"{name} is empty")
    if data[:2] == b"\x1f\x8b":
        raise ValueError(f"{name} is compressed by gzip: decompress it first, by gunzip")
    if data[:2] == b"PK":
        raise ValueError(f"{name} is a zip archive, as torch.save writes it, and no pickle of _dump_snapshot")
    if data[0] != 0x80:
        raise ValueError(
            f"{name} is no pickle of torch.cuda.memory._dump_snapshot: its first byte is {data[0]}, not 128"
        )
    if len(data) > 1 and not 2 <= data[1] <= 5:
        raise ValueError(f"{name} says it is a pickle of protocol {data[1]}; protocols 2 to 5 are read")
    _refuse_all_but_plain(data, name)
    collecting = gc.isenabled()
    gc.disable()  # a million new dicts would be looked through again and again
    try:
        return _Plain(io.BufferedReader(io.BytesIO(data), 1 << 20)).load()
    except Exception as error:  # whatever a damaged pickle makes the unpickler do
        why = " ".join(str(error).split())[:200] or type(error).__name__
        raise ValueError(f"{name} is a damaged pickle: {why}") from None
    finally:
        if collecting:
            gc.enable()
