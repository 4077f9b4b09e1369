# SPDX-License-Identifier: Apache-2.0
"""Runs shards, levels and chunks with PyTorch, on the ranks of torch.distributed.

    groups = Groups()  # once, on every rank
    plan = ballast.plan_shards(lengths, ranks=world, capacity=8192, cost="llama-3.1-8b")
    for work in passes(plan, rank, counts, groups):
        logits = model(tokens[work.token_indices], work.position_ids, work.attention)
        work.loss(logits, labels).backward()
    average(model.parameters())

`tokens` and `labels` hold the samples of the batch one behind the other, on every rank or as a memory map; labels[t] is
what token t predicts, or -100: they are shifted before samples are cut. `counts` are the labels of each sample that
count. The model calls work.attention(q, k, v) in each layer, with tensors of shape [tokens, heads, width].
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor

from ballast import Chunks
from ballast._arguments import named_in

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from ballast import ShardPass, Shards

    Places = NDArray[np.int64]  # rows of tokens: sample and position, and perhaps the group
    Keys = Callable[[int], dict[int, Places]]  # of a group: of each rank, what it holds

__all__ = ["Groups", "Work", "average", "chains", "passes", "shifted_labels", "train_chain"]


class Groups:
    """The process groups of ranks that share samples, made once and kept.

    These are all aligned groups of 2, 4, 8, ... neighbouring ranks and of further `widths`, such as the SP degrees of
    levels. Every rank makes them, in the same order; each may take seconds and memory where NCCL connects it.

    With `any_ranks` none is made: messages go from rank to rank in the group of all ranks, so that any of them may
    share a sample, as method="bytescale" plans. That is the default where no widths are given and the number of ranks
    is no power of two, for which plans have groups of all sizes.
    """

    def __init__(self, widths: Iterable[int] = (), any_ranks: bool | None = None) -> None:
        widths, ranks = tuple(widths), dist.get_world_size() if dist.is_initialized() else 1
        self._any = ranks & (ranks - 1) != 0 and not widths if any_ranks is None else any_ranks
        self._ranks = 1 if self._any else ranks
        sizes = {1 << k for k in range(1, self._ranks.bit_length())} | {int(width) for width in widths}
        self._made: dict[tuple[int, ...], Any] = {}  # process groups, or what stands for those of other ranks
        for width in sorted(sizes - {1}):
            for first in range(0, self._ranks - width + 1, width):
                members = tuple(range(first, first + width))
                self._made[members] = dist.new_group(list(members))

    def __len__(self) -> int:
        return len(self._made)

    def of(self, ranks: Iterable[int]) -> dist.ProcessGroup | None:
        """The process group in which some ranks, ascending, exchange. Raises ValueError if there is none."""
        ranks = tuple(int(rank) for rank in ranks)
        if self._any:
            return None  # of all ranks
        if ranks not in self._made:
            raise ValueError(
                f"ranks {list(ranks)} share samples, but there is no process group of them: groups are blocks of "
                f"{sorted({len(made) for made in self._made})} neighbouring "
                "ranks; give Groups more widths or any_ranks=True, or plan by another method"
            )
        group: dist.ProcessGroup = self._made[ranks]
        return group


class _Ring:
    """The rows of a pass that attend to each other: those of one rank, or of all ranks of a group."""

    def __init__(
        self,
        rows: ArrayLike,
        queries: Places,
        keys: Sequence[Places],
        ranks: list[int],
        me: int,
        group: dist.ProcessGroup | None,
        device: Any,
    ) -> None:
        self.rows = torch.as_tensor(rows, device=device)  # places in the row of the pass
        self.queries = torch.as_tensor(queries, device=device)  # sample and position of each
        self.keys = [torch.as_tensor(held, device=device) for held in keys]  # of each rank: the same of its keys
        self.ranks, self.me, self.group = ranks, me, group

    def blocks(self, *mine: Tensor) -> Generator[tuple[int, Tensor], Tensor | None, None]:
        """Whose keys are here, and the keys: this rank's first, then the others as they come round the ring.

        Send back what should travel on with them; the last that comes is what the others made of this rank's own.
        """
        n, here = len(self.ranks), torch.stack(mine)
        for step in range(n):
            owner = (self.me - step) % n
            changed = yield owner, here
            here = self._passed_on(here if changed is None else changed, len(self.keys[(owner - 1) % n]))
        yield self.me, here

    def _passed_on(self, block: Tensor, rows: int) -> Tensor:
        n = len(self.ranks)
        if n == 1:
            return block
        come = block.new_empty((len(block), rows, *block.shape[2:]))
        after, before = self.ranks[(self.me + 1) % n], self.ranks[(self.me - 1) % n]
        sending = dist.P2POp(dist.isend, block.contiguous(), after, self.group)
        for work in dist.batch_isend_irecv([sending, dist.P2POp(dist.irecv, come, before, self.group)]):
            work.wait()
        return come

    def seen(self, owner: int) -> Tensor:
        """Which keys of a rank each of our rows may see: those of its sample that are not behind it."""
        mine, theirs = self.queries, self.keys[owner]
        return (mine[:, :1] == theirs[None, :, 0]) & (mine[:, 1:] >= theirs[None, :, 1])


class _Gathered(_Ring):
    """The keys of several ranks that have all come here, one rank's behind the other's."""

    def blocks(self, *mine: Tensor) -> Generator[tuple[int, Tensor], Tensor | None, None]:
        here = list(torch.split(torch.stack(mine), [len(held) for held in self.keys], 1))
        for owner, block in enumerate(here):
            changed = yield owner, block
            here[owner] = block if changed is None else changed
        yield 0, torch.cat(here, 1)


class _RingAttention(torch.autograd.Function):
    """Causal attention of samples of any length. Parts are merged by their log-sum-exp, and scores computed again."""

    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, ring: _Ring) -> Tensor:
        out: Tensor | None = None
        lse: Tensor | None = None
        scale = q.shape[-1] ** -0.5
        blocks = ring.blocks(k, v)
        for _ in ring.ranks:
            owner, (keys, values) = next(blocks)
            scores = torch.einsum("qhd,khd->hqk", q, keys) * scale
            scores = scores.masked_fill(~ring.seen(owner), -torch.inf)
            part_lse = scores.logsumexp(-1)  # of each head and row; -inf where nothing is seen
            part = torch.einsum("hqk,khd->qhd", (scores - part_lse[..., None]).exp().nan_to_num(), values)
            if out is None or lse is None:
                out, lse = part, part_lse
            else:
                both = torch.logaddexp(lse, part_lse)  # -inf while nothing was seen; nan_to_num makes such parts 0
                old, new = ((each - both).exp().nan_to_num().T[..., None] for each in (lse, part_lse))
                out, lse = out * old + part * new, both
        ctx.save_for_backward(q, k, v, out, lse)
        ctx.ring, ctx.scale = ring, scale
        assert out is not None
        return out

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        (d_out,) = grad_outputs
        q, k, v, out, lse = ctx.saved_tensors
        ring, d_q = ctx.ring, torch.zeros_like(q)  # every row sees itself, so lse is finite
        mean = (d_out * out).sum(-1).T[..., None]
        blocks = ring.blocks(k, v, torch.zeros_like(k), torch.zeros_like(v))
        owner, (keys, values, d_keys, d_values) = next(blocks)
        for _ in ring.ranks:  # gradients travel with their keys and values, and are home in the end
            scores = torch.einsum("qhd,khd->hqk", q, keys) * ctx.scale
            p = (scores - lse[..., None]).exp().masked_fill(~ring.seen(owner), 0)
            d_values = d_values + torch.einsum("hqk,qhd->khd", p, d_out)
            d_scores = p * (torch.einsum("qhd,khd->hqk", d_out, values) - mean) * ctx.scale
            d_q = d_q + torch.einsum("hqk,khd->qhd", d_scores, keys)
            d_keys = d_keys + torch.einsum("hqk,qhd->khd", d_scores, q)
            owner, (keys, values, d_keys, d_values) = blocks.send(torch.stack((keys, values, d_keys, d_values)))
        return d_q, d_keys, d_values, None


class _Exchange(torch.autograd.Function):
    """Sends rows to all ranks, so many to each, and gets so many of each; gradients go the way back."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, sent: list[int], received: list[int]) -> Tensor:
        ctx.sent, ctx.received = sent, received
        come = rows.new_empty((sum(received), *rows.shape[1:]))
        dist.all_to_all_single(come, rows.contiguous(), received, sent)
        return come

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, None, None]:
        (d_come,) = grad_outputs
        return _Exchange.apply(d_come, ctx.received, ctx.sent), None, None


