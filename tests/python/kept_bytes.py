# SPDX-License-Identifier: Apache-2.0
"""What models of transformers keep from the forward to the backward pass in eager PyTorch, counted on the CPU.

Each layer's tensors are those that autograd saves, by distinct storage; parameters and buffers are not counted. Beside
them stands the count of `layer_tensors`, tensor by tensor, and what the library says. Both must agree to the byte. A
second count, of the storages that live at a moment, says that nothing else is kept, and how much the loss needs. It was
written for transformers 5.24 and peft 0.21: another version may keep other tensors, which a failure names."""

import collections
import contextlib
import dataclasses
import itertools
import sys
import unittest
import unittest.mock
import weakref

try:
    import ballast
    import peft
    import torch
    import transformers
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_iter
except ImportError as error:
    print(f"skipped, for {error.name} is not installed: the test needs ballast, torch, transformers and peft")
    sys.exit()


@dataclasses.dataclass(frozen=True)
class Shape:
    """A small model of one family."""

    family: str
    hidden: int
    ffn: int  # of an expert, if there are experts
    heads: int
    kv_heads: int
    head_width: int
    vocabulary: int
    experts: int = 0
    top_k: int = 0
    normalised: bool = True  # whether the weights of a token's experts are divided by their sum
    layers: int = 3

    @property
    def rotary(self):
        return self.family != "gpt2"

    @property
    def head_norms(self):
        return self.family.startswith("qwen3")


@dataclasses.dataclass(frozen=True)
class Way:
    """How a model is trained."""

    dtype: "torch.dtype"
    attention: str = "sdpa"
    batch: int = 1
    tokens: int = 13  # of a sample
    padded: bool = False  # whether the batch comes with an attention mask that hides something
    loop: bool = False  # whether experts run one after the other, instead of grouped
    dropout: float = 0.0  # GPT-2's three
    rank: int = 0  # of adapters; 0: everything is trained
    targets: tuple = ()  # what is adapted
    adapters: "torch.dtype" = None
    adapter_dropout: float = 0.0

    @property
    def element(self):
        return self.dtype.itemsize

    @property
    def rows(self):
        return self.batch * self.tokens


LLAMA = Shape("llama", hidden=42, ffn=58, heads=6, kv_heads=2, head_width=10, vocabulary=101)
ONE_KEY = Shape("qwen2", hidden=40, ffn=51, heads=5, kv_heads=1, head_width=8, vocabulary=97)
ALL_KEYS = Shape("qwen2", hidden=36, ffn=62, heads=6, kv_heads=6, head_width=6, vocabulary=89)
QWEN3 = Shape("qwen3", hidden=44, ffn=38, heads=4, kv_heads=2, head_width=14, vocabulary=67)
GPT2 = Shape("gpt2", hidden=42, ffn=59, heads=7, kv_heads=7, head_width=6, vocabulary=103)
MIXTRAL = Shape("mixtral", hidden=48, ffn=56, heads=6, kv_heads=2, head_width=10, vocabulary=71, experts=7, top_k=3)
QWEN3_MOE = Shape("qwen3_moe", hidden=40, ffn=24, heads=5, kv_heads=1, head_width=12, vocabulary=79, experts=9, top_k=2)
DENSE = (LLAMA, ONE_KEY, ALL_KEYS, QWEN3, GPT2)
ROUTED = (MIXTRAL, QWEN3_MOE, dataclasses.replace(QWEN3_MOE, normalised=False))
DTYPES = (torch.bfloat16, torch.float32)
ATTENTION = ("eager", "sdpa")
ATTENTION_MATRICES = ("q_proj", "k_proj", "v_proj", "o_proj")
QUERIES_AND_VALUES = ("q_proj", "v_proj")
ALL_MATRICES = (*ATTENTION_MATRICES, "gate_proj", "up_proj", "down_proj", "c_attn", "c_proj", "c_fc")

Kept = collections.namedtuple("Kept", "part name bytes")


