# SPDX-License-Identifier: Apache-2.0
"""Counts the tokens of texts and conversations by a tokenizer.json. Needs the package tokenizers."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

BATCH = 1 << 20  # letters that are encoded at once
TEXT_KEYS = ("content", "value", "text")  # of a turn, or of a part of one


class Tokens:
    """Counts tokens: of a text also those that the tokenizer adds, of a conversation also `per_turn` for each turn."""

    def __init__(self, path: str, per_turn: int = 0) -> None:
        try:
            import tokenizers
        except ImportError:
            raise ValueError("--tokenizer needs the package tokenizers: pip install tokenizers") from None
        if os.path.isdir(path):
            path = os.path.join(path, "tokenizer.json")
        if not os.path.isfile(path):
            raise ValueError(
                f"{path}: there is no such file; --tokenizer names a tokenizer.json, or the folder that holds one"
            )
        try:
            self._tokenizer = tokenizers.Tokenizer.from_file(path)
        except Exception as fault:  # the package raises Exception itself
            raise ValueError(f"{path}: is no tokenizer.json: {fault}") from None
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._per_turn = per_turn
        self.without_text = 0  # turns, or parts of them, that hold no text

    def texts_of(self, value: Any, where: str) -> tuple[list[str], bool]:
        """The texts of a value, and whether it is a conversation."""
        if isinstance(value, str):
            return [value], False
        if isinstance(value, list) and all(isinstance(turn, dict) for turn in value):
            return [self._text_of(turn, where) for turn in value], True
        if isinstance(value, list) and all(isinstance(text, str) for text in value):
            return value, False
        kind = "null" if value is None else f"of type {type(value).__name__}"
        raise ValueError(f"{where} is {kind}, and neither a text nor a conversation; --text-field names one of these")

    def _text_of(self, turn: dict[str, Any], where: str) -> str:
        said = next((turn[key] for key in TEXT_KEYS if turn.get(key) is not None), None)
        if isinstance(said, list):
            return "".join(self._text_of(part, where) if isinstance(part, dict) else str(part) for part in said)
        if said is not None and not isinstance(said, str):
            raise ValueError(f"{where} has a turn whose text is of type {type(said).__name__}")
        self.without_text += said is None
        return said or ""

    def count(self, values: Sequence[Any], wheres: Iterable[str]) -> NDArray[np.int64]:
        """The number of tokens of each value, an array of int64."""
        out = np.zeros(len(values), np.int64)
        # by whether it is a conversation: texts, and their rows
        waiting: dict[bool, tuple[list[str], list[int]]] = {True: ([], []), False: ([], [])}
        for row, (value, where) in enumerate(zip(values, wheres)):
            texts, turns = self.texts_of(value, where)
            waiting[turns][0].extend(texts)
            waiting[turns][1].extend([row] * len(texts))
        encode = getattr(self._tokenizer, "encode_batch_fast", self._tokenizer.encode_batch)
        for turns, (texts, rows) in waiting.items():
            begin = letters = 0
            for end, text in enumerate(texts, 1):
                letters += len(text)
                if letters < BATCH and end < len(texts):
                    continue
                counts = [len(of.ids) for of in encode(texts[begin:end], add_special_tokens=not turns)]
                np.add.at(out, rows[begin:end], np.asarray(counts, np.int64) + (self._per_turn if turns else 0))
                begin, letters = end, 0
        return out
