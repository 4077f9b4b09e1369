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
from support import LENGTHS, VOCABULARY, Samples, Summed, each_once, on_ranks, run_of_docs, tokens, unpacked_gradient
from torch.utils.data import DataLoader
from transformers import Trainer, TrainerCallback, TrainingArguments

import ballast
from ballast.accelerate import prepared
from ballast.huggingface import Planned, knapsack_of_lengths, pack_dataset
from ballast.torch import Packed, Plan

transformers.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()
datasets.disable_progress_bars()
OPTIONS = {"capacity": 64, "micro_batches": 2, "epochs": 3, "seed": 5, "cost": "llama-3.1-8b"}


class Model(Summed):
    first = None  # gradient


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
        for text, sentence in (('{"words": [', "ballast.json is damaged"), ("[1]", "state is of type list: it must be what")):
            with tempfile.TemporaryDirectory() as folder:
                with open(os.path.join(folder, "ballast.json"), "w") as file:
                    file.write(text)
                with self.assertRaisesRegex(ValueError, sentence):
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


def unpacked_loss(model, sequences):
    """The summed loss of these sequences, each alone, or with its labels, and how many labels that is."""
    loss, labels = torch.zeros((), dtype=torch.float64), 0
    for sequence in sequences:
        ids, wanted = sequence if isinstance(sequence, tuple) else (sequence, sequence)
        scores = model(input_ids=torch.tensor([ids])).logits[0, :-1].double()
        wanted = torch.tensor(wanted[1:])
        loss = loss + torch.nn.functional.cross_entropy(scores, wanted, ignore_index=-100, reduction="sum")
        labels += int((wanted != -100).sum())
    return loss, labels


