# SPDX-License-Identifier: Apache-2.0
"""The largest capacity by `ballast.torch.fits`, beside what small models hold on the CPU when they train a packed row.

Sizes are counted as in kept_bytes.py."""

import dataclasses
import inspect
import json
import pathlib
import tempfile
import unittest

import kept_bytes
import numpy as np
import peft
import torch
import transformers
from kept_bytes import (
    ALL_KEYS,
    GPT2,
    LLAMA,
    MIXTRAL,
    ONE_KEY,
    QWEN3,
    QWEN3_MOE,
    Live,
    Way,
    config_of,
    model_of,
    storage,
)

import ballast
from ballast.torch import fits

UNIT = 4


def live_peak(model, m, by, tokens):
    """Bytes that are live when most are, beside parameters and their gradients, in a step with a row of two samples."""
    ids = torch.randint(0, m.vocabulary, (1, tokens), generator=torch.Generator().manual_seed(3))
    half = tokens // 2
    positions = torch.cat([torch.arange(half), torch.arange(tokens - half)])[None]
    batch = {"input_ids": ids, "labels": ids, "position_ids": positions, "use_cache": False}
    model.zero_grad()
    with Live(model, batch) as live:
        loss = model(**batch).loss
        loss.backward()
    once = kept_bytes.total(kept_bytes.model_tensors(m, dataclasses.replace(by, tokens=tokens)))
    return live.peak - once - 2 * storage(loss).nbytes()


