# SPDX-License-Identifier: Apache-2.0
"""ballast.callbacks in a loop of one's own and with the real Trainer, on 2 ranks over gloo; and the trial of
benchmarks/python. Time is counted in passes over tokens, so that every figure is exact."""

import glob
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import warnings
from unittest import mock

import numpy as np
import torch
from support import LENGTHS, Samples, Summed, Tiny, each_once, on_ranks
from torch.utils.data import DataLoader
from transformers import Trainer, TrainerCallback, TrainingArguments

import ballast
from ballast.callbacks import Meter, MeterCallback
from ballast.huggingface import Planned
from ballast.torch import Packed, Plan

OPTIONS = {"capacity": 64, "micro_batches": 2, "epochs": 3, "seed": 5, "cost": "llama-3.1-8b"}
SQUARES = (lambda lengths: sum(n * n for n in lengths),)
BY_TOKENS = {"cost": ballast.token_cost(), "steps_per_epoch": 10}
KEYS = ["ballast/wait", "ballast/fill", "ballast/tokens_per_second"]


def plan_of(ranks, **options):
    return Plan(LENGTHS, ranks=ranks, **{**OPTIONS, **options})


def collate(samples):
    return {**Packed()(samples), "index": [s["index"] for s in samples]}


def loader_of(plan, rank):
    batches = plan.batches(rank, one_epoch=True)
    return DataLoader(Samples(), batch_sampler=batches, collate_fn=collate, num_workers=2)


class Clock:
    """Seconds that go on with each pass: a sample of l tokens takes l + 20 ms, or what `work` says."""

    def __init__(self, work=lambda lengths: sum(n + 20 for n in lengths)):
        self.now, self.work = 0.0, work

    def __call__(self):
        return self.now / 1e3

    def passes(self, members):
        self.now += self.work([int(LENGTHS[i]) for i in members])


def steps_of(results):
    """Steps of ranks of lists of samples, from the lists that each rank trained on."""
    each = OPTIONS["micro_batches"]
    lists = [seen for seen, *_ in results]
    return [[own[s : s + each] for own in lists] for s in range(0, len(lists[0]), each)]


def waiting_of(steps, work):
    times = np.array([[sum(work([int(LENGTHS[i]) for i in m]) for m in rank) for rank in step] for step in steps])
    return 1 - times.mean(axis=1).sum() / times.max(axis=1).sum()


def each_once_in_each_pass(case, steps):
    """Fails unless each pass holds every sample once; the steps end within one."""
    members, seen = [], 0
    for step in steps:
        members += [m for rank in step for m in rank]
        count = sum(map(len, members))
        if count == len(LENGTHS):
            each_once(case, members)
            members, seen = [], seen + 1
    case.assertGreaterEqual(seen, 3)
    case.assertEqual(len({i for m in members for i in m}), sum(map(len, members)))


def measured_in(plan):
    """What the cost is by 20 steps in which a sample of l tokens takes l^2."""
    run = plan._run()
    for _ in range(20):
        run.next()
        run.observe([sum(SQUARES[0](LENGTHS[p].tolist()) for p in run.packs_of(rank)) for rank in range(2)])
    return run.measured()


def loop(rank, ranks, options):
    """Trains in a loop: the lists of this rank, what was logged, and `plan.measured`."""
    options = dict(options)
    clock = Clock(*options.pop("work", ()))
    plan, model = plan_of(ranks, **options.pop("plan", {})), Tiny()
    wrapped = torch.nn.parallel.DistributedDataParallel(model)
    seen, logged = [], []
    meter = Meter(plan, model, log=lambda values, step: logged.append((step, values)), clock=clock, **options)
    for _, micro_batches in plan.steps_of(loader_of(plan, rank)):
        clock.now += 1000  # loading does not count
        with meter:
            for batch in micro_batches:
                clock.passes(batch["index"])
                seen.append(batch["index"])
                wrapped(batch["input_ids"], batch["position_ids"]).sum().backward()
            clock.now += 1000 * rank  # nor does what comes behind the last gradient, such as waiting
    meter.close()
    return seen, logged, plan.measured, plan.steps


