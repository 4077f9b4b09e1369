# SPDX-License-Identifier: Apache-2.0
"""Lengths of data sets of Hugging Face, beside what transformers' tokenizers and processors and TRL make of the same
rows, and plans that are made of a data set and a model."""

import importlib.util
import io
import json
import os
import tempfile
import unittest
import unittest.mock

import datasets
import numpy as np
import tokenizers
import transformers
from support import on_ranks
from trl import SFTConfig, SFTTrainer
from trl.data_utils import prepare_multimodal_messages

import ballast
from ballast import lengths
from ballast._texts import Counter, size_of
from ballast.torch import Plan, fits

transformers.logging.set_verbosity_error()
datasets.disable_progress_bars()
WORDS = "the model reads a few words and then it writes some more of them about balance loads ranks steps".split()
TEMPLATE = (
    "{% for t in tools or [] %}<tool>{{ t.function.name }}{% endfor %}"
    "{% for m in messages %}<start>{{ m.role }} {% if m.content is string %}{{ m.content }}{% else %}"
    "{% for p in m.content %}{{ '<image>' if p.type == 'image' else p.text }}{% endfor %}{% endif %}<end>{% endfor %}"
)
TOOL = {"type": "function", "function": {"name": "add", "parameters": {"type": "object", "properties": {}}}}
SPECIAL = ["<pad>", "<eos>", "<start>", "<end>", "<tool>", "<image>", "<vision>", "<video>", "\n\n"]


def tokenizer_of(more=()):
    """A tokenizer of bytes with a chat template, trained on a few words."""
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=400, special_tokens=[*SPECIAL, *more], initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet()
    )
    made.train_from_iterator([" ".join(WORDS)] * 3, trainer)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", eos_token="<eos>", chat_template=TEMPLATE
    )


def sentence(random, most=40):
    return " ".join(random.choice(WORDS, random.integers(1, most)))


def talks(count, seed=1):
    random = np.random.default_rng(seed)
    return [
        [
            turn
            for _ in range(random.integers(1, 4))
            for turn in (
                {"role": "user", "content": sentence(random)},
                {"role": "assistant", "content": sentence(random)},
            )
        ]
        for _ in range(count)
    ]


def config_of():
    return transformers.LlamaConfig(
        vocab_size=512,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=4096,
    )


def rows_of():
    """Data sets of each form, of 30 rows."""
    random = np.random.default_rng(2)
    texts = [sentence(random) for _ in range(30)]
    chats = talks(30)
    return {
        "messages": {"messages": chats},
        "conversations": {
            "conversations": [
                [{"from": turn["role"], "value": turn["content"]} for turn in chat] for chat in chats
            ]
        },
        "prompt and completion": {"prompt": texts, "completion": texts[::-1]},
        "turns of prompt and completion": {
            "prompt": [chat[:1] for chat in chats],
            "completion": [chat[1:] for chat in chats],
        },
        "text": {"text": texts},
        "tools": {"messages": chats, "tools": [json.dumps([TOOL])] * 15 + ["[]"] * 15},
    }


def planned_by(rank, ranks, folder, rows):
    """What this rank gets by Plan.auto: hash, ranks and rows that it has counted itself, or the sentence."""
    counted = []

    def count(self, rows, indices, count=Counter.__call__):
        counted.extend(indices)
        return count(self, rows, indices)

    with unittest.mock.patch.object(Counter, "__call__", count):
        try:
            plan = Plan.auto(rows, folder, capacity=512, device="a100")
        except ValueError as error:
            return str(error)
    plan.agree()
    return plan.hash(), plan.ranks, plan.chosen["ranks"], len(counted)


