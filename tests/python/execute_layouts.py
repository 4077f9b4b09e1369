# SPDX-License-Identifier: Apache-2.0
"""Trains under the layouts of `ballast shard` on gloo ranks. Run by scripts/test-python; $BALLAST is the program.

Loss and gradients must equal those of one process, and the bytes of each kind of collective those of the plan, with as
many ranks in each."""

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
from torch.distributed.distributed_c10d import _resolve_process_group
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
EXPERTS = {**CONFIG, "model_type": "mixtral", "num_hidden_layers": 2, "num_local_experts": 4, "num_experts_per_tok": 2}


def shard(config, ranks, sequences, length, memory=None, group=None):
    """A plan, or None if it does not fit."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "config.json"
        path.write_text(json.dumps(config))
        command = [os.environ["BALLAST"], "shard", "--model", path, "--ranks", ranks, "--tokens", sequences * length]
        command += ["--length", length, "--json"] + (["--memory", memory] if memory else [])
        command += ["--group", group] if group else []
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
        assert done.returncode in (0, 3), done.stderr
        return json.loads(done.stdout) if done.returncode == 0 else None


def whole_weights(config):
    torch.manual_seed(5)
    hidden, ffn, vocabulary = config["hidden_size"], config["intermediate_size"], config["vocab_size"]
    kv, q = (config[f"num_{k}_heads"] * config["head_dim"] for k in ("key_value", "attention"))
    shapes = {"embedding": (vocabulary, hidden), "norm": (hidden,), "head": (vocabulary, hidden)}
    for layer in range(config["num_hidden_layers"]):
        inner = {"q": (q, hidden), "k": (kv, hidden), "v": (kv, hidden), "proj": (hidden, q)}
        inner |= {"attention_norm": (hidden,), "ffn_norm": (hidden,)}
        if experts := config.get("num_local_experts"):
            inner |= {"router": (experts, hidden), "experts": (experts, 3, ffn, hidden)}
        else:
            inner |= {"gate": (ffn, hidden), "up": (ffn, hidden), "down": (hidden, ffn)}
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
        if at + "experts" in w:
            scores = h @ w[at + "router"].T
            chosen = scores.topk(config["num_experts_per_tok"]).indices
            gates = torch.full_like(scores, -torch.inf).scatter(-1, chosen, scores.gather(-1, chosen)).softmax(-1)
            for gate, (g, u, d) in zip(gates.unbind(-1), w[at + "experts"]):  # every expert sees every token
                x = x + gate[..., None] * ((F.silu(h @ g.T) * (h @ u.T)) @ d)
            continue
        x = x + (F.silu(h @ w[at + "gate"].T) * (h @ w[at + "up"].T)) @ w[at + "down"].T
    loss = F.cross_entropy((norm(x, "norm") @ w["head"].T).flatten(0, 1), targets.flatten())
    loss.backward()
    return loss.detach(), {name: t.grad for name, t in w.items()}


class Bytes(TorchDispatchMode):
    """Counts what functional collectives move, by kind and number of ranks. Over gloo DTensor makes an all-to-all of an
    all-gather, which is counted as what it stands for. Of rows that go to experts or come back, those that a rank sends
    count."""

    def __init__(self):
        super().__init__()
        self.sums, self.inside = collections.Counter(), False

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        if any(issubclass(t, DTensor) for t in types):
            return NotImplemented  # what it does to its parts comes here again
        kind = function._schema.name.removeprefix("_c10d_functional::")
        kinds = ("all_reduce", "all_gather_into_tensor", "reduce_scatter_tensor", "all_to_all_single")
        if kind in kinds and not self.inside:
            ranks = _resolve_process_group(arguments[-1]).size()
            bytes = arguments[0].nbytes * (ranks if kind.startswith("all_gather") else 1)
            kind = kind.removesuffix("_into_tensor").removesuffix("_tensor").removesuffix("_single")
            if ranks > 1:
                self.sums[kind, ranks] += bytes
        return function(*arguments, **(keywords or {}))

    def all_to_all(self, original):
        def call(local, gather_dim, shard_dim, mesh, mesh_dim):
            self.sums["all_to_all", mesh.size(mesh_dim)] += local.nbytes
            self.inside = True
            try:
                return original(local, gather_dim, shard_dim, mesh, mesh_dim)
            finally:
                self.inside = False

        return call


def run(rank, ranks, cases, planted):
    """For each case the loss, the largest relative difference of a gradient, and bytes by part of the step and kind."""
    out, meshes = [], {}
    for config, plan, sequences, length in cases:
        if plan["group"] not in meshes:
            meshes[plan["group"]] = execute_layouts.Mesh(plan)
        mesh = meshes[plan["group"]]
        tokens, targets = batch(config, sequences, length)
        weights = execute_layouts.distribute(plan, whole_weights(config), mesh)
        step = execute_layouts.Step(plan, weights, mesh, config["head_dim"], config.get("num_experts_per_tok", 0))
        own = [of.chunk(mesh.groups)[mesh.number] for of in (tokens, targets)]
        loss_place = plan["layouts"][plan["runs"][-1]["layouts"]]["operators"][-1]["reads"]
        if planted == "weight":
            with torch.no_grad():
                weights["layers.1.q"].to_local()[0, 0] += 1e-6
        counted = {}
        original = placement_types.shard_dim_alltoall
        for part in ("forward", "backward", "gradients"):
            with Bytes() as count, unittest.mock.patch.object(
                placement_types, "shard_dim_alltoall", count.all_to_all(original)
            ):
                if part == "forward":
                    loss = step.loss(*own)
                elif part == "backward":
                    loss.backward()
                else:
                    gradients = execute_layouts.reduced(weights, mesh)
            counted[part] = dict(count.sums)
        loss = loss.detach()
        over = mesh.everyone if loss_place in ("batch", "sequence") else mesh.others
        torch.distributed.all_reduce(loss, group=over.get_group())
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
            out[e["pass"]][e["collective"], e["ranks"]] += 4 * e["bytes"]
    return {part: dict(sums) for part, sums in out.items()}


def cases_of(ranks):
    """Plans from the least memory to more than enough, for few and for many tokens, and shapes that split unevenly."""
    odd = {**CONFIG, "intermediate_size": 30, "num_key_value_heads": 2, "vocab_size": 38}
    return plans_of((CONFIG, odd), ranks, ((ranks, 12), (2 * ranks, 60), (3, 24)), range(40, 101, 12))


def plans_of(configs, ranks, sizes, shares, group=None):
    out, seen = [], set()
    for config in configs:
        for sequences, length in sizes:
            free = shard(config, ranks, sequences, length, group=group)
            for share in shares:
                plan = shard(config, ranks, sequences, length, free["planned"]["bytes"] * share // 100, group)
                if plan and (key := json.dumps([config, plan["layouts"], plan["runs"]])) not in seen:
                    seen.add(key)
                    out.append((config, plan, sequences, length))
    return out


def layouts_of(cases, name):
    """How a weight is held, and what it reads, in the plans."""
    places = [w for _, plan, *_ in cases for layouts in plan["layouts"] for w in layouts["weights"] if w["weight"] == name]
    return {(w["layout"], w["reads"]) for w in places}


class ExecuteLayouts(unittest.TestCase):
    def executed(self, what, cases, ranks, kinds):
        """Runs plans on ranks. What ranks exchange is the same on each, but for rows to experts: their mean is planned."""
        largest, results = 0, support.on_ranks(ranks, run, cases, None, timeout=600)
        for (_, plan, *_), *of_ranks in zip(cases, *results):
            planned = planned_bytes(plan)
            for loss, difference, counted in of_ranks:
                self.assertLess(loss, 1e-12)
                self.assertLess(difference, 1e-12)
                largest = max(largest, difference)
                for part, sums in counted.items():
                    kinds.update((part, kind) for kind, _ in sums)
                    self.assertEqual(set(sums), set(planned[part]))
                    for kind, bytes in sums.items():
                        if kind[0] == "all_to_all" and "experts" in dict(layouts_of([(0, plan)], "experts")):
                            bytes = sum(each[2][part][kind] for each in of_ranks) / ranks
                        self.assertEqual(bytes, planned[part][kind], (part, kind))
        print(f"{what} on {ranks} ranks: {len(cases)} plans, gradients differ by {largest:.1g}")
        return len(cases)

    def test_loss_gradients_and_bytes(self):
        kinds, plans = collections.Counter(), 0
        for ranks in (2, 3, 4):
            plans += self.executed("dense", cases_of(ranks), ranks, kinds)
        print(dict(kinds))
        self.assertGreater(plans, 30)
        for kind in ("all_reduce", "all_gather", "reduce_scatter", "all_to_all"):
            self.assertIn(("forward", kind), kinds)
            self.assertIn(("backward", kind), kinds)

    def test_experts(self):
        kinds, places, plans = collections.Counter(), set(), 0
        many = {**EXPERTS, "num_local_experts": 6, "num_experts_per_tok": 1}
        for ranks in (2, 3, 4):  # whole experts are split where the ranks divide them: 4 experts are not split in three
            cases = plans_of((EXPERTS, many), ranks, ((ranks, 12), (2 * ranks, 60), (3, 24)), (36, 60, 100))
            plans += self.executed("experts", cases, ranks, kinds)
            for config, number in ((EXPERTS, 4), (many, 6)):
                held = layouts_of([case for case in cases if case[0] == config], "experts")
                self.assertEqual("experts" in {layout for layout, _ in held}, number % ranks == 0, (ranks, number))
                places |= held
        self.assertIn(("experts", "sequence"), places)
        self.assertIn(("experts", "batch"), places)
        self.assertIn("replicated", {layout for layout, _ in places})
        self.assertGreater(plans, 15)

    def test_meshes(self):
        kinds, plans = collections.Counter(), 0
        for group in (2, 1):
            cases = plans_of((CONFIG, EXPERTS), 4, ((4, 12), (8, 60), (2 * 4, 6)), (36, 60, 100), group)
            self.assertEqual({(plan["ranks"], plan["group"]) for _, plan, *_ in cases}, {(4, group)})
            plans += self.executed(f"groups of {group}", cases, 4, kinds)
            if group == 2:
                self.assertIn("experts", {layout for layout, _ in layouts_of(cases, "experts")})
                ranks = {e["ranks"] for _, plan, *_ in cases for of in plan["layouts"] for e in of["exchanges"]}
                self.assertEqual(ranks, {2, 4})  # of a group, of the same place in two groups, and of all
        self.assertGreater(plans, 8)

    def test_a_changed_weight_is_found(self):
        cases = cases_of(2)[:2] + plans_of((EXPERTS,), 2, ((2, 12),), (100,))
        for results in support.on_ranks(2, run, cases, "weight"):
            for _, difference, _ in results:
                self.assertGreater(difference, 1e-12)


if __name__ == "__main__":
    unittest.main()
