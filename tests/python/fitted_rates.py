# SPDX-License-Identifier: Apache-2.0
"""benchmarks/python/fitted_rates.py without a device: it finds the rates from which times were made, leaves nonsense
out, and writes what `--kernels` reads. The argument is the program of benchmarks/kernel_rates.cpp."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "benchmarks" / "python"
sys.path.insert(0, str(FOLDER))
import fitted_rates  # noqa: E402

PROGRAM = sys.argv[1]
CURVE = "attention.flash2."
TRUE = {  # in the order of the fit
    "memory": 853,
    "gemm": 701,
    "gemm_fp8": 655,
    "expert_gemm": 640,
    "head": 1091,
    CURVE + "backward.flops": 287_000_000_000_000,
    CURVE + "backward.half_length": 612,
    CURVE + "forward.flops": 371_000_000_000_000,
    CURVE + "forward.half_length": 0,
    CURVE + "narrow_forward.flops": 299_000_000_000_000,
    CURVE + "narrow_forward.half_length": 77,
    "bytes.loss": 21,
    "bytes.norm_backward": 9,
    "host": 1_700_000_000,
}


def model():
    return fitted_rates.Model(PROGRAM, "h100", "eager-bf16")


def kernels():
    rows = [{"kernel": f"bytes {2**31}", "fits": "memory"}, {"kernel": "gemm 512 4096 4096"}]
    for kind in ("gemm", "gemm_fp8", "head"):
        rows += [{"kernel": f"{kind} 8192 {n} 4096", "fits": kind} for n in (8192, 12288, 16384)]
    rows += [{"kernel": "experts 2048 3072 4096 16", "fits": "expert_gemm"}]
    for width, name in ((128, "forward"), (128, "backward"), (64, "narrow_forward")):
        for length in (512, 2048, 8192, 16384):
            kernel = f"attention flash2 {name.removeprefix('narrow_')} 32 {width} 16384 {16384 * length}"
            rows.append({"kernel": kernel, "fits": CURVE + name})
    rows += [
        {"values": 10**9, "fits": "bytes.norm_backward"},
        {"values": 10**8, "fits": "bytes.loss"},
        {"fits": "host"},
    ]
    return rows


def timed(rates=None, rows=None):
    rows = kernels() if rows is None else rows
    return [row | {"ms": ms} for row, ms in zip(rows, model().times(rows, TRUE if rates is None else rates))]


def only(said, *words):
    assert len(said) == 1 and all(word in said[0] for word in words), said


def test_rates_are_found_again():
    rows = timed()
    found, said = fitted_rates.fit(rows, model())
    assert list(found.items()) == list(TRUE.items()) and not said, (found, said)
    for row, ms in zip(rows, model().times(rows, found)):
        assert abs(ms / row["ms"] - 1) < 1e-6, row
    assert fitted_rates.fit(timed({}), model())[0].items() <= model().preset.items()
    assert fitted_rates.fit([], model()) == ({}, [])


def test_one_slow_and_one_fast_kernel_change_no_share():
    rows = timed()
    slow, _, fast = (row for row in rows if row.get("fits") == "gemm")
    slow["ms"], fast["ms"] = slow["ms"] * 5, fast["ms"] / 1.2
    found, said = fitted_rates.fit(rows, model())
    assert found == TRUE
    only(said, "gemm: kernels differ, from 140 to 841")


def test_operators_take_the_bytes_of_the_library():
    (ms,) = model().times([{"values": 10**9, "fits": "bytes.norm"}], {})
    assert abs(ms * 1e-3 * 0.791 * 3.35e12 / (16 * 1.906e9) - 1) < 1e-6, ms


def test_lengths_that_differ_within_a_batch():
    lengths = [64, 128, 192, 640, 1024, 2048, 4096, 8192]
    rows = [row for row in kernels() if row.get("fits") == CURVE + "forward"][:2]
    mixed = f"attention flash2 forward 32 128 {sum(lengths)} {sum(length**2 for length in lengths)}"
    rates = {CURVE + "forward.half_length": 431}
    found, said = fitted_rates.fit(timed(rates, [*rows, {"kernel": mixed, "fits": CURVE + "forward"}]), model())
    assert found[CURVE + "forward.half_length"] == 431 and not said, (found, said)


def test_nonsense_is_left_out():
    def fit(chosen, change):
        rows = [row for row in timed() if row.get("fits", "").startswith(chosen)]
        return fitted_rates.fit([row | {"ms": change(row)} for row in rows], model())

    found, said = fit("gemm", lambda row: row["ms"] / 1.6)
    assert not found, found
    assert len(said) == 2 and "gemm: 1122 thousandths would be 1.12 times the datasheet" in said[0], said
    found, said = fit("gemm_fp8", lambda row: row["ms"] * 655 / 1020)  # clocks above the datasheet's
    assert found == {"gemm_fp8": 1000} and "1.48 times" not in "".join(said), said
    found, said = fit("memory", lambda row: row["ms"] * 10_000)
    assert not found
    only(said, "memory: 0.0853 is not positive")
    found, said = fit("memory", lambda row: row["ms"] * 3)
    assert found == {"memory": 284}
    only(said, "memory: 0.36 times the preset's", "idle")
    for wrong in (0, -1, float("nan"), float("inf")):
        assert fit("gemm", lambda row: wrong) == ({}, [])

    curve = CURVE + "backward"
    squares = lambda row: int(row["kernel"].split()[-1])  # noqa: E731
    found, said = fit(curve, lambda row: row["ms"] - 0.8)
    assert not found
    only(said, curve, "a negative length")
    found, said = fit(curve, lambda row: 1 / squares(row))
    assert not found
    only(said, curve, "longer samples take no more time")
    found, said = fit(curve, lambda row: row["ms"] / 4)
    assert not found
    only(said, curve, "1148 TFLOP/s of endless samples are more than the peak, 989")
    found, said = fit(curve, lambda row: row["ms"] * 1e6)
    assert not found
    only(said, curve, "only 0.29 GFLOP/s")
    found, said = fit(curve, lambda row: 1e5 + squares(row) / 5e5)
    assert not found
    only(said, curve, "and half of them at")
    found, said = fit(curve, lambda row: row["ms"] * (1 + (squares(row) == 2048 * 16384)))
    assert len(found) == 2
    only(said, curve, "misses a measured length")
    rows = [row for row in timed() if row.get("fits") == curve]
    only(fitted_rates.fit(rows[:2], model())[1], curve, "fewer than three lengths")
    equal = [rows[0] | {"kernel": f"attention flash2 backward {heads} 128 16384 8388608"} for heads in (8, 16, 32)]
    only(fitted_rates.fit(equal, model())[1], curve, "equally long")
    a100 = fitted_rates.Model(PROGRAM, "a100", "te-bf16")
    only(
        fitted_rates.fit([{"kernel": "gemm_fp8 8192 8192 8192", "fits": "gemm_fp8", "ms": 1}], a100)[1], "no such rate"
    )


def test_the_file_has_the_names_of_the_header():
    header = (ROOT / "include/ballast/cost/kernel_rates.hpp").read_text()

    def fields(struct, kind="std::int64_t"):
        body = re.search(rf"struct {struct} {{(.*?)\n}};", header, re.DOTALL)[1]
        return set(re.findall(rf"^  {kind} (\w+)(?: =|{{)", body, re.MULTILINE))

    libraries = re.search(r"enum class attention_library .*?{(.*?)};", header, re.DOTALL)[1]
    libraries = set(re.findall(r"^  (\w+),", libraries, re.MULTILINE))
    read = tomllib.loads(fitted_rates.toml(TRUE, ["# about", 'preset = "h100-eager-bf16"']))
    assert read.pop("preset") == "h100-eager-bf16"
    assert "." not in fitted_rates.toml(TRUE, []).replace("[attention.flash2]", "")  # integers only
    attention, operators = read.pop("attention"), read.pop("bytes")
    assert operators == {"norm_backward": 9, "loss": 21} and operators.keys() <= fields("operator_bytes")
    assert read == {key: value for key, value in TRUE.items() if "." not in key} and read.keys() <= fields(
        "kernel_rates"
    )
    assert attention["flash2"]["backward"] == {"flops": 287_000_000_000_000, "half_length": 612}
    assert attention.keys() <= libraries and "cudnn" in libraries
    assert attention["flash2"].keys() <= fields("attention_rates", "attention_curve")
    assert attention["flash2"]["forward"].keys() == fields("attention_curve")


def test_a_folder():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        about = {"device": "h100", "kernels": "eager-bf16", "named": True, "machine": "a device"}
        rows = [*timed(), {"kernel": "experts 1 1 1 1", "by": "bmm", "error": "no such kernel"}]
        lines = "".join(f"{json.dumps(row)}\n" for row in [about, *rows])
        (folder / "rates.jsonl").write_text(lines + '{"kernel": "gemm 64 6')
        said = subprocess.run(
            [sys.executable, FOLDER / "fitted_rates.py", folder, PROGRAM], check=True, stdout=subprocess.PIPE, text=True
        ).stdout
        assert said == (folder / "rates.md").read_text()
        assert (
            (folder / "kernels.toml").read_text().endswith(fitted_rates.toml(TRUE, ["", 'preset = "h100-eager-bf16"']))
        )
        assert "| gemm | 718 | 701 | 0.98 |" in said and "- not measured: experts 1 1 1 1 (bmm): no such kernel" in said
        assert (
            "| bytes 2147483648 | 0.7515 | 2.86 TB/s | 0.8104 | 0.7515 | 1.00 |" in said
            and "| host | 1.5 ms | 1.7 ms | 1.13 |" in said
        )
        assert sorted(path.name for path in folder.iterdir()) == ["kernels.toml", "rates.jsonl", "rates.md"]

        def refused(text):
            (folder / "rates.jsonl").write_text(text)
            run = subprocess.run(
                [sys.executable, FOLDER / "fitted_rates.py", folder, PROGRAM], capture_output=True, text=True
            )
            assert run.returncode == 1 and run.stderr.count("\n") == 1, run
            return run.stderr

        assert "does not begin with a line of the device" in refused("")
        assert "h101" in refused(json.dumps(about | {"device": "h101"}))
        assert "no kernel" in refused(f'{json.dumps(about)}\n{{"kernel": "gemm 1", "ms": 1}}\n')


def test_without_pytorch():
    script = FOLDER / "measured_rates.py"
    code = f"import runpy, sys; sys.modules['torch'] = None; sys.path.insert(0, {str(FOLDER)!r})"
    code += f"; runpy.run_path({str(script)!r}, run_name='__main__')"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 1 and run.stderr.startswith("Rates are measured with PyTorch, which this Python"), run


def test_the_program():
    def said(*words, kernels=""):
        run = subprocess.run([PROGRAM, *words], input=kernels, capture_output=True, text=True)
        assert run.returncode == 2 and run.stderr.count("\n") == 1, run
        return run.stderr

    assert "give a device and its kernels" in said("h100")
    assert "te-fp4" in said("h100", "te-fp4")
    for pair in ("gem=1", "gemm", "gemm=", "gemm=8x"):
        assert f'"{pair}" is no KEY=NUMBER of kernel_rates' in said("h100", "te-bf16", pair)
    for kernel in (
        "gemm 1 2",
        "gemm 1 2 3 4 5",
        "gem 1 2 3",
        "bytes",
        "bytes 1 2",
        "attention flash2 sideways 1 1 1 1",
    ):
        assert f'no kernel "{kernel}"' in said("h100", "te-bf16", kernels=kernel + "\n")


if __name__ == "__main__":
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
            print(f"{name}: ok")
