# SPDX-License-Identifier: Apache-2.0
"""ballast.torch with PyTorch's own loaders: 4 processes over gloo, 2 workers each; stops in the second epoch and
resumes."""

import pickle
import unittest

import numpy as np
import torch
from support import LENGTHS, Samples, Tiny, each_once, gradient, on_ranks, tokens, unpacked_gradient
from torch.utils.data import DataLoader

import ballast
from ballast._rows import check_batch
from ballast.torch import Packed, Pieces, Plan, labels_of_step

OPTIONS = {"capacity": 64, "micro_batches": 2, "epochs": 3, "seed": 5, "cost": "llama-3.1-8b"}


def collate(samples):
    return {**Packed()(samples), "index": [s["index"] for s in samples]}


def loader_of(batches, workers=2):
    return DataLoader(
        Samples(), batch_sampler=batches, collate_fn=collate, num_workers=workers, persistent_workers=workers > 0
    )


def plan_of(ranks, **options):
    return Plan(LENGTHS, ranks=ranks, **{**OPTIONS, **options})


def steps_of_rank(rank, ranks, saved, stop_at):
    """Trains on nothing: [(step, lists of its micro-batches)] up to `stop_at`, the state there, and the plan's hash."""
    plan = plan_of(ranks)
    if saved is not None:
        plan.resume(saved, ranks=ranks)
    loader, seen, agreed = loader_of(plan.batches(rank, one_epoch=True)), [], [None] * ranks
    torch.distributed.all_gather_object(agreed, plan.hash())
    for step, micro_batches in plan.steps_of(loader):
        seen.append((step, [batch["index"] for batch in micro_batches]))
        if step + 1 == stop_at:
            break
    return seen, plan.state(), agreed


def gradients_of_rank(rank, ranks):
    """The gradient of the first step on every rank by DistributedDataParallel, and this rank's samples."""
    plan, model = plan_of(ranks), torch.nn.parallel.DistributedDataParallel(Tiny())
    model.summed_loss = lambda batch: torch.nn.functional.cross_entropy(
        model(batch["input_ids"], batch["position_ids"])[0, :-1], batch["labels"][0, 1:], reduction="sum"
    )
    for _, micro_batches in plan.steps_of(loader_of(plan.batches(rank, one_epoch=True))):
        labels = labels_of_step(micro_batches)
        for batch in micro_batches:
            (model.summed_loss(batch) * ranks / labels).backward()
        return gradient(model), [i for batch in micro_batches for i in batch["index"]]


def agreement_of_rank(rank, ranks, seeds):
    """What `agree` has to say."""
    try:
        plan_of(ranks, seed=seeds[rank]).agree()
    except ValueError as error:
        return str(error)


def members_of(rank_results, steps):
    """Lists of all ranks in these steps."""
    return [members for seen, *_ in rank_results for step, lists in seen if step in steps for members in lists]


class TestPlan(unittest.TestCase):
    def test_every_sample_once_an_epoch_in_equally_many_steps(self):
        results = on_ranks(4, steps_of_rank, None, None)
        steps = plan_of(4).steps_of_epochs
        first = 0
        for epoch in range(3):
            each_once(self, members_of(results, range(first, first + steps[epoch])))
            first += steps[epoch]
        self.assertEqual([len(seen) for seen, *_ in results], [first] * 4)
        self.assertTrue(all(len(lists) == 2 for seen, *_ in results for _, lists in seen))
        self.assertEqual(len({h for *_, agreed in results for h in agreed}), 1)
        self.assertNotEqual(results[0][0][0][1], results[0][0][steps[0]][1], "two epochs are alike")

    def test_resumes_in_the_second_epoch(self):
        whole = on_ranks(4, steps_of_rank, None, None)
        steps = plan_of(4).steps_of_epochs
        middle = steps[0] + 2
        stopped = on_ranks(4, steps_of_rank, None, middle)
        state = stopped[2][1]
        self.assertEqual(len({pickle.dumps(s) for _, s, _ in stopped}), 1)
        same = on_ranks(4, steps_of_rank, state, None)
        for rank in range(4):
            self.assertEqual(stopped[rank][0] + same[rank][0], whole[rank][0])

        fewer = on_ranks(3, steps_of_rank, state, None)
        self.assertEqual(len({len(seen) for seen, *_ in fewer}), 1)
        before = members_of(stopped, range(steps[0], middle))
        rest = Plan(LENGTHS, ranks=4, **OPTIONS)
        rest.resume(state, ranks=3)
        second = rest.steps_of_epochs[1]
        each_once(self, before + members_of(fewer, range(middle, middle + second)))
        each_once(self, members_of(fewer, range(middle + second, rest.steps)))

    def test_a_second_stop_after_a_change_of_ranks(self):
        plan = plan_of(4)
        for _ in range(plan.steps_of_epochs[0] + 1):
            plan.step_done()
        three = plan_of(4)
        three.resume(plan.state(), ranks=3)
        lists = list(three.batches(1, one_epoch=True))
        three.step_done()
        again = plan_of(3)
        again.resume(three.state())
        self.assertEqual((again.ranks, again.steps_done), (3, plan.steps_done + 1))
        self.assertEqual(list(again.batches(1, one_epoch=True)), lists[2:])

    def test_gradient_equals_the_unpacked_one(self):
        results = on_ranks(4, gradients_of_rank)
        reference = unpacked_gradient([i for _, samples in results for i in samples])
        for grad, _ in results:
            self.assertLess((grad - reference).abs().max() / reference.abs().max(), 1e-10)

    def test_ranks_with_different_plans_all_raise(self):
        self.assertEqual(on_ranks(3, agreement_of_rank, [1, 1, 1]), [None] * 3)
        for sentence in on_ranks(3, agreement_of_rank, [1, 2, 1]):
            self.assertIn("the ranks have made different plans", sentence)