class TestAuto(unittest.TestCase):
    """Its name comes first: processes cannot be forked once autograd has threads."""

    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = held.name
        config_of().save_pretrained(self.folder)
        tokenizer_of().save_pretrained(self.folder)
        self.rows = datasets.Dataset.from_dict({"messages": talks(200)})
        self.lengths = lengths.from_dataset(self.rows, tokenizer=tokenizer_of())

    def test_the_first_of_two_ranks_counts_for_both(self):
        cost = ballast.sample_time(self.folder, "a100", capacity=512)
        expected = Plan(self.lengths, capacity=512, ranks=2, cost=cost).hash()
        first, second = on_ranks(2, planned_by, self.folder, self.rows)
        self.assertEqual(first, (expected, 2, "2: the processes of torch.distributed", 200))
        self.assertEqual(second, (*first[:3], 0))
        for said in on_ranks(2, planned_by, self.folder, datasets.Dataset.from_dict({"note": ["a"]})):
            self.assertIn("none of the columns is known to hold lengths", said)

    def test_the_tokenizer_and_the_cost_are_those_of_the_model(self):
        model = transformers.AutoModelForCausalLM.from_config(config_of())
        plans = [
            Plan.auto(self.rows, self.folder, ranks=2, capacity=512),
            Plan.auto(self.rows, transformers.AutoConfig.from_pretrained(self.folder), ranks=2, capacity=512),
            Plan.auto(self.rows, model, ranks=2, capacity=512, tokenizer=tokenizer_of()),
            Plan.auto(self.rows.to_list(), self.folder, ranks=2, capacity=512),
            Plan(self.lengths, ranks=2, capacity=512, cost=ballast.sample_time(self.folder, capacity=512)),
        ]
        self.assertEqual(len({plan.hash() for plan in plans}), 1)
        given = np.arange(1, 201)
        by_sample = Plan.auto(self.rows, self.folder, ranks=2, capacity=512, costs=given)
        self.assertEqual(by_sample.hash(), Plan(self.lengths, ranks=2, capacity=512, costs=given).hash())
        self.assertEqual(set(by_sample.chosen), {"lengths"})
        fit = fits(model, self.lengths, 10**9, data=2)
        found = Plan.auto(self.rows, model, ranks=2, device=10**9, tokenizer=tokenizer_of())
        self.assertIn(f"{fit.capacity:,} tokens: the most that fit", found.chosen["capacity"])
        for name, said in ((model, "holds conversations.*give tokenizer=$"), ("llama-3.1-8b", "'llama-3.1-8b' was not loaded here")):
            with self.assertRaisesRegex(ValueError, said):
                Plan.auto(self.rows, name, ranks=2, capacity=512)


