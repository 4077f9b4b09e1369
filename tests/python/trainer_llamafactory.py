# SPDX-License-Identifier: Apache-2.0
"""ballast.huggingface.knapsack_of_lengths in the place of greedy_knapsack, inside LLaMA-Factory's own processor."""

import types
import unittest

import numpy as np
from support import stub

stub("torchaudio")

import llamafactory.data.processor.supervised as supervised  # noqa: E402
from llamafactory.data.processor.processor_utils import greedy_knapsack  # noqa: E402

from ballast.huggingface import knapsack_of_lengths  # noqa: E402

LENGTHS = np.random.default_rng(5).lognormal(3.4, 0.8, 1000).astype(np.int64).clip(3, 250)
CUTOFF = 256


class Template:
    """Makes of a pair (prompt, response) their numbers of tokens, as a template of LLaMA-Factory does of messages."""

    efficient_eos, preserve_thinking = False, False

    def __init__(self):
        self.mm_plugin = types.SimpleNamespace(
            process_messages=lambda messages, *_: messages, process_token_ids=lambda ids, labels, *_: (ids, labels)
        )

    def encode_multiturn(self, tokenizer, messages, *_):
        number, tokens = messages
        return [([number + 1], [number + 1] * (tokens - 1))]


def rows_of(knapsack):
    """The packed rows that LLaMA-Factory makes of the samples, with this function."""
    arguments = types.SimpleNamespace(
        cutoff_len=CUTOFF, neat_packing=True, mask_history=False, train_on_prompt=False, packing=True
    )
    tokenizer = types.SimpleNamespace(pad_token_id=0, eos_token_id=0)
    processor = supervised.PackedSupervisedDatasetProcessor(Template(), tokenizer, None, arguments)
    examples = {"_prompt": [[i] for i in range(len(LENGTHS))], "_response": [[int(n)] for n in LENGTHS]}
    empty = {name: [None] * len(LENGTHS) for name in ("_system", "_tools", "_images", "_videos", "_audios")}
    was, supervised.greedy_knapsack = supervised.greedy_knapsack, knapsack
    try:
        return processor.preprocess_dataset({**examples, **empty})
    finally:
        supervised.greedy_knapsack = was


class TestKnapsack(unittest.TestCase):
    def test_every_sample_is_in_one_row_of_llamafactory_and_rows_are_not_more(self):
        ours, theirs = rows_of(knapsack_of_lengths), rows_of(greedy_knapsack)
        self.assertLessEqual(len(ours["input_ids"]), len(theirs["input_ids"]))
        self.assertEqual(set(ours), set(theirs))
        found = np.zeros(len(LENGTHS), np.int64)
        for ids, mask, positions in zip(ours["input_ids"], ours["attention_mask"], ours["position_ids"]):
            ids, mask, positions = (np.array(column)[np.array(mask) > 0] for column in (ids, mask, positions))
            self.assertLessEqual(len(ids), CUTOFF)
            for part in np.unique(mask):
                sample = ids[mask == part]
                self.assertEqual(len(set(sample)), 1)
                self.assertEqual(positions[mask == part].tolist(), list(range(len(sample))))
                found[sample[0] - 1] += len(sample)
        self.assertEqual(found.tolist(), LENGTHS.tolist())

    def test_no_samples(self):
        self.assertEqual(knapsack_of_lengths([], CUTOFF), greedy_knapsack([], CUTOFF))


if __name__ == "__main__":
    unittest.main()