class TestBatches(unittest.TestCase):
    def test_epoch_by_epoch_with_and_without_set_epoch(self):
        plan = plan_of(2, steps_per_epoch=plan_of(2).steps_of_epochs[0])
        batches = plan.batches(0)
        heard = []
        for epoch in (2, 0, 1):
            batches.set_epoch(epoch)
            heard.append(list(batches))
        ordered = plan.batches(0)
        self.assertEqual([list(ordered) for _ in range(3)], [heard[1], heard[2], heard[0]])
        self.assertEqual([len(lists) for lists in heard[1:]], [len(batches)] * 2)
        loader = loader_of(plan.batches(0))
        for epoch in range(2):
            loader.batch_sampler.set_epoch(epoch)
            self.assertEqual([b["index"] for b in loader], heard[epoch + 1])

    def test_state_of_a_stateful_loader(self):
        from torchdata.stateful_dataloader import StatefulDataLoader

        plan = plan_of(2, steps_per_epoch=plan_of(2).steps_of_epochs[0])
        for workers in (0, 2):
            whole = [list(batches) for batches in [plan.batches(1)] for _ in range(2)]
            options = {"collate_fn": collate, "num_workers": workers}
            loader = StatefulDataLoader(Samples(), batch_sampler=plan.batches(1), **options)
            list(loader)
            given = iter(loader)
            start = [next(given)["index"] for _ in range(3)]
            state = pickle.loads(pickle.dumps(loader.state_dict()))
            other = StatefulDataLoader(Samples(), batch_sampler=plan.batches(1), **options)
            other.load_state_dict(state)
            self.assertEqual(start + [batch["index"] for batch in other], whole[1], f"{workers} workers")

    def test_what_is_refused(self):
        plan = plan_of(2)
        with self.assertRaisesRegex(ValueError, "rank = 2 must be"):
            plan.batches(2)
        for rank in ("0", None, 0.0, True):
            with self.assertRaisesRegex(TypeError, f"^rank = {rank!r} must be an integer$"):
                plan.batches(rank)
        for state in (None, "x", [1, 2], {}, plan._start.state()):
            with self.assertRaisesRegex(ValueError, "^state is of type .*: it must be what Plan.state"):
                plan.resume(state)
        with self.assertRaisesRegex(TypeError, r'^state\["ranks"\] = .x. must be an integer$'):
            plan.resume({**plan.state(), "ranks": "x"})
        with self.assertRaisesRegex(ValueError, "^lengths is an array of type Tensor, which cannot be read where it is: .*BFloat16"):
            ballast.pack(torch.ones(3, dtype=torch.bfloat16), 8)
        for name in ("capacity", "axes"):
            with self.assertRaisesRegex(ValueError, f"^{name} = -1 must not be negative$"):
                Packed(**{name: -1})
        for step, sentence in (
            ([], "^micro_batches is empty"),
            ([torch.ones(1, 3)], r"^micro-batch 0 of the step is a Tensor without labels: collate_fn=Packed\(\) makes them$"),
            ([{"labels": torch.ones(1, 3)}, {"input_ids": 3}], "^micro-batch 1 of the step is a dict without labels"),
        ):
            with self.assertRaisesRegex(ValueError, sentence):
                labels_of_step(step)
        with self.assertRaisesRegex(ValueError, "needs one_epoch"):
            plan.batches(0, placeholders=True)
        with self.assertRaisesRegex(ValueError, "epoch 3 is not among"):
            plan_of(2, epochs=1).batches(0).set_epoch(3)
        plan._table = {0: 5, 1: 6}
        with self.assertRaisesRegex(ValueError, "5 or 6 steps"):
            plan.batches(0)
        half = [collate([{"input_ids": [1], "index": 0}])]
        with self.assertRaisesRegex(ValueError, "ended 1 micro-batches before"):
            list(plan_of(2).steps_of(half))

    def test_has_nothing_that_accelerate_would_shard_by(self):
        batches = plan_of(2, epochs=1).batches(0)
        self.assertNotIsInstance(batches, torch.utils.data.BatchSampler)
        self.assertFalse({"batch_size", "drop_last", "generator", "state_dict"} & set(dir(batches)))
        self.assertIs(batches.sampler, batches)

    def test_placeholders_stand_for_what_is_done(self):
        plan = plan_of(2)
        plan.step_done()
        later = plan_of(2)
        later.resume(plan.state())
        lists = list(later.batches(0, one_epoch=True, placeholders=True))
        self.assertEqual(lists[:3], [[], [], list(plan_of(2).batches(0, one_epoch=True))[2]])
        self.assertEqual(len(lists), len(later.batches(0, one_epoch=True, placeholders=True)))


