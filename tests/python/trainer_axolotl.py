# SPDX-License-Identifier: Apache-2.0
"""The plugin ballast.axolotl.Planned in axolotl's own plugin manager and trainer builder, on two processes over gloo.

axolotl's command line, its loaders of models and of data sets are left out: they import packages for CUDA.
"""

import os
import sys
import tempfile
import unittest

os.environ["AXOLOTL_DO_NOT_TRACK"] = os.environ["DO_NOT_TRACK"] = "1"

import datasets  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
from support import VOCABULARY, each_once, on_ranks, stub, tokens  # noqa: E402
from transformers import TrainerCallback  # noqa: E402

stub("posthog", "evaluate", "wandb", "pynvml", "trl.experimental.prm")
if not hasattr(sys.modules.get("trl.experimental.prm", object), "PRMTrainer"):  # axolotl 0.19 wants an older trl
    sys.modules["trl.experimental.prm"].PRMTrainer = type("PRMTrainer", (transformers.Trainer,), {})
    sys.modules["trl.experimental.prm"].PRMConfig = type("PRMConfig", (transformers.TrainingArguments,), {})

from axolotl.core.builders.causal import HFCausalTrainerBuilder  # noqa: E402
from axolotl.core.trainers import AxolotlTrainer  # noqa: E402
from axolotl.integrations.base import BasePlugin, PluginManager  # noqa: E402
from axolotl.utils.dict import DictDefault  # noqa: E402

import ballast.axolotl  # noqa: E402
import ballast.huggingface  # noqa: E402

NAME = "ballast.axolotl.Planned"
COUNT = 120


def configuration(folder, **changes):
    values = {
        "plugins": [NAME],
        "sequence_len": 32,
        "micro_batch_size": 2,
        "gradient_accumulation_steps": 2,
        "num_epochs": 2,
        "sample_packing": True,
        "output_dir": folder,
        "learning_rate": 0.1,
        "lr_scheduler": "constant",
        "optimizer": "sgd",
        "max_grad_norm": 0.0,
        "use_cpu": True,
        "seed": 3,
        "logging_steps": 1,
        "save_strategy": "no",
        "model_config_type": "llama",
        "attn_supports_packing": True,
        "val_set_size": 0,
    }
    return DictDefault({**values, **changes})


def llama():
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 2, "max_position_embeddings": 64}
    torch.manual_seed(3)
    config = transformers.LlamaConfig(vocab_size=VOCABULARY, **sizes, **heads)
    return transformers.LlamaForCausalLM(config).double()


def words():
    from tokenizers import Tokenizer, models

    made = Tokenizer(models.WordLevel({str(i): i for i in range(VOCABULARY)}, unk_token="0"))
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, pad_token="0", eos_token="1")


def rows(count):
    """A data set as axolotl has prepared it for sample_packing."""
    ids = [tokens(i) for i in range(count)]
    columns = {"input_ids": ids, "labels": ids, "attention_mask": [[1] * len(x) for x in ids]}
    columns["position_ids"] = [list(range(len(x))) for x in ids]
    return datasets.Dataset.from_dict({**columns, "length": [len(x) for x in ids]})


def train(rank, ranks, folder):
    """Sequences of each micro-batch, the first gradient, and the loss of an evaluation, by axolotl's builder."""
    seen, first = [], []

    class First(TrainerCallback):
        def on_pre_optimizer_step(self, args, state, control, model=None, **_):
            if not first:
                first.append(torch.cat([p.grad.flatten() for p in model.parameters()]))

    manager, cfg = PluginManager.get_instance(), configuration(folder)
    manager.register(NAME)
    builder = HFCausalTrainerBuilder(cfg, llama(), words())
    builder.train_dataset, builder.eval_dataset = rows(COUNT), rows(11)
    trainer = builder.build(100000)
    trainer.add_callback(First())
    step = trainer.training_step

    def noted(model, inputs, *args, **kwargs):
        ids, ends = inputs["input_ids"][0], inputs["cu_seq_lens_q"]
        seen.append([ids[a:b].tolist() for a, b in zip(ends, ends[1:])])
        return step(model, inputs, *args, **kwargs)

    trainer.training_step = noted
    trainer.train()
    assert isinstance(trainer, AxolotlTrainer) and trainer.state.global_step == trainer.plan.steps
    assert trainer.plan._options["capacity"] == cfg.micro_batch_size * cfg.sequence_len
    return seen, first[0], trainer.plan.steps_of_epochs, trainer.evaluate()["eval_loss"]


class TestPlugin(unittest.TestCase):
    def test_is_a_plugin(self):
        manager = PluginManager.get_instance()
        manager.register(NAME)
        self.assertIsInstance(manager.plugins[NAME], BasePlugin)
        kind = manager.get_trainer_cls(configuration("out"))
        self.assertTrue(issubclass(kind, ballast.huggingface.Planned) and issubclass(kind, AxolotlTrainer))
        self.assertEqual(manager.get_input_args(), ["ballast.axolotl.Arguments"])
        with self.assertRaisesRegex(ValueError, "rl is not for ballast.axolotl.Planned"):
            manager.get_trainer_cls(configuration("out", rl="dpo"))

    def test_axolotl_trains_on_the_plan(self):
        with tempfile.TemporaryDirectory() as folder:
            results = on_ranks(2, train, folder, timeout=200)
        steps = results[0][2]
        number = {tuple(tokens(i)): i for i in range(COUNT)}
        for epoch in range(2):
            begin = 2 * sum(steps[e] for e in range(epoch))
            lists = [row for seen, *_ in results for row in seen[begin : begin + 2 * steps[epoch]]]
            each_once(self, [[number[tuple(sequence)] for sequence in row] for row in lists], COUNT)
            self.assertTrue(all(32 < sum(map(len, row)) <= 64 for row in lists[:2]))
        model, loss, labels = llama(), 0, 0
        for sequence in [s for seen, *_ in results for row in seen[:2] for s in row]:
            scores = model(input_ids=torch.tensor([sequence])).logits[0, :-1]
            loss = loss + torch.nn.functional.cross_entropy(scores, torch.tensor(sequence[1:]), reduction="sum")
            labels += len(sequence) - 1
        (loss / labels).backward()
        wanted = torch.cat([p.grad.flatten() for p in model.parameters()])
        for _, found, *_ in results:
            self.assertLess((found - wanted).abs().max() / wanted.abs().max(), 1e-6)
        self.assertEqual(len({loss for *_, loss in results}), 1)


if __name__ == "__main__":
    print("skipped: axolotl.cli, axolotl.loaders and axolotl.utils.data, which import packages for CUDA")
    unittest.main()
