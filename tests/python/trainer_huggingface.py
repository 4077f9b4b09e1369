# SPDX-License-Identifier: Apache-2.0
"""ballast.huggingface with the real Trainer (4 processes over gloo, 2 workers each, stopped and resumed in the second
epoch) and TRL."""

import os
import shutil
import tempfile
import unittest

import datasets
import numpy as np
import torch
import transformers
from support import LENGTHS, VOCABULARY, Samples, Tiny, each_once, on_ranks, tokens, unpacked_gradient
from torch.utils.data import DataLoader
from transformers import Trainer, TrainerCallback, TrainingArguments

from ballast.accelerate import prepared
from ballast.huggingface import Planned, knapsack_of_lengths, pack_dataset
from ballast.torch import Packed, Plan

transformers.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()
datasets.disable_progress_bars()
OPTIONS = {"capacity": 64, "micro_batches": 2, "epochs": 3, "seed": 5, "cost": "llama-3.1-8b"}


class Model(Tiny):
    """Tiny with the face that Trainer expects: the loss as a sum over num_items_in_batch."""

    def __init__(self):
        super().__init__()
        self.seen, self.first = [], None

    def forward(self, input_ids, position_ids, labels=None, index=None, num_items_in_batch=None, **kwargs):
        self.seen.append(index)
        scores = super().forward(input_ids, position_ids)
        loss = torch.nn.functional.cross_entropy(scores[0, :-1], labels[0, 1:], ignore_index=-100, reduction="sum")
        return {"loss": loss / num_items_in_batch}


class PlannedTrainer(Planned, Trainer):
    pass


class FirstGradient(TrainerCallback):
    def on_pre_optimizer_step(self, args, state, control, model=None, **_):
        model = getattr(model, "module", model)
        if model.first is None:
            model.first = torch.cat([p.grad.flatten() for p in model.parameters()])


class StopAt(TrainerCallback):
    def __init__(self, step):
        self.step = step

    def on_step_end(self, args, state, control, **_):
        control.should_training_stop = control.should_save = state.global_step == self.step


def collate(samples):
    return {**Packed()(samples), "index": [s["index"] for s in samples]}


def plan_of(ranks):
    return Plan(LENGTHS, ranks=ranks, **OPTIONS)


def arguments(folder, **changes):
    return TrainingArguments(
        **{
            "output_dir": folder,
            "num_train_epochs": 1,
            "gradient_accumulation_steps": 2,
            "use_cpu": True,
            "report_to": "none",
            "optim": "sgd",
            "learning_rate": 0.1,
            "lr_scheduler_type": "constant",
            "max_grad_norm": 0.0,
            "save_strategy": "no",
            "logging_strategy": "no",
            "remove_unused_columns": False,
            "dataloader_num_workers": 2,
            "disable_tqdm": True,
            **changes,
        }
    )


def train(rank, ranks, folder, stop_at, resume):
    """The lists that this rank trained on, the first gradient, and the weights at the end."""
    trainer = PlannedTrainer(
        plan=plan_of(ranks),
        model=Model(),
        train_dataset=Samples(),
        data_collator=collate,
        args=arguments(folder),
        callbacks=[FirstGradient(), StopAt(stop_at)],
    )
    trainer.train(resume_from_checkpoint=resume)
    model = trainer.accelerator.unwrap_model(trainer.model)
    return (
        model.seen,
        model.first,
        torch.cat([p.detach().flatten() for p in model.parameters()]),
        trainer.plan.steps_done,
    )


def members_of(results, lists):
    """What all ranks trained on in these micro-batches."""
    return [members for seen, *_ in results for members in seen[lists]]