class TestRows(unittest.TestCase):
    """Rows that are not those which were planned."""

    def loader(self, plan, rows, rank=0, **options):
        batches = plan.batches(rank, one_epoch=True, dataset=rows if isinstance(rows, Pieces) else None)
        return DataLoader(rows, batch_sampler=batches, collate_fn=Packed(**options))

    def test_another_number_of_rows(self):
        rows = [tokens(i) for i in range(len(LENGTHS))]
        for other in (rows + rows, rows[:90]):
            plan = plan_of(2)
            with self.assertRaisesRegex(
                ValueError, f"the data set has {len(other)} rows, but 203 lengths were planned"
            ):
                next(plan.steps_of(self.loader(plan, other)))

    def test_lengths_from_before_a_shuffle_name_the_sample(self):
        rows = [tokens(i) for i in range(len(LENGTHS))][::-1]
        for options in ({}, {"huggingface": True}, {"tokens": 9000, "sequences": 40}):
            plan = plan_of(2)
            with self.assertRaises(ValueError) as caught:
                next(plan.steps_of(self.loader(plan, rows, **options)))
            first = next(i for i in next(iter(plan_of(2).batches(0, one_epoch=True))) if len(rows[i]) != LENGTHS[i])
            sentence = f"sample {first} has {len(rows[first])} tokens, but was planned with {LENGTHS[first]}: "
            self.assertTrue(str(caught.exception).startswith(sentence), caught.exception)
        plan = plan_of(2)
        self.assertEqual(len(list(plan.steps_of(self.loader(plan, rows), check_lengths=False))), plan.steps)

    def test_padded_rows_and_positions_are_compared_too(self):
        plan = plan_of(1)
        members = next(iter(plan.batches(0, one_epoch=True)))
        width = max(LENGTHS[members])
        mask = torch.arange(width) < torch.tensor(LENGTHS[members]).unsqueeze(1)
        row = Packed()([tokens(i) for i in members])
        places = {name: row[name] for name in ("input_ids", "position_ids")}
        for batch, spoilt in (
            ({"input_ids": torch.zeros(mask.shape), "attention_mask": mask}, "attention_mask"),
            (places, "position_ids"),
        ):
            check_batch(batch, members, plan.lengths)
            batch[spoilt] = batch[spoilt].clone()
            batch[spoilt][0, 1] = 0
            with self.assertRaisesRegex(ValueError, f"sample {members[0]} has"):
                check_batch(batch, members, plan.lengths)

    def test_pieces_have_their_own_lengths(self):
        for oversize in ("split", "truncate"):
            plan = plan_of(2, capacity=20, oversize=oversize, epochs=1)
            pieces = plan.dataset([tokens(i) for i in range(len(LENGTHS))])
            self.assertEqual(len(list(plan.steps_of(self.loader(plan, pieces)))), plan.steps)

    def test_a_row_above_the_capacity(self):
        with self.assertRaisesRegex(
            ValueError, "2 samples has 7 tokens, more than capacity = 6; its longest, sample 1"
        ):
            Packed(capacity=6)([[1, 2], [1, 2, 3, 4, 5]])
        self.assertEqual(Packed(capacity=7)([[1, 2], [1, 2, 3, 4, 5]])["input_ids"].shape, (1, 7))

    def test_positions_of_axes(self):
        positions = Packed(axes=4)([[5, 6, 7], [8]])["position_ids"]
        self.assertEqual(positions.tolist(), 4 * [[[0, 1, 2, 0]]])


