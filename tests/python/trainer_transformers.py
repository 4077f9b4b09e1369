# SPDX-License-Identifier: Apache-2.0
"""Stock models of transformers, made from configs: do they keep the samples of a packed row apart, and does the loop
say so?"""

import unittest
import warnings

import numpy as np
import torch
import transformers
from support import on_ranks
from torch.utils.data import DataLoader

from ballast.torch import Packed, Plan, check_model

transformers.logging.set_verbosity_error()
warnings.filterwarnings("ignore")
VOCABULARY = 40
LENGTHS = np.random.default_rng(3).integers(2, 20, 60)
SAMPLES = [np.random.default_rng(i).integers(3, 30, LENGTHS[i]).tolist() for i in range(60)]
SHAPE = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
}
WORDS = {"pad_token_id": 0, "eos_token_id": 1, "bos_token_id": 2}
EXPERTS = {
    "moe_intermediate_size": 16,
    "shared_expert_intermediate_size": 16,
    "num_experts": 4,
    "num_experts_per_tok": 2,
}
GPT2 = {"vocab_size": VOCABULARY, "n_positions": 64, "n_embd": 32, "n_layer": 2, "n_head": 4}
AXES = {"rope_parameters": {"rope_type": "default", "mrope_section": [1, 1, 2], "rope_theta": 10000.0}}
MODELS = {  # name of the model's class: of its config, and what is in it
    "LlamaForCausalLM": ("LlamaConfig", SHAPE),
    "Qwen2ForCausalLM": ("Qwen2Config", SHAPE),
    "Qwen3ForCausalLM": ("Qwen3Config", {**SHAPE, "head_dim": 8}),
    "MistralForCausalLM": ("MistralConfig", {**SHAPE, "sliding_window": 4}),
    "Gemma2ForCausalLM": ("Gemma2Config", {**SHAPE, **WORDS, "head_dim": 8}),
    "Gemma3ForCausalLM": ("Gemma3TextConfig", {**SHAPE, **WORDS, "head_dim": 8}),
    "Phi3ForCausalLM": ("Phi3Config", {**SHAPE, **WORDS}),
    "GPT2LMHeadModel": ("GPT2Config", GPT2),
    "GPTNeoXForCausalLM": ("GPTNeoXConfig", {**SHAPE, "num_key_value_heads": 4}),
    "Qwen2MoeForCausalLM": ("Qwen2MoeConfig", {**SHAPE, **EXPERTS}),
}


def model_of(name, kernel="sdpa", **changes):
    """The model with weights from a fixed seed."""
    config, fields = MODELS[name]
    torch.manual_seed(3)
    made = getattr(transformers, config)(**fields, **changes)
    made._attn_implementation = kernel
    return getattr(transformers, name)(made)


def vision_language(kernel):
    """Qwen2-VL, whose rotary embedding has axes."""
    torch.manual_seed(3)
    config = transformers.Qwen2VLConfig(
        text_config={**SHAPE, **AXES},
        vision_config={"depth": 1, "embed_dim": 16, "hidden_size": 32, "num_heads": 2},
        image_token_id=35,
        video_token_id=36,
        vision_start_token_id=37,
        vision_end_token_id=38,
    )
    config._attn_implementation = kernel
    return transformers.Qwen2VLForConditionalGeneration(config)


def kernels_of(name):
    kind = getattr(transformers, name)
    known = {"eager": True, "sdpa": kind._supports_sdpa, "flex_attention": kind._supports_flex_attn}
    return [kernel for kernel, there in known.items() if there]


def cached(samples):
    """A batch as a loop passes it that leaves out `use_cache`."""
    return {name: value for name, value in Packed(huggingface=True)(samples).items() if name != "use_cache"}


def train(plan, model, forward, rank=0, steps=2, wrapped=None, **options):
    """Trains some steps by the loop of the docs. Returns the losses."""
    loader = DataLoader(SAMPLES, batch_sampler=plan.batches(rank, one_epoch=True), collate_fn=Packed(huggingface=True))
    optimizer, losses = torch.optim.SGD(model.parameters(), lr=0.1), []
    called = model if wrapped is None else wrapped
    for step, micro_batches in plan.steps_of(loader, called, **options):
        for batch in micro_batches:
            loss = forward(called, batch).loss
            loss.backward()
            losses.append(loss.item())
        optimizer.step()
        optimizer.zero_grad()
        if step + 1 == steps:
            return losses


def plan_of(ranks=1):
    return Plan(LENGTHS, capacity=48, ranks=ranks, micro_batches=2, cost="llama-3.1-8b")


def whole(model, batch):
    return model(**batch)


def without_use_cache(model, batch):
    return model(batch["input_ids"], position_ids=batch["position_ids"], labels=batch["labels"])


def without_positions(model, batch):
    return model(input_ids=batch["input_ids"], labels=batch["labels"], use_cache=False)


