# SPDX-License-Identifier: Apache-2.0
"""What a user sees of the package beside its plans: signatures, types, Ctrl-C, and processes that are spawned."""

import ast
import copy
import importlib.util
import inspect
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import types
import unittest

import numpy as np

import ballast
import ballast.torch
from ballast import _ballast
from ballast._options import RunOptions

PACKAGE = pathlib.Path(ballast.__file__).parent
DOCS = pathlib.Path(__file__).parents[2] / "docs"
COST = ballast.token_cost()
VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def public(thing):
    """A class's own methods and properties, or the thing itself."""
    if not isinstance(thing, type):
        return [("", thing)]
    return [(name, value) for name, value in vars(thing).items() if name[0] != "_" or name == "__init__"]


def called(value):
    """Whether a value is a function of Python or of the native module."""
    return isinstance(value, types.FunctionType) or hasattr(value, "__nb_signature__")


class Signatures(unittest.TestCase):
    def test_every_public_name_says_what_it_takes(self):
        for name in ballast.__all__:
            thing = getattr(ballast, name)
            self.assertTrue(inspect.getdoc(thing), name)
            for member, value in public(thing):
                where = f"{name}.{member}"
                self.assertTrue(inspect.getdoc(value), where)
                if called(value):
                    parameters = inspect.signature(value).parameters.values()
                    self.assertFalse([p.name for p in parameters if p.kind in VARIADIC], where)

    def test_overloads_have_one_signature_and_all_of_their_texts(self):
        signature = inspect.signature(ballast.check)
        self.assertEqual(list(signature.parameters)[:2], ["plan", "lengths"])
        self.assertEqual(signature.parameters["padded"].default, False)
        self.assertIs(signature.parameters["capacity"].default, ...)
        for text in ("check(plan: ", "check(packs: ", "The same for a plan of steps."):
            self.assertIn(text, ballast.check.__doc__)

    def test_the_types_of_the_native_module_are_those_it_has(self):
        stub = ast.parse((PACKAGE / "_ballast.pyi").read_text())
        said = {node.name: node for node in stub.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
        there = {name: value for name, value in vars(_ballast).items() if name[0] != "_" and callable(value)}
        self.assertEqual(set(said) - {"overload"}, set(there))
        for name, value in there.items():
            if isinstance(value, type):
                members = {node.name for node in said[name].body if isinstance(node, ast.FunctionDef)}
                self.assertFalse({m for m, _ in public(value) if m[0] != "_"} - members, name)
            elif not said[name].decorator_list:  # no overload
                a = said[name].args
                self.assertEqual(
                    [x.arg for x in (*a.posonlyargs, *a.args, *a.kwonlyargs)], list(inspect.signature(value).parameters), name
                )
                self.assertFalse(a.vararg or a.kwarg, name)
        self.assertTrue((PACKAGE / "py.typed").exists())


# Modules with types of other libraries, and which these are; the other modules need NumPy alone.
LIBRARIES = {
    "accelerate": "torch accelerate",
    "axolotl": "torch transformers accelerate axolotl",
    "callbacks": "torch transformers",
    "execute": "torch",
    "huggingface": "torch transformers accelerate",
    "megatron": "torch",
    "torch": "torch",
    "verl": "torch verl",
}
UNTYPED = "accelerate axolotl datasets llamafactory pyarrow"  # without types of their own
# In what is said of programs: what the libraries say of their own types.
OF_OTHERS = 'DataLoader|Import "llamafactory|untyped function "(_dump_snapshot|backward|TokenizersBackend)"'
GIVEN = {  # what the programs of the docs take as given
    "accelerator": "accelerate.Accelerator",
    "ballast": "",
    "dataset": "torch.utils.data.Dataset[dict[str, list[int]]]",
    "dp_rank": "int",
    "dp_size": "int",
    "lengths": "npt.NDArray[np.int64]",
    "loader": "DataLoader[Any]",
    "model": "transformers.PreTrainedModel",
    "optimizer": "torch.optim.Optimizer",
    "plan": "Plan",
    "processor": "transformers.ProcessorMixin",
    "rank": "int",
    "resuming": "bool",
    "run": "ballast.TrainingRun",
    "saved": "dict[str, Any]",
    "summed_loss": "Callable[[dict[str, torch.Tensor]], torch.Tensor]",
    "tokenised": "Any",
    "tokenizer": "transformers.PreTrainedTokenizerBase",
    "world": "int",
}
PRELUDE = """# pyright: reportPossiblyUnboundVariable=false, reportPrivateImportUsage=false, reportUnusedExpression=false
from collections.abc import Callable
from typing import Any

import accelerate
import ballast
import ballast.huggingface
import ballast.megatron
import numpy as np
import numpy.typing as npt
import torch
import transformers
from ballast.torch import Plan
from torch.utils.data import DataLoader
from transformers import Trainer, TrainingArguments


class PlannedTrainer(ballast.huggingface.Planned, Trainer):
    pass

"""


def blocks_of_docs():
    """The programs of docs/python.md and docs/python-trainers.md."""
    pages = [(DOCS / f"{page}.md").read_text() for page in ("python", "python-trainers")]
    return [block for text in pages for block in re.findall(r"\n```python\n(.*?)\n```", text, re.S)]


def program_of_docs():
    """These programs, each as a function of what it takes as given."""
    functions = []
    for block in blocks_of_docs():
        names = [node for node in ast.walk(ast.parse(block)) if isinstance(node, ast.Name)]
        first = {}
        for name in sorted(names, key=lambda n: (n.lineno, isinstance(n.ctx, ast.Store))):
            first.setdefault(name.id, isinstance(name.ctx, ast.Load))
        given = [f"{name}: {GIVEN[name]}" for name, loaded in first.items() if loaded and GIVEN.get(name)]
        block = re.sub(r"(def datasets_provider)\(samples\)", r"\1(samples: list[int]) -> tuple[Any, None, None]", block)
        body = "".join(f"    {line}\n" for line in block.splitlines())
        functions.append(f"\ndef block_{len(functions)}({', '.join(given)}) -> None:\n{body}")
    return PRELUDE + "".join(functions)


class Pages(unittest.TestCase):
    def test_programs_import_what_they_use_of_the_package(self):
        for block in blocks_of_docs():
            nodes = list(ast.walk(ast.parse(block)))
            imports = [node for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom))]
            imported = {alias.name for node in imports for alias in node.names}
            used = {node.id for node in nodes if isinstance(node, ast.Name)} & set(ballast.torch.__all__)
            for node in nodes:
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "ballast":
                    module = f"ballast.{node.attr}"
                    if node.attr not in ("lengths", "models") and importlib.util.find_spec(module):
                        used.add(module)
            self.assertFalse(used - imported, block)