class Fits(unittest.TestCase):
    def test_what_fits_is_held_to_the_byte(self):
        """Logits are the largest tensors, so that most is held while the loss is computed."""
        for m in (LLAMA, QWEN3, ALL_KEYS):
            m = dataclasses.replace(m, vocabulary=1009, layers=2)
            for by in (Way(torch.bfloat16, "sdpa"), Way(torch.float32, "sdpa")):
                model = model_of(m, by)
                shape = ballast.models.shape_of(model.config)
                least = fits(model, [], 1, unit=UNIT)
                self.assertEqual(least.capacity, 0)
                self.assertEqual(least.lacking, least.next["peak"] - 1)
                memory = least.parts["states"] + 2_000_000
                fit = fits(model, [3, 10_000, 5], memory, unit=UNIT)
                self.assertGreater(fit.capacity, 60)
                self.assertEqual(fit.longer.tolist(), [1])
                for tokens, parts in ((fit.capacity, fit.parts), (fit.capacity + UNIT, fit.next)):
                    self.assertEqual(parts["moment"], "head")
                    mask = tokens**2  # of the whole row, in bytes, which is gone after the last layer
                    counted = live_peak(model, m, by, tokens)
                    expected = parts["kept"] + parts["extra"]["head"] + parts["masks"] - mask
                    self.assertEqual(expected, counted, f"{m} {by} {tokens}")
                    self.assertEqual(parts["peak"], parts["states"] + parts["inputs"] + expected + mask)
                self.assertLessEqual(fit.parts["peak"], memory)
                self.assertGreater(fit.next["peak"], memory)
                self.assertEqual(fit.parts["states"], 3 * by.element * shape.parameters)  # no gradients yet

    def test_the_kernel_of_attention(self):
        by = Way(torch.bfloat16, "sdpa")
        model = model_of(LLAMA, by)
        found = {
            kernel: fits(model, [], 10_000_000, attention=kernel, unit=1)
            for kernel in ("eager", "sdpa", "flash_attention_2")
        }
        self.assertLess(found["eager"].capacity, found["sdpa"].capacity)
        self.assertLess(found["sdpa"].capacity, found["flash_attention_2"].capacity)
        self.assertEqual(found["flash_attention_2"].parts["masks"], 0)
        alone = fits(model, [], 10_000_000, packed=False, unit=1)
        self.assertEqual(alone.capacity, found["flash_attention_2"].capacity)  # a row of one sample needs no mask

    def test_what_is_read_from_a_module(self):
        for m in (LLAMA, ONE_KEY, ALL_KEYS, QWEN3, GPT2, MIXTRAL, QWEN3_MOE):
            for dtype, value in ((torch.bfloat16, 2), (torch.float32, 4)):
                model = model_of(m, Way(dtype, "eager"))
                fit = fits(model, [], 1 << 24)
                self.assertEqual(fit.options["value"], value)
                self.assertEqual(fit.options["stored_scores"], True)
                self.assertEqual(fit.options["composed_activation"], not m.rotary)
                self.assertEqual(fit.options["recompute"], "none")
                model.gradient_checkpointing_enable()
                again = fits(model, [], 1 << 24)
                self.assertEqual(again.options["recompute"], "full")
                self.assertGreaterEqual(again.capacity, fit.capacity)
                self.assertEqual(fits(model.config, [], 1 << 24, dtype=dtype).parts, fit.parts)

    def test_adapters(self):
        adapted = {"rank": 5, "targets": kept_bytes.ALL_MATRICES, "adapters": torch.float32, "adapter_dropout": 0.1}
        by = Way(torch.bfloat16, "sdpa", **adapted)
        fit = fits(model_of(LLAMA, by), [], 1 << 24)
        self.assertEqual([fit.options[k] for k in ("train", "adapter_value", "adapter_dropout")], ["lora:5", 4, True])
        same = dataclasses.replace(by, adapters=torch.bfloat16, adapter_dropout=0.0)
        fit = fits(model_of(LLAMA, same), [], 1 << 24)
        self.assertEqual([fit.options[k] for k in ("train", "adapter_value", "adapter_dropout")], ["lora:5", 2, False])
        frozen = model_of(LLAMA, Way(torch.bfloat16)).requires_grad_(False)
        self.assertEqual(fits(frozen, [], 1 << 24).options["train"], "none")

    def test_configs_and_devices(self):
        config = config_of(LLAMA, Way(torch.bfloat16, "sdpa"))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "config.json"
            path.write_text(json.dumps(config.to_dict()))
            found = fits(path, np.arange(9, dtype=np.uint16), 1 << 24, dtype="bfloat16")
        self.assertEqual(found.parts, fits(config, [], 1 << 24, dtype="bfloat16").parts)
        h100 = fits("llama-3.1-8b", [], "H100", data=8, zero=3)
        self.assertEqual(h100.memory, 72_000_000_000)
        table = str(h100)
        self.assertIn(f"{h100.capacity:,} tokens fit 72,000,000,000 bytes", table)
        self.assertIn(f"{h100.parts['peak']:,}", table)

        class Properties:  # as torch.cuda.get_device_properties returns them
            total_memory, major = 80_000_000_000, 9

        self.assertEqual(fits("llama-3.1-8b", [], Properties, data=8, zero=3).capacity, h100.capacity)

    def test_what_is_not_known_gets_one_sentence(self):
        config = config_of(LLAMA, Way(torch.bfloat16))
        some = model_of(LLAMA, Way(torch.bfloat16))
        next(some.parameters()).requires_grad_(False)
        scaled = peft.IA3Config(target_modules=["k_proj"], feedforward_modules=[])
        tuned = peft.get_peft_model(model_of(LLAMA, Way(torch.bfloat16)), scaled)
        for model, device, options, sentence in (
            (torch.nn.Linear(3, 3), 1 << 24, {}, "Linear has no config of transformers"),
            (transformers.LlamaModel(config), 1 << 24, {}, "LlamaModel has "),
            (transformers.LlamaConfig(hidden_act="gelu"), 1 << 24, {}, "hidden_act = 'gelu' "),
            ("no such file", 1 << 24, {}, "no such file is neither a file nor "),
            (some, 1 << 24, {}, "4,242 of "),
            (tuned, 1 << 24, {}, "peft_type = "),
            (config, "h101", {}, "device = 'h101' is none of v100, "),
            (config, "cpu", {}, "device = 'cpu' has no memory "),
            (config, 0, {}, "device = 0 must be "),
            (config, 1 << 24, {"stages": 2}, "stages = 2: "),
            (config, 1 << 24, {"zero": 7}, "zero = 7 must be in "),
            (config, 1 << 24, {"unit": 0}, "unit = 0 must be "),
            (config, 1 << 24, {"dtype": "float8"}, "dtype = float8 is not one of "),
        ):
            with self.assertRaises(ValueError) as caught:
                fits(model, [1], device, **options)
            text = str(caught.exception)
            self.assertTrue(text.startswith(sentence) and "\n" not in text, text)
        with self.assertRaisesRegex(ValueError, "lengths must be one row of integers"):
            fits(config, [0.5], 1 << 24)
        with self.assertRaisesRegex(TypeError, "argument 'zzero'"):
            fits(config, [1], 1 << 24, zzero=2)
        notes = fits(transformers.GemmaConfig(), [1], 1 << 40).notes
        self.assertTrue(any(note.startswith("the tensors of gemma in eager PyTorch were not counted") for note in notes), notes)
        self.assertNotIn("options", inspect.signature(fits).parameters)


if __name__ == "__main__":
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    unittest.main(warnings="ignore")
