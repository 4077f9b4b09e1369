# SPDX-License-Identifier: Apache-2.0
"""plan_shards, chunks and levels beside the command line, array by array. BALLAST names the program."""

import importlib.util
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import numpy as np

import ballast

PROGRAM = os.environ["BALLAST"]


def run(*arguments):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def drawn(count, most, seed):
    """Lengths with a long tail, from 64 to `most`."""
    return np.clip(np.random.default_rng(seed).lognormal(7.0, 1.3, count), 64, most).astype(np.int64)


def as_written(plan):
    """Shards as `ballast schedule` writes them."""
    ranks = [
        [[row[:3] if row[3] < 0 else row for row in work.pieces.tolist()] for work in plan.passes_of(rank)]
        for rank in range(plan.ranks)
    ]
    return [group.tolist() for group in plan.groups], ranks, plan.left_out.tolist(), plan.execution


def planned_batches(folder, first_step=0):
    """The sampler of examples/python/batch_sampler.py, which is no part of the package, for rank 0."""
    path = pathlib.Path(__file__).parents[2] / "examples/python/batch_sampler.py"
    spec = importlib.util.spec_from_file_location("batch_sampler", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.PlannedBatches(folder, 0, first_step)


def attention_as_written(plan):
    """Attention on other ranks as `ballast schedule` writes it: of each rank and pass."""
    out = [[[] for _ in plan.passes_of(rank)] for rank in range(plan.ranks)]
    for rank, number, *task in plan.attention.tolist():
        out[rank][number].append(task[: 4 if task[4] == task[5] else 6])
    return out


class Equal(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.file = self.folder / "lengths.txt"

    def write(self, lengths):
        self.file.write_text("".join(f"{length}\n" for length in lengths))

    def schedule(self, method, *options):
        code, out, error = run("schedule", self.file, "--method", method, *options)
        return json.loads(out.splitlines()[0]) if code == 0 else error  # later lines have what the first batch left out

    def test_shards_of_every_method(self):
        message = run("schedule", self.file, "--gpus", 1, "--method", "none")[2]
        with self.assertRaises(ValueError) as mine:
            ballast.plan_shards([1], ranks=1, cost="llama-3.1-8b", method="none")
        methods = re.search(r"is not one of (.*)", str(mine.exception))[1].split(", ")
        self.assertEqual(len(methods), 21)  # all but hbp, whose steps are its own
        for method in methods:
            self.assertIn(method, message)
        planned = 0
        for seed, ranks, capacity, count in ((1, 8, 8192, 96), (2, 16, 4096, 64), (3, 6, 16384, 40), (4, 1, 40000, 12)):
            lengths = drawn(count, 32768, seed)
            self.write(lengths)
            for method in methods:
                with self.subTest(method=method, ranks=ranks):
                    line = self.schedule(method, "--gpus", ranks, "--capacity", capacity, "--batch", count, "--seed", 3)
                    arguments = {
                        "ranks": ranks,
                        "capacity": capacity,
                        "cost": "llama-3.1-8b",
                        "method": method,
                        "seed": 3,
                    }
                    if isinstance(line, str):
                        with self.assertRaisesRegex(ValueError, "^(method|ranks)"):
                            ballast.plan_shards(lengths, **arguments)
                        continue
                    plan = ballast.plan_shards(lengths, **arguments)
                    written = line["groups"], line["ranks"], line["left_out"], line["execution"]
                    self.assertEqual(as_written(plan), written)
                    self.assertEqual("attention" in line, method == "distca")
                    self.assertEqual(len(plan.attention) > 0, method == "distca")
                    if method == "distca":
                        self.assertEqual(attention_as_written(plan), line["attention"])
                    self.assertAlmostEqual(plan.milliseconds, line["milliseconds"], places=5)
                    self.assertAlmostEqual(plan.lower_bound, line["lower_bound"], places=5)
                    planned += 1
        self.assertGreater(planned, 50)

    def test_chunks(self):
        for ranks, count, longest in ((1, 60, 30000), (3, 900, 4000)):  # so that groups of one GPU are best
            lengths = drawn(count, longest, 5)
            self.write(lengths)
            made = ballast.chunks(lengths, 8192, ranks=ranks, cost="llama-3.1-8b")
            line = self.schedule("chunkflow", "--gpus", ranks, "--capacity", 8192, "--batch", count)
            self.assertEqual(as_written(made.shards)[1], line["ranks"])
        lengths = drawn(60, 30000, 5)
        self.write(lengths)
        layers = self.folder / "layers.csv"
        layers.write_text("name,forward,backward,activation_bytes\n" + "".join(f"layer {i},1,2,1000\n" for i in range(4)))
        for retain in (1, 2):
            made = ballast.chunks(lengths, 8192, retain=retain, cost="llama-3.1-8b")
            code, out, error = run(
                "simulate", layers, "--stages", 2, "--lengths", self.file, "--chunk", 8192, "--retain", retain, "--json"
            )
            self.assertEqual(code, 0, error)
            told = json.loads(out)
            self.assertEqual(
                (made.count, len(made.chains), made.forwards_again),
                (told["chunks"], told["chains"], told["forwards_again"]),
            )

    def test_levels(self):
        lengths = drawn(3000, 60000, 6)
        self.write(lengths)
        given = self.folder / "levels.json"
        given.write_text(
            json.dumps(
                [{"length": 8192, "sp": 1, "recomputed_layers": 4}, {"length": 32768, "sp": 4, "recomputed_layers": 8}]
            )
        )
        for levels, mine, more, options in (
            ("auto", "auto", ("--capacity", 32768), {"capacity": 32768}),
            ("hbp", "hbp", ("--capacity", 32768), {"capacity": 32768}),
            (given, [(8192, 1, 4), (32768, 4, 8)], (), {}),
        ):
            for curriculum, oversize, seed in (("hbp", "split", 1), ("ascending-buckets", "truncate", 2)):
                with self.subTest(levels=str(levels), curriculum=curriculum):
                    folder = self.folder / f"{curriculum}-{pathlib.Path(levels).name}"
                    code, _, error = run(
                        "plan",
                        self.file,
                        "--levels",
                        levels,
                        "--gpus",
                        8,
                        "--micro-batches",
                        2,
                        "--curriculum",
                        curriculum,
                        "--oversize",
                        oversize,
                        "--seed",
                        seed,
                        "--out",
                        folder,
                        *more,
                    )
                    self.assertEqual(code, 0, error)
                    plan = ballast.levels(
                        lengths,
                        mine,
                        gpus=8,
                        cost="llama-3.1-8b",
                        micro_batches=2,
                        curriculum=curriculum,
                        oversize=oversize,
                        seed=seed,
                        **options,
                    )
                    for name in ("steps", "levels", "offsets", "members"):
                        np.testing.assert_array_equal(getattr(plan, name), np.load(folder / f"{name}.npy"))
                    written = json.loads((folder / "plan.json").read_text())
                    self.assertEqual(f"{plan.hash():016x}", written["hash"])
                    pieces = [(p["sample"], p["offset"], p["length"]) for p in written["pieces"]]
                    self.assertEqual(plan.pieces, pieces)
                    steps = list(planned_batches(folder).shards(lengths))  # the folder as steps that ranks execute
                    self.assertEqual(len(steps), len(plan))
                    for step, (setting, samples, shards) in enumerate(steps):
                        self.assertEqual(setting, plan.settings[plan.levels[step]])
                        np.testing.assert_array_equal(shards.lengths, plan.lengths[samples])
                        rows, same = shards.pieces.copy(), plan.shards_of(step)
                        rows[:, 0] = samples[rows[:, 0]]
                        np.testing.assert_array_equal(rows, same.pieces)
                    later = list(planned_batches(folder, 3).shards(lengths))
                    self.assertEqual([s.hash() for *_, s in later], [s.hash() for *_, s in steps[3:]])
        with self.assertRaisesRegex(ValueError, "^lengths has 9 entries, but 3000 samples were planned$"):
            next(planned_batches(folder).shards(lengths[:9]))

    def test_a_plan_of_one_length(self):
        lengths = drawn(300, 20000, 7)
        self.write(lengths)
        folder = self.folder / "plan"
        code, _, error = run(
            "plan", self.file, "--capacity", 8192, "--ranks", 4, "--oversize", "split", "--multiple", 24, "--out", folder
        )
        self.assertEqual(code, 0, error)
        trained = 0
        for setting, samples, shards in planned_batches(folder).shards(lengths):
            self.assertEqual((setting[1], len(shards.groups)), (1, 0))
            trained += int(shards.lengths.sum())
        self.assertEqual(trained, lengths.sum())


if __name__ == "__main__":
    unittest.main()