def visible(of):
    """The names of a table whose libraries are installed; says which are skipped."""
    out = []
    for name, needed in of.items():
        lacking = [library for library in needed.split() if not importlib.util.find_spec(library)]
        if lacking:
            print(f"skipped: the types of {name}, for these are not installed: {', '.join(lacking)}")
        else:
            out.append(name)
    return out


class Options(unittest.TestCase):
    def test_plans_name_every_option_of_a_run(self):
        named = set(inspect.signature(ballast.TrainingRun).parameters)
        apart = {"lengths", "capacity", "ranks", "micro_batches", "levels", "curriculum", "device"}
        self.assertEqual(set(RunOptions.__annotations__), named - apart)


class Types(unittest.TestCase):
    """mypy and pyright have nothing to say about the package, and the programs of users and of the docs."""

    @classmethod
    def setUpClass(cls):
        own = {name: "" for name in "__main__ _files _tokens _levels _fits models lengths streams snapshot run report".split()}
        cls.modules = visible({**own, **LIBRARIES})
        cls.folder = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.folder.name)
        cls.programs = [folder / "user.py"]
        cls.programs[0].write_text(USER)
        if visible({"the docs": "torch transformers accelerate trl tokenizers"}):
            cls.programs.append(folder / "docs.py")
            cls.programs[1].write_text(program_of_docs())

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def agrees(self, tool, *arguments):
        command = [sys.executable, "-m", tool, *map(str, arguments)]
        run = subprocess.run(command, capture_output=True, text=True, cwd=self.folder.name)
        said = [line for line in run.stdout.splitlines() if "error: " in line]
        self.assertFalse([line for line in said if "docs.py" not in line or not re.search(OF_OTHERS, line)], run.stdout)
        self.assertTrue(run.returncode == 0 or said, run.stdout + run.stderr)

    @unittest.skipUnless(importlib.util.find_spec("mypy"), "mypy is not installed: types are not checked by it")
    def test_mypy_agrees(self):
        lacking = {library for needed in LIBRARIES.values() for library in needed.split()} | {"tokenizers", "transformers"}
        lacking = {name for name in lacking if not importlib.util.find_spec(name)} | set(UNTYPED.split())
        config = pathlib.Path(self.folder.name) / "mypy.ini"
        config.write_text(
            "[mypy]\nstrict = True\n"
            + "".join(f"[mypy-{name}.*]\nignore_missing_imports = True\n" for name in sorted(lacking))
            + "[mypy-trl.*]\nimplicit_reexport = True\n"
        )
        shared = ["--config-file", config, "--cache-dir", f"{self.folder.name}/cache"]
        self.agrees("mypy", *shared, *(argument for name in self.modules for argument in ("-m", f"ballast.{name}")))
        self.agrees("mypy", *shared, *self.programs)

    @unittest.skipUnless(importlib.util.find_spec("pyright"), "pyright is not installed: types are not checked by it")
    def test_pyright_agrees(self):
        files = [PACKAGE / f"{name}.py" for name in self.modules]
        self.agrees("pyright", "--pythonpath", sys.executable, *files, *self.programs)


