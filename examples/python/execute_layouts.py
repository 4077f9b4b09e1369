# SPDX-License-Identifier: Apache-2.0
"""Trains a step with weights and activations in the layouts that `ballast shard --json` plans, by PyTorch's DTensor.

    plan = json.loads(subprocess.check_output(["ballast", "shard", "--model", "config.json", ..., "--json"]))
    mesh = Mesh(plan)
    weights = distribute(plan, whole_weights, mesh)  # {"layers.0.q": tensor, ...}, rows are numbers that a weight makes
    loss = Step(plan, weights, mesh, head_width=8).loss(tokens, targets)  # tokens of this rank's group
    loss.backward()
    gradients = reduced(weights, mesh)

Each operator works on what its rank holds. `redistribute` brings an activation into the layout that the plan names, and
in the backward pass its gradient back, so every exchange of the plan is one of DTensor, but for those to experts and
back. The model has RMSNorm, causal attention, and a gated block or experts of which a router takes `active` for a token;
a norm's weight is named as its operator. Experts are one weight of [experts, 3, inner width, width].
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed._functional_collectives import all_to_all_single_autograd
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor

PLACES = {"replicated": Replicate(), "batch": Shard(0), "sequence": Shard(1), "hidden": Shard(2), "partial": Partial()}
SPLIT = ("batch", "sequence", "hidden")
WORDS = {"Replicate()": Replicate(), "Shard(0)": Shard(0), "Shard(1)": Shard(1)}
NORMS = ("attention_norm", "ffn_norm", "norm")


class Mesh:
    """The ranks: `group` shares tokens and weights, `others` have the same place in other groups, and `everyone`."""

    def __init__(self, plan: dict[str, Any], device: str = "cpu") -> None:
        self.groups = plan["ranks"] // plan["group"]
        both = init_device_mesh(device, (self.groups, plan["group"]), mesh_dim_names=("data", "group"))
        self.group, self.others = both["group"], both["data"]
        self.everyone = init_device_mesh(device, (plan["ranks"],))

    @property
    def number(self) -> int:
        """Which group this rank is in: it trains the tokens of this group."""
        return self.others.get_local_rank()


def blocks_of(plan: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """The layouts of each block of the model in order, each with the prefix of its weights: "layers.0." or ""."""
    layer = 0
    for run in plan["runs"]:
        layouts = plan["layouts"][run["layouts"]]
        for _ in range(run["blocks"]):
            inner = any(o["operator"] == "qkv" for o in layouts["operators"])
            yield layouts, f"layers.{layer}." if inner else ""
            layer += inner


def distribute(plan: dict[str, Any], whole: dict[str, Tensor], mesh: Mesh) -> dict[str, DTensor]:
    """Each weight as a DTensor in its planned layout."""
    words = {}
    for layouts, prefix in blocks_of(plan):
        words |= {prefix + w["weight"]: WORDS[w["dtensor"]] for w in layouts["weights"]}
    return {
        name: distribute_tensor(w, mesh.group, [words.get(name, Replicate())]).requires_grad_() for name, w in whole.items()
    }


def reduced(weights: dict[str, DTensor], mesh: Mesh) -> dict[str, DTensor]:
    """The gradients, summed over all ranks whose copies of a weight saw other tokens: all, or those of other groups."""
    out = {}
    for name, w in weights.items():
        over = mesh.everyone if w.grad.placements[0].is_partial() else mesh.others
        summed = DTensor.from_local(w.grad.to_local(), over, [Partial()]).redistribute(placements=[Replicate()])
        out[name] = DTensor.from_local(summed.to_local(), mesh.group, w.placements)
    return out


def effect(weight: dict[str, str]) -> tuple[str, str]:
    """The layouts of the gradient that a weight makes of its input, and of its output."""
    layout, reads = weight["layout"], weight["reads"]
    if layout in ("replicated", "experts"):
        return reads, reads
    if layout == "rows":
        return "hidden", "partial"
    if weight["operator"] == "embedding":
        return "replicated", "hidden" if layout == "columns" else "partial"
    return "partial", "hidden"


class SplitLoss(torch.autograd.Function):
    """The summed cross entropy of logits whose vocabulary is split over ranks."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, targets: Tensor, first: int, group: dist.ProcessGroup) -> Tensor:
        most = logits.amax(-1)
        dist.all_reduce(most, dist.ReduceOp.MAX, group)
        e = (logits - most[..., None]).exp()
        own = (targets >= first) & (targets < first + logits.shape[-1])
        at = torch.where(own, targets - first, 0)
        both = torch.stack([e.sum(-1), torch.where(own, logits.gather(-1, at[..., None])[..., 0], 0)])
        dist.all_reduce(both, group=group)
        ctx.save_for_backward(e / both[0, ..., None], own, at)
        return (both[0].log() + most - both[1]).sum()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None, None]:
        share, own, at = ctx.saved_tensors
        out = share.clone()
        out.scatter_add_(-1, at[..., None], -own[..., None].to(out.dtype))
        return gradient * out, None, None, None


def computed(rows: Tensor, counts: Tensor, w: Tensor) -> Tensor:
    """What experts make of rows that lie by sender, then expert: counts[sender, expert] of each."""
    expert = torch.arange(len(w)).repeat(len(counts)).repeat_interleave(counts.flatten())
    order = expert.argsort(stable=True)
    parts = rows[order].split(counts.sum(0).tolist())
    made = [(torch.nn.functional.silu(x @ gate.T) * (x @ up.T)) @ down for x, (gate, up, down) in zip(parts, w)]
    return torch.cat(made)[order.argsort()]