class TestSteps(unittest.TestCase):
    """A step counts when its micro-batches were taken by the loop that trains."""

    def members(self, plan, loader, steps=None):
        """Trains up to some step. Returns {step: lists of its micro-batches}."""
        seen = {}
        for step, micro_batches in plan.steps_of(loader):
            seen[step] = [batch["index"] for batch in micro_batches]
            if steps is not None and plan.steps_done == steps:
                break
        return seen

    def test_a_look_at_a_batch_does_not_count(self):
        plan = plan_of(2)
        loader = loader_of(plan.batches(0, one_epoch=True), 0)
        whole = list(plan.batches(0, one_epoch=True))
        for _ in range(2):
            for step, micro_batches in plan.steps_of(loader):
                self.assertEqual((step, len(micro_batches), micro_batches[0]["index"]), (0, 2, whole[0]))
                break
            next(iter(loader))
            self.assertEqual(plan.state(), plan_of(2).state())
        seen = self.members(plan, loader, 3)
        self.assertEqual(seen, {step: whole[2 * step : 2 * step + 2] for step in range(3)})
        later = plan_of(2)
        later.resume(plan.state())
        self.assertEqual(list(later.batches(0, one_epoch=True)), whole[6:])
        self.assertEqual(self.members(plan, loader), {s: whole[2 * s : 2 * s + 2] for s in range(3, plan.steps)})
        self.assertEqual(plan.steps_done, plan.steps)

    def test_labels_of_a_step_are_no_training(self):
        plan = plan_of(2)
        _, micro_batches = next(plan.steps_of(loader_of(plan.batches(0, one_epoch=True), 0)))
        labels = labels_of_step(micro_batches)
        self.assertEqual(plan.steps_done, 0)
        self.assertEqual(labels, sum(int((b["labels"] != -100).sum()) for b in micro_batches))
        self.assertEqual(plan.steps_done, 1)

    def test_a_step_passed_over_counts(self):
        plan = plan_of(2)
        numbers = [step for step, _ in plan.steps_of(loader_of(plan.batches(0, one_epoch=True), 0))]
        self.assertEqual(numbers, list(range(plan.steps)))

    def test_epoch_by_epoch_goes_on_in_the_epoch(self):
        plan = plan_of(2, steps_per_epoch=plan_of(2).steps_of_epochs[0])
        loader, whole = loader_of(plan.batches(0), 0), list(plan.batches(0, one_epoch=True))
        seen = self.members(plan, loader, 2)
        while plan.steps_done < plan.steps:
            seen.update(self.members(plan, loader))
        self.assertEqual(seen, {step: whole[2 * step : 2 * step + 2] for step in range(plan.steps)})

    def test_a_loader_of_another_plan(self):
        plan, other = plan_of(2), plan_of(2, seed=6)
        with self.assertRaisesRegex(ValueError, "the loader is one of another plan"):
            next(plan.steps_of(loader_of(other.batches(0, one_epoch=True), 0)))

    def test_all_epochs_in_one_pass_are_given_once(self):
        plan = plan_of(2, epochs=2)
        loader = loader_of(plan.batches(0, one_epoch=True), 0)
        self.assertEqual(len(list(loader)), 2 * plan.steps)
        with self.assertRaisesRegex(ValueError, f"given all {plan.steps} steps already: one_epoch=True has all epochs"):
            next(iter(loader))


