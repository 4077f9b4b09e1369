# SPDX-License-Identifier: Apache-2.0
"""Executes one training step of a PyTorch model in the order that `ballast order` planned, node by node.

    from execute_graph import Step

    step = Step(model, (batch,), torch.nn.functional.cross_entropy, targets=(labels,))
    write_graph(step.graph, "step.json")  # then: ballast order step.json --json > plan.json
    result = step.run(json.load(open("plan.json")))
    result.loss, result.weights, result.peak  # the bytes of storages that lived at once, measured

A tensor is dropped behind its last reader in the order, and made again where the plan says so (`--budget`). With
`in_buffer=True` every tensor lies in one buffer, at the address that `--layout` planned; make the step with `unit=8` or
more, so that addresses suit all types. The update is Adam. Memory that an operator takes and gives back while it runs
is not counted, here or in the plan.
"""

from dataclasses import dataclass

import torch
from export_graph import exported, is_item, tensors_in, trace
from torch.multiprocessing.reductions import StorageWeakRef
from torch.optim.adam import adam


@dataclass
class Result:
    loss: torch.Tensor
    weights: dict  # of each parameter, its value after the update
    moments: dict  # of each parameter, Adam's two moments
    peak: int  # bytes of the storages that lived at once, at most


class Live:
    """The storages that are alive, whoever keeps them: what is counted is not what ought to be dropped."""

    def __init__(self):
        self.of_storage, self.peak = {}, 0

    def add(self, tensor):
        storage = tensor.untyped_storage()
        self.of_storage[storage._cdata] = (StorageWeakRef(storage), storage.nbytes())

    def measure(self):
        self.forget()
        self.peak = max(self.peak, sum(size for _, size in self.of_storage.values()))

    def forget(self):
        self.of_storage = {key: of for key, of in self.of_storage.items() if not of[0].expired()}


class Buffer:
    """One piece of memory in which each tensor has the address that was planned."""

    def __init__(self, layout):
        self.memory = torch.zeros(layout["height"], dtype=torch.uint8)
        self.offsets = layout["offsets"]

    def place(self, name, tensor):
        """A copy of a tensor and of all its storage at the address of `name`."""
        storage, at = tensor.untyped_storage(), self.offsets[name]
        if at % tensor.element_size():
            raise ValueError(f"{name} of {tensor.dtype} is at address {at}: make the step with unit=8")
        self.memory[at : at + storage.nbytes()].copy_(torch.empty(0, dtype=torch.uint8).set_(storage))
        first = at // tensor.element_size() + tensor.storage_offset()
        there = torch.empty(0, dtype=tensor.dtype)
        return there.set_(self.memory.untyped_storage(), first, tensor.size(), tensor.stride())


