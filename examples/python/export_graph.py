# SPDX-License-Identifier: Apache-2.0
"""Writes one training step of a PyTorch model as a graph that `ballast order` reads.

    from export_graph import training_step, write_graph

    graph = training_step(model, (batch,), torch.nn.functional.cross_entropy, targets=(labels,))
    write_graph(graph, "step.json")  # then: ballast order step.json --layout --report step.html

The model is traced with tensors that have sizes and no memory, so it may be larger than this machine. An operator is a
call of ATen; what a compiler would fuse is not fused. Times are thousands of FLOPs, or what a byte costs at 128 FLOPs.
Views and changes in place are found by the storage that tensors share. docs/formats.md describes the file.

Where the shape of a batch varies, `dimensions` names it: for each of the inputs and targets, names of axes.

    tokens_and_labels = [{0: "batch", 1: "length"}, {0: "batch", 1: "length"}]
    graph = training_step(model, (batch,), loss, targets=(labels,), dimensions=tokens_and_labels)
    write_graph(graph, "step.json")  # then: ballast order step.json --dimensions batch=1..64,length=16..4096

Sizes are then polynomials over these names, and times are FLOPs. The given batch is an example.
"""

import json

import sympy
import torch
from torch._dynamo.source import ConstantSource
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext
from torch.utils.flop_counter import flop_registry


class Dimensions:
    """Names of the axes of a batch that vary, and the symbols that PyTorch has for them."""

    def __init__(self, axes):
        self.axes, self.symbols = axes, {}
        self.environment = ShapeEnv()
        self.mode = FakeTensorMode(shape_env=self.environment)

    def fixed(self, tensor):
        return self.mode.from_tensor(tensor, static_shapes=True)

    def varying(self, i, tensor):
        """The input `i` with symbols for the sizes of its named axes. Axes of one name have one size, so one symbol."""
        axes = self.axes[i] if i < len(self.axes) else {}
        sizes = [DimDynamic.DUCK if axis in axes else DimDynamic.STATIC for axis in range(tensor.dim())]
        context = StatelessSymbolicContext(dynamic_sizes=sizes)
        out = self.mode.from_tensor(tensor, symbolic_context=context, source=ConstantSource(f"input_{i}"))
        for axis, name in axes.items():
            size = out.shape[axis]
            symbol = size.node.expr if isinstance(size, torch.SymInt) else None
            known = self.symbols.setdefault(name, symbol)
            if symbol is None or known != symbol or list(self.symbols.values()).count(symbol) > 1:
                raise ValueError(f"{name} is {tensor.shape[axis]} in the example: it needs a size of its own, at least 2")
        return out

    def require(self, values):
        """Raises unless the graph is that of a batch: what PyTorch took for granted while it traced the example holds."""
        of_symbol = {symbol: values[name] for name, symbol in self.symbols.items()}
        for guard in self.environment.guards:
            if guard.expr.subs(of_symbol) != sympy.true:
                raise ValueError(f"the graph is not that of {values}: PyTorch traced it where {guard.expr}")

    def polynomial(self, size, what):
        """A size as `ballast order` reads it: a number, or a polynomial as text."""
        size = sympy.expand(size)
        symbols = list(self.symbols.values())
        if size.is_Integer:
            return int(size)
        if size.free_symbols - set(symbols) or not size.is_polynomial(*symbols):
            raise ValueError(f"{what}: {size} is no polynomial over {', '.join(self.symbols)}")
        out = ""
        for powers, coefficient in sympy.Poly(size, *symbols).terms():
            sign = " - " if coefficient < 0 else " + "
            factors = [name + (f"^{power}" if power > 1 else "") for name, power in zip(self.symbols, powers) if power > 0]
            out += (sign if out else sign.strip(" +")) + " ".join([str(abs(int(coefficient))), *factors])
        return out