class TestImages(unittest.TestCase):
    """The processors of five models: their own rule from the sizes, beside what they make of the pixels."""

    sizes = ((60, 80), (200, 90), (56, 56), (100, 300), (31, 47))  # height and width
    chosen = ([0], [], [1, 2], [3], [2, 0, 4], [1])  # images of each row

    def setUp(self):
        if importlib.util.find_spec("PIL") is None or importlib.util.find_spec("torchvision") is None:
            self.skipTest("Pillow or torchvision is not installed")
        import PIL.Image

        random = np.random.default_rng(5)
        self.images = [PIL.Image.fromarray(random.integers(0, 255, (*s, 3)).astype(np.uint8)) for s in self.sizes]
        self.rows = [
            {"messages": chat, "images": [self.images[i] for i in members]}
            for chat, members in zip(talks(len(self.chosen)), self.chosen)
        ]

    def processors(self):
        tags = [f"<row_{i}_col_{j}>" for i in range(1, 5) for j in range(1, 5)] + ["<global-img>"]

        def words(**special):
            made = tokenizer_of(tags)
            for name, token in special.items():
                setattr(made, name, token)
                setattr(made, f"{name}_id", made.convert_tokens_to_ids(token))
            return {"tokenizer": made, "chat_template": TEMPLATE}

        t = transformers
        shown = {"image_token": "<image>", "video_token": "<video>"}
        small = {"size": {"shortest_edge": 56}, "crop_size": {"height": 56, "width": 56}}
        tiles = {"size": {"longest_edge": 256}, "max_image_size": {"longest_edge": 64}}
        squares = t.Qwen2VLImageProcessor(min_pixels=56 * 56, max_pixels=28 * 28 * 64)
        yield t.Qwen2VLProcessor(squares, video_processor=t.Qwen2VLVideoProcessor(), **words(**shown))
        features = {"patch_size": 14, "vision_feature_select_strategy": "default", "num_additional_image_tokens": 1}
        yield t.LlavaProcessor(t.CLIPImageProcessor(**small), **features, **words())
        yield t.Idefics3Processor(t.Idefics3ImageProcessor(**tiles), image_seq_len=16, **words())
        ends = {"boi_token": "<image>", "image_token": "<vision>", "eoi_token": "<video>"}
        square = t.Gemma3ImageProcessor(size={"height": 56, "width": 56})
        yield t.Gemma3Processor(square, image_seq_length=16, **words(**ends))
        names = {"image_token": "<image>", "image_break_token": "<vision>", "image_end_token": "<video>"}
        lines = t.PixtralImageProcessor(size={"longest_edge": 128}, patch_size={"height": 16, "width": 16})
        yield t.PixtralProcessor(lines, patch_size=16, **names, **words())

    def in_full(self, processor):
        """What the processor makes of each row."""
        out = []
        for row in self.rows:
            turns = prepare_multimodal_messages(row["messages"], images=row["images"])
            made = processor.apply_chat_template(
                turns, tokenize=True, return_dict=True, processor_kwargs={"add_special_tokens": False}
            )
            out.append(len(made["input_ids"][0]))
        return out

    def test_the_lengths_are_those_of_rows_that_the_processor_makes(self):
        for processor in self.processors():
            with self.subTest(type(processor).__name__):
                expected = self.in_full(processor)
                self.assertEqual(lengths.from_dataset(self.rows, tokenizer=processor).tolist(), expected)
                stored = datasets.Dataset.from_list(self.rows)
                self.assertEqual(str(stored.features["images"]).count("Image("), 1)
                self.assertEqual(lengths.from_dataset(stored, tokenizer=processor).tolist(), expected)
                with self.assertRaisesRegex(ValueError, "does not say how many tokens the images in 'images' have"):
                    lengths.from_dataset(stored, tokenizer=processor.tokenizer)

    def test_videos_and_sound_are_an_error(self):
        processor = next(self.processors())
        seen = {"role": "user", "content": [{"type": "video", "video": "a.mp4"}, {"type": "text", "text": "what is it"}]}
        for rows, said in (
            ([{**row, "videos": []} for row in self.rows], "the data set has the column 'videos'"),
            ([{**row, "audio": None} for row in self.rows], "the data set has the column 'audio'"),
            ([{"messages": [seen], "images": []}], "row 0, 'messages', has video in a turn"),
        ):
            for given in (rows, datasets.Dataset.from_list(rows)):
                with self.assertRaisesRegex(ValueError, f"{said}, and no rule says how many tokens"):
                    lengths.from_dataset(given, tokenizer=processor)
        heard = [{"text": row["messages"][0]["content"], "audio": None} for row in self.rows]
        self.assertEqual(len(lengths.from_dataset(heard, tokenizer=processor.tokenizer)), len(heard))  # the texts alone

    def test_sizes_are_read_without_pixels(self):
        import PIL.Image

        for image, size in zip(self.images, self.sizes):
            held = io.BytesIO()
            image.save(held, "PNG")
            turned, exif = io.BytesIO(), PIL.Image.Exif()
            exif[0x0112] = 6  # shown on its side
            image.save(turned, "JPEG", exif=exif)
            with unittest.mock.patch("PIL.ImageFile.ImageFile.load", side_effect=AssertionError("decoded")):
                self.assertEqual(size_of({"bytes": held.getvalue(), "path": None}), size)
                self.assertEqual(size_of({"bytes": turned.getvalue(), "path": "a.jpg"}), size[::-1])
            self.assertEqual((size_of(image), size_of(np.asarray(image))), (size, size))


