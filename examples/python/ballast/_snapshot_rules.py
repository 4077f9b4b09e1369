# SPDX-License-Identifier: Apache-2.0
"""Says what a block of a memory snapshot is, by its stack and its life. `ballast.snapshot` uses it."""

from __future__ import annotations

import bisect
import functools
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from ._snapshot_trace import ALLOC, OOM, Trace, frames_of

# A stack is known by frames, and a frame by regular expressions for its file and its function. The rules are read from
# the top, and the first that fits a block decides.

_STACKS: dict[str, tuple[tuple[str, str], ...]] = {
    "workspace": (
        ("", r"CUDABlasLtWorkspace|getNewWorkspace|getCurrentCUDABlasHandle|cudnn\w*[wW]orkspace|ncclMemAlloc"),
        (r"transformer_engine/", r"^(get_\w*workspace|get_dummy_wgrads?|initialize_ub)$"),
        (r"megatron/core/utils\.py", r"^get_tensor$"),  # its global buffers
    ),
    "optimizer": (
        (r"torch/optim/|torchao/optim/|bitsandbytes/optim/|apex/optimizers/|torch_optimizer/|deepspeed/ops/adam/", ""),
        (r"megatron/core/optimizer/|transformer_engine/pytorch/optimizers/", ""),
        (r"deepspeed/runtime/(bf16_optimizer|fp16/)", ""),
    ),
    "gradients": (
        ("", r"AccumulateGrad|c10d::Reducer"),
        (r"torch/nn/parallel/distributed\.py", r"_ddp_init_helper"),
        (r"megatron/core/distributed/", r"^__init__$|^_allocate"),
        (r"torch/distributed/fsdp/|deepspeed/runtime/zero/", r"reduce|post_backward|grad"),
    ),
    "parameters": (
        (r"torch/nn/(modules/|parameter\.py)", r"^(__init__|reset_parameters|_apply|convert|to_empty)$"),
        (r"transformers/(modeling_utils|core_model_loading)|safetensors/", ""),
        ("", r"^(from_pretrained|from_config|load_state_dict|_load_from_state_dict)$"),
        (r"megatron/core/|transformer_engine/", r"^(__init__|reset_parameters|_initialize_affine_weight\w*)$"),
        (r"torch/distributed/fsdp/|deepspeed/runtime/zero/", r"gather|unshard|_alloc_padded"),
        (r"torch/nn/parallel/replicate\.py", ""),
    ),
    "head": (
        (r"torch/nn/functional\.py", r"^(cross_entropy|nll_loss|log_softmax)$"),
        (r"torch/nn/modules/loss\.py|transformers/loss/|(megatron/core|liger_kernel)/.*cross_entropy", ""),
        (r"(torchtitan|torchtune)/.*loss", ""),
        ("", r"compute_language_model_loss|[cC]ross_?[eE]ntropy"),
        ("", r"[lL]og_?[sS]oftmax|[nN]ll_?[lL]oss"),
    ),
    "zero": (("", r"^zero_grad"),),
    "backward": (
        ("", r"torch::autograd::Engine|torch::autograd::python::PythonEngine|AccumulateGrad"),
        ("", r"^_?(pre_|post_|_engine_run_)?backward(_step|_hook)?$"),
        (r"torch/utils/checkpoint\.py", r"^(unpack_hook|recompute_fn)$"),
    ),
    "forward": (("", r"^forward$"), (r"torch/nn/(functional\.py|modules/)|torchinductor", "")),
    "model": (
        (r"transformers/models/|/modeling_[^/]*\.py|litgpt/model\.py", r"forward"),
        (r"torchtitan/models/|megatron/core/models/", r"forward|_postprocess"),
    ),
    "matrix": ((r"torch/nn/modules/linear\.py|megatron/core/tensor_parallel/layers\.py", r"^forward$"),),
    "python": ((r"\.py$|^<", ""),),
}
_BIT = {stack: 1 << place for place, stack in enumerate(_STACKS)}
_CUBLAS = (8519680, (32 << 20) + 1024)  # bytes of its workspaces, and of those of Transformer Engine
_CUBLAS_ROUND = (4 << 20, 32 << 20)  # gradients have such sizes, too