def layer_tensors(m, by, layer):
    """The tensors that a layer keeps, each with the part of the layer that keeps it first."""
    e, rows, frozen = by.element, by.rows, by.rank > 0
    first = frozen and layer == 0  # nothing in front of the layer is trained, so no gradient goes there
    out = []

    def keep(part, name, size):
        out.append(Kept(part, name, size))

    def matrices(part, names, width, reached=True, there=False):
        """Matrices of one input: who keeps it, and in which form. `there`: it is kept for another reason anyway."""
        adapted = [name for name in names if name in by.targets]
        shared = adapted and by.adapters == by.dtype and by.adapter_dropout == 0
        if not there and (not frozen or shared):
            keep(part, f"input of {', '.join(names)}", e * rows * width)
        for name in adapted:
            x = by.adapters.itemsize
            if by.adapter_dropout:
                keep(part, f"dropped input of {name}", x * rows * width)
                if reached:
                    keep(part, f"mask of {name}", rows * width)
            elif x != e:
                keep(part, f"input of {name} in the adapter's type", x * rows * width)
            keep(part, f"values between the adapters of {name}", x * rows * by.rank)

    def norm(part, values, count, reached=True):
        if not reached:
            return
        if m.rotary:  # RMSNorm
            keep(part, "input in float32", 4 * values)
            keep(part, "reciprocal roots", 4 * count)
            if not frozen:
                keep(part, "normalised", e * values)
        else:
            keep(part, "input", e * values)
            keep(part, "mean and reciprocal root", 2 * e * count)

    norm("norm 1", rows * m.hidden, rows, not first)
    part, scores = "attention", by.batch * m.heads * by.tokens**2
    q, k = rows * m.heads * m.head_width, rows * m.kv_heads * m.head_width
    projections = ("q_proj", "k_proj", "v_proj") if m.rotary else ("c_attn",)
    matrices(part, projections, m.hidden, reached=not first)
    q_reached, k_reached = (not first or projection in by.targets for projection in (projections * 2)[:2])
    if m.head_norms:
        norm(part, q, rows * m.heads, q_reached)
        norm(part, k, rows * m.kv_heads, k_reached)
    if by.attention == "sdpa":
        if by.padded:
            keep(part, "mask of padding", e * by.batch * by.tokens**2)
            k = q if m.kv_heads > 1 else k  # keys and values are repeated for all heads; a single one is a view
        keep(part, "q, k, v", e * (q + 2 * k))
        keep(part, "logarithms of sums", 4 * rows * m.heads)
        keep(part, "output", e * q)
    else:
        if k_reached:
            keep(part, "q", e * q)
        keep(part, "k and v, repeated", 2 * e * (q if m.kv_heads > 1 or by.batch > 1 else k))
        if m.rotary:
            keep(part, "scores in float32", 4 * scores)
        if not m.rotary or e != 4:
            keep(part, "scores", e * scores)
        if by.dropout:
            keep(part, "mask of scores", scores)
            keep(part, "dropped scores", e * scores)
    matrices(part, ("o_proj",) if m.rotary else ("c_proj",), m.heads * m.head_width, there=by.attention == "sdpa")
    if by.dropout:
        keep(part, "mask of the output", rows * m.hidden)

    norm("norm 2", rows * m.hidden, rows)
    part = "feed-forward"
    if m.experts:
        matrices(part, ("router",), m.hidden)
        keep(part, "probabilities", 4 * rows * m.experts)
        keep(part, "indices of experts", 8 * rows * m.top_k)
        if m.normalised:
            keep(part, "sums, and weights before the division", 4 * rows * (1 + m.top_k))
        sent = rows * m.top_k
        if not frozen:
            keep(part, "experts' input", e * sent * m.hidden)
        keep(part, "gate, up", 2 * e * sent * m.ffn)
        keep(part, "silu of the gate", e * sent * m.ffn)
        if not frozen:
            keep(part, "product", e * sent * m.ffn)
        keep(part, "experts' output", e * sent * m.hidden)
        keep(part, "weights of experts", (4 if m.family == "mixtral" else e) * sent)
        if by.loop:
            keep(part, "weighted output", e * sent * m.hidden)
            keep(part, "positions", 2 * 8 * sent)
        else:
            keep(part, "permutations", 3 * 8 * sent)
            keep(part, "ends of experts", 4 * m.experts)
    elif m.rotary:
        matrices(part, ("gate_proj", "up_proj"), m.hidden)
        keep(part, "gate, its silu, up", 3 * e * rows * m.ffn)
        matrices(part, ("down_proj",), m.ffn)
    else:
        matrices(part, ("c_fc",), m.hidden)
        keep(part, "first product, and three steps of gelu", 4 * e * rows * m.ffn)
        matrices(part, ("c_proj",), m.ffn)
        if by.dropout:
            keep(part, "mask of the output", rows * m.hidden)
    return out


def head_tensors(m, by):
    """What the final norm, the head and the loss keep. The logits themselves live as long as the model's output."""
    rows, e = by.rows, by.element
    if m.rotary:
        out = [Kept("norm", "input in float32, reciprocal roots", 4 * rows * (m.hidden + 1))]
        if by.rank == 0:
            out.append(Kept("norm", "normalised", e * rows * m.hidden))
    else:
        out = [Kept("norm", "input, mean and reciprocal root", e * rows * (m.hidden + 2))]
    if by.rank == 0:
        out.append(Kept("loss", "input of the head", e * rows * m.hidden))
    labels = 8 * by.batch * by.tokens + (8 if by.batch == 1 else 0)  # one sample: a view of the padded labels
    return out + [Kept("loss", "log-softmax", 4 * rows * m.vocabulary), Kept("loss", "labels, count", labels + 4)]


def model_tensors(m, by):
    """What is kept once for all layers."""
    if m.rotary:
        return [Kept("model", "cosines and sines", 2 * by.element * by.tokens * m.head_width)]
    out = [Kept("model", "positions", 8 * by.tokens)] if by.rank == 0 else []
    if by.dropout:
        out.append(Kept("model", "mask of the embedding", by.rows * m.hidden))
    return out


