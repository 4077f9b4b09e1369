# SPDX-License-Identifier: Apache-2.0
"""Counts the tokens of texts and conversations by a tokenizer.json. Needs the package tokenizers."""

import os

import numpy as np

BATCH = 1 << 20  # letters that are encoded at once
TEXT_KEYS = ("content", "value", "text")  # of a turn, or of a part of one


class Tokens:
    """Counts tokens: of a text also those that the tokenizer adds, of a conversation also `per_turn` for each turn."""

    def __init__(self, path, per_turn=0):
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

    def texts_of(self, value, where):
        """The texts of a value, and whether it is a conversation."""
        if isinstance(value, str):
            return [value], False
        if isinstance(value, list) and all(isinstance(turn, dict) for turn in value):
            return [self._text_of(turn, where) for turn in value], True
        if isinstance(value, list) and all(isinstance(text, str) for text in value):
            return value, False
        kind = "null" if value is None else f"of type {type(value).__name__}"
        raise ValueError(f"{where} is {kind}, and neither a text nor a conversation; --text-field names one of these")

    def _text_of(self, turn, where):
        said = next((turn[key] for key in TEXT_KEYS if turn.get(key) is not None), None)
        if isinstance(said, list):
            return "".join(self._text_of(part, where) if isinstance(part, dict) else str(part) for part in said)
        if said is not None and not isinstance(said, str):
            raise ValueError(f"{where} has a turn whose text is of type {type(said).__name__}")
        self.without_text += said is None
        return said or ""

    def count(self, values, wheres):
        """The number of tokens of each value, an array of int64."""
        out = np.zeros(len(values), np.int64)
        waiting = {True: ([], []), False: ([], [])}  # by whether it is a conversation: texts, and their rows
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