def evaluate(rank, ranks, count, changes):
    """Loss of an evaluation over `count` rows by the mixin, the samples that this rank saw, and its batches."""
    seen = []

    class Model(transformers.LlamaForCausalLM):
        accepts_loss_kwargs = changes.get("accepts", True)

        def forward(self, input_ids=None, labels=None, index=None, **kwargs):
            if not self.training and index is not None:
                seen.append((index, bool((labels != -100).any())))
            return super().forward(input_ids=input_ids, labels=labels, **kwargs)

    torch.manual_seed(3)
    model = Model(llama().config).double()
    rows = torch.utils.data.Subset(Samples(), range(count))
    trainer = PlannedTrainer(
        plan=plan_of(ranks),
        model=model,
        train_dataset=Samples(),
        eval_dataset=rows,
        data_collator=lambda samples: {
            **Packed(huggingface=True)(samples),
            "index": [s["index"] for s in samples],
        },
        args=arguments(tempfile.gettempdir(), dataloader_num_workers=0),
    )
    first, second = trainer.evaluate(), trainer.evaluate()
    assert first["eval_loss"] == second["eval_loss"]
    with torch.no_grad():
        loss, labels = unpacked_loss(model, [tokens(i) for i in range(count)])
    return first["eval_loss"], float(loss / labels), seen[: len(seen) // 2]


class TestEvaluation(unittest.TestCase):
    def test_every_sample_is_in_one_packed_row_and_labels_weigh_alike(self):
        for ranks, count, changes in ((1, 60, {}), (2, 61, {}), (3, 40, {"accepts": False}), (3, 1, {}), (4, 6, {})):
            with self.subTest(ranks=ranks, count=count, changes=changes):
                results = on_ranks(ranks, evaluate, count, changes)
                for loss, wanted, seen in results:
                    self.assertLess(abs(loss - wanted), 1e-6)
                    self.assertEqual(len(seen), len(results[0][2]))
                own = [members for *_, seen in results for members, counts in seen if counts]
                each_once(self, own, count)
                self.assertLess(len(own), max(count / 2, 3))  # rows are packed


WORDS = 50


def texts(count, messages=False):
    """A raw data set: lines of 2 to 41 words, and one of 100."""
    lines = [" ".join(f"w{j % WORDS}" for j in range(i, i + 2 + 13 * i % 40)) for i in range(count)]
    lines[7] = " ".join(f"w{j % WORDS}" for j in range(100))
    if messages:
        return datasets.Dataset.from_dict({"messages": [[{"role": "user", "content": line}] for line in lines]})
    return datasets.Dataset.from_dict({"text": lines})


def tokenizer():
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = Tokenizer(models.WordLevel({"<e>": 0, **{f"w{i}": i + 1 for i in range(WORDS)}}, unk_token="<e>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made = transformers.PreTrainedTokenizerFast(tokenizer_object=words, eos_token="<e>", pad_token="<e>")
    made.chat_template = "{% for message in messages %}{{ message['content'] }} <e>{% endfor %}"
    return made


def qwen3():
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "head_dim": 8}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 2, "max_position_embeddings": 256}
    torch.manual_seed(3)
    return transformers.Qwen3ForCausalLM(transformers.Qwen3Config(vocab_size=WORDS + 1, **sizes, **heads)).double()


def sft_arguments(folder, **changes):
    from trl import SFTConfig

    return SFTConfig(
        **{
            "output_dir": folder,
            "max_length": 64,
            "per_device_train_batch_size": 1,
            "gradient_accumulation_steps": 2,
            "num_train_epochs": 2,
            "use_cpu": True,
            "bf16": False,
            "report_to": "none",
            "optim": "sgd",
            "learning_rate": 0.1,
            "lr_scheduler_type": "constant",
            "max_grad_norm": 0.0,
            "save_strategy": "no",
            "logging_strategy": "no",
            "disable_tqdm": True,
            "gradient_checkpointing": False,
            **changes,
        }
    )


def planned_sft(folder, rows, callbacks=(), options=None, **changes):
    """A planned SFTTrainer, as a user writes it, that notes the sequences of each micro-batch."""
    from trl import SFTTrainer

    class PlannedSFT(Planned, SFTTrainer):
        def training_step(self, model, inputs, *args, **kwargs):
            ids, ends = inputs["input_ids"][0], inputs["cu_seq_lens_q"]
            self.seen.append([ids[a:b].tolist() for a, b in zip(ends, ends[1:])])
            return super().training_step(model, inputs, *args, **kwargs)

    args = sft_arguments(folder, **changes)
    trainer = PlannedSFT(
        qwen3(), args, train_dataset=rows, processing_class=tokenizer(), callbacks=list(callbacks), **(options or {})
    )
    trainer.seen = []
    return trainer


def train_on_text(rank, ranks, folder, messages, stop_at, resume):
    """Sequences of this rank, the first gradient, the weights, the plan's steps, and the loss of an evaluation."""
    first = []

    class First(TrainerCallback):
        def on_pre_optimizer_step(self, args, state, control, model=None, **_):
            if not first:
                first.append(torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None]))

    rows = texts(150, messages)
    trainer = planned_sft(folder, rows, [First(), StopAt(stop_at)], {"eval_dataset": rows.select(range(31))})
    trainer.train(resume_from_checkpoint=resume)
    model = trainer.accelerator.unwrap_model(trainer.model)
    weights = torch.cat([p.detach().flatten() for p in model.parameters()])
    model.eval()
    loss = trainer.evaluate()["eval_loss"]
    with torch.no_grad():
        summed, labels = unpacked_loss(model, list(trainer.eval_dataset["input_ids"]))
    return trainer.seen, first[0], weights, trainer.plan.steps_of_epochs, loss - float(summed / labels)


def sequences_of(results, lists=slice(None)):
    return sorted(sequence for seen, *_ in results for row in seen[lists] for sequence in row)


