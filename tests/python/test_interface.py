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
from ballast import _ballast

PACKAGE = pathlib.Path(ballast.__file__).parent
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

    @unittest.skipUnless(importlib.util.find_spec("mypy"), "mypy is not installed: types are not checked")
    def test_mypy_agrees(self):
        own = "__main__ _files _tokens _levels _fits models lengths streams snapshot".split()
        with tempfile.TemporaryDirectory() as folder:
            lacking = ["torch", "pyarrow", "tokenizers", "transformers", "verl"]
            config = pathlib.Path(folder) / "mypy.ini"
            config.write_text(
                "[mypy]\nstrict = True\n" + "".join(f"[mypy-{name}.*]\nignore_missing_imports = True\n" for name in lacking)
            )
            modules = [argument for name in own for argument in ("-m", f"ballast.{name}")]
            user = pathlib.Path(folder) / "user.py"
            user.write_text(USER)
            for what in (modules, [str(user)]):
                command = [sys.executable, "-m", "mypy", "--config-file", str(config), "--cache-dir", f"{folder}/cache", *what]
                run = subprocess.run(command, capture_output=True, text=True, cwd=folder)
                self.assertEqual(run.returncode, 0, run.stdout + run.stderr)


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