class Sources(unittest.TestCase):
    def test_the_package_has_every_header_of_the_operators(self):
        left, seen = [path for path in (PACKAGE / "_ops").iterdir() if path.is_file()], set()
        while left:
            for name in re.findall(r"#include <(ballast/[^>]*)>", left.pop().read_text()):
                path = PACKAGE / "_ops/include" / name
                if path not in seen:
                    seen.add(path)
                    left.append(path)
        self.assertGreater(len(seen), 50)


USER = """
import numpy as np
import ballast
import ballast.torch

lengths = np.arange(1, 100, dtype=np.int64)
cost: ballast.Cost = ballast.sample_time("llama-3.1-8b")
plan = ballast.plan_steps(lengths, capacity=512, ranks=2, micro_batches=2, cost=cost)
tokens: int = 0
for step in range(plan.steps):
    for pack in plan.packs_of(step, 1):
        tokens += int(lengths[pack].sum())
packing: ballast.Packing = ballast.pack(lengths, 512, oversize="split")
pieces: list[tuple[int, int, int]] = packing.pieces
for members in packing.packs:
    tokens += int(members.sum())
run = ballast.TrainingRun(lengths, capacity=512, ranks=2, epochs=2, cost="llama-3.1-8b")
for number in run:
    saved: list[int] = run.state()
ballast.torch.Plan(lengths, capacity=512, ranks=2, sede=1)  # type: ignore[call-arg]
print(ballast.check(packing, lengths), ballast.check(plan, lengths), ballast.memory("llama-3.1-8b", sequence=64)[0])
"""


def interrupted(call):
    """Whether `call` ends by KeyboardInterrupt if Ctrl-C comes while it runs."""
    timer = threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    try:
        call()
        timer.join()
    except KeyboardInterrupt:
        return True
    return False


class Interrupts(unittest.TestCase):
    """What plans for seconds ends by Ctrl-C, and what it would have changed is as before."""

    lengths = np.random.default_rng(1).lognormal(6, 1, 1_000_000).astype(np.int64).clip(1, 8192)

    def test_a_run_is_as_before(self):
        run = ballast.TrainingRun(self.lengths, capacity=8192, ranks=64, micro_batches=64, epochs=3, cost="llama-3.1-8b")
        twin = copy.copy(run)
        while twin.epoch == 0:  # until it has planned the second pass, which `run` plans next
            twin.next()
            if twin.epoch == 0:
                run.next()
        for call in (run.next, lambda: run.steps, lambda: run.resume(twin.state()), lambda: run.resume(run.state(), ranks=8)):
            before = run.state(), run.ranks, run.epoch
            self.assertTrue(interrupted(call))
            self.assertEqual((run.state(), run.ranks, run.epoch), before)
        self.assertEqual((run.next(), run.epoch), (twin.step - 1, 1))
        self.assertEqual(run.hash(), twin.hash())

    def test_functions(self):
        for call in (
            lambda: ballast.plan_steps(self.lengths, capacity=8192, ranks=8, cost="llama-3.1-8b"),
            lambda: ballast.plan_shards(self.lengths[:100_000], ranks=64, capacity=8192, cost="llama-3.1-8b"),
            lambda: ballast.micro_batches(self.lengths[:100_000], 8192, cost=COST),
        ):
            self.assertTrue(interrupted(call))
        plan = ballast.pack(self.lengths, 8192)
        self.assertEqual(ballast.pack(self.lengths, 8192).hash(), plan.hash())

    def test_a_program_ends_at_once(self):
        code = (
            "import numpy as np, ballast, os, signal, threading\n"
            "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
            "lengths = np.random.default_rng(1).lognormal(6, 1, 2_000_000).astype(np.int64).clip(1, 8192)\n"
            "run = ballast.TrainingRun(lengths, capacity=8192, ranks=64, micro_batches=4, cost='llama-3.1-8b', epochs=9)\n"
            "threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()\n"
            "run.steps\n"
        )
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
        self.assertEqual(run.returncode, -signal.SIGINT, run.stderr)
        self.assertTrue(run.stderr.rstrip().endswith("KeyboardInterrupt"), run.stderr)
        self.assertNotIn("leaked", run.stderr)