class TestTrainer(unittest.TestCase):
    def test_resumes_in_the_second_epoch_with_four_and_three_processes(self):
        with tempfile.TemporaryDirectory() as folder:
            whole = on_ranks(4, train, folder, None, None)
            steps = plan_of(4).steps_of_epochs
            for epoch in range(3):
                first = 2 * sum(steps[e] for e in range(epoch))
                each_once(self, members_of(whole, slice(first, first + 2 * steps[epoch])))
            self.assertEqual([done for *_, done in whole], [sum(steps.values())] * 4)
            reference = unpacked_gradient([i for members in members_of(whole, slice(0, 2)) for i in members])
            for _, first, *_ in whole:
                self.assertLess((first - reference).abs().max() / reference.abs().max(), 1e-10)

            middle = steps[0] + 2
            stopped = on_ranks(4, train, folder, middle, None)
            self.assertEqual(os.listdir(folder), [f"checkpoint-{middle}"])
            shutil.copytree(folder, f"{folder}-3")
            same = on_ranks(4, train, folder, None, True)
            for rank in range(4):
                self.assertEqual(stopped[rank][0] + same[rank][0], whole[rank][0])
                self.assertLess((same[rank][2] - whole[rank][2]).abs().max(), 1e-12)  # DDP may add in another order
            try:
                fewer = on_ranks(3, train, f"{folder}-3", None, True)
            finally:
                shutil.rmtree(f"{folder}-3")
            rest = plan_of(4)
            for _ in range(middle):
                rest.step_done()
            three = plan_of(3)
            three.resume(rest.state(), ranks=3)
            end = 2 * three.steps_of_epochs[1]
            self.assertEqual([len(seen) for seen, *_ in fewer], [2 * sum(three.steps_of_epochs.values())] * 3)
            each_once(self, members_of(stopped, slice(2 * steps[0], None)) + members_of(fewer, slice(0, end)))
            each_once(self, members_of(fewer, slice(end, None)))

    def test_what_is_refused(self):
        def trainer(plan, **changes):
            return PlannedTrainer(
                plan=plan,
                model=Model(),
                train_dataset=Samples(),
                data_collator=collate,
                args=arguments(tempfile.gettempdir(), **changes),
            )

        for sentence, changes in {
            "gradient_accumulation_steps = 1 must be": {"gradient_accumulation_steps": 1},
            "num_train_epochs = 2 must be the plan's epochs = 3, or 1": {"num_train_epochs": 2},
            "max_steps = 1000000 is more": {"max_steps": 1000000},
            "ignore_data_skip": {"ignore_data_skip": True},
        }.items():
            with self.assertRaisesRegex(ValueError, sentence):
                trainer(plan_of(1), **changes)
        with self.assertRaisesRegex(ValueError, "ranks = 2, but 1 processes"):
            trainer(plan_of(2))
        with tempfile.TemporaryDirectory() as folder, self.assertRaisesRegex(ValueError, "has no ballast.json"):
            trainer(plan_of(1)).train(resume_from_checkpoint=folder)


class TestChecks(unittest.TestCase):
    def trainer(self, plan, rows, kind=PlannedTrainer, **options):
        args = arguments(tempfile.gettempdir(), dataloader_num_workers=0, **options.pop("changes", {}))
        collator = options.pop("collator", Packed(huggingface=True))
        return kind(plan=plan, model=llama(), train_dataset=rows, data_collator=collator, args=args, **options)

    def test_epochs_in_both_places_are_those_of_the_plan(self):
        plan = plan_of(1)
        trainer = self.trainer(plan, token_rows(203), changes={"num_train_epochs": 3})
        self.assertEqual((trainer.train().global_step, plan.steps_done), (plan.steps, plan.steps))

    def test_an_own_loader_gives_all_epochs_once(self):
        plan = Plan(LENGTHS, ranks=1, **{**OPTIONS, "epochs": 2})

        class Own(Trainer):
            def __init__(self, *args, plan, **kwargs):
                super().__init__(*args, **kwargs)

            def get_train_dataloader(self):
                batches = plan.batches(0, one_epoch=True)
                rows = self.train_dataset
                return prepared(
                    DataLoader(rows, batch_sampler=batches, collate_fn=self.data_collator), self.accelerator
                )

        trainer = self.trainer(plan, token_rows(203), Own, changes={"num_train_epochs": 2})
        with self.assertRaisesRegex(ValueError, "one_epoch=True has all epochs"):
            trainer.train()
        self.assertEqual(trainer.state.global_step, plan.steps)

    def test_a_model_that_attends_across_samples(self):
        def masked(samples):
            batch = Packed(huggingface=True)(samples)
            return {**batch, "attention_mask": torch.ones_like(batch["input_ids"])}

        with self.assertRaisesRegex(ValueError, "attends across the samples.*Pass no attention_mask"):
            self.trainer(plan_of(1), token_rows(203), collator=masked).train()
        changes = {"max_steps": 1}
        self.trainer(plan_of(1), token_rows(203), collator=masked, check_model=False, changes=changes).train()

    def test_rows_that_were_not_planned(self):
        with self.assertRaisesRegex(ValueError, "the data set has 120 rows, but 203 lengths"):
            self.trainer(plan_of(1), token_rows(120)).train()
        shuffled = token_rows(203).shuffle(seed=1)
        with self.assertRaisesRegex(ValueError, r"sample \d+ has \d+ tokens, but was planned with \d+"):
            self.trainer(plan_of(1), shuffled).train()
        changes = {"max_steps": 1}
        self.trainer(plan_of(1), shuffled, check_lengths=False, changes=changes).train()


def llama():
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 2, "max_position_embeddings": 64}
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(vocab_size=VOCABULARY, **sizes, **heads))


def token_rows(count=120):
    return datasets.Dataset.from_dict(
        {"input_ids": [tokens(i) for i in range(count)], "labels": [tokens(i) for i in range(count)]}
    )