class Step:
    """A training step: its graph, and what its operators call."""

    def __init__(self, model, inputs, loss, targets=(), unit=1, dimensions=None):
        self.model, self.values = model, [*inputs, *targets]
        self.traced = trace(model, inputs, loss, targets, dimensions)
        self.graph, exporter = exported(self.traced, 8, unit, dimensions)
        fx, parameters, buffers, trained = self.traced
        self.parameters, self.buffers = parameters, buffers
        output = next(n for n in fx.nodes if n.op == "output").args[0]
        name_of = {None: None, **{i: t["name"] for i, t in enumerate(exporter.tensors)}}
        self.tensors_of = {node: [name_of[t] for t in of] for node, of in exporter.of_node.items()}
        self.tensor_of = {node: of[0] for node, of in self.tensors_of.items() if len(of) == 1}
        self.loss = self.tensor_of[output[0]]
        self.calls = {n.name: n for n in fx.nodes if n.op == "call_function" and not is_item(n)}
        self.constants = {n.name: getattr(fx.owning_module, n.target) for n in fx.nodes if n.op == "get_attr"}
        self.gradient_of = {p: self.tensor_of[g] for p, g in zip(trained, output[1:]) if g is not None}
        self.operators = {o["name"]: o for o in self.graph["operators"]}
        self.shares, self.kept = {}, set()
        for t in self.graph["tensors"]:
            self.shares[t["name"]] = t.get("view_of", t.get("in_place_of"))
            if t.get("kept", t.get("kind") in ("parameter", "state")):
                self.kept.add(self.memory_of(t["name"]))

    def memory_of(self, name):
        while self.shares[name] is not None:
            name = self.shares[name]
        return name

    def start(self, values, add):
        """Calls `add(name, tensor)` for all that is there before the first operator; the model keeps its weights."""
        held = [*self.model.parameters(), *self.model.buffers(), *values]
        names = [*self.parameters, *self.buffers, *(f"input {i}" for i in range(len(values)))]
        for name, tensor in [*zip(names, held), *self.constants.items()]:
            add(name, tensor.detach().clone())
        weights = dict(self.model.named_parameters())
        for p in self.gradient_of:
            add(f"{p} state", torch.zeros(2, *weights[p].shape))

    @staticmethod
    def update(weight, gradient, state, betas=(0.9, 0.999), lr=1e-3, eps=1e-8):
        """A step of Adam in place. As autograd does, it is given a gradient that lies in memory like its weight."""
        if gradient.stride() != weight.stride():
            gradient = torch.empty_like(weight).copy_(gradient)
        numbers = {"beta1": betas[0], "beta2": betas[1], "lr": lr, "eps": eps, "weight_decay": 0.0}
        lists = [weight], [gradient], [state[0]], [state[1]], [], [torch.tensor(0.0)]
        adam(*lists, foreach=False, amsgrad=False, maximize=False, **numbers)

    def result(self, env, live):
        moments = {p: env[f"{p} state"].clone() for p in self.gradient_of}
        return Result(env[self.loss].clone(), {p: env[p].clone() for p in self.parameters}, moments, live.peak)

    def run(self, plan, in_buffer=False, **adam_numbers):
        """Executes the order of a plan of `ballast order --json`."""
        order = plan["order"]
        reads, makes, memory = instances(self, order, plan.get("recompute", {}).get("dropped", []))
        last = {}
        for s in range(len(order)):
            for t in (*reads[s].values(), *makes[s].values()):
                last[memory[t]] = s
        last.update(dict.fromkeys(self.kept, len(order)))
        ends = {}
        for t, m in memory.items():
            ends.setdefault(last.get(m, -1), []).append(t)

        buffer = Buffer(plan["layout"]) if in_buffer else None
        live, env = Live(), {}

        def add(name, tensor):
            if buffer is not None and tensor.untyped_storage()._cdata != buffer.memory.untyped_storage()._cdata:
                tensor = buffer.place(name, tensor)
            env[name] = tensor
            live.add(tensor)

        self.start(self.values, lambda name, tensor: add(name, tensor) if memory.get(name) in last else None)
        for s, name in enumerate(order):
            at = reads[s]
            if name.startswith("update "):
                p = name[len("update ") :]
                self.update(env[p], env[at[self.gradient_of[p]]], env[f"{p} state"], **adam_numbers)
            else:
                node = self.calls[name.removesuffix(" (again)")]
                args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), lambda n: env[at[self.tensor_of[n]]])
                for t, value in zip(self.tensors_of[node], tensors_in(node.target(*args, **kwargs))):
                    if t is not None:
                        add(makes[s][t], value)
                del args, kwargs, value
            live.measure()
            for t in ends.get(s, []):
                env.pop(t, None)
        return self.result(env, live)


def instances(step, order, dropped):
    """What each operator of an order reads and makes, and the memory of each tensor: what runs again makes copies.

    As in the plan: behind the forward pass a dropped tensor is read as its copy; what runs again also reads copies of
    what nobody keeps until then.
    """
    dropped, again = set(dropped), {name.removesuffix(" (again)") for name in order if name.endswith(" (again)")}
    if again and any("in_place_of" in t and t["kind"] == "activation" for t in step.graph["tensors"]):
        raise ValueError("the forward pass changes tensors in place: what it reads may be gone where it runs again")
    program = [o["name"] for o in step.graph["operators"]]
    maker = {t: name for name, o in step.operators.items() for t in o["outputs"]}
    held = {m: len(program) for m in step.kept}
    for v, name in enumerate(program):
        for t in step.operators[name]["inputs"]:
            held[step.memory_of(t)] = max(v, held.get(step.memory_of(t), -1))

    def is_forward(name):
        return step.operators[name]["kind"] == "forward"

    def from_copy(t, v):
        return step.memory_of(t) in dropped or (t in maker and is_forward(maker[t]) and held[step.memory_of(t)] < v)

    before = {}  # of what runs again, the operator that waits for it
    for v, name in enumerate(program):
        late = [] if is_forward(name) else [t for t in step.operators[name]["inputs"] if step.memory_of(t) in dropped]
        open_ones = [maker[t] for t in late]
        while open_ones:
            at = open_ones.pop()
            if at not in before:
                before[at] = v
                open_ones += [maker[t] for t in step.operators[at]["inputs"] if from_copy(t, v)]
    if set(before) != again:
        raise ValueError("the plan is of another graph: what runs again is not what makes the dropped tensors")

    reads, makes, memory = [], [], {t: step.memory_of(t) for t in step.shares}
    for name in order:
        first = name.removesuffix(" (again)")
        operator = step.operators[first]
        if first != name:
            late = [t for t in operator["inputs"] if from_copy(t, before[first])]
        else:
            late = [] if is_forward(name) else [t for t in operator["inputs"] if step.memory_of(t) in dropped]
        reads.append({t: f"{t} (again)" if t in late else t for t in operator["inputs"]})
        makes.append({t: f"{t} (again)" if first != name else t for t in operator["outputs"]})
        if first != name:
            for t in operator["outputs"]:
                base = step.shares[t]
                memory[f"{t} (again)"] = f"{t} (again)" if base is None else memory[reads[-1][base]]
    return reads, makes, memory