class Spawned(unittest.TestCase):
    def test_nothing_is_reported_as_leaked(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "program.py"
            program.write_text(SPAWNING)
            run = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=300)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertEqual(run.stdout, "same\n")


    def test_nothing_leaks(self):
        """A program without threads frees all at exit; one that keeps a plan for ever is told so."""
        for end, leaks in (("", False), ("ctypes.pythonapi.Py_IncRef(ctypes.py_object(steps))\n", True)):
            run = subprocess.run([sys.executable, "-c", KEEPING + end], capture_output=True, text=True, timeout=300)
            self.assertEqual((run.returncode, "leaked" in run.stderr), (0, leaks), run.stderr)


KEEPING = """
import contextlib, copy, ctypes, pickle
import ballast
ballast._ballast._warn_of_leaks()
cost, lengths = "llama-3.1-8b", [3, 5, 2, 7] * 20
steps = ballast.plan_steps(lengths, capacity=16, ranks=2, cost=lambda n: n * n)
packing = ballast.pack(lengths, 8)
run = ballast.TrainingRun(lengths, capacity=16, ranks=2, epochs=2, cost=ballast.sample_time(cost))
level_run = ballast.TrainingRun(lengths, levels=[(8, 1), (16, 2)], ranks=2, cost=cost)
shards = ballast.plan_shards(lengths, ranks=2, capacity=64, cost=ballast.degree_cost(cost, ranks=2, capacity=64))
chunks = ballast.chunks(lengths, 4, cost=cost)
for plan in (steps, packing, run):
    print(plan, copy.copy(plan), pickle.loads(pickle.dumps(plan)))
run.next(), level_run.next()
kept = run.packs_of(0), packing.packs, shards.passes_of(0), chunks.chains_of(0), level_run.samples(), run.report()
for wrong in (lambda: ballast.pack([9], 8), lambda: ballast.pack(["a"], 8), lambda: steps.packs_of(99, 0)):
    with contextlib.suppress(ValueError, IndexError):
        wrong()
flow = ballast.stream(((i, n) for i, n in enumerate(lengths)), capacity=16, ranks=2, cost=cost)
next(iter(flow))
run.itself = run
"""

SPAWNING = """
import multiprocessing
import threading
import time

import ballast

run = ballast.TrainingRun([3, 5, 2, 7] * 20, capacity=16, ranks=2, cost=ballast.token_cost())
kept = ballast.pack([3, 5], 8).packs

def packs_of(run, rank):
    global mine
    mine = run, ballast.plan_steps([1, 2] * 9, capacity=8, ranks=2, cost="llama-3.1-8b").packs
    run.next()
    return [pack.tolist() for pack in run.packs_of(rank)]

def wait():
    time.sleep(60)

def told(run, rank, queue):
    threading.Thread(target=wait, daemon=True).start()  # alive at exit, as those of loaders are
    queue.put(packs_of(run, rank))

if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    with context.Pool(2) as pool:
        pooled = pool.starmap(packs_of, [(run, 0), (run, 1)])
        pool.close()
        pool.join()
    queue = context.Queue()
    process = context.Process(target=told, args=(run, 1, queue))
    process.start()
    apart = queue.get()
    process.join()
    run.next()
    mine = [[pack.tolist() for pack in run.packs_of(rank)] for rank in (0, 1)]
    print("same" if pooled == mine and apart == mine[1] else "other")
"""


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    unittest.main()