class TestRawText(unittest.TestCase):
    def test_a_raw_data_set_needs_the_mixin_alone(self):
        for messages in (False, True):
            with self.subTest(messages=messages), tempfile.TemporaryDirectory() as folder:
                whole = on_ranks(2, train_on_text, folder, messages, None, None, timeout=200)
                steps = whole[0][3]
                prepared_rows = prepared_sequences(messages)
                self.assertEqual(len(steps), 2)
                for epoch in range(2):
                    first = 2 * sum(steps[e] for e in range(epoch))
                    self.assertEqual(sequences_of(whole, slice(first, first + 2 * steps[epoch])), prepared_rows)
                for seen, gradient, *_, off in whole:
                    self.assertTrue(all(sum(map(len, row)) <= 64 for row in seen))
                    self.assertLess(abs(off), 1e-6)
                model = qwen3()
                loss, labels = unpacked_loss(model, sequences_of(whole, slice(0, 2)))
                (loss / labels).backward()
                reference = torch.cat([p.grad.flatten() for p in model.parameters()])
                for _, first, *_ in whole:
                    self.assertLess((first - reference).abs().max() / reference.abs().max(), 1e-6)

    def test_resumes_with_other_processes(self):
        with tempfile.TemporaryDirectory() as folder:
            whole = on_ranks(2, train_on_text, folder, False, None, None, timeout=200)
            steps = whole[0][3]
            middle = steps[0] + 2
            stopped = on_ranks(2, train_on_text, folder, False, middle, None, timeout=200)
            shutil.copytree(folder, f"{folder}-1")
            same = on_ranks(2, train_on_text, folder, False, None, True, timeout=200)
            for rank in range(2):
                self.assertEqual(stopped[rank][0] + same[rank][0], whole[rank][0])
            try:
                fewer = on_ranks(1, train_on_text, f"{folder}-1", False, None, True, timeout=200)
            finally:
                shutil.rmtree(f"{folder}-1")
            rest = sequences_of(stopped, slice(2 * steps[0], None)) + sequences_of(fewer)
            self.assertEqual(sorted(rest), prepared_sequences())

    def test_packing_of_trl_is_taken_over(self):
        with tempfile.TemporaryDirectory() as folder:
            for strategy in ("bfd", "bfd_split"):
                changes = {"packing": True, "packing_strategy": strategy, "num_train_epochs": 1}
                args = sft_arguments(folder, **changes)
                trainer = planned_sft(folder, texts(40), **changes)
                trainer.train()
                self.assertTrue(args.packing)
                found = sorted(sequence for row in trainer.seen for sequence in row)
                whole = prepared_sequences(count=40, length=None)
                long = max(whole, key=len)
                split = [long[:64], long[64:]] if strategy == "bfd_split" else [long[:64]]
                self.assertEqual(found, sorted([*(x for x in whole if x != long), *split]))
            with self.assertRaisesRegex(ValueError, "'wrapped' cuts samples.*choose 'bfd'"):
                planned_sft(folder, texts(40), packing=True, packing_strategy="wrapped")

    def test_a_micro_batch_has_at_most_the_tokens_of_that_of_trl(self):
        from trl import SFTTrainer

        for rows in (1, 3):
            for strategy in ("bfd", "bfd_split"):
                with self.subTest(rows=rows, strategy=strategy), tempfile.TemporaryDirectory() as folder:
                    changes = {"packing": True, "packing_strategy": strategy, "num_train_epochs": 1}
                    changes["per_device_train_batch_size"] = rows
                    ours = planned_sft(folder, texts(90), **changes)
                    ours.train()
                    args = sft_arguments(folder, **changes)
                    theirs = SFTTrainer(qwen3(), args, train_dataset=texts(90), processing_class=tokenizer())
                    batches = list(theirs.get_train_dataloader())
                    cut = [
                        batch["input_ids"][0, a:b].tolist()
                        for batch in batches
                        for a, b in zip(batch["cu_seq_lens_q"], batch["cu_seq_lens_q"][1:])
                    ]
                    self.assertEqual(sorted(sequence for row in ours.seen for sequence in row), sorted(cut))
                    limit = rows * 64
                    self.assertEqual(ours.plan._options["capacity"], limit)
                    for sizes in ([sum(map(len, row)) for row in ours.seen], [b["input_ids"].numel() for b in batches]):
                        self.assertTrue(limit - 64 < max(sizes) <= limit, sizes)

    def test_what_the_trainer_is_told_is_planned(self):
        with tempfile.TemporaryDirectory() as folder:
            plan = planned_sft(folder, texts(60), num_train_epochs=3, gradient_accumulation_steps=4, seed=5).plan
            self.assertEqual((plan.epochs, plan.micro_batches, plan.ranks), (3, 4, 1))
            other = planned_sft(folder, texts(60), num_train_epochs=3, gradient_accumulation_steps=4, seed=6).plan
            self.assertNotEqual(plan.hash(), other.hash())
            shape = Plan(plan.lengths, capacity=64, ranks=1, micro_batches=4, epochs=3, seed=5, cost=qwen3_shape())
            self.assertEqual(plan.hash(), shape.hash())
            once = planned_sft(folder, texts(60), num_train_epochs=1, options={"capacity": 128, "cost": "llama-3.1-8b"})
            self.assertLess(once.plan.steps, planned_sft(folder, texts(60), num_train_epochs=1).plan.steps)
            steps = 3 * once.plan.steps
            longer = planned_sft(folder, texts(60), max_steps=steps)
            self.assertEqual(longer.train().global_step, steps)
            self.assertLess(longer.plan.steps - steps, longer.plan.steps_of_epochs[0])
            for sentence, changes in {
                "num_train_epochs = 0.5 must be a whole number": {"num_train_epochs": 0.5},
                "capacity is missing": {"max_length": None},
                "capacity = 0 must be positive": {"options": {"capacity": 0}},
                "plan has a capacity and a cost of its own": {"options": {"plan": once.plan, "capacity": 128}},
            }.items():
                with self.assertRaisesRegex(ValueError, sentence):
                    planned_sft(folder, texts(60), **changes)

    def test_epochs_of_the_plan_are_those_of_the_log(self):
        with tempfile.TemporaryDirectory() as folder:
            changes = {"eval_strategy": "epoch", "save_strategy": "epoch", "num_train_epochs": 3}
            trainer = planned_sft(folder, texts(60), options={"eval_dataset": texts(20)}, **changes)
            trainer.train()
            ends = np.cumsum(list(trainer.plan.steps_of_epochs.values()))
            logged = [(row["epoch"], row["step"]) for row in trainer.state.log_history if "eval_loss" in row]
            self.assertEqual([step for _, step in logged], ends.tolist())
            self.assertEqual([epoch for epoch, _ in logged], [1, 2, 3])
            saved = sorted(int(name.partition("-")[2]) for name in os.listdir(folder) if name.startswith("checkpoint"))
            self.assertEqual(saved, ends.tolist())

    def test_what_cannot_be_planned(self):
        def trainer(rows, model=None, max_steps=-1, **options):
            args = arguments(tempfile.gettempdir(), max_steps=max_steps)
            return PlannedTrainer(model=model or llama(), args=args, train_dataset=rows, **options)

        for sentence, made in {
            "train_dataset is missing": lambda: trainer(None),
            "train_dataset has no column input_ids.* but text": lambda: trainer(texts(9), capacity=64),
            "train_dataset is streamed": lambda: trainer(token_rows().to_iterable_dataset(), capacity=64, max_steps=3),
            "capacity is missing": lambda: trainer(token_rows()),
            "cannot be read from the model.*give cost=": lambda: trainer(token_rows(), Model(), capacity=64),
            "exceeds capacity 2 .*; options of a plan need a Plan of yours: plan=$": lambda: trainer(token_rows(), capacity=2),
            "train_dataset is empty": lambda: trainer(token_rows().select([]), capacity=64, max_steps=3),
            "train_dataset has rows without input_ids": lambda: trainer([{"ids": [1, 2]}], capacity=64),
            "train_dataset has rows without input_ids .*list": lambda: trainer([[1, 2]], capacity=64),
        }.items():
            with self.assertRaisesRegex(ValueError, sentence):
                made()
        for name, value, sentence in (
            ("plan", 3, "plan = 3 must be a Plan or None"),
            ("capacity", 64.0, "capacity = 64.0 must be an integer or None"),
            ("capacity", True, "capacity = True must be an integer or None"),
            ("pack_evaluation", None, "pack_evaluation = None must be True or False"),
            ("check_model", 1, "check_model = 1 must be True or False"),
            ("check_lengths", "no", "check_lengths = 'no' must be True or False"),
        ):
            with self.assertRaisesRegex(TypeError, f"^{sentence}$"):
                trainer(token_rows(), **{name: value})
        rows = token_rows().remove_columns("labels")
        found = trainer(rows, capacity=64)  # neither a collator nor a plan
        self.assertIsInstance(found.data_collator, Packed)

    def test_the_script_of_the_docs(self):
        with tempfile.TemporaryDirectory() as folder:
            lines, printed = run_of_docs("sft.py", folder)
        self.assertLessEqual(len(lines), 25)
        self.assertRegex(printed, r"eval_loss")


