# SPDX-License-Identifier: Apache-2.0
"""`scripts/gpu rates` on the CPU: every kernel is timed or says why not, and the files are written. Needs PyTorch."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import tomllib
import types
from unittest import mock

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks" / "python"))
import measured_rates  # noqa: E402


def start(folder, *words):
    path = f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = os.environ | {"OUT": folder, "GPU_BUILD": f"{folder}/build", "PATH": path, "OMP_NUM_THREADS": "1"}
    command = [ROOT / "scripts/gpu", "rates", *words, "--rehearse"]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def run(folder, *words):
    """The first line of rates.jsonl, the others, kernels.toml and the table."""
    started = start(folder, *words)
    said, _ = started.communicate()
    assert started.returncode == 0, said
    folder = pathlib.Path(folder)
    about, *rows = [json.loads(line) for line in (folder / "rates.jsonl").read_text().splitlines()]
    table = (folder / "rates.md").read_text()
    assert said.startswith(table) and f"The results are in {folder}: rates.jsonl, rates.md, kernels.toml." in said, said
    return about, rows, tomllib.loads((folder / "kernels.toml").read_text()), table


def test_every_kernel():
    with tempfile.TemporaryDirectory() as folder:
        about, rows, rates, table = run(folder, "--kernels", "eager-bf16")
    assert about["device"] == "h100" and about["rehearsed"] and rates["preset"] == "h100-eager-bf16"
    for row in rows:
        assert row.get("ms", 0) > 0 or row["kernel"].startswith("attention cudnn") or row.get("by") == "varlen", row
        assert row.get("kernel", row.get("fits")).split()[0] in table, row
    timed = [row.get("kernel", "").split(" ")[0] for row in rows if "ms" in row]
    assert {kind: timed.count(kind) for kind in ("gemm", "gemm_fp8", "bytes", "experts", "head", "attention")} == {
        "gemm": 9,
        "gemm_fp8": 7,
        "bytes": 2,
        "experts": 2,
        "head": 1,
        "attention": 24,  # two widths, six lengths, both passes
    }
    fitted = {row.get("fits", "") for row in rows}
    operators = {f"bytes.{name}{when}" for name in ("norm", "gated", "plain") for when in ("", "_backward")}
    assert {key for key in fitted if key.startswith("bytes.")} == operators | {"bytes.loss"}, fitted
    assert "host" in rates and "No viable backend" in table


def test_fused_operators_are_not_measured_by_default():
    with tempfile.TemporaryDirectory() as folder:
        about, rows, rates, _ = run(folder, "200")
    assert about["kernels"] == "te-bf16" and not about["named"] and "preset" not in rates
    assert not [row for row in rows if row.get("fits", "").startswith(("bytes.", "host"))]


def test_without_time():
    with tempfile.TemporaryDirectory() as folder:
        about, rows, rates, table = run(folder, "30")
    assert about and not rows and not rates and "| kernel | measured, ms |" in table


def test_a_run_that_is_stopped():
    with tempfile.TemporaryDirectory() as folder:
        started = start(folder)
        path = pathlib.Path(folder, "rates.jsonl")
        while started.poll() is None and (not path.exists() or path.read_text().count("\n") < 8):
            time.sleep(0.05)
        started.terminate()
        started.communicate(timeout=20)  # with all of its processes, which hold the pipe
        assert started.returncode != 0 and "gemm = " in pathlib.Path(folder, "kernels.toml").read_text()
        assert "| gemm " in measured_rates.fitted_rates.write(pathlib.Path(folder), f"{folder}/build/kernel_rates")


class PretendedEvent:
    """An event of a device whose work is done when it is asked for."""

    def __init__(self, enable_timing):
        assert enable_timing

    def record(self):
        self.time = time.perf_counter()

    def synchronize(self):
        pass

    def elapsed_time(self, end):
        return 1e3 * (end.time - self.time)


def test_the_clock_of_a_device():
    bench = measured_rates.Bench(rehearse=True)
    bench.cuda, calls = True, []
    with mock.patch.multiple(torch.cuda, Event=PretendedEvent, synchronize=lambda: None):
        call = bench.in_turn(lambda a, b: (calls.append((a, b)), time.sleep(0.002)), (3, 5), (5,))
        begin = time.perf_counter()
        ms = bench.clock(call, 0.1)
        taken = time.perf_counter() - begin
    assert 2 <= ms < 20 and 0.1 < taken < 1 and len(calls) > 10, (ms, taken, len(calls))
    assert len({id(a) for a, _ in calls}) == 16 and calls[0][0].shape == (3, 5) and calls[0][1].shape == (5,)


def test_datasheets_by_the_names_of_devices():
    def found(name, memory=80e9):
        of = types.SimpleNamespace(total_memory=memory)
        with mock.patch.multiple(torch.cuda, get_device_name=lambda: name, get_device_properties=lambda _: of):
            return measured_rates.datasheet()

    assert (
        found("NVIDIA H100 80GB HBM3") == "h100" and found("NVIDIA H200") == "h200" and found("NVIDIA GB200") == "gb200"
    )
    assert found("NVIDIA A100-SXM4-80GB") == "a100" and found("NVIDIA A100-SXM4-40GB", 40e9) == "a100-40gb"
    try:
        found("NVIDIA GeForce RTX 4090")
    except SystemExit as error:
        assert "RTX 4090 is not known: say --device NAME" in str(error)
    else:
        raise AssertionError("a datasheet was found")


if __name__ == "__main__":
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
            print(f"{name}: ok")