def shape_of(m):
    """The model as the library describes it."""
    return ballast.transformer(
        layers=m.layers,
        hidden=m.hidden,
        query_heads=m.heads,
        kv_heads=m.kv_heads,
        head_width=m.head_width,
        ffn=0 if m.experts else m.ffn,
        gated=m.rotary,
        experts=m.experts,
        active_experts=m.top_k,
        expert_ffn=m.ffn if m.experts else 0,
        vocabulary=m.vocabulary,
        norm_bias=not m.rotary,
        qk_norm=2 * m.head_width if m.head_norms else 0,
    )


def library_bytes(m, by):
    """What the library says that a layer keeps, if the layer in front of it is trained as well."""
    tensors = ballast.layer_tensors(
        shape_of(m),
        framework="eager",
        stored_scores=by.attention == "eager",
        value=by.element,
        repeated_keys=by.padded,
        composed_activation=not m.rotary,
        train=f"lora:{by.rank}{':qv' if by.targets == QUERIES_AND_VALUES else ''}" if by.rank else "all",
        adapter_value=by.adapters.itemsize if by.rank else by.element,
        adapter_dropout=by.adapter_dropout > 0,
        fused_queries=m.family == "gpt2",
        short_softmax=m.family == "gpt2",
    )
    return sum(token * by.rows + pair * by.batch * by.tokens**2 for token, pair in tensors.values())


def beyond_the_library(m, by):
    """What a layer keeps more, or less, than the library counts, which does not describe these things."""
    e, rows, sent = by.element, by.rows, by.rows * m.top_k
    q, k = e * rows * m.heads * m.head_width, e * rows * m.kv_heads * m.head_width
    scores = by.batch * m.heads * by.tokens**2
    if not m.rotary:
        yield "statistics of LayerNorm in the model's type: only a CPU keeps them so", 2 * 2 * rows * (e - 4)
        if by.dropout:
            yield "dropout", (1 + e) * scores + 2 * rows * m.hidden
    if by.padded and by.attention == "sdpa":
        yield "mask of padding", e * by.batch * by.tokens**2
    if m.kv_heads == 1 and (by.padded if by.attention == "sdpa" else by.batch == 1):
        yield "a single head of keys and values, repeated without a copy", 2 * (k - q)
    if m.experts:
        yield "ends of experts, whatever the tokens", 0 if by.loop else 4 * m.experts
        if by.loop:
            yield "experts one after the other: weighted outputs, two positions, not three", sent * (e * m.hidden - 8)
        if m.family == "mixtral":
            yield "weights of experts in float32", (4 - e) * sent
        if not m.normalised:
            yield "weights of experts that are not divided by their sum", -4 * (rows + sent)


def config_of(m, by):
    common = {"vocab_size": m.vocabulary, "bos_token_id": 0, "eos_token_id": 0, "pad_token_id": None}
    common["attn_implementation"] = by.attention
    if m.family == "gpt2":
        sizes = {"n_embd": m.hidden, "n_layer": m.layers, "n_head": m.heads, "n_inner": m.ffn, "n_positions": 64}
        drops = dict.fromkeys(("attn_pdrop", "embd_pdrop", "resid_pdrop"), by.dropout)
        return transformers.GPT2Config(**sizes, **drops, **common, tie_word_embeddings=False)
    sizes = {
        "hidden_size": m.hidden,
        "intermediate_size": m.ffn,
        "num_hidden_layers": m.layers,
        "num_attention_heads": m.heads,
        "num_key_value_heads": m.kv_heads,
        "max_position_embeddings": 64,
        "tie_word_embeddings": False,
    } | common
    if m.family != "qwen2":
        sizes["head_dim"] = m.head_width
    if m.family == "mixtral":
        sizes |= {"num_local_experts": m.experts, "num_experts_per_tok": m.top_k}
    if m.family == "qwen3_moe":
        sizes |= {"num_experts": m.experts, "num_experts_per_tok": m.top_k, "norm_topk_prob": m.normalised}
        sizes["moe_intermediate_size"] = m.ffn
    name = {"llama": "Llama", "qwen2": "Qwen2", "qwen3": "Qwen3", "mixtral": "Mixtral", "qwen3_moe": "Qwen3Moe"}
    return getattr(transformers, name[m.family] + "Config")(**sizes)


def model_of(m, by):
    torch.manual_seed(5)
    model = transformers.AutoModelForCausalLM.from_config(config_of(m, by), dtype=by.dtype)
    if m.experts:
        model.set_experts_implementation("eager" if by.loop else "grouped_mm")
    if by.rank:
        config = peft.LoraConfig(r=by.rank, lora_dropout=by.adapter_dropout, target_modules=list(by.targets))
        model = peft.get_peft_model(model, config, autocast_adapter_dtype=by.adapters != by.dtype)
        types = {p.dtype for p in model.parameters() if p.requires_grad}
        assert types == {by.adapters}, types
    return model.train()


def inner(model):
    """The decoder inside a model, its layers and its final norm."""
    base = model.get_base_model() if isinstance(model, peft.PeftModel) else model
    decoder = base.transformer if hasattr(base, "transformer") else base.model
    if hasattr(decoder, "h"):
        return decoder, decoder.h, decoder.ln_f
    return decoder, decoder.layers, decoder.norm


