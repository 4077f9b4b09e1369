# SPDX-License-Identifier: Apache-2.0
"""Executes training steps of batches whose shapes vary, by a plan that was made before the shapes were known.

    from execute_batches import BatchStep

    axes = [{0: "batch", 1: "length"}, {0: "batch", 1: "length"}]  # of the tokens, and of the labels
    step = BatchStep(model, (tokens,), loss, targets=(labels,), axes=axes)
    write_graph(step.graph, "step.json")
    # ballast order step.json --dimensions batch=1..64,length=16..4096 --values batch=8,length=512 --budget 2Gi --json > plan.json
    batch = json.load(open("plan.json"))["batches"][0]
    result = step.run(batch, (tokens_of_8_by_512, labels_of_8_by_512))

The events of a batch are carried out one by one: operators run, memory is dropped, moved to the host and back, and
operators run again for what was dropped. The given batch is only an example of another size. The update is Adam.
"""

import torch
from execute_graph import Live, Step
from export_graph import Dimensions, tensors_in


class BatchStep(Step):
    """A training step whose graph is made once, for batches of all shapes."""

    def __init__(self, model, inputs, loss, targets=(), axes=()):
        self.dimensions = Dimensions(axes)
        super().__init__(model, inputs, loss, targets, dimensions=self.dimensions)
        self.views = {}  # of each view, what makes it, and which of its outputs it is
        for node, names in self.tensors_of.items():
            if node.name in self.calls and all(name is None or self.shares[name] is not None for name in names):
                self.views.update({name: (node, i) for i, name in enumerate(names)})
        self.tensors_in = {}  # of each memory, the tensors that use it
        for name in self.shares:
            self.tensors_in.setdefault(self.memory_of(name), []).append(name)
        self.sizes = {n: n.meta["val"].node.expr for n in self.traced[0].nodes if is_size(n)}

    def values_of(self, batch):
        """The sizes of the axes that vary, by name."""
        out = {}
        for tensor, axes in zip(batch, self.dimensions.axes):
            for axis, name in axes.items():
                if out.setdefault(name, tensor.shape[axis]) != tensor.shape[axis]:
                    raise ValueError(f"{name} has two sizes in one batch: {out[name]} and {tensor.shape[axis]}")
        return out

    def run(self, plan, batch, **adam_numbers):
        """Carries out the events of one of the `batches` of `ballast order --dimensions`; the model keeps its weights."""
        values = self.values_of(batch)
        if plan["values"] != values:
            raise ValueError(f"the plan is for {plan['values']}, and the batch is of {values}")
        if "no_run" in plan:
            raise ValueError(plan["no_run"])
        self.dimensions.require(values)
        of_symbol = {symbol: values[name] for name, symbol in self.dimensions.symbols.items()}
        sizes = {node: int(size.subs(of_symbol)) for node, size in self.sizes.items()}
        live, env, host = Live(), {}, {}

        def add(name, tensor):
            env[name] = tensor
            live.add(tensor)

        def tensor(name):
            """A tensor in memory. A view of memory that came back is made again, which takes no memory."""
            if name not in env:
                if name not in self.views:
                    raise ValueError(f"the plan reads {name}, which is not in memory")
                node, i = self.views[name]
                env[name] = tensors_in(call(node))[i]
            return env[name]

        def call(node):
            args = torch.fx.node.map_arg((node.args, node.kwargs), value_of)
            return node.target(*args[0], **args[1])

        def value_of(node):
            return sizes[node] if node in sizes else tensor(self.tensor_of[node])

        def drop(memory):
            for name in self.tensors_in[memory]:
                env.pop(name, None)

        read = {t for o in self.graph["operators"] for t in o["inputs"]}
        self.start(batch, lambda name, t: add(name, t) if name in read or name in self.kept else None)
        live.measure()
        for what, name in plan["events"]:
            if what == "drop":
                drop(name)
            elif what == "store":
                host[name] = copy_of(tensor(name))
                drop(name)
            elif what == "load":
                add(name, copy_of(host[name]))
            elif name.startswith("update "):
                p = name[len("update ") :]
                self.update(tensor(p), tensor(self.gradient_of[p]), tensor(f"{p} state"), **adam_numbers)
            else:
                made = [t for t in self.tensors_of[self.calls[name]] if t is not None]
                if what == "rerun":  # it makes all of them, so those that are there are freed first
                    for t in made:
                        drop(t)
                for t, value in zip(self.tensors_of[self.calls[name]], tensors_in(call(self.calls[name]))):
                    if t is not None:
                        add(t, value)
                value = None
            live.measure()
        return self.result(env, live)


def is_size(node):
    return isinstance(node.meta.get("val"), torch.SymInt)


def copy_of(tensor):
    """The same tensor in a copy of its whole storage."""
    storage = tensor.untyped_storage().clone()
    return torch.empty(0, dtype=tensor.dtype).set_(storage, tensor.storage_offset(), tensor.size(), tensor.stride())