def prepared_sequences(messages=False, count=150, length=64):
    """The data set as TRL tokenises and cuts it, sorted."""
    words = tokenizer()
    rows = texts(count, messages)
    lines = [row[0]["content"] + " <e>" for row in rows["messages"]] if messages else [t + "<e>" for t in rows["text"]]
    return sorted(words(line)["input_ids"][:length] for line in lines)


def qwen3_shape():
    return ballast.models.shape_of(qwen3().config)


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
        for arguments, error, sentence in (
            ((None, 8), TypeError, "dataset = None must be a datasets.Dataset"),
            ((datasets.DatasetDict(a=uneven), 8), TypeError, "dataset = DatasetDict.* must be a datasets.Dataset"),
            ((uneven.to_iterable_dataset(), 8), TypeError, "dataset = IterableDatas.* must be a datasets.Dataset"),
            ((uneven, 8.0), TypeError, "seq_length = 8.0 must be an integer"),
            ((uneven, 0), ValueError, "seq_length = 0 must be positive"),
            ((uneven, 8, None), TypeError, "strategy = None must be a string"),
            ((uneven, 8, "bfd", 3), TypeError, "map_kwargs = 3 must be a dictionary or None"),
            ((datasets.Dataset.from_dict({"input_ids": [[], []]}), 8), ValueError, "the dataset has no rows with tokens to pack"),
            ((datasets.Dataset.from_dict({"input_ids": []}), 8), ValueError, "the dataset has no rows with tokens to pack"),
        ):
            with self.assertRaisesRegex(error, f"^{sentence}$"):
                pack_dataset(*arguments)

    def test_knapsack_of_lengths(self):
        packs = knapsack_of_lengths([5, 3, 8, 2], 8)
        self.assertEqual(sorted(n for pack in packs for n in pack), [2, 3, 5, 8])
        self.assertTrue(all(sum(pack) <= 8 for pack in packs))
        self.assertEqual(knapsack_of_lengths([], 8), [])
        for numbers, capacity, error, sentence in (
            ([5, 3.0], 8, TypeError, "numbers = [5, 3.0] must be a sequence of integers"),
            ("53", 8, TypeError, "numbers = '53' must be a sequence of integers"),
            ([5, 0], 8, ValueError, "numbers[1] = 0 must be positive"),
            ([5, 9], 8, ValueError, "numbers[1] = 9 exceeds capacity 8: cut or drop such samples first"),
            ([5], 0, ValueError, "capacity = 0 must be positive"),
            ([5], "8", TypeError, "capacity = '8' must be an integer"),
        ):
            with self.assertRaises(error) as raised:
                knapsack_of_lengths(numbers, capacity)
            self.assertEqual(str(raised.exception), sentence)


if __name__ == "__main__":
    unittest.main()