def train_sharded(rank, ranks, forward):
    """Two ranks of FSDP: the loss of the first step, or the sentence of the check."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    model = model_of("LlamaForCausalLM")
    mesh = init_device_mesh("cpu", (ranks,))
    for layer in model.model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    try:
        return train(plan_of(ranks), model, forward, rank, steps=1)
    except ValueError as error:
        return str(error)


def train_replicated(rank, ranks, forward):
    model = model_of("LlamaForCausalLM")
    try:
        wrapped = torch.nn.parallel.DistributedDataParallel(model)
        return train(plan_of(ranks), model, forward, rank, steps=1, wrapped=wrapped)
    except ValueError as error:
        return str(error)


class TestAcrossRanks(unittest.TestCase):
    """Its name comes first: processes cannot be forked once autograd has threads."""

    def test_replicated_and_sharded(self):
        for run in (train_replicated, train_sharded):
            for losses in on_ranks(2, run, whole):
                self.assertEqual(len(losses), 2, losses)
            for sentence in on_ranks(2, run, without_use_cache):
                self.assertIn("Pass use_cache=False", sentence)


class TestStockModels(unittest.TestCase):
    def test_samples_of_a_row_stay_apart_in_every_attention(self):
        tested = []
        with torch.compiler.set_stance("force_eager"):  # flex_attention would be compiled for minutes
            for name in MODELS:
                for kernel in kernels_of(name):
                    with self.subTest(name=name, kernel=kernel):
                        model = model_of(name, kernel)
                        check_model(model, SAMPLES)
                        check_model(model, SAMPLES, collate=Packed())
                        with self.assertRaisesRegex(
                            ValueError, f"{name} attends across.*attention '{kernel}'.*Pass use_cache=False"
                        ):
                            check_model(model, SAMPLES, collate=cached)
                        tested.append((name, kernel))
        self.assertEqual({name for name, _ in tested}, set(MODELS))
        self.assertEqual({kernel for _, kernel in tested}, {"eager", "sdpa", "flex_attention"})

    def test_a_vision_language_model_needs_positions_of_four_axes(self):
        for kernel in ("eager", "sdpa"):
            model = vision_language(kernel)
            with self.assertRaisesRegex(ValueError, f"Qwen2VL.*attention '{kernel}'.*Packed\\(axes=4\\)"):
                check_model(model, SAMPLES)
            check_model(model, SAMPLES, collate=Packed(huggingface=True, axes=4))

    def test_low_precision_is_no_leak(self):
        for name in ("LlamaForCausalLM", "Qwen2MoeForCausalLM", "GPT2LMHeadModel"):
            model = model_of(name).bfloat16()
            check_model(model, SAMPLES)
            with self.assertRaisesRegex(ValueError, "attends across"):
                check_model(model, SAMPLES, collate=cached)

    def test_a_model_of_ones_own(self):
        class Mean(torch.nn.Module):
            """Every token sees the mean of the row."""

            def __init__(self):
                super().__init__()
                self.embedding = torch.nn.Embedding(VOCABULARY, VOCABULARY)

            def forward(self, input_ids, **_):
                x = self.embedding(input_ids)
                return x + x.mean(1, keepdim=True)

        with self.assertRaisesRegex(ValueError, "^Mean attends across the samples of a packed row: .*choose another"):
            check_model(Mean(), SAMPLES)
        with self.assertRaisesRegex(ValueError, "samples has 1 entries"):
            check_model(Mean(), SAMPLES[:1])


class TestLoop(unittest.TestCase):
    def test_the_first_step_says_what_the_loop_forgets(self):
        for forward, sentence in {
            without_use_cache: "attends across.*'sdpa'.*Pass use_cache=False",
            without_positions: "the loop does not pass where each begins: pass position_ids",
        }.items():
            with self.assertRaisesRegex(ValueError, sentence):
                train(plan_of(), model_of("LlamaForCausalLM"), forward)

    def test_a_loop_that_ended_early_leaves_one_check(self):
        model = model_of("LlamaForCausalLM")
        for _ in range(2):
            plan = plan_of()
            rows = DataLoader(SAMPLES, batch_sampler=plan.batches(0, one_epoch=True), collate_fn=Packed(huggingface=True))
            next(plan.steps_of(rows, model))  # and no forward pass
        train(plan_of(), model, whole, steps=1)
        self.assertFalse(model._forward_pre_hooks)
        with self.assertRaisesRegex(ValueError, "Pass use_cache=False"):
            train(plan_of(), model, without_use_cache)

    def test_the_check_changes_nothing(self):
        def losses(checked):
            model = model_of("LlamaForCausalLM", attention_dropout=0.3)
            model.train()
            torch.manual_seed(5)
            plan, given = plan_of(), model if checked else None
            loader = DataLoader(
                SAMPLES, batch_sampler=plan.batches(0, one_epoch=True), collate_fn=Packed(huggingface=True)
            )
            calls, found = [], []
            model.register_forward_hook(lambda *_: calls.append(1))
            for _, micro_batches in plan.steps_of(loader, given):
                for batch in micro_batches:
                    with torch.autocast("cpu", torch.bfloat16):
                        loss = model(**batch).loss
                    loss.backward()
                    found.append(loss.item())
            gradient = torch.cat([p.grad.flatten() for p in model.parameters()])
            return found, gradient, len(calls)

        with_check, without = losses(True), losses(False)
        self.assertEqual(with_check[0], without[0])
        self.assertTrue(torch.equal(with_check[1], without[1]))
        self.assertEqual(with_check[2], without[2] + 4, "it is checked once, by a row and three samples")

    def test_a_compiled_model_is_checked_as_it_is(self):
        model = model_of("LlamaForCausalLM")
        compiled = torch.compile(model, backend="eager")
        self.assertEqual(len(train(plan_of(), model, whole, steps=1, wrapped=compiled)), 2)
        with self.assertRaisesRegex(ValueError, "LlamaForCausalLM attends across"):
            train(plan_of(), model, without_use_cache, steps=1, wrapped=torch.compile(model, backend="eager"))


if __name__ == "__main__":
    unittest.main()
