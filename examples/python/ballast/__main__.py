# SPDX-License-Identifier: Apache-2.0
"""The command line with files that Python reads: Parquet, Arrow, WebDataset, object arrays, and texts by a tokenizer.

    python -m ballast stats train.parquet --field input_ids
    python -m ballast plan 'chat-*.jsonl' --tokenizer tokenizer.json --text-field messages --capacity 8192 --ranks 8

Every command and option is that of the program ballast, which gets the lengths.
"""

from __future__ import annotations

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence

import numpy as np

from ._files import Asked, kind_of, lengths_in
from ._tokens import Tokens

OWN = {"--tokenizer", "--text-field", "--per-turn"}  # options that the program does not get
Word = tuple[str | None, str | None, list[str]]  # an option, its value, and the words that say so
HELP = """
python -m ballast also reads Parquet, Arrow, Feather, tar (WebDataset), JSON lines by zstd, and arrays of objects:
  --tokenizer FILE                tokenizer.json, or its folder: counts the tokens of --text-field
  --text-field FIELDS             texts or conversations, such as text, prompt+answer or messages
  --per-turn N                    tokens that the chat template adds to each turn; 0 by default"""


def program() -> str:
    """The path of the command line: that of the variable BALLAST, or else in PATH or beside Python or this package."""
    named = os.environ.get("BALLAST")
    if named:
        if not os.access(named, os.X_OK) or os.path.isdir(named):
            raise ValueError(f"BALLAST={named} names no program")
        return named
    folders = [os.environ.get("PATH", ""), os.path.dirname(sys.executable), os.path.dirname(__file__)]
    found = shutil.which("ballast", path=os.pathsep.join(folders))
    if found is None:
        raise ValueError(
            "the program ballast is neither in PATH nor beside Python or this package; "
            "build it (docs/cli.md), or set the variable BALLAST to its path"
        )
    return found


def options_with_value(path: str, command: str) -> set[str]:
    """The options of a command that take a value, as its help says."""
    text = subprocess.run(
        [path, command, "--help"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ).stdout
    return set(re.findall(r"^  (?:-\w,)?(--[\w-]+) \S", text, re.MULTILINE))


def parsed(words: Iterable[str], valued: set[str]) -> list[Word]:
    """Triples: an option or None, a value or None, and the words that say so, as the program finds them."""
    out: list[Word] = []
    words = iter(words)
    for word in words:
        name, equals, behind = word.partition("=")
        if not word.startswith("--") or len(word) == 2:
            out.append((None, word, [word]))
        elif equals:
            out.append((name, behind, [word]))
        elif name in valued:
            value = next(words, None)
            out.append((name, value, [word] if value is None else [word, value]))
        else:
            out.append((name, None, [word]))
    return out


def files_named(name: str) -> list[str]:
    """As the program finds them."""
    if os.path.exists(name) or not re.search(r"[*?[]", name):
        return [name]
    return sorted(glob.glob(name), key=os.fsencode)


def measures_of(text: str) -> list[list[str]]:
    return [measure.split("+") for measure in text.split(",")]


def asked_of(words: Sequence[Word]) -> Asked:
    given = {name: value for name, value, _ in words if name is not None}
    for name, why in (("--tokenizer", "FILE"), ("--text-field", "FIELDS"), ("--per-turn", "N")):
        if name in given and not given[name]:
            raise ValueError(f"{name}: expected {why} behind it")
    if ("--tokenizer" in given) != ("--text-field" in given):
        raise ValueError(
            "--tokenizer and --text-field go together, as in --tokenizer tokenizer.json --text-field messages"
        )
    if "--per-turn" in given and "--tokenizer" not in given:
        raise ValueError("--per-turn is for --tokenizer")
    asked = Asked(turns="--turns" in given, histogram="--histogram" in given)
    columns = given.get("--field") or given.get("--columns")
    if columns:
        asked.columns = measures_of(columns)
    if "--tokenizer" in given:
        per_turn = given.get("--per-turn") or "0"
        if not re.fullmatch("[0-9]{1,6}", per_turn):
            raise ValueError(f"--per-turn {per_turn}: expected a whole number from 0 to 999999")
        asked.texts = measures_of(given["--text-field"] or "")
        asked.tokens = Tokens(given["--tokenizer"] or "", int(per_turn))
    return asked


def hand_over(argv: Sequence[str], folder: str) -> tuple[list[str], str | None]:
    """The words that the program gets, and what is its standard input."""
    path = program()
    command = argv[0] if argv else ""
    valued = options_with_value(path, command) | OWN if command[:1] not in ("", "-") else set()
    words = parsed(argv[1:], valued)
    asked = asked_of(words)
    standard: str | None = None
    stand_ins: dict[str, str] = {}

    def lengths_of(name: str) -> str | None:
        """The file that has the lengths of another; None if the program reads that itself."""
        nonlocal standard
        where, shown = name, name
        if name == "-":
            where, shown = os.path.join(folder, "standard"), "standard input"
            if standard is None:
                with open(where, "wb") as copy:
                    shutil.copyfileobj(sys.stdin.buffer, copy)
                standard = where
        if not os.path.isfile(where):
            return None
        kind = kind_of(where)
        if not kind and asked.tokens is None:
            return None
        out = os.path.join(folder, f"{len(stand_ins)}.npy")
        np.save(out, lengths_in(where, kind, asked, shown))
        return out

    positional = 0
    for at, (name, value, _) in enumerate(words):
        if name == "--lengths" and value and (lengths := lengths_of(value)):
            stand_ins[name] = lengths
            words[at] = (name, lengths, [name, lengths])
        if name is not None:
            continue
        positional += 1
        if positional == 1 and command in ("check", "check-config"):
            continue  # the packing, or the setting
        for file in files_named(value or ""):
            if file not in stand_ins and (lengths := lengths_of(file)):
                stand_ins[file] = lengths
    given = []
    for name, _, said in words:
        if name not in OWN and not (asked.tokens is not None and name in ("--field", "--columns")):
            given.extend(said)
    if asked.tokens is not None and len(asked.measures) > 1:
        given.append("--field=" + ",".join("measure" for _ in asked.measures))
    given.extend(f"--stand-in={file}={lengths}" for file, lengths in stand_ins.items() if file != "--lengths")
    if asked.tokens is not None and asked.tokens.without_text:
        print(
            f"{asked.tokens.without_text} turns or parts of turns hold no text, as images do, and count as 0 tokens",
            file=sys.stderr,
        )
    return [path, command, *given] if argv else [path], standard


def main(argv: Sequence[str]) -> int:
    """Runs the program with these words. Returns its code, or 2 after one sentence."""
    try:
        return run(argv)
    except (ValueError, OSError) as fault:
        print(fault, file=sys.stderr)
        return 2


def run(argv: Sequence[str]) -> int:
    if any(word in ("--help", "-h") for word in argv):
        code = subprocess.call([program(), *argv])
        print(HELP)
        return code
    with tempfile.TemporaryDirectory(prefix="ballast-") as folder:
        words, standard = hand_over(argv, folder)
        sys.stdout.flush()
        if standard is None:
            code = subprocess.call(words)
        else:
            with open(standard, "rb") as data:
                code = subprocess.call(words, stdin=data)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
