# SPDX-License-Identifier: Apache-2.0
"""Tests what plans say of themselves, with NumPy alone: figures, copies, pickles and reports. Run by
scripts/test-python and .ci/run."""

import copy
import html.parser
import pickle
import re
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock

import numpy as np

import ballast
import ballast.torch

COST = "llama-3.1-8b"
ASKED = {"capacity": 4096, "ranks": 4, "micro_batches": 2, "cost": COST, "seed": 5}


def drawn(count, most=4096, seed=1):
    """Lengths with a long tail, from 1 to `most`."""
    return np.clip(np.random.default_rng(seed).lognormal(6.0, 1.2, count), 1, most).astype(np.int64)


def everything(lengths=None, **options):
    """A plan of each kind, of the same samples; plan_steps takes no samples above the capacity."""
    lengths = drawn(600) if lengths is None else lengths
    asked = {**ASKED, **options}
    plans = {
        "Packing": ballast.pack(lengths, 4096, oversize=options.get("oversize", "reject")),
        "TrainingRun": ballast.TrainingRun(lengths, **asked),
        "Plan": ballast.torch.Plan(lengths, **asked),
    }
    return plans if "oversize" in options else {**plans, "StepPlan": ballast.plan_steps(lengths, **asked)}


def without_planning(case):
    """A context in which a run that is made from lengths alone fails."""
    make = ballast.run.make_run

    def restored(*args, **options):
        case.assertIsNotNone(options["state"], "this plans again")
        return make(*args, **options)

    return unittest.mock.patch("ballast.run.make_run", restored)


class Figures(unittest.TestCase):
    def test_the_same_names_mean_the_same(self):
        plans = everything()
        steps = plans["StepPlan"]
        for name in ("idle", "fill", "slowest", "lower_bound"):
            for other in ("TrainingRun", "Plan"):
                self.assertEqual(getattr(plans[other], name), getattr(steps, name), f"{other}.{name}")
        for plan in plans.values():
            self.assertIsInstance(plan.fill, float)
            self.assertGreater(plan.fill, 0.8)
            for name in ("set_aside", "dropped", "repeated"):
                self.assertEqual(getattr(plan, name).tolist(), [])
        self.assertIsNone(plans["Packing"].idle)
        self.assertLessEqual(plans["Packing"].lower_bound, len(plans["Packing"]))
        self.assertLessEqual(steps.lower_bound, steps.slowest)

    def test_what_is_left_out_is_named(self):
        lengths = np.append(drawn(600), [9000, 5000])
        for name, plan in everything(lengths, oversize="set_aside").items():
            self.assertEqual(plan.set_aside.tolist(), [600, 601], name)
            self.assertIn("2 set aside", repr(plan))
        run = ballast.TrainingRun(lengths, oversize="set_aside", **ASKED)
        run.next()
        run.resume(run.state(), ranks=3)  # which plans the rest of the epoch anew
        self.assertEqual(run.set_aside.tolist(), [600, 601])
        for left_over, name in (("drop", "dropped"), ("repeat", "repeated")):
            plans = everything(drawn(211), left_over=left_over)
            named = getattr(plans["StepPlan"], name).tolist()
            self.assertGreater(len(named), 0)
            for other in ("TrainingRun", "Plan"):
                self.assertEqual(getattr(plans[other], name).tolist(), named)
                self.assertIn(f"{len(named)} {name}", repr(plans[other]))

    def test_a_plan_is_told_in_one_line(self):
        for name, plan in everything().items():
            line = repr(plan)
            self.assertNotIn("\n", line)
            self.assertIn(f"<{name}: ", line)
            self.assertIn(f"600 samples in {len(plan) if name == 'Packing' else ''}", line)
            self.assertIn("of up to 4,096 tokens", line)
            self.assertIn(f"fill {100 * plan.fill:.2f} %", line)
            if name != "Packing":
                steps = plan.steps
                self.assertIn(f"{steps} steps on 4 ranks of 2 micro-batches; idle {100 * plan.idle:.2f} %", line)
        pieces = repr(ballast.pack([3, 20], 8, oversize="split"))
        self.assertIn("<Packing: 4 samples and pieces in 3 packs", pieces)

    def test_length_and_iteration_count_the_same(self):
        plans = everything()
        packing, steps, plan = plans["Packing"], plans["StepPlan"], plans["Plan"]
        self.assertEqual([len(packing), len(steps), len(plan)], [packing.count, steps.steps, plan.steps])
        self.assertEqual([p.tolist() for p in packing], [p.tolist() for p in packing.packs])
        self.assertEqual(packing[1].tolist(), packing.packs[1].tolist())
        self.assertEqual(len(plans["TrainingRun"]), len(list(plans["TrainingRun"])))
        for each in (steps, plan):
            lists = list(each)
            self.assertEqual(len(lists), len(each))
            packs = [p for step in lists for rank in step for p in rank]
            self.assertEqual(sorted(i for p in packs for i in p.tolist()), list(range(600)))
            self.assertEqual({len(step) for step in lists}, {4})
        self.assertEqual(plan.steps_done, 0)  # it stays where it is
        self.assertEqual([p.tolist() for p in steps[2][1]], [p.tolist() for p in steps.packs_of(2, 1)])
        with self.assertRaises(IndexError):
            steps[steps.steps]

    def test_a_run_is_true_and_plans_nothing_for_that(self):
        run = ballast.TrainingRun(drawn(600), epochs=3, **ASKED)
        with unittest.mock.patch.object(ballast.TrainingRun, "steps", property(lambda self: 1 / 0)):
            self.assertTrue(run)