def device_dropout(x, p=0.5, training=True, inplace=False):
    """Dropout as it runs on a GPU: with a mask of one byte. On a CPU it keeps noise of the input's type."""
    return torch.native_dropout(x, p, True)[0] if training and p > 0 else x


def batch_of(m, by):
    ids = torch.randint(0, m.vocabulary, (by.batch, by.tokens), generator=torch.Generator().manual_seed(3))
    batch = {"input_ids": ids, "labels": ids, "use_cache": False}
    if by.padded:
        batch["attention_mask"] = (torch.arange(by.tokens) < by.tokens - 2).long().repeat(by.batch, 1)
    return batch


def storage(tensor):
    return tensor.untyped_storage()


PARTS = {"input_layernorm": "norm 1", "self_attn": "attention", "post_attention_layernorm": "norm 2"}
PARTS |= {"ln_1": "norm 1", "attn": "attention", "ln_2": "norm 2", "mlp": "feed-forward"}


class Counter:
    """Counts the storages that a model saves for its backward pass, by where it first saves them: [place, part]."""

    def __init__(self, model, batch):
        self.begin(model, batch)
        decoder, layers, norm = inner(model)
        for i, layer in enumerate(layers):
            self.within(layer, i, "residual")
            for name, part in PARTS.items():
                if hasattr(layer, name):
                    self.within(getattr(layer, name), i, part)
        self.within(norm, "head", "norm")
        self.removed.append(norm.register_forward_hook(lambda *_: self.at("head", "loss")))
        if hasattr(decoder, "rotary_emb"):
            self.removed.append(decoder.rotary_emb.register_forward_hook(lambda _, x, out: self.share(out)))

    def begin(self, model, batch):
        owned = [*model.parameters(), *model.buffers(), *(t for t in batch.values() if isinstance(t, torch.Tensor))]
        self.owned = {storage(t).data_ptr() for t in owned}
        self.place, self.part = "model", "model"
        self.tensors = collections.defaultdict(list)
        self.alive, self.shared, self.removed = [], set(), []

    def at(self, place, part):
        self.place, self.part = place, part

    def share(self, tensors):
        self.shared |= {storage(t).data_ptr() for t in tensors}

    def within(self, module, place, part):
        around = []

        def enter(*_):
            around.append((self.place, self.part))
            self.at(place, part)

        def leave(*_):
            self.at(*around.pop())

        self.removed += [module.register_forward_pre_hook(enter), module.register_forward_hook(leave)]

    def save(self, tensor):
        where = storage(tensor).data_ptr()
        self.alive.append(tensor)  # so that no address is used twice
        if where not in self.owned:
            self.owned.add(where)
            at = ("model", "model") if where in self.shared else (self.place, self.part)
            self.tensors[at].append((storage(tensor).nbytes(), str(tensor.dtype)[6:], tuple(tensor.shape)))
        return tensor

    def sums(self, place):
        return {part: sum(t[0] for t in found) for (at, part), found in self.tensors.items() if at == place}

    def run(self, model, batch):
        with torch.autograd.graph.saved_tensors_hooks(self.save, lambda tensor: tensor):
            out = model(**batch)
        for hook in self.removed:
            hook.remove()
        return out


class Live(TorchDispatchMode):
    """Counts the storages that live, from those that operators return while the mode is on."""

    def __init__(self, model, batch):
        super().__init__()
        owned = [*model.parameters(), *model.buffers(), *(t for t in batch.values() if isinstance(t, torch.Tensor))]
        self.owned = {storage(t)._cdata for t in owned}
        self.sizes, self.now, self.peak, self.at_next = {}, 0, 0, None

    def forget(self, key):
        self.now -= self.sizes.pop(key)

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if self.at_next:
            self.at_next()
        out = function(*args, **(kwargs or {}))
        for tensor in tree_iter(out):
            if not isinstance(tensor, torch.Tensor) or storage(tensor)._cdata in self.owned | self.sizes.keys():
                continue
            key = storage(tensor)._cdata
            self.sizes[key] = storage(tensor).nbytes()
            self.now += self.sizes[key]
            weakref.finalize(storage(tensor), self.forget, key)
        self.peak = max(self.peak, self.now)
        return out


def total(tensors):
    return sum(kept.bytes for kept in tensors)


def ways(**options):
    """All combinations of options that are lists."""
    lists = {name: value if isinstance(value, (list, tuple)) else [value] for name, value in options.items()}
    return [Way(**dict(zip(lists, values))) for values in itertools.product(*lists.values())]