class TestPieces(unittest.TestCase):
    def test_split_samples_come_back_whole(self):
        plan = plan_of(2, capacity=20, epochs=1, oversize="split")
        with self.assertRaisesRegex(ValueError, "plan.dataset"):
            plan.batches(0)
        pieces = plan.dataset([tokens(i) for i in range(len(LENGTHS))])
        self.assertGreater(len(pieces), len(LENGTHS))
        lists = [members for rank in range(2) for members in plan.batches(rank, dataset=pieces)]
        each_once(self, lists, len(pieces))
        self.assertLessEqual(max(sum(len(pieces[i]) for i in members) for members in lists), 20)
        joined = {i: pieces[i] for i in range(len(LENGTHS))}
        for number, (sample, begin, _) in enumerate(plan._run().pieces):
            self.assertEqual(len(joined[sample]), begin)
            joined[sample] = joined[sample] + pieces[len(LENGTHS) + number]
        self.assertEqual(joined, {i: tokens(i) for i in range(len(LENGTHS))})

    def test_samples_are_cut_to_the_capacity(self):
        plan = plan_of(2, capacity=20, epochs=1, oversize="truncate")
        cut = plan.dataset(Samples())
        self.assertEqual(len(cut), len(LENGTHS))
        for i in range(len(LENGTHS)):
            self.assertEqual(cut[i], {"input_ids": tokens(i)[:20], "index": i})


class TestPacked(unittest.TestCase):
    def test_a_row(self):
        batch = Packed()([{"input_ids": [5, 6, 7]}, {"input_ids": np.array([8, 9]), "labels": [-100, 9]}])
        self.assertEqual(batch["input_ids"].tolist(), [[5, 6, 7, 8, 9]])
        self.assertEqual(batch["labels"].tolist(), [[-100, 6, 7, -100, 9]])
        self.assertEqual(batch["position_ids"].tolist(), [[0, 1, 2, 0, 1]])
        self.assertEqual(
            (batch["cu_seqlens"].tolist(), batch["cu_seqlens"].dtype, batch["max_seqlen"]), ([0, 3, 5], torch.int32, 3)
        )

    def test_equals_the_collator_of_transformers(self):
        from transformers import DataCollatorWithFlattening

        samples = [{"input_ids": tokens(i)} for i in (3, 0, 8)]
        theirs = {**DataCollatorWithFlattening(return_flash_attn_kwargs=True)(samples), "use_cache": False}
        ours = Packed(huggingface=True)(samples)
        self.assertEqual(set(theirs), set(ours))
        for name, value in theirs.items():
            self.assertTrue(torch.equal(torch.as_tensor(value), torch.as_tensor(ours[name])), name)

    def test_models_of_transformers_keep_the_samples_of_a_row_apart(self):
        import transformers

        shape = {"vocab_size": 31, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2}
        heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64}
        samples = [{"input_ids": tokens(i)} for i in (3, 0, 8)]
        for name in ("Llama", "Qwen2"):
            torch.manual_seed(3)
            config = getattr(transformers, name + "Config")(**shape, **heads)
            model = getattr(transformers, name + "ForCausalLM")(config).double()
            alone = torch.cat([model(torch.tensor([s["input_ids"]])).logits[0] for s in samples])
            for huggingface in (False, True):
                logits = model(**Packed(huggingface=huggingface)(samples)).logits[0]
                self.assertLess((logits - alone).abs().max(), 1e-12, name)

    def test_refuses_labels_of_another_length(self):
        with self.assertRaisesRegex(ValueError, "sample 1 of the micro-batch has 2 input_ids but 1 labels"):
            Packed()([[1], {"input_ids": [1, 2], "labels": [1]}])

    def test_refuses_samples_that_are_no_integers_in_a_row(self):
        rows = ([1.5, 2.0], [True, False], "ab", [[1, 2], [3, 4]], torch.ones(2, 2, dtype=torch.long), torch.rand(3))
        for row in rows:
            for sample in (row, {"input_ids": row}):
                with self.assertRaisesRegex(ValueError, "must be integers in one dimension"):
                    Packed()([[1, 2], sample])
        self.assertEqual(Packed()([[], np.array([1, 2], np.uint16)])["input_ids"].tolist(), [[1, 2]])
        with self.assertRaisesRegex(ValueError, "^sample 1 of the micro-batch has no input_ids, but text: tokenise it first$"):
            Packed()([[1, 2], {"text": "a"}])


if __name__ == "__main__":
    unittest.main()
