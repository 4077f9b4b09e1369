# SPDX-License-Identifier: Apache-2.0
"""The shape of a model, from its name, its config, or the model itself.

    shape = ballast.models.shape_of("meta-llama/Llama-3.1-8B")  # or a config.json, its folder, a config, a module
    ballast.memory(shape, trainer="transformers", sequence=8192)

Configs are read by the code of `ballast check-config`, which knows the families of the hub.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from . import _ballast

__all__ = ["FAMILIES", "fields_of", "shape_of"]

FAMILIES = ("llama", "mistral", "qwen2", "qwen3", "mixtral", "qwen3_moe", "gpt2")  # counted tensor by tensor in eager PyTorch


def fields_of(config: Any) -> dict[str, Any]:
    """The fields of a config: of transformers, of a mapping, or of a config.json by its path."""
    if isinstance(config, Mapping):
        return dict(config)
    if hasattr(config, "to_dict"):
        return dict(config.to_dict())
    if not isinstance(config, (str, os.PathLike)):
        raise ValueError(f"{type(config).__name__} is no name, config or config.json of a model, and has no config")
    with open(config, encoding="utf-8") as file:
        try:
            fields = json.load(file)
        except ValueError as error:
            raise ValueError(f"{os.fspath(config)} is no JSON: {error}") from None
    if not isinstance(fields, dict):
        raise ValueError(f"{os.fspath(config)} must hold an object, the config of a model")
    return fields


def shape_of(model: Any, images: bool = False) -> _ballast.Transformer:
    """The shape of a model: by its name, of a preset or on a hub ("meta-llama/Llama-3.1-8B"; owner and case do not
    matter), by a config.json or the folder that holds one, by a mapping, a config of transformers, or a module.

    Raises ValueError with a sentence for a family that is not known, or a field that is missing or not modelled. A
    model that reads images or sound has no shape here, unless `images`: then it is that of its language model.
    """
    if isinstance(model, _ballast.Transformer):
        return model
    if hasattr(model, "config") and not isinstance(model, Mapping):
        model = model.config
    name = "the config"
    if isinstance(model, (str, os.PathLike)):
        name = os.fspath(model)
        if os.path.isdir(name) and os.path.exists(os.path.join(name, "config.json")):
            model = name = os.path.join(name, "config.json")
        elif not os.path.isfile(name):
            preset = _ballast.preset_of(name)
            if preset is None or preset not in _ballast.presets():
                raise ValueError(_ballast.unknown_model(name))
            return _ballast.transformer(preset)
    shape, _, more = _ballast.read_config(json.dumps(fields_of(model), default=str), name)
    if more and not images:
        raise ValueError(
            f"{name} is of a model that reads images or sound, and only its language model would be counted; "
            "ballast.vision_language_model(...) makes such a shape"
        )
    return shape
