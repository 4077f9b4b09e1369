# SPDX-License-Identifier: Apache-2.0
"""Counts the tokens of texts, conversations and images by a tokenizer or processor of transformers."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

ROLES = {"human": "user", "gpt": "assistant", "bot": "assistant", "model": "assistant"}  # in ShareGPT's conversations
SWAPPED = (5, 6, 7, 8)  # orientations of Exif by which width and height change places
ORIENTATION = 0x0112
UNCOUNTED = ("video", "videos", "audio", "audios")  # columns, and kinds of parts of a turn
BESIDE = ("tools", "chat_template_kwargs")  # columns that a chat template reads beside the conversation

Rows = Mapping[str, Sequence[Any]]


class Table(Protocol):
    """Rows as Arrow has them, whose images are not decoded."""

    def to_pydict(self) -> dict[str, list[Any]]: ...


def size_of(image: Any) -> tuple[int, int]:
    """Height and width of an image, of its file or bytes, without its pixels where PIL reads them later, or of an
    array."""
    if isinstance(image, Mapping):
        return size_of(image["bytes"] if image.get("bytes") is not None else image.get("path"))
    if hasattr(image, "shape"):
        high, wide = image.shape[-2:] if len(image.shape) == 3 and image.shape[0] in (1, 3) else image.shape[:2]
        return int(high), int(wide)
    if hasattr(image, "getexif"):
        wide, high = image.size
        unread = image.format == "PNG" and "exif" not in image.info  # it would be looked for behind the pixels
        return (wide, high) if not unread and image.getexif().get(ORIENTATION) in SWAPPED else (high, wide)
    if not isinstance(image, (bytes, str)):
        raise ValueError(f"{type(image).__name__} is no image: give images of PIL, their files or bytes, or arrays")
    import io

    import PIL.Image

    with PIL.Image.open(io.BytesIO(image) if isinstance(image, bytes) else image) as opened:
        return size_of(opened)


def uncounted(what: str) -> ValueError:
    """The error for videos and sound, whose tokens depend on frames and samples that a processor chooses as it reads."""
    return ValueError(
        f"{what}, and no rule says how many tokens a processor makes of it before it reads it: make the rows by the "
        "processor once, and give the column of their input_ids or lengths; or drop it, if you do not train on it"
    )


def refuse_unread(turns: list[dict[str, Any]], where: str) -> None:
    """Raises ValueError for turns with videos or sound."""
    for turn in turns:
        parts = turn.get("content")
        for part in parts if isinstance(parts, (list, tuple)) else ():
            if isinstance(part, Mapping) and part.get("type") in UNCOUNTED:
                raise uncounted(f"{where} has {part['type']} in a turn")


def turns_of(conversation: Any, where: str) -> list[dict[str, Any]]:
    """The turns of a conversation, with `role` and `content`, also of one in ShareGPT's form."""
    if not isinstance(conversation, Sequence) or not all(isinstance(turn, Mapping) for turn in conversation):
        raise ValueError(f"{where} is {type(conversation).__name__}, and no conversation: a list of turns")
    turns = [dict(turn) for turn in conversation]
    return [
        {"role": ROLES.get(turn["from"], turn["from"]), "content": turn["value"]} if "from" in turn else turn
        for turn in turns
    ]


def with_places(turns: list[dict[str, Any]], images: int) -> list[dict[str, Any]]:
    """The turns for a chat template of images: where contents are texts, the first of the user gets the places."""
    out = []
    for turn in turns:
        if isinstance(turn.get("content"), str):
            places = [{"type": "image"}] * images if turn["role"] == "user" else []
            images = 0 if turn["role"] == "user" else images
            turn = {**turn, "content": [*places, {"type": "text", "text": turn["content"]}]}
        elif turn["role"] == "user":
            images = 0  # it says where they are
        out.append(turn)
    return out


@dataclasses.dataclass(frozen=True)
class Counter:
    """Counts the tokens of rows, for `map` of datasets, which knows it by these members and keeps what it counted."""

    processing: Any  # a tokenizer, or a processor
    columns: tuple[str, ...]  # whose texts, or turns, are joined
    images: str | None
    template: dict[str, Any]
    add_eos: bool
    version: str  # of this package
    beside: int = 0  # tokens beside each image that its processor's figure leaves out

    @property
    def tokenizer(self) -> Any:
        return getattr(self.processing, "tokenizer", self.processing)

    def __call__(self, rows: Rows | Table, indices: Sequence[int]) -> dict[str, list[int]]:
        rows = rows if isinstance(rows, Mapping) else rows.to_pydict()
        texts, special = self.texts(rows, indices)
        encoded = self.tokenizer(texts, add_special_tokens=special, return_attention_mask=False, verbose=False)
        counts = [len(ids) for ids in encoded["input_ids"]]
        if self.images is not None:
            for at, (text, held) in enumerate(zip(texts, rows[self.images])):
                counts[at] += self._beside_text(text, listed(held), f"row {indices[at]}")
        return {"length": counts}

    def texts(self, rows: Rows, indices: Sequence[int]) -> tuple[list[str], bool]:
        """The text of each row, and whether the tokenizer adds its special tokens to it."""
        talks = not any(isinstance(text, str) for text in rows[self.columns[0]])
        texts = [self._text(rows, at, f"row {indices[at]}", talks) for at in range(len(indices))]
        return texts, not talks and self.images is None

    def _text(self, rows: Rows, at: int, where: str, talks: bool) -> str:
        parts = [rows[column][at] for column in self.columns]
        for column, part in zip(self.columns, parts):
            if part is None:
                raise ValueError(f"{where} has null in {column!r}: drop such rows, they have no length")
            if isinstance(part, str) is talks:
                raise ValueError(f"{where} has a {type(part).__name__} in {column!r}, unlike other rows")
        if not talks:
            text = "".join(parts)
            eos = self.tokenizer.eos_token if self.add_eos else ""
            return text if not eos or text.endswith(eos) else text + eos
        turns = [turn for column, part in zip(self.columns, parts) for turn in turns_of(part, f"{where}, {column!r},")]
        if self.processing is not self.tokenizer:
            refuse_unread(turns, f"{where}, {self.columns[0]!r},")
            turns = with_places(turns, len(listed(rows[self.images][at])) if self.images else 0)
        tools, more = (rows[name][at] if name in rows else None for name in BESIDE)
        asked = {**self.template, **(more or {})}
        if tools is not None:
            asked["tools"] = json.loads(tools) if isinstance(tools, str) else tools
        return str(self.processing.apply_chat_template(turns, tokenize=False, **asked))

    def _beside_text(self, text: str, images: Sequence[Any], where: str) -> int:
        """Tokens that images add to those of a text, in which each has a place of one token."""
        places = text.count(self.processing.image_token)
        if places != len(images):
            raise ValueError(f"{where} has {len(images)} images, and {places} places for them in its text")
        if not images:
            return 0
        counted = self.processing._get_num_multimodal_tokens(image_sizes=[size_of(image) for image in images])
        return int(sum(counted["num_image_tokens"])) + (self.beside - 1) * len(images)

    def in_full(self, rows: Rows, decoded: Sequence[Any]) -> int:
        """The tokens of a row as the processor makes them, with the pixels of its images."""
        texts, special = self.texts(rows, [0])
        made = self.processing(text=texts, images=[list(decoded)], add_special_tokens=special)
        return len(made["input_ids"][0])


def listed(images: Any) -> Sequence[Any]:
    """The images of a row, of which there may be one, none or several."""
    return images if isinstance(images, (list, tuple)) else [] if images is None else [images]