class Step:
    """A forward pass under a plan."""

    def __init__(
        self, plan: dict[str, Any], weights: dict[str, DTensor], mesh: Mesh, head_width: int, active: int = 0
    ) -> None:
        self.plan, self.weights, self.mesh, self.groups = plan, weights, mesh.group, mesh.groups
        self.head_width, self.active = head_width, active

    def loss(self, tokens: Tensor, targets: Tensor) -> Tensor:
        """This rank's part of the mean cross entropy over all groups; that of its group if the loss is replicated."""
        x, added = [tokens], None
        for layouts, prefix in blocks_of(self.plan):
            for operator in layouts["operators"]:
                name = operator["operator"]
                if "residual" in operator:
                    added = self.moved(x[0], operator["residual"])
                    x = [added]
                if name == "loss":
                    return self.loss_of(self.moved(x[0], operator["reads"]), targets, operator["reads"])
                if "reads" in operator:
                    inputs = [self.moved(t, operator["reads"]).to_local() for t in x]
                    x = [self.held(self.single(name, prefix, inputs, operator["reads"]), operator["makes"])]
                else:
                    matrices = [w for w in layouts["weights"] if w["operator"] == name]
                    x = self.matrices(matrices, prefix, x[0], operator["makes"])
                if name in ("proj", "down", "experts"):
                    x = [x[0].redistribute(placements=added.placements) + added]
            x = [self.moved(t, layouts["makes"]) for t in x]

    def moved(self, x: Tensor, layout: str) -> DTensor:
        return x.redistribute(placements=[PLACES[layout]])

    def held(self, local: Tensor, layout: str) -> DTensor:
        return DTensor.from_local(local, self.mesh, [PLACES[layout]])

    def weight(self, name: str, reads: str) -> Tensor:
        w = self.weights[name]
        summed = w.placements[0].is_replicate() and reads in SPLIT
        return w.to_local(grad_placements=[Partial() if summed else w.placements[0]])

    def matrices(self, weights: list[dict[str, str]], prefix: str, x: Tensor, makes: str) -> list[DTensor]:
        """What the matrices of an operator make of its input, which each of them reads in its own layout."""
        inputs, out = {}, []
        for weight in weights:
            gradient, made = effect(weight)
            use = weight["reads"], gradient
            w = self.weight(prefix + weight["weight"], weight["reads"])
            if weight["operator"] == "embedding":
                local = self.embedded(x, w, weight)
            else:
                if use not in inputs:
                    inputs[use] = self.moved(x, use[0])
                local = inputs[use].to_local(grad_placements=[PLACES[gradient]])
                if weight["operator"] == "experts":
                    router = self.weight(prefix + "router", weight["reads"])
                    local = self.sent_to_experts(local, w, router, weight["layout"] == "experts")
                else:
                    local = local @ w.T
            out.append(self.moved(self.held(local, made), makes))
        return out

    def embedded(self, tokens: Tensor, w: Tensor, weight: dict[str, str]) -> Tensor:
        if weight["reads"] in SPLIT:
            tokens = tokens.chunk(self.mesh.size(), PLACES[weight["reads"]].dim)[self.mesh.get_local_rank()]
        if weight["layout"] != "vocabulary":
            return w[tokens]
        first = self.mesh.get_local_rank() * len(w)
        own = (tokens >= first) & (tokens < first + len(w))
        return torch.where(own[..., None], w[torch.where(own, tokens - first, 0)], 0)

    def sent_to_experts(self, x: Tensor, w: Tensor, router: Tensor, split: bool) -> Tensor:
        """What experts make of the tokens that this rank holds, wherever the experts are."""
        flat = x.flatten(0, 1)
        scores, chosen = (flat @ router.T).topk(self.active)
        order = chosen.flatten().argsort(stable=True)  # rows by expert: a token has one for each that it is sent to
        rows, counts = flat[order // self.active], chosen.flatten().bincount(minlength=len(router))
        if split:
            sent = counts.view(self.mesh.size(), -1)  # of each rank and each of its experts
            come = torch.empty_like(sent)
            group = self.mesh.get_group()
            dist.all_to_all_single(come, sent, group=group)
            there, back = come.sum(1).tolist(), sent.sum(1).tolist()
            rows = all_to_all_single_autograd(rows, there, back, group)
            made = all_to_all_single_autograd(computed(rows, come, w), back, there, group)
        else:
            made = computed(rows, counts[None], w)
        made = made * scores.softmax(-1).flatten()[order, None]
        return torch.zeros_like(flat).index_add(0, order // self.active, made).view_as(x)

    def single(self, name: str, prefix: str, inputs: list[Tensor], reads: str) -> Tensor:
        """An operator without matrices, on what this rank holds."""
        if name in NORMS:
            (x,) = inputs
            return x * (x.square().mean(-1, keepdim=True) + 1e-6).rsqrt() * self.weight(prefix + name, reads)
        if name == "activation":
            gate, up = inputs
            return torch.nn.functional.silu(gate) * up
        q, k, v = (t.unflatten(-1, (-1, self.head_width)).transpose(1, 2) for t in inputs)
        k, v = (t.repeat_interleave(q.shape[1] // t.shape[1], 1) for t in (k, v))
        scores = (q @ k.mT) * self.head_width**-0.5
        later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        return (scores.masked_fill(later, -torch.inf).softmax(-1) @ v).transpose(1, 2).flatten(-2)

    def loss_of(self, logits: DTensor, targets: Tensor, reads: str) -> Tensor:
        count = targets.numel() * self.groups
        logits = logits.to_local()
        if reads == "hidden":
            first = self.mesh.get_local_rank() * logits.shape[-1]
            return SplitLoss.apply(logits, targets, first, self.mesh.get_group()) / count
        if reads in SPLIT:
            targets = targets.chunk(self.mesh.size(), PLACES[reads].dim)[self.mesh.get_local_rank()]
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum") / count
