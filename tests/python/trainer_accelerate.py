# SPDX-License-Identifier: Apache-2.0
"""ballast.accelerate with accelerate's own Accelerator: 4 processes over gloo, 2 workers each; stops in the second
epoch and resumes."""

import importlib.util
import re
import tempfile
import unittest

import torch
from accelerate import Accelerator
from support import LENGTHS, Samples, Tiny, each_once, gradient, on_ranks, run_of_docs, unpacked_gradient
from torch.utils.data import DataLoader

from ballast.accelerate import check, prepared
from ballast.torch import Packed, Plan, labels_of_step

OPTIONS = {"capacity": 64, "micro_batches": 2, "epochs": 3, "seed": 5, "cost": "llama-3.1-8b"}


def collate(samples):
    return {**Packed()(samples), "index": [s["index"] for s in samples]}


def loader_of(batches):
    return DataLoader(Samples(), batch_sampler=batches, collate_fn=collate, num_workers=2, persistent_workers=True)


def plan_of(ranks, **options):
    return Plan(LENGTHS, ranks=ranks, **{**OPTIONS, **options})


def train(rank, ranks, saved, stop_at):
    """Trains a model up to a step: [(step, lists)], the state there, its weights and the gradient of the first step."""
    plan, model = plan_of(4), Tiny()
    if saved is not None:
        plan.resume(saved["plan"], ranks=ranks)
        model.load_state_dict(saved["weights"])
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=plan.micro_batches)
    loader = prepared(loader_of(plan.batches(rank, one_epoch=True)), accelerator)
    model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=0.1))
    seen, first = [], None
    for step, micro_batches in plan.steps_of(loader):
        seen.append((step, [batch["index"] for batch in micro_batches]))
        labels = labels_of_step(micro_batches)
        for batch in micro_batches:
            with accelerator.accumulate(model):
                scores = model(batch["input_ids"], batch["position_ids"])
                loss = torch.nn.functional.cross_entropy(
                    scores[0, :-1], batch["labels"][0, 1:], ignore_index=-100, reduction="sum"
                )
                accelerator.backward(loss * ranks * plan.micro_batches / labels)  # it divides by both
                if accelerator.sync_gradients and first is None:
                    first = gradient(model)
                optimizer.step()
                optimizer.zero_grad()
        if plan.steps_done == stop_at:
            break
    state = {"plan": plan.state(), "weights": accelerator.unwrap_model(model).state_dict()}
    return seen, state, torch.cat([p.detach().flatten() for p in model.parameters()]), first


def plainly_prepared(rank, ranks):
    """How many lists a plain prepare leaves to this rank, and the sentence that `check` and the loop have about it."""
    accelerator, plan = Accelerator(cpu=True), plan_of(ranks)
    loader = accelerator.prepare(loader_of(plan.batches(rank, one_epoch=True)))
    sentences = []
    for refused in (lambda: check(loader), lambda: next(plan.steps_of(loader))):
        try:
            refused()
        except ValueError as error:
            sentences.append(str(error))
    return [batch["index"] for batch in loader], len(plan.batches(rank, one_epoch=True)), sentences


def members_of(results, steps):
    return [members for seen, *_ in results for step, lists in seen if step in steps for members in lists]