class KeptBytes(unittest.TestCase):
    def setUp(self):
        dropout = unittest.mock.patch("torch.nn.functional.dropout", device_dropout)
        dropout.start()
        self.addCleanup(dropout.stop)

    def same(self, m, by, place, formula, counted):
        """Fails unless each part keeps the bytes of its formula; says which tensors were counted in it."""
        sums = collections.Counter()
        for kept in formula:
            sums[kept.part] += kept.bytes
        for part in sums.keys() | counted.sums(place).keys():
            if sums[part] != counted.sums(place).get(part, 0):
                lines = [f"{m}", f"{by}", f"{place}, {part}: formula {sums[part]}"]
                lines += [f"    {kept.bytes:8} {kept.name}" for kept in formula if kept.part == part]
                lines += [f"  counted {counted.sums(place).get(part, 0)}"]
                lines += [f"    {size:8} {dtype} {shape}" for size, dtype, shape in counted.tensors[place, part]]
                self.fail("\n".join(lines))

    def check(self, m, by):
        model, batch = model_of(m, by), batch_of(m, by)
        counted = Counter(model, batch)
        counted.run(model, batch)
        for layer in range(m.layers):
            self.same(m, by, layer, layer_tensors(m, by, layer), counted)
        self.same(m, by, "head", head_tensors(m, by), counted)
        self.same(m, by, "model", model_tensors(m, by), counted)
        if by.rank and by.targets not in (QUERIES_AND_VALUES, ATTENTION_MATRICES if m.experts else ALL_MATRICES):
            return  # the library adapts all of them, or those of queries and values
        beyond = list(beyond_the_library(m, by))
        self.assertEqual(
            library_bytes(m, by) + sum(size for _, size in beyond),
            sum(counted.sums(m.layers - 1).values()),
            f"{m} {by} {beyond}",
        )

    def test_models_that_are_trained(self):
        for m in DENSE:
            for by in ways(dtype=DTYPES, attention=ATTENTION, batch=(1, 3)):
                self.check(m, by)

    def test_experts(self):
        for m in ROUTED:
            for by in ways(dtype=DTYPES, attention="sdpa", batch=(1, 3), loop=(False, True)):
                self.check(m, by)
            self.check(m, Way(torch.bfloat16, "eager"))

    def test_widths_do_not_matter(self):
        for hidden, ffn, heads, kv_heads, width in ((30, 7, 3, 3, 2), (20, 90, 10, 5, 4), (64, 33, 8, 2, 16)):
            for family in ("llama", "qwen3"):
                m = Shape(family, hidden, ffn, heads, kv_heads, width, vocabulary=5 + ffn, layers=2)
                if family == "llama":
                    m = dataclasses.replace(m, hidden=heads * hidden)
                for by in ways(dtype=DTYPES, attention=ATTENTION, tokens=(1, 22)):
                    self.check(m, by)

    def test_padded_batches(self):
        for m in (LLAMA, ONE_KEY, ALL_KEYS, GPT2):
            for by in ways(dtype=DTYPES, attention=ATTENTION, batch=(1, 3), padded=True):
                self.check(m, by)

    def test_dropout_of_gpt2(self):
        for by in ways(dtype=DTYPES, attention="eager", batch=(1, 3), dropout=0.1):
            self.check(GPT2, by)

    def test_adapters_of_all_matrices(self):
        for m in (*DENSE, *ROUTED[:2]):
            # not of experts: peft adds to their weights, and all of these are kept once more
            targets = ATTENTION_MATRICES if m.experts else ALL_MATRICES
            for by in ways(dtype=DTYPES, attention=ATTENTION, batch=3, rank=5, targets=[targets]):
                for types, dropout in itertools.product({torch.float32, by.dtype}, (0.0, 0.1)):
                    self.check(m, dataclasses.replace(by, adapters=types, adapter_dropout=dropout))

    def test_adapters_of_queries_and_values(self):
        for m in (LLAMA, ONE_KEY, QWEN3, *ROUTED[:2]):
            for by in ways(dtype=torch.bfloat16, attention=ATTENTION, rank=3, targets=[QUERIES_AND_VALUES]):
                for loop in {False, m.experts > 0}:
                    self.check(m, dataclasses.replace(by, adapters=torch.float32, loop=loop))

    def test_nothing_else_lives_after_the_forward_pass(self):
        for m in (LLAMA, QWEN3, GPT2, MIXTRAL):
            for by in ways(dtype=DTYPES, attention=ATTENTION, batch=(1, 3)):
                model, batch = model_of(m, by), batch_of(m, by)
                with Live(model, batch) as live:
                    loss = model(**batch).loss
                layers = (total(layer_tensors(m, by, layer)) for layer in range(m.layers))
                expected = sum(layers) + total(head_tensors(m, by) + model_tensors(m, by)) + storage(loss).nbytes()
                self.assertEqual(live.now, expected, f"{m} {by}")

    def test_checkpoints(self):
        """A layer keeps its input. For its backward pass it makes what it would have kept, and has a gradient."""
        for m in (LLAMA, QWEN3, GPT2):
            for by in ways(dtype=DTYPES, attention=ATTENTION, batch=(1, 3)):
                self.check_checkpoints(m, by)

    def check_checkpoints(self, m, by):
        model, batch = model_of(m, by), batch_of(m, by)
        live, seen = Live(model, batch), []

        class Recomputation:
            def __enter__(self):
                pass

            def __exit__(self, *_):
                live.at_next = self.note  # when the frames of the layer's functions are gone

            def note(self):
                live.at_next = None
                grads = [p.grad for p in model.parameters() if p.grad is not None]
                seen.append(live.now - sum(storage(grad).nbytes() for grad in grads))

        options = {"use_reentrant": False, "preserve_rng_state": False}
        options["context_fn"] = lambda: (contextlib.nullcontext(), Recomputation())
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs=options)
        stream = by.element * by.rows * m.hidden
        once = total(model_tensors(m, by))
        if m.rotary:
            once += 8 * by.tokens  # the positions, which are an argument of each layer
        if by.attention == "eager":
            once += by.element * by.batch * by.tokens**2  # the causal mask, which is another
        with live:
            loss = model(**batch).loss
            scalar = storage(loss).nbytes()
            self.assertEqual(live.now, m.layers * stream + once + total(head_tensors(m, by)) + scalar, f"{m} {by}")
            loss.backward()
        input_is_kept = by.dtype == torch.float32 or not m.rotary  # by norm 1, which makes no copy
        for layer, now in zip(reversed(range(m.layers)), seen, strict=True):
            at_work = total(layer_tensors(m, by, layer)) - (stream if input_is_kept else 0)
            expected = (layer + 1) * stream + once + at_work + stream + 2 * scalar  # loss and its gradient
            self.assertEqual(now, expected, f"{m} {by} layer {layer}")

    def test_checkpoints_with_adapters(self):
        for by in ways(dtype=torch.bfloat16, batch=3, rank=5, targets=[ALL_MATRICES], adapters=torch.float32):
            for m in (LLAMA, GPT2):
                model, batch = model_of(m, by), batch_of(m, by)
                model.gradient_checkpointing_enable()
                counted = Counter(model, batch)
                counted.run(model, batch)
                for layer in range(1, m.layers):
                    self.assertEqual(sum(counted.sums(layer).values()), by.element * by.rows * m.hidden)

    def test_the_loss(self):
        """The logits of the model live as long as its output is held; float32 tensors of their size live beside them.

        Samples have more tokens than the model has channels, so that gradients of the head's matrix are smaller."""
        for m in (LLAMA, QWEN3, GPT2):
            m = dataclasses.replace(m, vocabulary=1009, layers=1)
            for by in ways(dtype=DTYPES, batch=(1, 3), tokens=60):
                for held in (False, True):
                    self.check_loss(m, by, held)

    def check_loss(self, m, by, held):
        model, batch = model_of(m, by), batch_of(m, by)
        e, logits = by.element, by.rows * m.vocabulary
        with Live(model, batch) as live:
            out = model(**batch)
            loss = out.loss
            forward, live.peak = live.peak, 0
            if not held:
                del out
            kept = live.now
            loss.backward()
        scalar = storage(loss).nbytes()
        rest = total(layer_tensors(m, by, 0) + head_tensors(m, by) + model_tensors(m, by)) + scalar - 4 * logits
        labels = total(kept for kept in head_tensors(m, by) if kept.name.startswith("labels"))  # gone before the peak
        copy = 4 if e < 4 else 0
        padded = 8 * by.batch * (by.tokens + 1) if by.batch > 1 else 0  # labels before they are shifted
        self.assertEqual(forward, (e + copy + 4) * logits + rest + padded, f"{m} {by}")
        self.assertEqual(kept, (e * held + 4) * logits + rest, f"{m} {by} {held}")
        self.assertEqual(live.peak, (e * held + 12) * logits + rest + scalar - labels, f"{m} {by} {held}")
        if m.rotary and by.dtype == torch.bfloat16:
            loss = "returned" if held else "plain"
            (library,) = ballast.memory(shape_of(m), sequence=by.tokens, micro_batch=by.batch, loss=loss)
            counted = live.peak - total(model_tensors(m, by)) - 2 * scalar
            self.assertEqual(library["kept"] + library["extra"]["head"], counted, f"{m} {by} {loss}")