class TestTexts(unittest.TestCase):
    def test_the_lengths_are_those_of_rows_that_trl_trains_on(self):
        model = transformers.LlamaForCausalLM(config_of())
        for name, rows in rows_of().items():
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                made, tokenizer = datasets.Dataset.from_dict(rows), tokenizer_of()
                args = SFTConfig(folder, max_length=None, use_cpu=True, report_to="none")
                trained = SFTTrainer(model, args, train_dataset=made, processing_class=tokenizer).train_dataset
                expected = [len(ids) for ids in trained["input_ids"]]
                counted = lengths.from_dataset(made, tokenizer=tokenizer, add_eos=True)
                self.assertEqual(counted.tolist(), expected)
                order = made.shuffle(seed=3).select(range(7, 20))
                self.assertEqual(
                    lengths.from_dataset(order, tokenizer=tokenizer, add_eos=True).tolist(),
                    np.array(expected)[order._indices.column(0).to_numpy()].tolist(),
                )
                self.assertEqual(
                    lengths.from_dataset(list(made), tokenizer=tokenizer, add_eos=True).tolist(), expected, "as rows"
                )

    def test_what_was_counted_is_kept_beside_the_data_set(self):
        with tempfile.TemporaryDirectory() as folder:
            datasets.Dataset.from_dict({"messages": talks(200)}).save_to_disk(folder)
            made, tokenizer = datasets.load_from_disk(folder), tokenizer_of()
            first = lengths.from_dataset(made, tokenizer=tokenizer, num_proc=2)
            kept = [name for name in os.listdir(folder) if name.startswith("cache")]
            self.assertTrue(kept)
            with unittest.mock.patch("ballast._texts.Counter.__call__", side_effect=AssertionError("counted again")):
                again = lengths.from_dataset(datasets.load_from_disk(folder), tokenizer=tokenizer_of(), num_proc=2)
                self.assertEqual(again.tolist(), first.tolist())
            self.assertEqual(lengths.from_dataset(made, tokenizer=tokenizer).tolist(), first.tolist())
            longer = lengths.from_dataset(made, tokenizer=tokenizer, template={"tools": [TOOL]})
            self.assertTrue((longer > first).all(), "another template is counted anew")

    def test_columns_of_numbers(self):
        made = datasets.Dataset.from_dict({"input_ids": [[1] * n for n in (3, 1, 4)], "length": [3, 1, 4]})
        for given in (made, made.remove_columns("length"), made.remove_columns("input_ids"), made["length"]):
            self.assertEqual(lengths.from_dataset(given).tolist(), [3, 1, 4])
        self.assertEqual(lengths.from_dataset(made["input_ids"]).tolist(), [3, 1, 4])
        self.assertEqual(lengths.from_dataset(made.select([])).tolist(), [])
        self.assertEqual(ballast.pack(made["length"], 8).count, 1)
        for given in (made, made["input_ids"], datasets.DatasetDict(train=made), made.to_iterable_dataset()):
            with self.assertRaisesRegex(ValueError, "^lengths is of type .*ballast.lengths.from_dataset"):
                ballast.pack(given, 8)
        for given, said in (
            (datasets.DatasetDict(train=made), "this is a mapping of 'train': .*dataset\\['train'\\]"),
            (made.to_iterable_dataset(), "an IterableDataset has no rows by number"),
            (datasets.Dataset.from_dict(rows_of()["messages"]), "the column 'messages' holds conversations: give tokenizer="),
        ):
            with self.assertRaisesRegex(ValueError, said):
                lengths.from_dataset(given)
        with self.assertRaisesRegex(ValueError, "row 1 has null in 'text'"):
            lengths.from_dataset(datasets.Dataset.from_dict({"text": ["a", None]}), tokenizer=tokenizer_of())


if __name__ == "__main__":
    unittest.main()