class TestMeter(unittest.TestCase):
    def test_figures_of_a_loop(self):
        results = on_ranks(2, loop, {"every": 4})
        steps = steps_of(results)
        (_, logged, measured, count), (_, other, again, _) = results
        self.assertEqual([step for step, _ in logged], [*range(4, count, 4), count])
        for (step, values), (_, theirs), begin in zip(logged, other, range(0, count, 4)):
            self.assertEqual(list(values), KEYS)
            some = steps[begin:step]
            tokens = sum(int(LENGTHS[i]) for s in some for rank in s for members in rank for i in members)
            self.assertAlmostEqual(values["ballast/wait"], waiting_of(some, Clock().work), 12)
            self.assertAlmostEqual(values["ballast/fill"], tokens / (len(some) * 2 * 2 * 64), 12)
            self.assertGreater(values["ballast/tokens_per_second"], 0)
            self.assertEqual([theirs[key] for key in KEYS[:2]], [values[key] for key in KEYS[:2]])
        self.assertAlmostEqual(measured.waiting, waiting_of(steps, Clock().work), 12)
        self.assertEqual((measured.steps, measured.predicted, again.steps), (count, False, count))
        self.assertAlmostEqual(measured.fill, 3 * int(LENGTHS.sum()) / (count * 2 * 2 * 64), 12)
        self.assertGreater(measured.waiting, 0.01)

    def test_recalibration_trains_each_sample_once_and_waits_less(self):
        waits = []
        for recalibrate in (0, 8):
            results = on_ranks(2, loop, {"every": 4, "work": SQUARES, "plan": BY_TOKENS, "recalibrate": recalibrate})
            steps = steps_of(results)
            self.assertEqual(len(steps), 30)
            each_once_in_each_pass(self, steps)
            self.assertAlmostEqual(results[0][2].waiting, waiting_of(steps, *SQUARES), 12)
            waits.append(waiting_of(steps[22:], *SQUARES))
        self.assertLess(waits[1], waits[0] / 4)

    def test_a_state_behind_a_recalibration_resumes_with_its_plan(self):
        plan = plan_of(2, **BY_TOKENS)
        samplers = [iter(plan.batches(rank, one_epoch=True)) for rank in range(2)]
        lists = [[next(own) for _ in range(4)] for own in samplers]  # two steps ahead
        self.assertTrue(plan.recalibrate(measured_in(plan)))
        lists = [own + list(rest) for own, rest in zip(lists, samplers)]
        before = [list(plan_of(2, **BY_TOKENS).batches(rank, one_epoch=True)) for rank in range(2)]
        self.assertEqual(lists[0][:4], before[0][:4])
        self.assertNotEqual(lists[0][4:6] + lists[1][4:6], before[0][4:6] + before[1][4:6])
        for _ in range(5):
            plan.step_done()
        resumed = plan_of(2, **BY_TOKENS)
        resumed.resume(plan.state())
        for rank in range(2):
            self.assertEqual(list(resumed.batches(rank, one_epoch=True)), lists[rank][2 * 5 :])

    def test_the_number_of_steps_stays(self):
        plan = plan_of(2, cost=[1] * 65)
        before = plan.steps_of_epochs
        with self.assertWarnsRegex(UserWarning, "another number of steps than the trainer was told: give the plan steps_"):
            self.assertFalse(plan.recalibrate(measured_in(plan)))
        self.assertEqual(len(list(plan.batches(0, one_epoch=True))), 2 * sum(before.values()))

    def test_without_a_group_waiting_is_predicted(self):
        plan, logged = plan_of(2, cost=lambda n: n * n), []
        with self.assertWarnsRegex(UserWarning, "ranks = 2.*the waiting is predicted by the cost of the plan"):
            meter = Meter(plan, log=lambda values, step: logged.append(values), every=1)
        for _, micro_batches in plan.steps_of(loader_of(plan, 0)):
            with meter:
                list(micro_batches)
        self.assertEqual(list(logged[0]), ["ballast/wait_predicted", *KEYS[1:]])
        lists = [list(plan_of(2, cost=lambda n: n * n).batches(rank, one_epoch=True)) for rank in range(2)]
        steps = steps_of([(own,) for own in lists])
        self.assertAlmostEqual(plan.measured.waiting, waiting_of(steps, *SQUARES), 12)
        self.assertTrue(plan.measured.predicted)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assertFalse(Meter(plan_of(1), every=1)._predicted)

    def test_a_reading_copies_no_lengths_of_all_samples(self):
        plan = plan_of(1)
        meter = Meter(plan, every=1)
        plan.step_done()
        with mock.patch.object(Plan, "lengths", property(lambda plan: self.fail("these are all lengths"))), meter:
            pass
        self.assertEqual(plan.measured.steps, 1)

    def test_what_is_refused(self):
        plan, names = plan_of(1), {"every": 3}
        for make, error, sentence in (
            (lambda: Meter(3), TypeError, "plan = 3 must be a Plan"),
            (lambda: Meter(plan, 3), TypeError, "model = 3 must be a module or None"),
            (lambda: Meter(plan, log="wandb"), TypeError, "log = 'wandb' must be a function or None"),
            (lambda: Meter(plan, every=2.0), TypeError, "every = 2.0 must be an integer"),
            (lambda: Meter(plan, every=True), TypeError, "every = True must be an integer"),
            (lambda: Meter(plan, every=0), ValueError, "every = 0 must be at least 1"),
            (lambda: Meter(plan, recalibrate=-1), ValueError, "recalibrate = -1 must be at least 0"),
            (lambda: Meter(plan, clock=None), TypeError, "clock = None must be a function"),
            (lambda: MeterCallback(names), TypeError, "plan = {'every': 3} must be a Plan"),
            (lambda: MeterCallback(plan, every=-1), ValueError, "every = -1 must be at least 0"),  # not when it trains
            (lambda: MeterCallback(plan, recalibrate=None), TypeError, "recalibrate = None must be an integer"),
        ):
            with self.assertRaises(error) as raised:
                make()
            self.assertEqual(str(raised.exception), sentence)
        self.assertEqual(Meter(plan, every=np.int64(2)).every, 2)
        with self.assertRaisesRegex(ValueError, "recalibrate needs the times of all ranks, and a plan by cost="):
            Meter(Plan(LENGTHS, capacity=64, ranks=1, costs=LENGTHS), recalibrate=4)
        plan = plan_of(1)
        meter = Meter(plan, every=1)
        plan.step_done()
        plan.step_done()
        with self.assertRaisesRegex(ValueError, "the meter is at step 1, but the plan counts 2: make the meter"), meter:
            pass
        for sentence in on_ranks(2, refused):
            self.assertIn("the group has 2 processes, but the plan ranks = 1: give group=", sentence)

    def test_events_of_a_gpu(self):
        """A device whose events are those of a counted time."""
        clock, asked = Clock(), []

        class Event:
            def __init__(self, enable_timing):
                assert enable_timing

            def record(self, stream):
                self.at = clock.now

            def synchronize(self):
                asked.append(self)

            def elapsed_time(self, end):
                return end.at - self.at

        with mock.patch("torch.cuda.Event", Event), mock.patch("torch.cuda.current_stream", lambda device: None):
            plan, model = plan_of(1), Tiny()
            meter = Meter(plan, model, every=2)
            meter._cuda = True
            for turn in (1, 2):
                with meter:
                    clock.now += 5
                    model(torch.tensor([[1]]), torch.tensor([[0]])).sum().backward()
                    clock.now += 100
                plan.step_done()
                self.assertEqual(len(asked), 0 if turn == 1 else 2)  # only a reading waits for the device
        self.assertEqual(meter._total[:2].tolist(), [0.01, 0.01])