@dataclasses.dataclass(frozen=True)
class Tower:
    """A small vision-language model of one family: a tile of 8 x 8 patches, of which the projector merges 2 x 2."""

    family: str
    hidden: int = 36
    ffn: int = 46
    heads: int = 3
    layers: int = 3
    unused: int = 0
    window: int = 0  # tokens of a window; 0: a token sees its whole tile

    @property
    def rotary(self):
        return self.family == "qwen2_5_vl"

    @property
    def extra(self):
        return 0 if self.rotary else 1  # a class token

    @property
    def tokens(self):
        return 64 + self.extra

    @property
    def merged(self):
        return 64 if self.family == "llava" else 16


TOWERS = (
    Tower("llava", unused=1),
    Tower("llava", hidden=40, heads=5),
    Tower("internvl"),
    Tower("qwen2_5_vl"),
    Tower("qwen2_5_vl", hidden=40, heads=5, window=16),
)
LANGUAGE = dataclasses.replace(LLAMA, hidden=48, heads=6, kv_heads=2, head_width=8, vocabulary=101)
TEXT = 9  # tokens of a sample beside those of its tile


def tower_model(m, by):
    """A model of transformers, and a batch with one tile in each sample."""
    torch.manual_seed(7)
    text = {
        "hidden_size": LANGUAGE.hidden,
        "intermediate_size": LANGUAGE.ffn,
        "num_hidden_layers": LANGUAGE.layers,
        "num_attention_heads": LANGUAGE.heads,
        "num_key_value_heads": LANGUAGE.kv_heads,
        "vocab_size": LANGUAGE.vocabulary,
        "max_position_embeddings": 256,
    }
    width = {"hidden_size": m.hidden, "intermediate_size": m.ffn}
    shape = width | {"num_hidden_layers": m.layers, "num_attention_heads": m.heads}
    tokens = m.merged + TEXT
    ids = torch.full((by.batch, tokens), 5)
    ids[:, 2 : 2 + m.merged] = 7
    batch = {"input_ids": ids, "labels": ids, "use_cache": False}
    if m.rotary:
        rope = {"rope_type": "default", "mrope_section": [1, 2, 1]}
        vision = width | {"depth": m.layers, "num_heads": m.heads, "out_hidden_size": LANGUAGE.hidden, "patch_size": 2}
        vision |= {"spatial_merge_size": 2, "temporal_patch_size": 2}
        vision |= {"window_size": 2 * int(m.window**0.5) if m.window else 16}
        vision |= {"fullatt_block_indexes": [] if m.window else list(range(m.layers))}
        names = ("image", "video", "vision_start", "vision_end")
        special = {f"{name}_token_id": 7 + i for i, name in enumerate(names)}
        config = transformers.Qwen2_5_VLConfig(
            text_config=text | {"rope_parameters": rope}, vision_config=vision, tie_word_embeddings=False, **special
        )
        ids[:, 1] = special["vision_start_token_id"]
        batch["image_grid_thw"] = torch.tensor([[1, 8, 8]] * by.batch)
        batch["mm_token_type_ids"] = (ids == 7).int()
        batch["pixel_values"] = torch.randn(by.batch * 64, 2 * 2 * 2 * 3)
    else:
        batch["pixel_values"] = torch.randn(by.batch, 3, 16, 16)
        common = {"text_config": transformers.LlamaConfig(**text), "tie_word_embeddings": False}
        if m.family == "llava":
            vision = transformers.CLIPVisionConfig(**shape, image_size=16, patch_size=2, hidden_act="gelu")
            common["vision_feature_layer"] = -1 - m.unused
            config = transformers.LlavaConfig(vision_config=vision, image_token_index=7, **common)
        else:
            vision = transformers.InternVLVisionConfig(**shape, image_size=[16, 16], patch_size=[2, 2])
            config = transformers.InternVLConfig(vision_config=vision, image_token_id=7, **common)
    make = transformers.AutoModelForImageTextToText.from_config
    model = make(config, dtype=by.dtype, attn_implementation=by.attention)
    return model.train(), batch