class Rule(NamedTuple):
    """A line of the table that sorts blocks into categories. An empty condition always holds."""

    category: str
    stack: str  # the kind of stack that allocated it
    made: str  # in which stages: forward, backward, step, elsewhere, or before the trace
    freed: str  # in these, or by zero_grad; soon: in the run that made it; never, though a step ended; open: not yet
    reason: str
    sizes: tuple[int, ...] = ()  # bytes that were asked for
    like: str = ""  # as many bytes as the largest that this kind of stack allocated


RULES = (
    Rule("workspace", "workspace", "", "", "its stack names a buffer of cuBLAS, NCCL, Megatron or Transformer Engine"),
    Rule("workspace", "", "forward backward", "never open", "not freed, and as large as cuBLAS's workspaces", _CUBLAS),
    Rule("workspace", "", "forward", "never", "not freed after a step, and as large as these", _CUBLAS_ROUND),
    Rule("work", "optimizer", "", "soon", "the optimizer frees it in the same step"),
    Rule("optimizer", "optimizer", "", "", "the optimizer made it and keeps it: moments, main parameters"),
    Rule("gradients", "gradients", "", "", "its stack accumulates or reduces gradients, or makes buffers for them"),
    Rule("parameters", "parameters", "", "", "a module was made, moved or loaded, or a shard was gathered"),
    Rule("head", "head", "", "", "its stack computes logits or a loss"),
    Rule("head", "", "forward", "backward open", "the backward pass frees it; it is as large as logits", like="head"),
    Rule("kept", "", "forward", "backward open", "the forward pass made it, and the backward pass frees it"),
    Rule("work", "", "forward", "soon", "the forward pass frees it itself"),
    Rule("gradients", "", "backward", "forward step zero elsewhere never open", "that pass leaves it"),
    Rule("head", "", "backward", "soon", "the backward pass frees it; it is as large as logits", like="head"),
    Rule("work", "", "backward", "soon", "the backward pass frees it: recomputed, or the gradient of an activation"),
    Rule("states", "", "before", "never", "there before the trace, and never freed: parameters, moments or gradients"),
    Rule("kept", "", "before", "backward", "there before the trace, and the backward pass frees it"),
    Rule("gradients", "", "before", "zero", "there before the trace, and zero_grad frees it"),
    Rule("optimizer", "", "before", "step", "there before the trace, and the optimizer frees it: replaced moments"),
    Rule("unknown", "", "", "", "neither its stack nor its life says what it is"),
)
CATEGORIES = ("parameters", "gradients", "optimizer", "states", "kept", "head", "work", "workspace", "unknown")


@functools.cache
def _patterns() -> tuple[tuple[int, re.Pattern[str], re.Pattern[str]], ...]:
    return tuple(
        (_BIT[stack], re.compile(file), re.compile(name)) for stack, lines in _STACKS.items() for file, name in lines
    )