class TestTrl(unittest.TestCase):
    def test_packed_rows_are_those_of_trl_in_form(self):
        from trl.data_utils import pack_dataset as theirs

        rows = token_rows()
        ours, other = pack_dataset(rows, 64), theirs(rows, 64, map_kwargs={"batch_size": None})
        self.assertEqual(set(ours.column_names), set(other.column_names))
        self.assertLessEqual(len(ours), len(other))
        both = []
        for packed in (ours, other):
            sequences = []
            for row in packed:
                ends = np.cumsum([0, *row["seq_lengths"]])
                self.assertEqual((ends[-1], row["labels"]), (len(row["input_ids"]), row["input_ids"]))
                self.assertLessEqual(ends[-1], 64)
                sequences += [row["input_ids"][a:b] for a, b in zip(ends, ends[1:])]
            both.append(sorted(sequences))
        self.assertEqual(both[0], both[1])
        self.assertEqual(both[0], sorted(rows["input_ids"]))

    def test_packed_rows_after_shuffle_and_select(self):
        rows = token_rows().shuffle(seed=1).select(range(40))
        packed = pack_dataset(rows, 64)
        self.assertEqual(sum(len(row) for row in packed["input_ids"]), sum(len(row) for row in rows["input_ids"]))

    def test_the_padding_free_collator_makes_the_same_batch_of_a_list_and_of_a_packed_row(self):
        from trl.trainer.sft_trainer import DataCollatorForLanguageModeling

        rows = token_rows()
        collator = DataCollatorForLanguageModeling(pad_token_id=0, padding_free=True)
        packed = pack_dataset(rows, 64)
        row = packed[0]
        ends = np.cumsum([0, *row["seq_lengths"]])
        listed = [{name: row[name][a:b] for name in ("input_ids", "labels")} for a, b in zip(ends, ends[1:])]
        one, other = collator([row]), collator(listed)
        self.assertEqual(set(one), set(other))
        for name in one:
            self.assertTrue(torch.equal(torch.as_tensor(one[name]), torch.as_tensor(other[name])), name)

    def test_sft_trainer_trains_on_the_plan(self):
        from tokenizers import Tokenizer, models
        from transformers import PreTrainedTokenizerFast
        from trl import SFTConfig, SFTTrainer

        class PlannedSFT(Planned, SFTTrainer):
            pass

        rows = token_rows(48)
        plan = Plan(LENGTHS[:48], capacity=64, ranks=1, micro_batches=2, epochs=2, seed=1, cost="llama-3.1-8b")
        words = PreTrainedTokenizerFast(
            tokenizer_object=Tokenizer(models.WordLevel({str(i): i for i in range(VOCABULARY)}, unk_token="0")),
            pad_token="0",
            eos_token="1",
        )
        with tempfile.TemporaryDirectory() as folder:
            args = SFTConfig(
                output_dir=folder,
                padding_free=True,
                max_length=None,
                per_device_train_batch_size=1,
                gradient_accumulation_steps=2,
                num_train_epochs=1,
                use_cpu=True,
                bf16=False,
                report_to="none",
                save_strategy="no",
                logging_strategy="no",
                disable_tqdm=True,
                gradient_checkpointing=False,
                dataset_kwargs={"skip_prepare_dataset": True},
            )
            trainer = PlannedSFT(plan=plan, model=llama(), args=args, train_dataset=rows, processing_class=words)
            seen = []
            compute = trainer.compute_loss
            trainer.compute_loss = lambda model, inputs, *rest, **more: (
                seen.append(inputs) or compute(model, inputs, *rest, **more)
            )
            trainer.train()
        self.assertEqual(len(seen), 2 * plan.steps)
        sequences = [
            batch["input_ids"][0, a:b].tolist()
            for batch in seen
            for a, b in zip(batch["cu_seq_lens_q"], batch["cu_seq_lens_q"][1:])
        ]
        self.assertEqual(sorted(sequences), sorted(2 * list(rows["input_ids"])))

    def test_what_pack_dataset_refuses(self):
        with self.assertRaisesRegex(ValueError, "more than seq_length = 8"):
            pack_dataset(token_rows(), 8)
        with self.assertRaisesRegex(ValueError, "only 'bfd'"):
            pack_dataset(token_rows(), 64, strategy="wrapped")
        uneven = datasets.Dataset.from_dict({"input_ids": [[1, 2], [3]], "labels": [[1, 2], [3, 4]]})
        with self.assertRaisesRegex(ValueError, "row 1 has 1 values in column 'input_ids' but 2 in 'labels'"):
            pack_dataset(uneven, 8)
        with self.assertRaisesRegex(ValueError, "'text' is of type string"):
            pack_dataset(datasets.Dataset.from_dict({"text": ["a"]}), 8)

    def test_knapsack_of_lengths(self):
        packs = knapsack_of_lengths([5, 3, 8, 2], 8)
        self.assertEqual(sorted(n for pack in packs for n in pack), [2, 3, 5, 8])
        self.assertTrue(all(sum(pack) <= 8 for pack in packs))


if __name__ == "__main__":
    unittest.main()