def refused(rank, ranks):
    try:
        Meter(plan_of(1))
    except ValueError as error:
        return str(error)


class Model(Summed):
    """It counts the time of its passes."""

    def __init__(self, clock):
        super().__init__()
        self.clock = clock

    def forward(self, input_ids, position_ids, labels=None, index=None, num_items_in_batch=None, **kwargs):
        self.clock.passes(index)
        return super().forward(input_ids, position_ids, labels, index, num_items_in_batch)


class PlannedTrainer(Planned, Trainer):
    pass


class Reports(TrainerCallback):
    """Stands where tensorboard, wandb or trackio do."""

    def __init__(self):
        self.logs = []

    def on_log(self, args, state, control, logs=None, **_):
        self.logs.append((state.global_step, dict(logs)))


def train(rank, ranks, options):
    """What this rank trained on, what a reporter was told, the trainer's history, and `plan.measured`."""
    plan, clock, reports = plan_of(ranks, **options.get("plan", {})), Clock(*options.get("work", ())), Reports()
    trainer = PlannedTrainer(
        plan=plan,
        model=Model(clock),
        train_dataset=Samples(),
        data_collator=collate,
        args=TrainingArguments(
            output_dir=options.get("folder", tempfile.gettempdir()),
            num_train_epochs=1,
            gradient_accumulation_steps=2,
            use_cpu=True,
            report_to=options.get("report_to", "none"),
            save_strategy="no",
            logging_steps=5,
            remove_unused_columns=False,
            dataloader_num_workers=2,
            disable_tqdm=True,
        ),
        callbacks=[reports, MeterCallback(plan, clock=clock, **options.get("meter", {}))],
    )
    trainer.train()
    return trainer.accelerator.unwrap_model(trainer.model).seen, reports.logs, trainer.state.log_history, plan.measured