class Stages:
    """What a stack says, and in which stage of training an entry was made."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.bits_of_frame: dict[int, int] = {}  # by id: frames are shared
        self.bits_of_stack: dict[int, int] = {}
        allocations = [at for at, kind in enumerate(trace.kinds) if kind == ALLOC]
        self.bits = {at: self.of(frames_of(trace.entries[at])) for at in allocations}
        self.recorded = any(bits & _BIT["python"] for bits in self.bits.values())
        pairs = ((frames_of(trace.entries[a]), frames_of(trace.entries[f])) for a, f in trace.freed.items())
        self.frees_tell = self.recorded and any((here or there) and there is not here for here, there in pairs)
        self.starts: list[int] = []  # of a run of one stage
        self.runs: list[str] = []
        for at in allocations:
            stage = self.stage(self.bits[at])
            if stage in ("forward", "backward", "step") and self.runs[-1:] != [stage]:
                self.starts.append(at)
                self.runs.append(stage)
        self.allocations = allocations
        self.sizes: dict[str, set[int]] = {}
        self.failed = [at for at, kind in enumerate(trace.kinds) if kind == OOM]
        ends = "step" if "step" in self.runs else "forward"  # what shows that a training step is over
        self.last_step = max((run for run, stage in enumerate(self.runs, 1) if stage == ends), default=0)

    def sizes_of(self, stack: str) -> set[int]:
        """The bytes that this kind of stack asked for, and half of them, for logits of 16 bits; without small ones."""
        if stack not in self.sizes:
            sizes = {self.trace.sizes[at] for at, bits in self.bits.items() if bits & _BIT[stack]}
            least = max(sizes, default=0) / 4
            self.sizes[stack] = {part for size in sizes if size >= least for part in (size, size // 2)}
        return self.sizes[stack]

    def of(self, frames: Sequence[Any]) -> int:
        """A bit for each kind of stack that these frames show."""
        known = self.bits_of_stack.get(id(frames))
        if known is None:
            known = 0
            cache = self.bits_of_frame
            for frame in frames:
                bits = cache.get(id(frame))
                if bits is None:
                    bits = cache[id(frame)] = _bits_of(frame)
                known |= bits
            if known & _BIT["model"] and not known & (_BIT["head"] | _BIT["backward"]) and self._is_head(frames):
                known |= _BIT["head"]
            if frames:
                self.bits_of_stack[id(frames)] = known
        return known

    def _is_head(self, frames: Sequence[Any]) -> bool:
        """Whether the outermost module of a model computes by itself or by a matrix of its own: these are logits."""
        bits = [self.bits_of_frame[id(frame)] for frame in frames]
        models = [place for place, b in enumerate(bits) if b & _BIT["model"]]
        inner = [b for b in bits[: models[0]] if b & _BIT["python"]]
        return len(models) == 1 and (not inner or any(b & _BIT["matrix"] for b in inner))

    def stage(self, bits: int) -> str:
        """The stage of training that a stack belongs to."""
        if bits & _BIT["backward"] or self.recorded and not bits & _BIT["python"]:  # autograd's threads run no Python
            return "backward"
        if bits & _BIT["optimizer"]:
            return "step"
        return "forward" if bits & (_BIT["forward"] | _BIT["head"]) else "elsewhere"

    def run(self, at: int) -> int:
        """The number of the run that an entry lies in, from 1; 0 before the first."""
        return bisect.bisect_right(self.starts, at)

    def freed(self, made: int) -> str:
        """When the block of an allocation is freed, as in a rule."""
        at = self.trace.freed.get(made)
        run = self.run(made)
        if at is None or self.failed and bisect.bisect(self.failed, made) < bisect.bisect(self.failed, at):
            return "never" if self.last_step > run and at is None else "open"  # what was there ends with a failure
        stage, here = self.stage_of_free(at), self.stage(self.bits[made])
        soon = run == self.run(at) and (stage == here or (stage, here) == ("elsewhere", "forward"))
        return "soon" if soon else stage

    def stage_of_free(self, at: int) -> str:
        """By its own stack where the trace has one, otherwise by the next allocation."""
        if self.frees_tell:
            bits = self.of(frames_of(self.trace.entries[at]))
            return "zero" if bits & _BIT["zero"] else self.stage(bits)
        after = bisect.bisect_right(self.allocations, at)
        if after < len(self.allocations):
            stage = self.stage(self.bits[self.allocations[after]])
            if stage != "elsewhere":
                return stage
        return self.runs[self.run(at) - 1] if self.run(at) else "elsewhere"


def _bits_of(frame: Any) -> int:
    """A bit for each kind of stack that has such a frame."""
    if type(frame) is not dict:
        return 0
    file, name = frame.get("filename"), frame.get("name")
    if type(file) is not str or type(name) is not str:
        return 0
    file, name = file[-1000:].replace("\\", "/"), name[:1000]
    return functools.reduce(int.__or__, (bit for bit, f, n in _patterns() if f.search(file) and n.search(name)), 0)


def category_of(requested: int, made: str, freed: str, bits: int, stages: Stages) -> str:
    """The category of a block: of the first rule that fits."""
    for rule in RULES:
        if (
            (not rule.stack or bits & _BIT[rule.stack])
            and (not rule.made or made in rule.made.split())
            and (not rule.freed or freed in rule.freed.split())
            and (not rule.sizes or requested in rule.sizes)
            and (not rule.like or requested in stages.sizes_of(rule.like))
        ):
            return rule.category
    raise AssertionError("the last rule has no condition")