def trace(model, inputs, loss, targets, dimensions=None):
    """One forward and backward as a graph of ATen calls; names of parameters, of buffers, and of trained parameters."""
    parameters = {name: p.detach().requires_grad_(p.requires_grad) for name, p in model.named_parameters()}
    buffers = dict(model.named_buffers())
    mode = "fake"
    if dimensions is not None:
        mode = "symbolic"
        parameters = {name: dimensions.fixed(p).requires_grad_(p.requires_grad) for name, p in parameters.items()}
        buffers = {name: dimensions.fixed(b) for name, b in buffers.items()}
        batch = [dimensions.varying(i, t) for i, t in enumerate([*inputs, *targets])]
        inputs, targets = batch[: len(inputs)], batch[len(inputs) :]

    def step(parameters, buffers, inputs, targets):
        value = loss(torch.func.functional_call(model, (parameters, buffers), inputs), *targets)
        trained = [p for p in parameters.values() if p.requires_grad]
        return value, torch.autograd.grad(value, trained, allow_unused=True)

    traced = make_fx(step, tracing_mode=mode)(parameters, buffers, tuple(inputs), tuple(targets))
    traced.graph.eliminate_dead_code()
    return traced.graph, list(parameters), list(buffers), [name for name, p in parameters.items() if p.requires_grad]


def tensors_in(value):
    """The tensors of a node's value, in order; None for other outputs."""
    if isinstance(value, (tuple, list)):
        return [v if isinstance(v, torch.Tensor) else None for v in value]
    return [value if isinstance(value, torch.Tensor) else None]


def storage_of(tensor):
    return tensor.untyped_storage()._cdata


def plain(size):
    """A size that may be one of PyTorch's symbols, as a number or an expression that is compared with nothing."""
    return size.node.expr if isinstance(size, torch.SymInt) else size


def flops_of(node):
    """FLOPs by PyTorch's own formulas; 0 for an operator that has none."""
    formula = flop_registry.get(getattr(node.target, "overloadpacket", None))
    if formula is None:
        return 0
    values = torch.fx.node.map_arg((node.args, node.kwargs), lambda n: n.meta["val"])
    return plain(formula(*values[0], **values[1], out_val=node.meta["val"]))