def tower_parts(model):
    """The tower, the projector and the language model inside a model."""
    base = model.get_base_model() if isinstance(model, peft.PeftModel) else model
    core = base.model
    tower = core.visual if hasattr(core, "visual") else core.vision_tower
    projector = tower.merger if hasattr(tower, "merger") else core.multi_modal_projector
    tower = getattr(tower, "vision_model", tower)
    return tower, projector, core.language_model


class TowerCounter(Counter):
    """Counts what vision layers, the parts around them, and language layers save.

    A layer whose output nothing reads is released with what it saves: LLaVA's last one and the norm behind it."""

    def __init__(self, m, model, batch):
        self.begin(model, batch)
        tower, projector, language = tower_parts(model)
        encoder = getattr(tower, "encoder", tower)
        layers = next(getattr(encoder, name) for name in ("layers", "layer", "blocks") if hasattr(encoder, name))
        front = [getattr(tower, name) for name in ("embeddings", "patch_embed", "pre_layrnorm") if hasattr(tower, name)]
        for module in front:
            self.within(module, "patches", "patches")
        for i, layer in enumerate(layers):
            self.within(layer, f"vision {i}" if i < m.layers - m.unused else "unused", "vision")
        if hasattr(tower, "post_layernorm"):
            self.within(tower.post_layernorm, "unused", "vision")
        self.within(projector, "projector", "projector")
        for layer in language.layers:
            self.within(layer, "language", "language")
        self.removed.append(language.rotary_emb.register_forward_hook(lambda _, x, out: self.share(out)))

    def save(self, tensor):
        return tensor if self.place == "unused" else super().save(tensor)

    def total(self, places):
        return sum(sum(self.sums(place).values()) for place in places)


