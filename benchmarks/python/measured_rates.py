# SPDX-License-Identifier: Apache-2.0
"""Measures what kernels reach on this device: matrix products, attention by length, copies, products of experts, and
with --kernels eager-bf16 or compile-bf16 also operators and the host. Needs PyTorch; the datasheet and the preset come
from the program of benchmarks/kernel_rates.cpp:

    python benchmarks/python/measured_rates.py --model build/release/benchmarks/bench_kernel_rates --out results

The most important kernels come first. The folder of results gets rates.jsonl (a line for each kernel, as it is timed),
and, renewed after each group of kernels, kernels.toml and rates.md (fitted_rates.py), so whatever ends the program,
what was measured stays. A kernel that fails is a line with its error, and the others go on.
"""

import argparse
import contextlib
import inspect
import itertools
import json
import pathlib
import statistics
import sys
import time

import fitted_rates

try:
    import torch
    import torch.nn.functional as F
    from torch.nn.attention import SDPBackend, sdpa_kernel
except ImportError as error:
    sys.exit(f"Rates are measured with PyTorch, which this Python, {sys.executable}, cannot import: {error}")

# as device names contain them, and the datasheets of include/ballast/cost/device.hpp; the first that fits
DEVICES = ("gb300", "gb200", "b300", "b200", "h200", "h800", "h100", "a100", "v100")
LENGTHS = (1024, 4096, 16384, 512, 2048, 8192)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--out", required=True, type=pathlib.Path, help="folder of results")
    parser.add_argument(
        "--model", help="program of benchmarks/kernel_rates.cpp; without it, only rates.jsonl is written"
    )
    parser.add_argument(
        "--device", help="the datasheet that shares refer to, as in h100; by default that of this device"
    )
    parser.add_argument(
        "--kernels",
        help="the preset beside which rates stand, named in kernels.toml, as in eager-bf16 (te-bf16, not named)",
    )
    parser.add_argument("--seconds", type=int, default=200, help="no kernel begins after this time (200)")
    parser.add_argument("--rehearse", action="store_true", help="tiny kernels on the CPU, whose times mean nothing")
    return parser.parse_args()


