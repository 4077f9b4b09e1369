# SPDX-License-Identifier: Apache-2.0
"""Plans steps from Python through the C interface, by ctypes alone: python3 pack.py PATH_OF_LIBRARY."""
import ctypes
import random
import sys

lib = ctypes.CDLL(sys.argv[1])


class StepOptions(ctypes.Structure):
    """ballast_step_options of ballast.h."""
    _fields_ = [("capacity", ctypes.c_int64), ("ranks", ctypes.c_uint64), ("micro_batches", ctypes.c_uint64),
                ("stages", ctypes.c_uint64), ("seed", ctypes.c_uint64), ("epoch", ctypes.c_uint64),
                ("cost_per_micro_batch", ctypes.c_int64), ("cost_per_step", ctypes.c_int64),
                ("synchronisation", ctypes.c_int), ("left_over", ctypes.c_int)]


def declare(name, result, *arguments):
    """Returns a function of the library with its types; ctypes would cut pointers to 32 bits without them."""
    function = getattr(lib, name)
    function.restype, function.argtypes = result, arguments
    return function


lengths_type = ctypes.POINTER(ctypes.c_int64)
error = declare("ballast_error", ctypes.c_char_p)
version = declare("ballast_version", ctypes.c_char_p)
cost_of_model = declare("ballast_cost_of_model", ctypes.c_void_p, ctypes.c_char_p)
cost_free = declare("ballast_cost_free", None, ctypes.c_void_p)
plan_steps = declare("ballast_plan_steps", ctypes.c_void_p, lengths_type, ctypes.c_size_t,
                     ctypes.POINTER(StepOptions), ctypes.c_void_p)
steps_count = declare("ballast_steps_count", ctypes.c_size_t, ctypes.c_void_p)
steps_get = declare("ballast_steps_get", ctypes.POINTER(ctypes.c_uint32), ctypes.c_void_p, ctypes.c_size_t,
                    ctypes.c_size_t, ctypes.c_size_t, ctypes.POINTER(ctypes.c_size_t))
slowest_over_mean = declare("ballast_steps_slowest_over_mean", ctypes.c_double, ctypes.c_void_p)
steps_free = declare("ballast_steps_free", None, ctypes.c_void_p)


def planned(lengths, model, **options):
    """Returns the handle of a plan, or raises ValueError with the library's sentence."""
    cost = cost_of_model(model.encode())
    if not cost:
        raise ValueError(error().decode())
    # A NumPy array of int64 needs no copy: lengths.ctypes.data_as(lengths_type).
    array = (ctypes.c_int64 * len(lengths))(*lengths)
    steps = plan_steps(array, len(lengths), StepOptions(**options), cost)
    cost_free(cost)
    if not steps:
        raise ValueError(error().decode())
    return steps


def main():
    draw = random.Random(1)
    lengths = [draw.randint(1, 8192 if draw.random() < 0.06 else 700) for _ in range(3000)]
    ranks, micro_batches = 4, 2
    steps = planned(lengths, "llama-3.1-8b", capacity=8192, ranks=ranks, micro_batches=micro_batches, seed=2026)
    trained, size = [], ctypes.c_size_t()
    for step in range(steps_count(steps)):
        for rank in range(ranks):
            for micro_batch in range(micro_batches):
                pack = steps_get(steps, step, rank, micro_batch, size)
                trained += pack[:size.value]
    print(f"ballast {version().decode()}: {steps_count(steps)} steps, "
          f"{slowest_over_mean(steps):.3f} times as long as with perfect balance")
    steps_free(steps)
    assert sorted(trained) == list(range(len(lengths))), "every sample is trained on once"
    try:
        planned(lengths, "llama-3.1-8b", capacity=100)
    except ValueError as sentence:
        print("an error:", sentence)
        return
    raise AssertionError("a sample above the capacity is an error")


if __name__ == "__main__":
    main()