class Copies(unittest.TestCase):
    def ways(self):
        return copy.copy, copy.deepcopy, lambda plan: pickle.loads(pickle.dumps(plan))

    def test_plans_are_copied_without_planning(self):
        plans = everything()
        for way in self.ways():
            for name, plan in plans.items():
                with without_planning(self):
                    again = way(plan)
                self.assertEqual(again.hash(), plan.hash(), name)
                self.assertEqual(repr(again), repr(plan))
                for figure in ("idle", "fill", "lower_bound"):
                    self.assertEqual(getattr(again, figure), getattr(plan, figure))
        checked = pickle.loads(pickle.dumps(plans["StepPlan"]))
        self.assertIn("valid", ballast.check(checked, drawn(600)))
        split = ballast.pack([5, 9, 17], 8, oversize="split")
        self.assertEqual(pickle.loads(pickle.dumps(split)).pieces, split.pieces)
        shared = ballast.plan_steps([900, 10, 10, 10], capacity=300, ranks=4, cost=COST, most_ranks_shared=4)
        self.assertEqual(pickle.loads(pickle.dumps(shared)).shared, shared.shared)

    def test_a_copy_stands_where_the_run_does_and_goes_its_own_way(self):
        for part, ranks in ((0, 4), (1, 4), (1, 3)):
            run = ballast.TrainingRun(np.append(drawn(300), 9000), epochs=3, oversize="split", **ASKED)
            for _ in range(part * len(run) // 2 + 2):
                run.next()
            if ranks != 4:
                run.resume(run.state(), ranks=ranks)
                run.next()
            for way in self.ways():
                again = way(run)
                self.assertEqual((again.step, again.epoch, again.pieces), (run.step, run.epoch, run.pieces))
                packs = [again.packs_of(r) for r in range(ranks)]
                self.assertEqual([[p.tolist() for p in own] for own in packs], self.packs(run))
                self.assertEqual(again.state(), run.state())
                before = run.hash()
                rest = [self.packs(again) for _ in again]
                self.assertEqual(run.hash(), before)
                self.assertEqual(rest, [self.packs(other) for other in [copy.copy(run)] for _ in other])

    def packs(self, run):
        return [[p.tolist() for p in run.packs_of(r)] for r in range(run.ranks)]

    def test_a_run_recalibrated_and_pickled_goes_on_alike(self):
        lengths = drawn(2000)
        run = ballast.TrainingRun(lengths, epochs=2, **ASKED)
        for _ in range(12):
            run.next()
            run.observe([sum(2.0 + lengths[p].sum() / 1e3 for p in run.packs_of(r)) for r in range(4)])
        run.recalibrate()
        again = pickle.loads(pickle.dumps(run))
        self.assertEqual(again.hash(), run.hash())
        self.assertEqual([self.packs(again) for _ in again], [self.packs(run) for _ in run])

    def test_samples_without_tokens_keep_their_numbers(self):
        lengths = drawn(300)
        lengths[[0, 7, 299]] = 0
        packing = ballast.pack(lengths, 4096, zero_length="skip")
        steps = ballast.plan_steps(lengths, zero_length="skip", **ASKED)
        run = ballast.TrainingRun(lengths, zero_length="skip", **ASKED)
        wanted = sorted(set(range(300)) - {0, 7, 299})
        for plan in (packing, steps):
            again = pickle.loads(pickle.dumps(plan))
            self.assertEqual(again.skipped.tolist(), [0, 7, 299])
            self.assertEqual(sorted(again.members.tolist()), wanted)
            self.assertEqual(ballast.check(again, lengths), "valid")
        again = pickle.loads(pickle.dumps(run))
        self.assertEqual(again.skipped.tolist(), [0, 7, 299])
        self.assertEqual(sorted(i for _ in again for packs in self.packs(again) for p in packs for i in p), wanted)
        self.assertEqual(str(again.report()), str(run.report()))
        self.assertIn("297 samples", str(steps.report(lengths)))

    def test_a_plan_counts_alone(self):
        plan = ballast.torch.Plan(drawn(300), epochs=2, **ASKED)
        for _ in range(3):
            plan.step_done()
        state = plan.state()
        for way in self.ways():
            again = way(plan)
            self.assertEqual(again.state(), state)
            self.assertEqual(list(again.batches(1, one_epoch=True)), list(plan.batches(1, one_epoch=True)))
            again.step_done()
            self.assertEqual(again.steps_done, 4)
            self.assertEqual(plan.state(), state)

    def test_lengths_may_be_changed_after_they_were_planned(self):
        lengths = drawn(300)
        run, other = (ballast.TrainingRun(lengths, epochs=2, **ASKED) for _ in range(2))
        first = [self.packs(other) for _ in other]
        lengths[:] = 1
        self.assertEqual([self.packs(run) for _ in run], first)

    def test_a_damaged_pickle_is_refused(self):
        steps = everything()["StepPlan"]
        numbers, offsets, members, table, *rest = steps.__getstate__()[0]
        changed = members.copy()
        changed[[0, 1]] = changed[[1, 0]]
        state = steps.__getstate__()
        for broken in ((numbers, offsets, changed, table, *rest), (numbers, offsets[:-1].copy(), members, table, *rest)):
            again = ballast.StepPlan.__new__(ballast.StepPlan)
            with self.assertRaisesRegex(ValueError, "saved plan is damaged"):
                again.__setstate__((broken, *state[1:]))

    def test_a_run_of_millions_takes_little_memory(self):
        script = """
import ctypes, pickle, numpy as np, ballast.torch
def held():
    getattr(ctypes.CDLL(None), "malloc_trim", int)(0)  # what is free is given back
    return int(open("/proc/self/statm").read().split()[1]) * 4096
n = 2_000_000
lengths = np.clip(np.random.default_rng(1).lognormal(6, 1.2, n), 1, 4096).astype(np.int32)
ballast.torch.Plan(lengths[:1000], capacity=4096, ranks=8, cost="llama-3.1-8b")
before = held()
plan = ballast.torch.Plan(lengths, capacity=4096, ranks=8, micro_batches=2, cost="llama-3.1-8b")
print((held() - before) / n)
data = pickle.dumps(plan)
print(len(data) / n)
del plan
again = pickle.loads(data)
print((held() - before) / n)
"""
        if sys.platform != "linux":
            return
        run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        planned, pickled, unpickled = map(float, run.stdout.split())
        self.assertLess(planned, 21)  # bytes a sample, and 4 for the lengths of the caller; it was 78
        self.assertLess(pickled, 16)
        self.assertLess(unpickled, 36)


class Reports(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lengths = drawn(3000)
        cls.run_ = ballast.TrainingRun(cls.lengths, **ASKED)

    def test_rows_are_plans_of_the_same_samples(self):
        report = self.run_.report()
        self.assertEqual(
            [row.name for row in report.rows], ["naive order", "length-grouped", "verl", "TRL bfd, shuffled", "ballast"]
        )
        own = report.rows[-1]
        self.assertEqual(own.time, 1.0)
        self.assertAlmostEqual(own.idle, self.run_.idle, places=12)
        tokens = int(self.lengths.sum())
        for row in report.rows:
            self.assertAlmostEqual(row.fill, tokens / (row.packs * 4096), places=9, msg=row.name)
            self.assertGreaterEqual(row.packs, report.least_packs)
            self.assertGreaterEqual(row.idle + 1e-12, report.least_idle)
        for row in report.rows[:-1]:
            self.assertLess(own.idle, row.idle)
        self.assertEqual(report.rows[3].packs, -(-len(ballast.pack(self.lengths, 4096)) // 8) * 8)  # steps are filled

    def test_each_kind_of_plan_reports_the_same(self):
        rows = self.run_.report().rows
        self.assertEqual(ballast.torch.Plan(self.lengths, **ASKED).report().rows, rows)
        steps = ballast.plan_steps(self.lengths, **ASKED)
        self.assertEqual(steps.report(self.lengths).rows, rows)
        with self.assertRaisesRegex(ValueError, "not those that it was made for"):
            steps.report(self.lengths + 1 - (self.lengths == 4096))

    def test_text_and_table_have_the_same_cells(self):
        measured = types.SimpleNamespace(waiting=0.0123, fill=0.9, tokens_per_second=1234.5, steps=40)
        report = self.run_.report(measured=measured)
        self.assertEqual(str(report), repr(report))
        small = ballast.TrainingRun([3, 4], capacity=8, ranks=1, cost=ballast.token_cost())
        self.assertIn("packs of up to 8; 1 rank of 1 micro-batch a step.", str(small.report()))
        lines = [line for line in str(report).split("\n") if re.match(r"(naive|length|verl|TRL|ballast|measured)", line)]
        self.assertEqual(len(lines), 6)
        page = Cells()
        page.feed(report._repr_html_())
        for line, row in zip(lines, page.rows[1:]):
            self.assertEqual(line.split(), " ".join(row).split())
        self.assertIn("1.23%", lines[-1])
        self.assertIn("1,234 tokens a second over 40 steps", str(report))

    def test_the_page_is_that_of_the_command_line(self):
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/plan.html"
            measured = types.SimpleNamespace(waiting=0.0123, fill=0.9, tokens_per_second=1234.5, steps=40)
            report = self.run_.report(path, measured=measured)
            with open(path, encoding="utf-8") as file:
                text = file.read()
        self.assertTrue(text.startswith("<!DOCTYPE html>"))
        self.assertNotIn("{{", text)
        for word in ("Load of the ranks, step by step", "What limits the plan", "Measured over 40 steps", COST):
            self.assertIn(word, text)
        for row in report.rows:
            self.assertIn(row.name, text)

    def test_observed_times_stand_beside_the_predicted_ones(self):
        run = ballast.TrainingRun(self.lengths, **ASKED)
        self.assertNotIn("measured", str(run.report()))
        tokens = 0
        for _ in range(4):
            run.next()
            tokens += sum(int(self.lengths[p].sum()) for r in range(4) for p in run.packs_of(r))
            run.observe([100.0, 80.0, 100.0, 80.0])
        for one in (run, copy.copy(run), pickle.loads(pickle.dumps(run))):
            measured = one.report().measured
            self.assertAlmostEqual(measured.waiting, 0.1)
            self.assertAlmostEqual(measured.fill, tokens / (4 * 8 * 4096))
            self.assertAlmostEqual(measured.tokens_per_second, tokens / 0.4)
            self.assertEqual(measured.steps, 4)
        whole = ballast.TrainingRun(self.lengths, **ASKED)
        whole.next()
        whole.observe(100.0)  # which does not say who waited
        self.assertIsNone(whole.report().measured.waiting)
        self.assertIn("measured", str(whole.report()))

    def test_what_callbacks_measured_is_shown(self):
        plan = ballast.torch.Plan(self.lengths, **ASKED)
        plan.measured = types.SimpleNamespace(waiting=0.25, fill=0.9, tokens_per_second=10.0, steps=7)
        self.assertIn("25.00%", str(plan.report()))

    def test_other_costs_and_shapes(self):
        few = drawn(40)
        for options in (
            {"cost": ballast.token_cost()},
            {"cost": None, "costs": (few * few).tolist()},
            {"oversize": "set_aside", "capacity": 1024},
            {"oversize": "split", "capacity": 1024},
            {"synchronisation": "per_micro_batch"},
            {"ranks": 1, "micro_batches": 1},
            {"left_over": "repeat"},
        ):
            run = ballast.TrainingRun(few, **{**ASKED, **options})
            rows = run.report().rows
            self.assertEqual(len(rows), 5)
            self.assertTrue(all(0 <= row.idle < 1 and 0 < row.fill <= 1 for row in rows), options)
            self.assertIn("<!DOCTYPE html>", run.report().page())
        for levels in (5, [5], [(4096,)], [("a", 1)], [(4096, 1.5)], [(4096, True)]):
            with self.assertRaisesRegex(TypeError, "^levels = .* must be 'auto', 'hbp' or tuples of two or three integers"):
                ballast.TrainingRun(few, levels=levels, ranks=2, cost=COST)
        with self.assertRaisesRegex(ValueError, "run in levels has no report"):
            ballast.TrainingRun(few, levels=[(4096, 1)], ranks=2, cost=COST).report()
        self.assertIn("0 samples", str(ballast.TrainingRun([], **ASKED).report()))


class Cells(html.parser.HTMLParser):
    """The rows of the first table."""

    def __init__(self):
        super().__init__()
        self.rows, self._open = [], False

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        self._open = tag in ("td", "th")

    def handle_endtag(self, tag):
        self._open = False

    def handle_data(self, data):
        if self._open:
            self.rows[-1][-1] += data


if __name__ == "__main__":
    unittest.main()
