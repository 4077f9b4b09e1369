# SPDX-License-Identifier: Apache-2.0
"""Trains under the layouts of `ballast shard` on gloo ranks. Run by scripts/test-python; $BALLAST is the program.

Loss and gradients must equal those of one process, and the bytes of each kind of collective those of the plan."""

import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, placement_types
from torch.utils._python_dispatch import TorchDispatchMode

import support

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "examples" / "python"))
import execute_layouts  # noqa: E402

CONFIG = {
    "model_type": "llama",
    "hidden_size": 24,
    "intermediate_size": 36,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "head_dim": 8,
    "vocab_size": 40,
    "tie_word_embeddings": False,
}


def shard(config, ranks, sequences, length, memory=None):
    """A plan, or None if it does not fit."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "config.json"
        path.write_text(json.dumps(config))
        command = [os.environ["BALLAST"], "shard", "--model", path, "--ranks", ranks, "--tokens", sequences * length]
        command += ["--length", length, "--json"] + (["--memory", memory] if memory else [])
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
        assert done.returncode in (0, 3), done.stderr
        return json.loads(done.stdout) if done.returncode == 0 else None


def whole_weights(config):
    torch.manual_seed(5)
    hidden, ffn, vocabulary = config["hidden_size"], config["intermediate_size"], config["vocab_size"]
    kv, q = (config[f"num_{k}_heads"] * config["head_dim"] for k in ("key_value", "attention"))
    shapes = {"embedding": (vocabulary, hidden), "norm": (hidden,), "head": (vocabulary, hidden)}
    for layer in range(config["num_hidden_layers"]):
        inner = {"q": (q, hidden), "k": (kv, hidden), "v": (kv, hidden), "proj": (hidden, q), "gate": (ffn, hidden)}
        inner |= {"up": (ffn, hidden), "down": (hidden, ffn), "attention_norm": (hidden,), "ffn_norm": (hidden,)}
        shapes |= {f"layers.{layer}.{name}": shape for name, shape in inner.items()}
    return {name: torch.randn(shape, dtype=torch.float64) / 4 for name, shape in shapes.items()}


def batch(config, sequences, length):
    torch.manual_seed(6)
    drawn = torch.randint(config["vocab_size"], (sequences, length + 1))
    return drawn[:, :-1], drawn[:, 1:]


def one_process(config, tokens, targets):
    """Loss and gradients without any plan."""
    w = {name: t.requires_grad_() for name, t in whole_weights(config).items()}
    F = torch.nn.functional

    def norm(x, name):
        return F.rms_norm(x, x.shape[-1:], w[name], 1e-6)

    x = w["embedding"][tokens]
    for layer in range(config["num_hidden_layers"]):
        at = f"layers.{layer}."
        h = norm(x, at + "attention_norm")
        q, k, v = ((h @ w[at + n].T).unflatten(-1, (-1, config["head_dim"])).transpose(1, 2) for n in "qkv")
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + attended.transpose(1, 2).flatten(-2) @ w[at + "proj"].T
        h = norm(x, at + "ffn_norm")
        x = x + (F.silu(h @ w[at + "gate"].T) * (h @ w[at + "up"].T)) @ w[at + "down"].T
    loss = F.cross_entropy((norm(x, "norm") @ w["head"].T).flatten(0, 1), targets.flatten())
    loss.backward()
    return loss.detach(), {name: t.grad for name, t in w.items()}


class Bytes(TorchDispatchMode):
    """Counts what functional collectives move, by kind. Over gloo DTensor makes an all-to-all of an all-gather, which is
    counted as what it stands for."""

    def __init__(self, ranks):
        super().__init__()
        self.ranks, self.sums, self.inside = ranks, collections.Counter(), False

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        if any(issubclass(t, DTensor) for t in types):
            return NotImplemented  # what it does to its parts comes here again
        kind = function._schema.name.removeprefix("_c10d_functional::")
        if kind in ("all_reduce", "all_gather_into_tensor", "reduce_scatter_tensor") and not self.inside:
            bytes = arguments[0].nbytes * (self.ranks if kind.startswith("all_gather") else 1)
            self.sums[kind.removesuffix("_into_tensor").removesuffix("_tensor")] += bytes
        return function(*arguments, **(keywords or {}))

    def all_to_all(self, original):
        def call(local, *arguments):
            self.sums["all_to_all"] += local.nbytes
            self.inside = True
            try:
                return original(local, *arguments)
            finally:
                self.inside = False

        return call


def run(rank, ranks, cases, planted):
    """For each case the loss, the largest relative difference of a gradient, and bytes by part of the step and kind."""
    mesh = init_device_mesh("cpu", (ranks,))
    out = []
    for config, plan, sequences, length in cases:
        tokens, targets = batch(config, sequences, length)
        weights = execute_layouts.distribute(plan, whole_weights(config), mesh)
        step = execute_layouts.Step(plan, weights, mesh, config["head_dim"])
        loss_place = plan["layouts"][plan["runs"][-1]["layouts"]]["operators"][-1]["reads"]
        if planted == "weight":
            with torch.no_grad():
                weights["layers.1.up"].to_local()[0, 0] += 1e-6
        counted = {}
        original = placement_types.shard_dim_alltoall
        for part in ("forward", "backward", "gradients"):
            with Bytes(ranks) as count, unittest.mock.patch.object(
                placement_types, "shard_dim_alltoall", count.all_to_all(original)
            ):
                if part == "forward":
                    loss = step.loss(tokens, targets)
                elif part == "backward":
                    loss.backward()
                else:
                    gradients = execute_layouts.reduced(weights)
            counted[part] = dict(count.sums)
        loss = loss.detach()
        if loss_place in ("batch", "sequence"):
            torch.distributed.all_reduce(loss)
        want_loss, want = one_process(config, tokens, targets)
        difference = max(
            ((gradients[n].full_tensor() - want[n]).abs().max() / want[n].abs().max()).item() for n in want
        )
        out.append((abs(loss - want_loss).item(), difference, counted))
    return out


def planned_bytes(plan):
    """Bytes by part of the step and kind, for numbers of 8 bytes: the plan has 2."""
    out = {part: collections.Counter() for part in ("forward", "backward", "gradients")}
    for layouts, _ in execute_layouts.blocks_of(plan):
        for e in layouts["exchanges"]:
            out[e["pass"]][e["collective"]] += 4 * e["bytes"]
    return {part: dict(sums) for part, sums in out.items()}


def cases_of(ranks):
    """Plans from the least memory to more than enough, for few and for many tokens, and shapes that split unevenly."""
    odd = {**CONFIG, "intermediate_size": 30, "num_key_value_heads": 2, "vocab_size": 38}
    out, seen = [], set()
    for config in (CONFIG, odd):
        for sequences, length in ((ranks, 12), (2 * ranks, 60), (3, 24)):
            free = shard(config, ranks, sequences, length)
            for share in range(40, 101, 12):
                plan = shard(config, ranks, sequences, length, free["planned"]["bytes"] * share // 100)
                if plan and (key := json.dumps([config, plan["layouts"], plan["runs"]])) not in seen:
                    seen.add(key)
                    out.append((config, plan, sequences, length))
    return out


class ExecuteLayouts(unittest.TestCase):
    def test_loss_gradients_and_bytes(self):
        kinds, plans, largest = collections.Counter(), 0, 0
        for ranks in (2, 3, 4):
            cases = cases_of(ranks)
            plans += len(cases)
            for results in support.on_ranks(ranks, run, cases, None, timeout=600):
                for (_, plan, *_), (loss, difference, counted) in zip(cases, results):
                    self.assertLess(loss, 1e-12)
                    self.assertLess(difference, 1e-12)
                    largest = max(largest, difference)
                    self.assertEqual(counted, planned_bytes(plan))
                    for part, sums in counted.items():
                        kinds.update((part, kind) for kind in sums)
        print(f"{plans} plans: gradients differ by {largest:.1g}; {dict(kinds)}")
        self.assertGreater(plans, 30)
        for kind in ("all_reduce", "all_gather", "reduce_scatter", "all_to_all"):
            self.assertIn(("forward", kind), kinds)
            self.assertIn(("backward", kind), kinds)

    def test_a_changed_weight_is_found(self):
        cases = cases_of(2)[:2]
        for results in support.on_ranks(2, run, cases, "weight"):
            for _, difference, _ in results:
                self.assertGreater(difference, 1e-12)


if __name__ == "__main__":
    unittest.main()
