# SPDX-License-Identifier: Apache-2.0
"""The shape of a model, from what transformers knows of it.

    shape = ballast.models.shape_of("config.json")      # or a config of transformers, or the name of a preset
    ballast.memory(shape, trainer="transformers", sequence=8192)

Only families whose tensors in eager PyTorch were counted one by one are known. `ballast memory` of the command line
reads the configs of many more.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from . import _ballast

__all__ = ["FAMILIES", "fields_of", "shape_of"]

FAMILIES = ("llama", "mistral", "qwen2", "qwen3", "mixtral", "qwen3_moe", "gpt2")


def fields_of(config: Any) -> dict[str, Any]:
    """The fields of a config: of transformers, of a mapping, or of a config.json by its path."""
    if isinstance(config, Mapping):
        return dict(config)
    if hasattr(config, "to_dict"):
        return dict(config.to_dict())
    with open(config, encoding="utf-8") as file:
        try:
            fields = json.load(file)
        except ValueError as error:
            raise ValueError(f"{os.fspath(config)} is no JSON: {error}") from None
    if not isinstance(fields, dict):
        raise ValueError(f"{os.fspath(config)} must hold an object, the config of a model")
    return fields


def shape_of(model: Any) -> _ballast.Transformer:
    """The shape of a model: a preset by name, a config.json by path, a mapping, or a config of transformers.

    Raises ValueError with a sentence for a family that is not one of `FAMILIES`, or a field that is missing or not
    modelled.
    """
    if isinstance(model, _ballast.Transformer):
        return model
    if isinstance(model, str) and model in _ballast.presets():
        return _ballast.transformer(model)
    if isinstance(model, (str, os.PathLike)) and not os.path.exists(model):
        raise ValueError(
            f"{os.fspath(model)} is neither a file nor one of the presets: {', '.join(_ballast.presets())}"
        )
    fields = fields_of(model)
    family = fields.get("model_type")
    if family not in FAMILIES:
        raise ValueError(
            f"model_type = {family!r} is not one of those whose tensors are counted in Python: {', '.join(FAMILIES)}; "
            "`ballast memory` reads more, and ballast.transformer(...) makes any shape"
        )
    return _gpt2(fields) if family == "gpt2" else _llama(fields, family)


def _number(fields: Mapping[str, Any], name: str, otherwise: int | None = None) -> int:
    value = fields.get(name)
    if value is None and otherwise is not None:
        return otherwise
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} = {value!r} in the config must be a positive integer")
    return value


def _only(fields: Mapping[str, Any], name: str, *allowed: Any) -> None:
    if name in fields and fields[name] not in allowed:
        raise ValueError(f"{name} = {fields[name]!r} in the config is not modelled; {allowed[0]!r} is")


def _llama(fields: Mapping[str, Any], family: str) -> _ballast.Transformer:
    """Models with RMSNorm and gates: LLaMA and those made like it."""
    _only(fields, "hidden_act", "silu")
    hidden, heads = _number(fields, "hidden_size"), _number(fields, "num_attention_heads")
    width = _number(fields, "head_dim", 128 if family == "qwen3" else hidden // heads)
    bias = bool(fields.get("attention_bias", False))
    shape: dict[str, Any] = {
        "layers": _number(fields, "num_hidden_layers"),
        "hidden": hidden,
        "query_heads": heads,
        "kv_heads": _number(fields, "num_key_value_heads", heads),
        "head_width": width,
        "vocabulary": _number(fields, "vocab_size"),
        "tied": bool(fields.get("tie_word_embeddings", False)),
        "qkv_bias": bias or family == "qwen2",
        "output_bias": bias and family != "qwen2",
        "ffn_bias": bool(fields.get("mlp_bias", False)),
        "qk_norm": 2 * width if family.startswith("qwen3") else 0,
    }
    if family == "mixtral":
        shape |= {
            "experts": _number(fields, "num_local_experts", 8),
            "expert_ffn": _number(fields, "intermediate_size"),
        }
        shape |= {"active_experts": _number(fields, "num_experts_per_tok", 2)}
    elif family == "qwen3_moe":
        _only(fields, "decoder_sparse_step", 1)
        _only(fields, "mlp_only_layers", [], None)
        experts = "num_experts" if "num_experts" in fields else "num_local_experts"
        shape |= {"experts": _number(fields, experts), "expert_ffn": _number(fields, "moe_intermediate_size")}
        shape |= {"active_experts": _number(fields, "num_experts_per_tok")}
    else:
        shape["ffn"] = _number(fields, "intermediate_size")
    return _ballast.transformer(**shape)


def _gpt2(fields: Mapping[str, Any]) -> _ballast.Transformer:
    _only(fields, "add_cross_attention", False)
    hidden, heads = _number(fields, "n_embd", 768), _number(fields, "n_head", 12)
    return _ballast.transformer(
        layers=_number(fields, "n_layer", 12),
        hidden=hidden,
        query_heads=heads,
        kv_heads=heads,
        head_width=hidden // heads,
        ffn=_number(fields, "n_inner", 4 * hidden),
        gated=False,
        vocabulary=_number(fields, "vocab_size", 50257),
        tied=bool(fields.get("tie_word_embeddings", True)),
        positions=_number(fields, "n_positions", 1024),
        qkv_bias=True,
        output_bias=True,
        ffn_bias=True,
        norm_bias=True,
    )
