# SPDX-License-Identifier: Apache-2.0
"""What the memory model says of a training, by the options of `ballast memory`: for the command of ballast.snapshot."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from . import _ballast
from .models import shape_of

_COUNTS = {  # option, argument of ballast.memory, what it is
    "--batch": ("micro_batch", "sequences of a micro-batch; 1 by default"),
    "--micro-batches": ("micro_batches", "micro-batches of a rank in a step; 1 by default"),
    "--ranks": ("data", "data-parallel ranks; 1 by default"),
    "--stages": ("stages", "pipeline stages of a rank; 1 by default"),
    "--tp": ("tensor", "tensor-parallel devices, with sequence parallelism; 1 by default"),
    "--cp": ("context", "context-parallel devices; 1 by default"),
    "--ep": ("expert", "expert-parallel devices; 1 by default"),
    "--etp": ("expert_tensor", "devices that share an expert; as --tp under megatron, 1 else, by default"),
    "--zero": ("zero", "ZeRO stage, 0 to 3; as the framework does by default"),
}
_WORDS = {
    "--framework": ("trainer", "megatron (default), torchtitan, torchtune, transformers, axolotl or deepspeed"),
    "--optimizer": ("optimizer", "adam, adam-bf16 and so on; as the framework does by default"),
    "--head-loss": ("loss", "plain, fused, chunked:N and so on; as the framework does it by default"),
    "--train": ("train", "all (default), none, lora:RANK or qlora:RANK"),
    "--recompute": ("recompute", "none (default), full, or modules as mlp,layernorm"),
}
_FLAGS = {"--dropout": ("dropout", "dropout is on"), "--compiled": ("compiled", "torch.compile is on")}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of a training. None of them has a default, so that it shows which are given."""
    group = parser.add_argument_group("the memory model beside it", "options of `ballast memory`")
    group.add_argument("--model", metavar="MODEL", help="a preset or a config.json")
    group.add_argument("--tokens", type=int, metavar="N", dest="sequence", help="tokens of a sequence")
    for name, (argument, text) in _COUNTS.items():
        group.add_argument(name, type=int, metavar="N", dest=argument, help=text)
    for name, (argument, text) in _WORDS.items():
        group.add_argument(name, metavar="WORD", dest=argument, help=text)
    kernels = ("fused", "stored-scores")
    group.add_argument("--attention", choices=kernels, help="how attention is computed; fused by default")
    for name, (argument, text) in _FLAGS.items():
        group.add_argument(name, action="store_const", const=True, dest=argument, help=text)


def stages_of(options: argparse.Namespace, accelerator: str | None) -> list[dict[str, Any]] | None:
    """What each stage holds by the model, as ballast.memory returns it; None if no option asks for it."""
    names = {"sequence": "--tokens", "attention": "--attention"}
    names |= {argument: name for part in (_COUNTS, _WORDS, _FLAGS) for name, (argument, _) in part.items()}
    given = {argument: getattr(options, argument) for argument in names if getattr(options, argument) is not None}
    if options.model is None:
        for name in [names[argument] for argument in given] + ([f"--device {accelerator}"] if accelerator else []):
            raise ValueError(f"{name} is for --model, whose memory is computed")
        return None
    if "sequence" not in given:
        raise ValueError("--model needs --tokens, the tokens of a sequence")
    given = {"trainer": "megatron", **given}
    if given.pop("compiled", False):
        if given["trainer"] == "megatron":
            raise ValueError("--compiled is for trainers whose kernels torch.compile makes, as transformers")
        given["framework"] = "compiled"
    given["stored_scores"] = given.pop("attention", "fused") == "stored-scores"
    hopper = accelerator not in ("v100", "a100")
    return list(_ballast.memory(shape_of(options.model), hopper=hopper, stream_pools=False, **given))


def parts_of(stage: Mapping[str, Any]) -> dict[str, int]:
    """A stage of ballast.memory, or of `ballast memory --json`, as `compare` takes it."""
    extra = stage["extra"]
    parts = {name: stage.get(name, 0) for name in ("states", "gathered", "workspace", "kept", "inputs")}
    return parts | {at.split()[0]: size for at, size in extra.items()}