class Bench:
    """Tensors and clock of the device."""

    def __init__(self, rehearse):
        self.cuda = not rehearse
        self.device = "cuda" if self.cuda else "cpu"
        self.less = 1 if self.cuda else 64  # sizes are divided by it

    def random(self, *shape, width=torch.bfloat16):
        return torch.randn(*shape, device=self.device, dtype=torch.bfloat16).to(width)

    def wait(self):
        if self.cuda:
            torch.cuda.synchronize()

    def in_turn(self, call, *shapes, width=torch.bfloat16):
        """Calls with random inputs, of which there are so many that no cache holds them."""
        numbers = sum(torch.Size(shape).numel() for shape in shapes)
        copies = min(max(2**28 // (2 * numbers), 1), 16) if self.cuda else 1
        inputs = itertools.cycle([[self.random(*s, width=width) for s in shapes] for _ in range(copies)])
        return lambda: call(*next(inputs))

    def clock(self, call, seconds):
        """Milliseconds of a call: the median of runs of 10 ms each, for that many seconds."""
        for _ in range(2):
            call()
        self.wait()
        begin = time.perf_counter()
        call()
        self.wait()
        calls = max(int(0.01 / (time.perf_counter() - begin)), 1) if self.cuda else 1
        times, end = [], time.perf_counter() + (seconds if self.cuda else 0)
        while not times or time.perf_counter() < end:
            times.append(self.run(call, calls))
        return statistics.median(times)

    def run(self, call, calls):
        if not self.cuda:
            begin = time.perf_counter()
            for _ in range(calls):
                call()
            return 1e3 * (time.perf_counter() - begin) / calls
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(calls):
            call()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) / calls


# Each measurement below yields a row, the seconds it is timed, and a function that makes the call.


def products(bench, kind, shapes, seconds, fits=None):
    def make(m, n, k):
        if kind != "gemm_fp8":
            return bench.in_turn(lambda a, b: torch.mm(a, b.t()), (m, k), (n, k))
        one = torch.ones((), device=bench.device)

        def three(a, b):  # forward with fast accumulation, both gradients without, as Transformer Engine does
            for fast in (True, False, False):
                torch._scaled_mm(a, b.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=fast)

        return bench.in_turn(three, (m, k), (n, k), width=torch.float8_e4m3fn)

    for shape in shapes:
        m, n, k = (max(size // bench.less, 16) for size in shape)
        row = {"kernel": f"{kind} {m} {n} {k}"} | ({"fits": fits} if fits else {})
        yield row, seconds, lambda m=m, n=n, k=k: make(m, n, k), 3 if kind == "gemm_fp8" else 1


def copies(bench):
    for size in (2**31, 2**30):
        size //= bench.less**2

        def make(size=size):
            source, target = (torch.zeros(size, dtype=torch.uint8, device=bench.device) for _ in range(2))
            return lambda: target.copy_(source)

        yield {"kernel": f"bytes {2 * size}", "fits": "memory"}, 1, make, 1


def experts(bench):
    for number, groups, m, n, k in ((0, 16, 2048, 3072, 4096), (1, 64, 512, 1536, 2048)):
        m, n, k = (max(size // bench.less, 16) for size in (m, n, k))
        groups = min(groups, 2**12 // bench.less)

        def make(groups=groups, m=m, n=n, k=k, row=None):
            ends = torch.arange(1, groups + 1, device=bench.device, dtype=torch.int32) * m
            shapes = (groups * m, k), (groups, n, k)
            try:
                call = bench.in_turn(lambda x, w: torch._grouped_mm(x, w.transpose(1, 2), offs=ends), *shapes)
                call()
                return call
            except (AttributeError, RuntimeError):  # an older PyTorch, or another device
                row["by"] = "bmm"
                return bench.in_turn(lambda x, w: torch.bmm(x.view(groups, m, k), w.transpose(1, 2)), *shapes)

        row = {"kernel": f"experts {m} {n} {k} {groups}"} | ({} if number else {"fits": "expert_gemm"})
        yield row, 1, lambda make=make, row=row: make(row=row), 1


def attention_kernels():
    """Causal attention of queries, keys and values that are samples x tokens x heads x width, by library."""

    def by(backend):
        def attend(*inputs):
            with sdpa_kernel(backend):
                out = F.scaled_dot_product_attention(*(x.transpose(1, 2) for x in inputs), is_causal=True)
            return out.transpose(1, 2)

        return attend

    found = {"cudnn": by(SDPBackend.CUDNN_ATTENTION), "flash2": by(SDPBackend.FLASH_ATTENTION)}
    with contextlib.suppress(ImportError):
        from flash_attn_interface import flash_attn_func

        def attend(*inputs):
            out = flash_attn_func(*inputs, causal=True)
            return out[0] if isinstance(out, tuple) else out

        found["flash3"] = attend
    return found


def both_passes(call, inputs, direction):
    """The call of a function of some inputs, or of its backward pass."""
    if direction == "forward":
        return lambda: call(*inputs)
    for x in inputs:
        x.requires_grad_(x.is_floating_point())
    wanted = [x for x in inputs if x.requires_grad]
    out = call(*inputs)
    gradient = torch.randn_like(out)
    return lambda: torch.autograd.grad(out, wanted, gradient, retain_graph=True)


def attention(bench, width, library, kernel):
    tokens, heads = max(LENGTHS) // bench.less, max(4096 // width // bench.less, 1)
    name = f"attention.{library}.{'narrow_' if width <= 64 else ''}"
    for length, direction in itertools.product(LENGTHS, ("forward", "backward")):
        length //= bench.less

        def make(length=length, direction=direction):
            inputs = [bench.random(tokens // length, length, heads, width) for _ in range(3)]
            return both_passes(kernel, inputs, direction)

        row = {"kernel": f"attention {library} {direction} {heads} {width} {tokens} {tokens * length}"}
        yield row | {"fits": name + direction}, 0.2, make, 1


def mixed_attention(bench):
    """Samples of several lengths in one call, which the curve of equal ones is to predict."""
    heads, width = max(32 // bench.less, 1), 128
    lengths = [max(length // bench.less, 1) for length in (64, 128, 192, 640, 1024, 2048, 4096, 8192)]
    tokens, longest = sum(lengths), max(lengths)

    def make(direction):
        try:
            from flash_attn import flash_attn_varlen_func as varlen

            options = {"causal": True}
        except ImportError:
            from torch.nn.attention.varlen import varlen_attn as varlen

            known = inspect.signature(varlen).parameters
            options = {"is_causal": True} if "is_causal" in known else {"window_size": (-1, 0)}
        ends = torch.tensor([0, *itertools.accumulate(lengths)], dtype=torch.int32, device=bench.device)
        inputs = [bench.random(tokens, heads, width) for _ in range(3)]
        return both_passes(lambda q, k, v: varlen(q, k, v, ends, ends, longest, longest, **options), inputs, direction)

    for direction in ("forward", "backward"):
        squares = sum(length**2 for length in lengths)
        row = {"kernel": f"attention flash2 {direction} {heads} {width} {tokens} {squares}", "by": "varlen"}
        yield row, 0.5, lambda direction=direction: make(direction), 1


def norm(x, weight):  # as model libraries write it
    wide = x.float()
    return weight * (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-6)).to(x.dtype)


def operators(bench, compiled):
    """Bytes that operators read and write, of a framework without fused kernels or of the compiler."""
    if compiled:
        import torch._functorch.config as config

        config.donated_buffer = False  # a backward pass is timed more than once
    rows, width, inner, entries = (max(size // bench.less, 16) for size in (8192, 4096, 14336, 32768))
    cases = {
        "norm": (norm, (rows, width), (width,)),
        "gated": (lambda gate, up: F.silu(gate) * up, (rows, inner), (rows, inner)),
        "plain": (F.gelu, (rows, inner)),
    }
    for (name, (call, *shapes)), direction in itertools.product(cases.items(), ("forward", "backward")):

        def make(call=call, shapes=shapes, direction=direction):
            inputs = [bench.random(*shape) for shape in shapes]
            return both_passes(torch.compile(call) if compiled else call, inputs, direction)

        values = torch.Size(shapes[0]).numel()
        yield {"values": values, "fits": f"bytes.{name}" + "_backward" * (direction == "backward")}, 0.3, make, 1

    def loss():
        labels = torch.randint(entries, (rows,), device=bench.device)
        of = lambda logits: F.cross_entropy(logits.float(), labels)  # noqa: E731
        of = torch.compile(of) if compiled else of
        logits = bench.random(rows, entries).requires_grad_()
        return lambda: torch.autograd.grad(of(logits), logits)

    yield {"values": rows * entries, "fits": "bytes.loss"}, 0.3, loss, 2  # each of both passes


def host(bench):
    """A layer so small that launching its kernels takes longer than their work; both passes."""
    layers = 10

    def make():
        width, heads = 256, 4
        x, first, second = bench.random(64, width), bench.random(width), bench.random(width)
        qkv, out = bench.random(3 * width, width), bench.random(width, width)
        gate, up, down = bench.random(512, width), bench.random(512, width), bench.random(width, 512)
        angle = bench.random(64, width // heads)
        weights = [w.requires_grad_() for w in (first, second, qkv, out, gate, up, down)]

        def turned(x):
            left, right = x.chunk(2, -1)
            return x * angle.cos() + torch.cat((-right, left), -1) * angle.sin()

        def layer(x):
            q, k, v = F.linear(norm(x, first), qkv).view(64, 3, heads, -1).permute(1, 2, 0, 3).unsqueeze(1)
            seen = F.scaled_dot_product_attention(turned(q), turned(k), v, is_causal=True)
            x = x + F.linear(seen[0].transpose(0, 1).reshape(64, width), out)
            y = norm(x, second)
            return x + F.linear(F.silu(F.linear(y, gate)) * F.linear(y, up), down)

        def step():
            y = x
            for _ in range(layers):
                y = layer(y)
            torch.autograd.grad(y.sum(), weights)

        return step

    yield {"fits": "host"}, 0.5, make, layers


def groups(bench, kernels):
    """All measurements in groups, the most important first."""
    family = kernels.split("-")[0]
    known = attention_kernels()
    large = ((8192, 8192, 8192), (16384, 4096, 4096), (8192, 14336, 4096), (8192, 4096, 14336))
    small = ((2048, 4096, 4096), (512, 4096, 4096), (128, 8192, 8192), (4096, 128, 8192), (8192, 8192, 256))
    yield itertools.chain(products(bench, "gemm", large, 2, "gemm"), copies(bench))
    for library, kernel in known.items():
        yield attention(bench, 128, library, kernel)
    yield itertools.chain(experts(bench), products(bench, "head", ((8192, 131072, 4096),), 1, "head"))
    if family != "te":
        yield itertools.chain(operators(bench, family == "compile"), host(bench) if family == "eager" else ())
    yield products(bench, "gemm", small, 0.5)
    yield products(bench, "gemm_fp8", large, 1, "gemm_fp8")
    for library, kernel in known.items():
        yield attention(bench, 64, library, kernel)
    yield mixed_attention(bench)
    yield products(bench, "gemm_fp8", small[:3], 0.5)


def datasheet():
    name = torch.cuda.get_device_name()
    for device in DEVICES:
        if device in name.lower():
            less = device == "a100" and torch.cuda.get_device_properties(0).total_memory < 60e9
            return device + "-40gb" * less
    sys.exit(
        f"The datasheet of {name} is not known: say --device NAME, as in --device h100, whose shares are measured."
    )


def main():
    asked = arguments()
    end = time.monotonic() + asked.seconds
    if not asked.rehearse and not torch.cuda.is_available():
        sys.exit("There is no CUDA device: --rehearse runs tiny kernels on the CPU instead.")
    bench = Bench(asked.rehearse)
    about = {
        "device": asked.device or ("h100" if asked.rehearse else datasheet()),
        "kernels": asked.kernels or "te-bf16",
        "named": asked.kernels is not None,
        "machine": f"{'CPU' if asked.rehearse else torch.cuda.get_device_name()}, PyTorch {torch.__version__}",
        "rehearsed": asked.rehearse,
    }
    if asked.model:  # a name that is not known is told before anything is measured
        fitted_rates.Model(asked.model, about["device"], about["kernels"])
    asked.out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    with (asked.out / "rates.jsonl").open("w") as out:
        print(json.dumps(about), file=out, flush=True)
        for group in groups(bench, about["kernels"]):
            for row, seconds, make, parts in group:
                if time.monotonic() > end:
                    break
                try:
                    row["ms"] = bench.clock(make(), seconds) / parts
                except Exception as error:  # a kernel that this PyTorch or this device does not have
                    row["error"] = (str(error).strip() or type(error).__name__).splitlines()[0][:160]
                print(json.dumps(row), file=out, flush=True)
            if asked.model:
                fitted_rates.write(asked.out, asked.model)
    if asked.model:
        print((asked.out / "rates.md").read_text(), end="")
    print(f"The results are in {asked.out}: rates.jsonl" + (", rates.md, kernels.toml." if asked.model else "."))


if __name__ == "__main__":
    try:
        main()
    except ValueError as error:
        sys.exit(f"{error}")