class Exporter:
    """The operators and tensors so far; a tensor is known by its index. Sizes are multiples of `unit` bytes."""

    def __init__(self, unit=1, dimensions=None):
        if unit != 1 and dimensions is not None:
            raise ValueError("unit is for addresses, which only a step of known sizes has")
        self.operators, self.tensors, self.unit, self.dimensions = [], [], unit, dimensions
        self.of_node = {}  # the tensors of a node; None for outputs that are none
        self.of_storage = {}  # the tensors in each storage

    def rounded(self, count):
        return -(-count // self.unit) * self.unit if self.unit > 1 else count

    def time_of(self, flops, moved):
        """FLOPs, or what its bytes cost; in thousands where sizes are known."""
        if self.dimensions is None:
            return -(-int(max(flops, 128 * moved)) // 1000)
        return flops if flops != 0 else 128 * moved

    def names(self, tensors):
        return [self.tensors[t]["name"] for t in tensors]

    def add_tensor(self, name, value, **fields):
        entry = {"name": name, "bytes": plain(value.numel() * value.element_size()), **fields}
        if "view_of" not in entry and "in_place_of" not in entry:
            entry["bytes"] = self.rounded(plain(value.untyped_storage().nbytes()))
        self.tensors.append(entry)
        self.of_storage.setdefault(storage_of(value), []).append(len(self.tensors) - 1)
        return len(self.tensors) - 1

    def add_operator(self, name, kind, time, inputs, outputs):
        names = {"inputs": self.names(inputs), "outputs": self.names(outputs)}
        self.operators.append({"name": name, "kind": kind, "time": time, **names})

    def call(self, node, kind):
        """Adds a call of ATen and the tensors that it makes."""
        inputs = []
        for source in node.all_input_nodes:
            inputs += [t for t in self.of_node.get(source, []) if t is not None and t not in inputs]
        writes = any(a.alias_info is not None and a.alias_info.is_write for a in node.target._schema.arguments)
        items = {user.args[1]: user.name for user in node.users if is_item(user)}
        several = isinstance(node.meta["val"], (tuple, list))
        outputs, made = [], 0
        for i, value in enumerate(tensors_in(node.meta["val"])):
            if value is None:
                outputs.append(None)
                continue
            fields = {"kind": "gradient" if kind == "backward" else "activation"}
            shared = [t for t in inputs if t in self.of_storage.get(storage_of(value), [])]
            if shared:
                fields["in_place_of" if writes else "view_of"] = self.tensors[shared[-1]]["name"]
            else:
                made += plain(value.numel() * value.element_size())
            name = items.get(i, f"{node.name}[{i}]") if several else node.name
            outputs.append(self.add_tensor(name, value, **fields))
        moved = made + sum(self.tensors[t]["bytes"] for t in inputs) if made != 0 or writes else 0
        tensors = [t for t in outputs if t is not None]
        self.add_operator(node.name, kind, self.time_of(flops_of(node), moved), inputs, tensors)
        self.of_node[node] = outputs

    def update(self, parameter, count, gradient, state_bytes):
        """Adds the update of a parameter of `count` numbers, whose optimiser has states of that many bytes for each."""
        changed = [parameter]
        if state_bytes > 0:
            name = self.tensors[parameter]["name"] + " state"
            self.tensors.append({"name": name, "bytes": self.rounded(count * state_bytes), "kind": "state"})
            changed.append(len(self.tensors) - 1)
        first = len(self.tensors)
        for t in changed:
            name = self.tensors[t]["name"]
            self.tensors.append({**self.tensors[t], "name": name + " updated", "in_place_of": name})
        outputs = range(first, len(self.tensors))
        moved = sum(self.tensors[t]["bytes"] for t in [*changed, gradient, *outputs])
        name = "update " + self.tensors[parameter]["name"]
        self.add_operator(name, "update", self.time_of(0, moved), [*changed, gradient], outputs)

    def graph(self):
        """The operators and tensors with their sizes as `ballast order` reads them."""
        if self.dimensions is not None:
            for entry in [*self.operators, *self.tensors]:
                key = "time" if "time" in entry else "bytes"
                entry[key] = self.dimensions.polynomial(entry[key], f"{key} of {entry['name']}")
        return {"operators": self.operators, "tensors": self.tensors}


def is_item(node):
    return getattr(node.target, "__name__", "") == "getitem"


def ancestors(node):
    """A node and all that it depends on."""
    out, open_nodes = set(), [node]
    while open_nodes:
        at = open_nodes.pop()
        if at not in out:
            out.add(at)
            open_nodes += at.all_input_nodes
    return out


def training_step(model, inputs, loss, targets=(), state_bytes=8, unit=1, dimensions=None):
    """The graph of a step: forward, backward, and an update of each trained parameter.

    `loss` makes a number of what the model returns and `targets`. `state_bytes` are bytes of the optimiser for each
    number of a parameter: 8 for Adam with states in 32 bits, 0 for plain SGD. Sizes are rounded up to multiples of
    `unit` bytes, so that the addresses of a layout are, too. `dimensions` names axes whose sizes vary.
    """
    dimensions = None if dimensions is None else Dimensions(dimensions)
    return exported(trace(model, inputs, loss, targets, dimensions), state_bytes, unit, dimensions)[0]


def exported(traced, state_bytes, unit, dimensions=None):
    """The graph of what `trace` returns, and the exporter, which knows the tensors of each node."""
    graph, parameters, buffers, trained = traced
    result = next(n for n in graph.nodes if n.op == "output").args[0]
    value, gradients = result[0], result[1:]
    forward = ancestors(value)
    out, of_parameter = Exporter(unit, dimensions), {}
    placeholders = [n for n in graph.nodes if n.op == "placeholder"]
    names = parameters + buffers + [f"input {i}" for i in range(len(placeholders) - len(parameters) - len(buffers))]
    for node, name in zip(placeholders, names):
        if isinstance(node.meta.get("val"), torch.Tensor):
            kind = "parameter" if name in parameters else "state" if name in buffers else "activation"
            out.of_node[node] = [out.add_tensor(name, node.meta["val"], kind=kind)]
            of_parameter[name] = node
    for node in graph.nodes:
        if node.op == "get_attr":  # a constant
            out.of_node[node] = [out.add_tensor(node.name, node.meta["val"], kind="state")]
        elif is_item(node):
            out.of_node[node] = [out.of_node[node.args[0]][node.args[1]]]
        elif node.op == "call_function" and any(v is not None for v in tensors_in(node.meta["val"])):
            out.call(node, "forward" if node in forward else "backward")
    out.tensors[out.of_node[value][0]]["kept"] = True
    for name, gradient in zip(trained, gradients):
        if gradient is not None:
            node = of_parameter[name]
            out.update(out.of_node[node][0], node.meta["val"].numel(), out.of_node[gradient][0], state_bytes)
    return out.graph(), out


def write_graph(graph, path):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(graph, file, indent=1)
