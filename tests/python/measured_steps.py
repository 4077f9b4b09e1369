# SPDX-License-Identifier: Apache-2.0
"""benchmarks/python/measured_steps.py on the CPU: attention stays within samples, and a run writes what it says. Needs
PyTorch; BALLAST names the command line."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import types

import torch

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "benchmarks" / "python"
sys.path.insert(0, str(FOLDER))
import measured_steps  # noqa: E402


def test_samples_do_not_meet():
    timer = measured_steps.Timer(types.SimpleNamespace(capacity=64, layers=2, width=16, heads=2, vocabulary=50))
    timer.model.double()
    packed = [5, 1, 58]
    timer.run(packed)
    gradient = [p.grad.clone() for p in timer.model.parameters()]
    timer.model.zero_grad(set_to_none=True)
    ids, begin = timer.ids, 0
    for length in packed:
        timer.ids = ids[begin:]
        timer.model(timer.ids[:length], torch.tensor([0, length]), length).mul(length / 64).backward()
        begin += length
    for p, g in zip(timer.model.parameters(), gradient):
        torch.testing.assert_close(p.grad, g)


def run(folder, seconds):
    small = {"capacity": 256, "ranks": 3, "micro-batches": 2, "steps": 2}
    small |= {"layers": 1, "width": 16, "heads": 2, "vocabulary": 50, "seconds": seconds}
    lengths = folder / "lengths.txt"
    lengths.write_text("length\n" + "".join(f"{17 * i % 100},{i % 3 * 90}\n" for i in range(1, 400)))
    command = [sys.executable, FOLDER / "measured_steps.py", "--ballast", os.environ["BALLAST"], "--lengths", lengths]
    command += ["--out", folder, *(f"--{name}={value}" for name, value in small.items())]
    subprocess.run(command, check=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
    rows = [json.loads(line) for line in (folder / "steps.jsonl").read_text().splitlines()]
    assert (
        0
        < json.loads((folder / "cost.json").read_text())["rows"]
        == len((folder / "times.csv").read_text().splitlines())
    )
    return rows, (folder / "steps.md").read_text()


def test_a_run():
    with tempfile.TemporaryDirectory() as folder:
        rows, table = run(pathlib.Path(folder), 1000)
    assert [row["plan"] for row in rows] == 2 * ["naive", "best fit", "ballast"], rows
    for row in rows:
        assert (
            len(row["rank_ms"]) == len(row["fitted_ms"]) == 3
            and min(row["rank_ms"]) > 0
            and 0 < row["tokens"] <= 6 * 256
        ), row
    assert all(f"| {plan} | 2 |" in table for plan in ("naive", "best fit", "ballast")), table


def test_a_run_without_time():
    with tempfile.TemporaryDirectory() as folder:
        rows, table = run(pathlib.Path(folder), 0)
    assert not rows and "| plan | steps |" in table, table


if __name__ == "__main__":
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
            print(f"{name}: ok")