class TestAccelerate(unittest.TestCase):
    def test_resumes_in_the_second_epoch_with_four_and_three_processes(self):
        whole = on_ranks(4, train, None, None)
        steps = plan_of(4).steps_of_epochs
        for epoch in range(3):
            first = sum(steps[e] for e in range(epoch))
            each_once(self, members_of(whole, range(first, first + steps[epoch])))
        reference = unpacked_gradient([i for members in members_of(whole, [0]) for i in members])
        for *_, first in whole:
            self.assertLess((first - reference).abs().max() / reference.abs().max(), 1e-10)

        middle = steps[0] + 2
        stopped = on_ranks(4, train, None, middle)
        same = on_ranks(4, train, stopped[0][1], None)
        for rank in range(4):
            self.assertEqual(stopped[rank][0] + same[rank][0], whole[rank][0])
            self.assertLess((same[rank][2] - whole[rank][2]).abs().max(), 1e-12)  # DDP may add in another order

        fewer = on_ranks(3, train, stopped[0][1], None)
        self.assertEqual(len({len(seen) for seen, *_ in fewer}), 1)
        rest = plan_of(4)
        rest.resume(stopped[0][1]["plan"], ranks=3)
        end = middle + rest.steps_of_epochs[1]
        each_once(self, members_of(stopped, range(steps[0], middle)) + members_of(fewer, range(middle, end)))
        each_once(self, members_of(fewer, range(end, rest.steps)))

    def test_epoch_by_epoch(self):
        whole = on_ranks(2, train_in_epochs, None, None)
        middle = plan_of(4).steps_of_epochs[0] + 1
        stopped = on_ranks(2, train_in_epochs, None, middle)
        same = on_ranks(2, train_in_epochs, stopped[0][1], None)
        for rank in range(2):
            self.assertEqual(stopped[rank][0] + same[rank][0], whole[rank][0])

    def test_a_plain_prepare_is_detected(self):
        results = on_ranks(4, plainly_prepared)
        for lists, own, sentences in results:
            self.assertLessEqual(len(lists), own // 4 + 1, "accelerate has changed: a plain prepare keeps more lists")
            self.assertEqual(len(sentences), 2)
            self.assertIn("ballast.accelerate.prepared", sentences[0])
        with self.assertRaisesRegex(ValueError, "no sampler of a plan"):
            check(DataLoader(Samples(), batch_size=2))


class TestDocs(unittest.TestCase):
    @unittest.skipUnless(importlib.util.find_spec("transformers"), "transformers is not installed")
    def test_the_script_of_the_docs(self):
        with tempfile.TemporaryDirectory() as folder:
            lines, printed = run_of_docs("loop.py", folder)
        self.assertLessEqual(len(lines), 25)
        steps = re.findall(r"^step (\d+): loss ([\d.]+)$", printed, re.MULTILINE)
        self.assertEqual([int(step) for step, _ in steps], list(range(len(steps))))
        self.assertGreater(len(steps), 5)
        self.assertLess(float(steps[-1][1]), float(steps[0][1]))


class TestModel(unittest.TestCase):
    def loss(self, **options):
        """Trains a model of transformers for a step, without use_cache=False."""
        from transformers import LlamaConfig, LlamaForCausalLM

        sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
        model = LlamaForCausalLM(LlamaConfig(vocab_size=31, num_key_value_heads=2, max_position_embeddings=64, **sizes))
        accelerator, plan = Accelerator(cpu=True), plan_of(1)
        batches = plan.batches(0, one_epoch=True)
        loader = prepared(DataLoader(Samples(), batch_sampler=batches, collate_fn=Packed()), accelerator, **options)
        model = accelerator.prepare(model)
        for batch in loader:
            return model(batch["input_ids"], position_ids=batch["position_ids"], labels=batch["labels"]).loss

    @unittest.skipUnless(importlib.util.find_spec("transformers"), "transformers is not installed")
    def test_a_model_that_attends_across_samples(self):
        with self.assertRaisesRegex(ValueError, "LlamaForCausalLM attends across.*Pass use_cache=False"):
            self.loss()
        self.assertGreater(self.loss(check_model=False), 0)


def train_in_epochs(rank, ranks, saved, stop_at):
    plan = plan_of(ranks, steps_per_epoch=plan_of(ranks).steps_of_epochs[0])
    if saved is not None:
        plan.resume(saved)
    loader = prepared(loader_of(plan.batches(rank)), Accelerator(cpu=True))
    seen = []
    for epoch in plan.steps_of_epochs:
        for step, micro_batches in plan.steps_of(loader):
            seen.append((epoch, step, [batch["index"] for batch in micro_batches]))
            if plan.steps_done == stop_at:
                return seen, plan.state()
    return seen, plan.state()


if __name__ == "__main__":
    unittest.main()