def library_model(m):
    body = ballast.transformer(
        layers=m.layers,
        hidden=m.hidden,
        query_heads=m.heads,
        kv_heads=m.heads,
        head_width=m.hidden // m.heads,
        ffn=m.ffn,
        gated=m.rotary,
        norm_bias=not m.rotary,
        window=m.window,
        causal=False,
    )
    merge = 64 // m.merged
    return ballast.vision_language_model(
        body=body,
        language=shape_of(LANGUAGE),
        tile_tokens=m.tokens,
        merged_tokens=m.merged,
        patch=2,
        channels=6 if m.rotary else 3,
        extra_tokens=m.extra,
        pre_norm=m.family == "llava",
        unused_layers=m.unused,
        layer_scale=m.family == "internvl",
        merge=merge,
        projector_norm=m.family != "llava",
        norm_weights=m.hidden if m.rotary else 0,
        inner=merge * m.hidden if m.rotary else 0,
    )


def beyond_the_tower(m, by, tower, projector, full):
    """What a model keeps more, or less, than the library counts of its tower."""
    e, rows, layers = by.element, by.batch * m.tokens, m.layers - m.unused
    at_work = 0 if full or not tower else layers
    if not m.rotary:
        of_norms = rows * (2 * at_work + (tower and m.family == "llava"))
        if m.family == "internvl" and (tower or projector == "all"):
            of_norms += by.batch * m.merged
        yield "statistics of LayerNorm in the model's type: only a CPU keeps them so", (2 * e - 8) * of_norms
        if m.family == "llava" and by.batch == 1 and projector == "all":
            yield "class token of the tower's output: of one sample, the others are a view", e * m.hidden
        if m.family == "internvl" and by.attention == "eager":
            scores = by.batch * m.heads * m.tokens**2
            yield "softmax in the model's type, not in float32", (e - (4 if e == 4 else 6)) * scores * at_work
    elif not tower and not full and projector == "all":
        yield "no gradient goes through the projector's norm: neither input nor roots", -4 * rows * (m.hidden + 1)
    if m.rotary and tower and not full:
        yield "one matrix makes q, k and v, and q and k stay as long as v", 2 * e * rows * m.hidden * layers
        yield "cosines and sines of a tower, in float32", 2 * 4 * rows * m.hidden // m.heads
        if by.attention == "sdpa":
            yield "outputs of attention of windows and tiles, put together", e * rows * m.hidden * layers
    if full and not tower:
        yield "inputs of frozen layers: with checkpoints, they have gradients", e * rows * m.hidden * layers
        if m.family == "llava":
            yield "the first norm, for the same reason", e * rows * (m.hidden + 2)


class KeptByTowers(unittest.TestCase):
    def check(self, m, by, vision="all", projector="all", train="all", full=False):
        model, batch = tower_model(m, by)
        tower, bridge, _ = tower_parts(model)
        if vision == "none":
            tower.requires_grad_(False)
        bridge.requires_grad_(projector == "all")
        if train == "none":
            model.model.language_model.requires_grad_(False)
            model.lm_head.requires_grad_(False)
        elif train != "all":
            targets = r".*language_model.*\.(q|k|v|o|gate|up|down)_proj"
            config = peft.LoraConfig(r=by.rank, target_modules=targets)
            model = peft.get_peft_model(model, config, autocast_adapter_dtype=False)
            if projector == "all":
                tower_parts(model)[1].requires_grad_(True)
        if full:
            model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        counted = TowerCounter(m, model, batch)
        counted.run(model, batch)
        computed = [f"vision {i}" for i in range(m.layers - m.unused)]
        places = ("patches", *computed, "projector", "language")
        options = {"sequence": m.merged + TEXT, "micro_batch": by.batch, "stored_scores": by.attention == "eager"}
        options |= {"value": by.element, "recompute": "full" if full else "none", "train": train}
        options |= {"train_vision": vision, "train_projector": projector}
        (library,) = ballast.memory(library_model(m), tiles=by.batch, **options)
        beyond = list(beyond_the_tower(m, by, vision == "all", projector, full))
        found = {place: (counted.total([place]), counted.tensors[place, place.split()[0]]) for place in places}
        expected = library["kept"] + sum(size for _, size in beyond)
        return expected, counted.total(places), f"{m} {by} {vision} {projector} {train} {full} {beyond} {found}"

    def same(self, *arguments, **options):
        expected, counted, what = self.check(*arguments, **options)
        self.assertEqual(expected, counted, what)

    def test_towers_that_are_trained(self):
        for m in TOWERS:
            for by in ways(dtype=DTYPES, attention=ATTENTION, batch=(1, 3)):
                self.same(m, by)

    def test_frozen_towers(self):
        for m in TOWERS:
            for by in ways(dtype=DTYPES, attention="sdpa", batch=(1, 3)):
                self.same(m, by, vision="none")
                self.same(m, by, vision="none", projector="none")
                self.same(m, by, vision="none", train="none")  # gradients pass through a frozen language model
                self.same(m, by, projector="none")

    def test_adapters_of_the_language_model(self):
        for m in TOWERS:
            for by in ways(dtype=torch.bfloat16, attention="sdpa", batch=3, rank=4):
                self.same(m, by, vision="none", train="lora:4")

    def test_checkpoints_of_towers(self):
        for m in TOWERS:
            for by in ways(dtype=DTYPES, attention="sdpa", batch=(1, 3)):
                self.same(m, by, full=True)
                self.same(m, by, vision="none", full=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    unittest.main(warnings="ignore")
