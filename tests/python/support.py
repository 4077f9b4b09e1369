# SPDX-License-Identifier: Apache-2.0
"""What the tests of the trainers share: processes that train together over gloo, lengths, and a model that is exact in
doubles."""

import faulthandler
import importlib.machinery
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
import traceback
import types

import numpy as np
import torch
import torch._dynamo  # once here: otherwise each process imports it, all at the same time
import torch.distributed.fsdp  # noqa: F401

LENGTHS = np.random.default_rng(7).lognormal(2.3, 0.7, 203).astype(np.int64).clip(2, 48)
VOCABULARY = 31


def tokens(index):
    """The tokens of a sample."""
    return (np.random.default_rng(index).integers(0, VOCABULARY, LENGTHS[index])).tolist()


class Samples(torch.utils.data.Dataset):
    """A map-style dataset, read in the loader's workers."""

    def __len__(self):
        return len(LENGTHS)

    def __getitem__(self, index):
        return {"input_ids": tokens(index), "index": index}


def _enter(function, rank, ranks, folder, arguments, port, seconds):
    faulthandler.dump_traceback_later(seconds)  # says where a process hangs
    try:
        torch.set_num_threads(1)
        os.environ.update(
            RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(ranks), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port)
        )
        os.environ.update(ACCELERATE_USE_CPU="true", OMP_NUM_THREADS="1")
        torch.distributed.init_process_group(
            "gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=ranks
        )
        result = ("ok", function(rank, ranks, *arguments))
    except BaseException:
        result = ("failed", traceback.format_exc())
    torch.save(result, f"{folder}/{rank}.pt")
    os._exit(0)  # neither waits for workers nor for the other processes


def on_ranks(ranks, function, *arguments, timeout=90):
    """What function(rank, ranks, *arguments) returns in each of `ranks` forked processes that are one gloo group."""
    with tempfile.TemporaryDirectory() as folder:
        context = multiprocessing.get_context("fork")
        started = [
            context.Process(target=_enter, args=(function, rank, ranks, folder, arguments, 29500, timeout - 10))
            for rank in range(ranks)
        ]
        for process in started:
            process.start()
        end = time.monotonic() + timeout
        for process in started:
            process.join(max(end - time.monotonic(), 0))
        alive = [process for process in started if process.is_alive()]
        for process in alive:
            process.kill()
        results = []
        for rank in range(ranks):
            path = f"{folder}/{rank}.pt"
            results.append(
                torch.load(path, weights_only=False)
                if os.path.exists(path)
                else ("failed", f"rank {rank} hangs or died")
            )
    failures = [text for state, text in results if state == "failed"]
    if failures:
        raise RuntimeError("\n".join(failures))
    return [result for _, result in results]


class Tiny(torch.nn.Module):
    """One layer of causal attention that keeps the sequences of a packed row apart, in doubles."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.embedding = torch.nn.Embedding(VOCABULARY, 8)
        self.places = torch.nn.Embedding(64, 8)
        self.mix = torch.nn.Linear(8, 24)
        self.head = torch.nn.Linear(8, VOCABULARY)
        self.double()

    def forward(self, input_ids, position_ids):
        segment = (position_ids == 0).cumsum(1)
        seen = (segment.unsqueeze(1) == segment.unsqueeze(2)) & (position_ids.unsqueeze(1) <= position_ids.unsqueeze(2))
        x = self.embedding(input_ids) + self.places(position_ids)
        q, k, v = self.mix(x).chunk(3, dim=-1)
        weights = (q @ k.transpose(1, 2)).masked_fill(~seen, float("-inf")).softmax(-1)
        return self.head(torch.tanh(x + weights @ v))

    def summed_loss(self, batch):
        scores = self(batch["input_ids"], batch["position_ids"])
        return torch.nn.functional.cross_entropy(
            scores[0, :-1], batch["labels"][0, 1:], ignore_index=-100, reduction="sum"
        )


class Summed(Tiny):
    """Tiny with the face that Trainer expects: the loss as a sum over num_items_in_batch. `seen` are its samples."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def forward(self, input_ids, position_ids, labels=None, index=None, num_items_in_batch=None, **kwargs):
        self.seen.append(index)
        scores = super().forward(input_ids, position_ids)
        loss = torch.nn.functional.cross_entropy(scores[0, :-1], labels[0, 1:], ignore_index=-100, reduction="sum")
        return {"loss": loss / num_items_in_batch}


def unpacked_gradient(samples):
    """The gradient of the mean token loss of these samples, each in a row of its own."""
    model, loss, labels = Tiny(), 0, 0
    for index in samples:
        row = torch.tensor([tokens(index)])
        batch = {"input_ids": row, "labels": row.clone(), "position_ids": torch.arange(row.shape[1]).unsqueeze(0)}
        loss, labels = loss + model.summed_loss(batch), labels + row.shape[1] - 1
    (loss / labels).backward()
    return gradient(model)


def gradient(model):
    return torch.cat([p.grad.flatten() for p in model.parameters()])


def run_of_docs(name, folder, processes=2, timeout=300):
    """Runs the Python block of docs/python-trainers.md that begins with `# name`, as its page says: its lines, and what
    it printed."""
    with open(os.path.join(os.path.dirname(__file__), "../../docs/python-trainers.md")) as file:
        block = file.read().partition(f"```python\n# {name}")[2].partition("\n```")[0]
    program = f"# {name}{block}\n"
    path = os.path.join(folder, name)
    with open(path, "w") as file:
        file.write(program)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={processes}", name]
    environment = {**os.environ, "ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    both = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    ended = subprocess.run(command, cwd=folder, env=environment, text=True, timeout=timeout, **both)
    if ended.returncode:
        raise RuntimeError(ended.stdout)
    return program.splitlines(), ended.stdout


def stub(*names):
    """Empty modules in the place of those that are not installed, for imports alone; says which."""
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError:
            made = sys.modules[name] = types.ModuleType(name)
            made.__spec__ = importlib.machinery.ModuleSpec(name, None)
            print(f"skipped: what needs {name}, which is not installed")


def each_once(case, lists, count=None):
    """Fails unless the lists hold every sample once."""
    case.assertEqual(
        sorted(i for members in lists for i in members), list(range(len(LENGTHS) if count is None else count))
    )