class Work:
    """A pass of a rank as tensors: `token_indices`, `position_ids` and `weights` of its row, and `cu_seqlens`."""

    def __init__(
        self, of: ShardPass, weights: NDArray[np.float64], rings: Sequence[_Ring], device: Any = None
    ) -> None:
        self.pieces = of.pieces
        self.cu_seqlens = torch.as_tensor(of.cu_seqlens, device=device)
        self.position_ids = torch.as_tensor(of.position_ids, device=device)
        self.token_indices = torch.as_tensor(of.token_indices(), device=device)
        self.weights = torch.as_tensor(np.repeat(weights, of.pieces[:, 2] - of.pieces[:, 1]), device=device)
        self._rings = rings

    def attention(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Causal attention within samples, over all ranks that share them; tensors are [tokens, heads, width]."""
        out = torch.empty_like(q)
        for ring in self._rings:
            part = _RingAttention.apply(q[ring.rows], k[ring.rows], v[ring.rows], ring)
            out = out.index_copy(0, ring.rows, part)
        return out

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """The sum of token losses, weighted so that the mean of all ranks' gradients is that of the batch."""
        here = labels[self.token_indices]
        each = torch.nn.functional.cross_entropy(logits, here, reduction="none", ignore_index=-100)
        return (each * self.weights.to(each.dtype)).sum()


class _Served(Work):
    """A pass of which other ranks compute some attention: queries, keys and values go there, and results come back."""

    def __init__(
        self, of: ShardPass, weights: NDArray[np.float64], plan: Shards, rank: int, number: int, device: Any
    ) -> None:
        super().__init__(of, weights, [], device)
        ranks = range(plan.ranks)
        starts = np.concatenate([[0], np.cumsum(plan.lengths)])
        home, place = np.full((2, int(starts[-1])), -1)  # of each token: the rank that holds it, and its row there
        for r in ranks:
            held = plan.passes_of(r)[number].token_indices()
            home[held], place[held] = r, np.arange(len(held))
        tasks = plan.attention[plan.attention[:, 1] == number]

        def by_home(server: int) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
            """Of each rank, the queries and the keys that a server needs of it, as tokens."""
            asked, held = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
            for _, _, sample, _, begin, end, tail, tail_end in tasks[tasks[:, 0] == server].tolist():
                at = np.r_[begin:end, tail:tail_end]
                asked.append(starts[sample] + at)
                held.append(starts[sample] + np.arange(at.max() + 1))
            queries, keys = np.concatenate(asked), np.unique(np.concatenate(held))
            return [(queries[home[queries] == r], keys[home[keys] == r]) for r in ranks]

        def sample_and_position(at: NDArray[np.int64]) -> Places:
            sample = np.searchsorted(starts, at, side="right") - 1
            return np.stack([sample, at - starts[sample]], axis=1)

        needs, own = [by_home(server) for server in ranks], len(of.position_ids)
        mine, ours = needs[rank], [need[rank] for need in needs]  # what comes here, and what goes to each server
        self._go = [np.concatenate([place[q], own + place[k], 2 * own + place[k]]) for q, k in ours]
        self._come = [[len(q), len(k), len(k)] for q, k in mine]
        self._back = [len(q) for q, _ in mine], [len(q) for q, _ in ours]
        self._rows = torch.as_tensor(np.concatenate([place[q] for q, _ in ours]), device=device)
        queries = sample_and_position(np.concatenate([q for q, _ in mine]))
        self._ring = _Gathered([], queries, [sample_and_position(k) for _, k in mine], list(ranks), 0, None, device)

    def attention(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        rows = torch.cat([q, k, v])[np.concatenate(self._go)]
        come = _Exchange.apply(rows, [len(each) for each in self._go], [sum(each) for each in self._come])
        parts = come.split(sum(self._come, []))  # of each rank: queries, keys, values
        out = _RingAttention.apply(*(torch.cat(parts[kind::3]) for kind in range(3)), self._ring)
        return torch.empty_like(q).index_copy(0, self._rows, _Exchange.apply(out, *self._back))


def _rows_of(pieces: NDArray[np.int64]) -> Places:
    """Sample, position and group of each token of some pieces."""
    if not len(pieces):
        return np.zeros((0, 3), np.int64)
    each = [np.stack([np.full(e - b, s), np.arange(b, e), np.full(e - b, g)], axis=1) for s, b, e, g in pieces.tolist()]
    return np.concatenate(each)


def passes(
    plan: Shards, rank: int, counts: ArrayLike, groups: Groups, preset: str = "hf", device: Any = None
) -> Iterator[Work]:
    """The passes of a rank, one after the other. All ranks of a group must come to their pass with it.

    `counts` are the labels of each sample that count. With `preset` the gradient is that of a framework's loss
    (`ballast.loss_presets()`), whose scope must be the step.
    """
    _refuse_chains(plan)
    made = plan.passes_of(rank)
    weights = plan.weights_of(rank, counts, preset)
    if len(plan.attention):  # a pass on every rank at a time
        for number, each in enumerate(made):
            yield _Served(each, weights[number], plan, rank, number, device)
        return
    keys = _keys_of(plan, groups)
    for each, weight in zip(made, weights):
        yield Work(each, weight, _rings(each, keys, rank, groups, device), device)


def _refuse_chains(plan: Shards) -> None:
    """Raises ValueError, on every rank, if several passes of a rank hold tokens of one sample."""
    ends = plan.pass_offsets.astype(np.int64)
    number = np.repeat(np.arange(len(ends) - 1), ends[1:] - ends[:-1])
    owner = np.searchsorted(plan.rank_offsets, number, side="right") - 1
    places = np.unique(np.stack([owner, plan.pieces[:, 0], number], axis=1), axis=0)
    again = np.flatnonzero((places[1:, :2] == places[:-1, :2]).all(axis=1))
    if len(again):
        rank, sample, _ = places[again[0]].tolist()
        raise ValueError(
            f"sample {sample} is in several passes of rank {rank}, of which later ones need the keys of earlier ones: "
            "train the chains of ballast.execute.chains(plan, ...), each by train_chain"
        )


def _keys_of(plan: Shards, groups: Groups) -> Keys:
    """A function of a group: its ranks, and sample and position of the tokens that each of them holds."""
    for ranks in plan.groups:
        groups.of(ranks)  # raises an error on every rank, or on none

    @functools.cache
    def keys(group: int) -> dict[int, Places]:
        pieces = {rank: plan.pieces[_span(plan, rank)] for rank in plan.groups[group].tolist()}
        return {rank: _rows_of(held[held[:, 3] == group])[:, :2] for rank, held in pieces.items()}

    return keys


def _rings(
    each: ShardPass, keys: Keys, rank: int, groups: Groups, device: Any, earlier: Sequence[ShardPass] = ()
) -> list[_Ring]:
    """The rings of a pass. Queries also see what the `earlier` passes of its chain hold, whose keys come first."""
    rows, rings = _rows_of(each.pieces), []
    for group in sorted(set(rows[:, 2].tolist())):
        mine = np.flatnonzero(rows[:, 2] == group)
        if group < 0:
            held = {rank: np.concatenate([_rows_of(part.pieces)[:, :2] for part in earlier] + [rows[mine, :2]])}
        else:
            numbers = [int(part.pieces[0, 3]) for part in earlier] + [group]
            held = {r: np.concatenate([keys(number)[r] for number in numbers]) for r in keys(group)}
        ranks = list(held)
        among = groups.of(ranks) if group >= 0 else None
        rings.append(_Ring(mine, rows[mine, :2], list(held.values()), ranks, ranks.index(rank), among, device))
    return rings


def _span(plan: Shards, rank: int) -> slice:
    """The pieces of a rank, as a slice of those of the plan."""
    first, last = plan.rank_offsets[rank], plan.rank_offsets[rank + 1]
    return slice(int(plan.pass_offsets[first]), int(plan.pass_offsets[last]))


def average(parameters: Iterable[torch.nn.Parameter], group: dist.ProcessGroup | None = None) -> None:
    """Replaces gradients by their mean over all ranks, as DistributedDataParallel does."""
    for parameter in parameters:
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
        if dist.is_initialized():
            dist.all_reduce(parameter.grad, group=group)
            parameter.grad /= dist.get_world_size(group)


def shifted_labels(samples: Sequence[Tensor], ignored: int = -100) -> Tensor:
    """What each token of some samples, one behind the other, predicts: the next token of its sample, or nothing."""
    return torch.cat([torch.cat([sample[1:], sample.new_full((1,), ignored)]) for sample in samples])


def _gradient(leaf: Tensor) -> Tensor:
    assert leaf.grad is not None
    return leaf.grad


class _Chunk(Work):
    """A chunk of a chain, which attends to the keys and values that earlier chunks have left."""

    def __init__(
        self,
        of: ShardPass,
        weights: NDArray[np.float64],
        rings: Sequence[_Ring],
        chain: Sequence[_Chunk],
        place: int,
        device: Any,
    ) -> None:
        super().__init__(of, weights, rings, device)
        self._chain, self._place = chain, place
        self._layers: list[tuple[Tensor, ...]] = []  # of the forward pass that runs
        self._loss: Tensor | None = None
        self.kept: list[tuple[Tensor, Tensor]] = []  # of each layer: this chunk's keys and values
        self.live: list[tuple[Tensor, ...]] | None = None  # of each layer: keys and values of the graph, and those of earlier chunks as its leaves
        self.left: list[list[Tensor]] | None = None  # of each layer: what later chunks have added to the gradients of keys and values

    def attention(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        layer, earlier = len(self._layers), self._chain[: self._place]
        past = [torch.cat([chunk.kept[layer][i] for chunk in earlier]) if earlier else k[:0].detach() for i in (0, 1)]
        past = [leaf.requires_grad_(torch.is_grad_enabled()) for leaf in past]
        self._layers.append((k, v, *past))
        if not earlier:
            return super().attention(q, k, v)
        (ring,) = self._rings  # a chunk of several holds tokens of one sample
        out: Tensor = _RingAttention.apply(q, torch.cat([past[0], k]), torch.cat([past[1], v]), ring)
        return out

    def forward(self, loss_of: Callable[[Work], Tensor], keep: bool) -> None:
        self._layers = []
        with torch.set_grad_enabled(keep):
            self._loss = loss_of(self)
        self.kept = [(k.detach(), v.detach()) for k, v, *_ in self._layers]
        self.live, self._layers = self._layers if keep else None, []
        if not keep:
            self._loss = None

    def backward(self) -> None:
        """Runs backward with the gradients that later chunks left, and leaves some to earlier chunks."""
        assert self.live is not None and self._loss is not None, "the forward pass of this chunk was not kept"
        outputs: list[Tensor] = [self._loss]
        gradients: list[Tensor | None] = [None]
        for (k, v, *_), left in zip(self.live, self.left or []):
            outputs += [k, v]
            gradients += left
        torch.autograd.backward(outputs, gradients)
        at = 0
        for chunk in self._chain[: self._place]:
            end = at + len(chunk.position_ids)
            new = [[_gradient(leaf)[at:end] for leaf in past] for _, _, *past in self.live]
            chunk.left = new if chunk.left is None else [[a + b for a, b in zip(*two)] for two in zip(chunk.left, new)]
            at = end
        self.live = self._loss = self.left = None
        self.kept = []


def chains(
    plan: Chunks | Shards,
    rank: int,
    counts: ArrayLike,
    preset: str = "hf",
    device: Any = None,
    groups: Groups | None = None,
) -> Iterator[list[_Chunk]]:
    """The chains of a rank as lists of chunks, for `train_chain`. `plan` is what ballast.chunks returned, or what
    ballast.plan_shards did by method="chunkflow", whose samples several ranks may share: these exchange in `groups`."""
    shards, groups = plan.shards if isinstance(plan, Chunks) else plan, groups or Groups(any_ranks=True)
    weights, keys = iter(shards.weights_of(rank, counts, preset)), _keys_of(shards, groups)
    lists: list[list[ShardPass]] = []
    for each in shards.passes_of(rank):
        if lists and set(lists[-1][-1].samples.tolist()) & set(each.samples.tolist()):
            lists[-1].append(each)
        else:
            lists.append([each])
    for parts in lists:
        chain: list[_Chunk] = []
        for place, each in enumerate(parts):
            rings = _rings(each, keys, rank, groups, device, parts[:place])
            chain.append(_Chunk(each, next(weights), rings, chain, place, device))
        yield chain


def train_chain(
    chain: Sequence[_Chunk], tasks: Iterable[tuple[int, str]], loss_of: Callable[[Work], Tensor]
) -> int:
    """Runs a chain forward and backward; loss_of(chunk) is the loss of a forward pass. `tasks` are those of
    `plan.tasks(len(chain))`, or of ballast.retained_tasks(len(chain)).

    Returns the most chunks whose activations lived at once.
    """
    most = 0
    for place, task in tasks:
        if task == "backward":
            chain[place].backward()
        else:
            chain[place].forward(loss_of, keep=task != "forward_drop")
        most = max(most, sum(chunk.live is not None for chunk in chain))
    return most


named_in(globals())