class TestTrainer(unittest.TestCase):
    def test_figures_go_where_the_trainer_reports(self):
        results = on_ranks(2, train, {})
        steps = steps_of(results)
        for _, told, history, measured in results:
            losses = [(step, logs) for step, logs in told if "loss" in logs]
            self.assertEqual([step for step, _ in losses], list(range(5, len(steps) + 1, 5)))
            for step, logs in losses:
                self.assertAlmostEqual(logs["ballast/wait"], waiting_of(steps[step - 5 : step], Clock().work), 12)
                kept = [each for each in history if each["step"] == step and "loss" in each]
                self.assertEqual([[each[key] for key in KEYS] for each in kept], [[logs[key] for key in KEYS]])
            self.assertEqual(measured.steps, len(steps))
            self.assertAlmostEqual(measured.waiting, waiting_of(steps, Clock().work), 12)

    @unittest.skipUnless(importlib.util.find_spec("tensorboard"), "tensorboard is not installed: its file is not read")
    def test_tensorboard_has_the_figures(self):
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

        with tempfile.TemporaryDirectory() as folder:
            told = on_ranks(2, train, {"report_to": "tensorboard", "folder": folder})[0][1]
            (file,) = glob.glob(f"{folder}/runs/*/events.out.tfevents.*")  # rank 0 alone writes
            written = EventAccumulator(file).Reload()
            for key in KEYS:
                found = [(event.step, event.value) for event in written.Scalars(f"train/{key}")]
                wanted = [(step, np.float32(logs[key])) for step, logs in told if "loss" in logs]
                self.assertEqual(found, wanted)

    @unittest.skipUnless(importlib.util.find_spec("trackio"), "trackio is not installed: its tables are not read")
    def test_trackio_has_the_figures(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, {"TRACKIO_DIR": folder}):
            told = on_ranks(2, train, {"report_to": "trackio", "folder": folder})[0][1]
            from trackio.sqlite_storage import SQLiteStorage

            (project,) = SQLiteStorage.get_projects()
            (run,) = SQLiteStorage.get_runs(project)
            rows = SQLiteStorage.get_logs(project, run)
        for key in KEYS:
            found = [row[f"train/{key}"] for row in rows if f"train/{key}" in row]
            self.assertEqual(found, [logs[key] for _, logs in told if "loss" in logs])

    def test_recalibration_under_the_trainer(self):
        waits = []
        for recalibrate in (0, 10):
            options = {"work": SQUARES, "plan": BY_TOKENS, "meter": {"recalibrate": recalibrate}}
            steps = steps_of(on_ranks(2, train, options))
            self.assertEqual(len(steps), 30)
            each_once_in_each_pass(self, steps)
            waits.append(waiting_of(steps[22:], *SQUARES))
        self.assertLess(waits[1], waits[0] / 4)

    def test_another_trainer_takes_it_by_add_to(self):
        plan, reports = plan_of(1), Reports()
        trainer = Trainer(
            model=torch.nn.Linear(1, 1),
            args=TrainingArguments(output_dir=tempfile.gettempdir(), report_to="none", use_cpu=True),
            callbacks=[reports],
        )
        callback = MeterCallback(plan)
        for _ in range(2):  # the second time changes nothing
            callback.add_to(trainer)
            self.assertIs(trainer.callback_handler.callbacks[0], callback)
            self.assertEqual(sum(each is callback for each in trainer.callback_handler.callbacks), 1)


class TestTrial(unittest.TestCase):
    def test_the_trial_prints_all_ways(self):
        script = pathlib.Path(__file__).parents[2] / "benchmarks" / "python" / "trial.py"
        tiny = ["--seeds", "1", "--samples", "24", "--capacity", "64", "--layers", "1", "--width", "16"]
        said = subprocess.run([sys.executable, script, *tiny], check=True, stdout=subprocess.PIPE, text=True).stdout
        for micro_batches in (1, 4):
            self.assertIn(f"Micro-batches of a rank in a step: {micro_batches};", said)
        for name in ("naive order", "next fit", "TRL bfd", "ballast", "control"):
            self.assertEqual(said.count(f"\n| {name} | "), 2)


if __name__ == "__main__":
    unittest.main()
