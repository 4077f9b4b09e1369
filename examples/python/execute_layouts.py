# SPDX-License-Identifier: Apache-2.0
"""Trains a step with weights and activations in the layouts that `ballast shard --json` plans, by PyTorch's DTensor.

    plan = json.loads(subprocess.check_output(["ballast", "shard", "--model", "config.json", ..., "--json"]))
    mesh = init_device_mesh("cpu", (plan["group"],))
    weights = distribute(plan, whole_weights, mesh)  # {"layers.0.q": tensor, ...}, rows are numbers that a weight makes
    loss = Step(plan, weights, mesh, head_width=8).loss(tokens, targets)
    loss.backward()
    gradients = reduced(weights)

Each operator works on what its rank holds. `redistribute` brings an activation into the layout that the plan names, and
in the backward pass its gradient back, so every exchange of the plan is one of DTensor. The model is dense, with RMSNorm,
causal attention and a gated block; a norm's weight is named as its operator.
"""

import torch
import torch.distributed as dist
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor

PLACES = {"replicated": Replicate(), "batch": Shard(0), "sequence": Shard(1), "hidden": Shard(2), "partial": Partial()}
SPLIT = ("batch", "sequence", "hidden")
WORDS = {"Replicate()": Replicate(), "Shard(0)": Shard(0), "Shard(1)": Shard(1)}
NORMS = ("attention_norm", "ffn_norm", "norm")


def blocks_of(plan):
    """The layouts of each block of the model in order, each with the prefix of its weights: "layers.0." or ""."""
    layer = 0
    for run in plan["runs"]:
        layouts = plan["layouts"][run["layouts"]]
        for _ in range(run["blocks"]):
            inner = any(o["operator"] == "qkv" for o in layouts["operators"])
            yield layouts, f"layers.{layer}." if inner else ""
            layer += inner


def distribute(plan, whole, mesh):
    """Each weight as a DTensor in its planned layout."""
    words = {}
    for layouts, prefix in blocks_of(plan):
        words |= {prefix + w["weight"]: WORDS[w["dtensor"]] for w in layouts["weights"]}
    return {
        name: distribute_tensor(w, mesh, [words.get(name, Replicate())]).requires_grad_() for name, w in whole.items()
    }


def reduced(weights):
    """The gradients: those of a replicated weight whose ranks saw different tokens are summed."""
    return {name: w.grad.redistribute(placements=w.placements) for name, w in weights.items()}


def effect(weight):
    """The layouts of the gradient that a weight makes of its input, and of its output."""
    layout, reads = weight["layout"], weight["reads"]
    if layout == "replicated":
        return reads, reads
    if layout == "rows":
        return "hidden", "partial"
    if weight["operator"] == "embedding":
        return "replicated", "hidden" if layout == "columns" else "partial"
    return "partial", "hidden"


class SplitLoss(torch.autograd.Function):
    """The summed cross entropy of logits whose vocabulary is split over ranks."""

    @staticmethod
    def forward(ctx, logits, targets, first, group):
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
    def backward(ctx, gradient):
        share, own, at = ctx.saved_tensors
        out = share.clone()
        out.scatter_add_(-1, at[..., None], -own[..., None].to(out.dtype))
        return gradient * out, None, None, None


class Step:
    """A forward pass under a plan."""

    def __init__(self, plan, weights, mesh, head_width):
        self.plan, self.weights, self.mesh, self.head_width = plan, weights, mesh, head_width

    def loss(self, tokens, targets):
        """This rank's part of the mean cross entropy; all of it if the loss is replicated."""
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
                if name in ("proj", "down"):
                    x = [x[0].redistribute(placements=added.placements) + added]
            x = [self.moved(t, layouts["makes"]) for t in x]

    def moved(self, x, layout):
        return x.redistribute(placements=[PLACES[layout]])

    def held(self, local, layout):
        return DTensor.from_local(local, self.mesh, [PLACES[layout]])

    def weight(self, name, reads):
        w = self.weights[name]
        summed = w.placements[0].is_replicate() and reads in SPLIT
        return w.to_local(grad_placements=[Partial() if summed else w.placements[0]])

    def matrices(self, weights, prefix, x, makes):
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
                local = inputs[use].to_local(grad_placements=[PLACES[gradient]]) @ w.T
            out.append(self.moved(self.held(local, made), makes))
        return out

    def embedded(self, tokens, w, weight):
        if weight["reads"] in SPLIT:
            tokens = tokens.chunk(self.mesh.size(), PLACES[weight["reads"]].dim)[self.mesh.get_rank()]
        if weight["layout"] != "vocabulary":
            return w[tokens]
        first = self.mesh.get_rank() * len(w)
        own = (tokens >= first) & (tokens < first + len(w))
        return torch.where(own[..., None], w[torch.where(own, tokens - first, 0)], 0)

    def single(self, name, prefix, inputs, reads):
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

    def loss_of(self, logits, targets, reads):
        count = targets.numel()
        logits = logits.to_local()
        if reads == "hidden":
            first = self.mesh.get_rank() * logits.shape[-1]
            return SplitLoss.apply(logits, targets, first, self.mesh.get_group()) / count
        if reads in SPLIT:
            targets = targets.chunk(self.mesh.size(), PLACES[reads].dim)[self.mesh.get_rank()]
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum") / count
