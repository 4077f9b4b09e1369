# SPDX-License-Identifier: Apache-2.0
"""Fits the rates of kernels to the times that measured_rates.py wrote to rates.jsonl in a folder. Puts kernels.toml,
which `--kernels` of the command line reads, and rates.md, a table measured beside preset, into the folder:

    python benchmarks/python/fitted_rates.py FOLDER build/release/benchmarks/bench_kernel_rates

The second argument prints presets, and times by their rates. A row of rates.jsonl is a kernel as that program takes it
("kernel"), or a number of values that an operator passes over ("values"), its milliseconds, and the rate that is fitted
to it ("fits"). Rows without "fits" are only compared.
"""

import json
import math
import os
import pathlib
import statistics
import subprocess
import sys

MORE_THAN_PEAK = 1.03  # what a clock above that of the datasheet may explain
OF_GEMM = ("expert_gemm", "head")
SHARES = {"memory": "memory_bandwidth", "gemm": "bf16_flops", "gemm_fp8": "fp8_flops"}


class Model:
    """Rates of a preset, and times by them."""

    def __init__(self, program, device, kernels):
        self.command = [str(program), device, kernels]
        self.preset, _ = self.ask({}, [])

    def ask(self, changed, kernels):
        """All rates, of which some are changed, and the milliseconds of kernels by them."""
        pairs = [f"{key}={value}" for key, value in changed.items()]
        lines = "".join(f"{kernel}\n" for kernel in kernels)
        said = subprocess.run([*self.command, *pairs], input=lines, capture_output=True, text=True)
        if said.returncode != 0:
            raise ValueError(said.stderr.strip())
        answer = json.loads(said.stdout)
        self.device = answer["device"]
        return answer["rates"], [ps / 1e9 for ps in answer["ps"]]

    def times(self, rows, changed):
        """The milliseconds of each row."""
        rates = self.preset | changed

        def kernel(row):
            if "values" not in row:
                return row["kernel"]
            return f"bytes {row['values'] * rates[row['fits']] * rates['bytes.all'] // 1000}"

        asked = [row for row in rows if row.get("fits") != "host"]
        times = iter(self.ask(changed, map(kernel, asked))[1])
        return [rates["host"] / 1e9 if row.get("fits") == "host" else next(times) for row in rows]


def fit_curve(rows):
    """E and l0 of E l / (l + l0), by least squares of relative errors: a time is linear in 1 / E and (l0 + 1) / E."""
    xx = xy = yy = x1 = y1 = 0.0
    for row in rows:
        _, _, direction, heads, width, tokens, squares = row["kernel"].split()
        scale = int(heads) * int(width) * (2 if direction == "forward" else 5) / (row["ms"] / 1e3)
        x, y = scale * int(squares), scale * int(tokens)
        xx, xy, yy, x1, y1 = xx + x * x, xy + x * y, yy + y * y, x1 + x, y1 + y
    determinant = xx * yy - xy * xy
    if determinant <= 1e-9 * xx * yy:
        raise ValueError("all samples are equally long; a curve takes several lengths")
    by_square, by_token = (yy * x1 - xy * y1) / determinant, (xx * y1 - xy * x1) / determinant
    if by_square <= 0:
        raise ValueError("longer samples take no more time for each pair of tokens; were the lengths too small?")
    return 1 / by_square, by_token / by_square - 1


def fit(rows, model):
    """The fitted rates, and a sentence for each that was left out or is doubtful."""
    found, said = {}, []
    timed = {}
    for row in rows:
        if math.isfinite(row.get("ms", math.nan)) and row["ms"] > 0:
            timed.setdefault(row.get("fits"), []).append(row)

    def ratios(key):  # modelled / measured
        return [ms / row["ms"] for row, ms in zip(timed[key], model.times(timed[key], found))]

    def put(key, value, peak=None):
        """A share of `peak` thousandths, or another number."""
        if value < 0.5:
            said.append(f"{key}: {value:.3g} is not positive or too little for an integer; left out")
        elif peak is not None and value * peak > 1e6 * MORE_THAN_PEAK:
            said.append(
                f"{key}: {value:.0f} thousandths would be {value * peak / 1e6:.2f} times the datasheet's rate, which "
                "no kernel reaches; left out. Is it the datasheet of this device (--device)?"
            )
        else:
            found[key] = round(value if peak is None or key in OF_GEMM else min(value, 1000))
            if peak is not None and not 0.5 < value / model.preset[key] < 1.5:
                said.append(
                    f"{key}: {value / model.preset[key]:.2f} times the preset's. Is it the datasheet of this device, "
                    "and was the device idle?"
                )

    for key in (*SHARES, *OF_GEMM):
        if key not in timed:
            continue
        if model.device.get(SHARES.get(key), 1) == 0:
            said.append(f"{key}: the datasheet has no such rate; left out")
            continue
        each = [model.preset[key] * ratio for ratio in ratios(key)]
        put(key, statistics.median(each), (model.preset | found)["gemm"] if key in OF_GEMM else 1000)
        if max(each) > 1.25 * min(each):
            said.append(f"{key}: kernels differ, from {min(each):.0f} to {max(each):.0f}; their median is taken")

    for key in sorted(key for key in timed if key and key.startswith("attention.")):
        try:
            if len({row["kernel"] for row in timed[key]}) < 3:
                raise ValueError("fewer than three lengths were measured")
            flops, half = fit_curve(timed[key])
            peak = model.device["bf16_flops"]
            if flops > peak * MORE_THAN_PEAK:
                raise ValueError(
                    f"{flops / 1e12:.0f} TFLOP/s of endless samples are more than the peak, {peak / 1e12:.0f}"
                )
            if half < -0.5:
                raise ValueError(f"half of the rate at {half:.0f} tokens, a negative length: short samples were faster")
            if flops < 1e9 or half > 1e6:
                raise ValueError(f"only {flops / 1e9:.2g} GFLOP/s, and half of them at {half:.0f} tokens")
        except ValueError as error:
            said.append(f"{key}: {error}; left out")
            continue
        found[f"{key}.flops"], found[f"{key}.half_length"] = round(flops / 1e9) * 10**9, max(round(half), 0)
        worst = max(abs(ratio - 1) for ratio in ratios(key))
        if worst > 0.2:
            said.append(f"{key}: the curve misses a measured length by {worst:.0%}")

    for key in sorted(key for key in timed if key and key.startswith("bytes.")):
        put(key, statistics.median(model.preset[key] / ratio for ratio in ratios(key)))
    if "host" in timed:
        put("host", statistics.median(row["ms"] for row in timed["host"]) * 1e9)
    return found, said


def toml(found, head):
    """The fitted rates as the text of a file that `--kernels` reads. `head` has lines of comments, and of keys."""
    tables = {"": list(head)}
    for key, value in found.items():
        *table, name = key.split(".")
        if name == "flops":
            curve = f"{{ flops = {value:_}, half_length = {found[key.removesuffix('flops') + 'half_length']:_} }}"
            tables.setdefault(".".join(table[:-1]), []).append(f"{table[-1]} = {curve}")
        elif name != "half_length":
            tables.setdefault(".".join(table), []).append(f"{name} = {value:_}")
    return "\n".join("\n".join(([f"\n[{name}]"] if name else []) + lines) for name, lines in tables.items()) + "\n"


def speed(row):
    """FLOP/s or bytes/s in words."""
    words = row.get("kernel", "").split()
    if not words:
        return ""
    if words[0] == "bytes":
        return f"{int(words[1]) / row['ms'] / 1e9:.2f} TB/s"
    if words[0] == "attention":
        heads, width, tokens, squares = map(int, words[3:])
        flops = heads * width * (2 if words[2] == "forward" else 5) * (squares + tokens)
    else:
        flops = 2 * math.prod(map(int, words[1:]))
    return f"{flops / row['ms'] / 1e9:.4g} TFLOP/s"


def name_of(row):
    name = row.get("kernel") or f"{row['fits']} {row.get('values', '')}".strip()
    return f"{name} ({row['by']})" if "by" in row else name


def in_words(key, value):
    if key.endswith("flops"):
        return f"{value / 1e12:.4g} TFLOP/s"
    return f"{value / 1e9:.4g} ms" if key == "host" else f"{value:,}"


def table(rows, about, model, found, said):
    """Markdown: each rate beside the preset's, and each kernel beside what preset and fitted rates make of it."""
    lines = [f"{about['machine']}. The preset is {about['device']}-{about['kernels']}.", ""]
    lines += ["| rate | preset | measured | measured / preset |", "|---|---|---|---|"]
    for key, value in found.items():
        of = model.preset[key]
        part = f"{value / of:.2f}" if of else ""
        lines.append(f"| {key} | {in_words(key, of)} | {in_words(key, value)} | {part} |")
    lines += ["", *(f"- {sentence}" for sentence in said), "" if said else None]
    lines += [
        "| kernel | measured, ms | speed | by the preset, ms | by the measured rates, ms | that / measured |",
        "|---|---|---|---|---|---|",
    ]
    timed = [row for row in rows if "ms" in row]
    for row, by_preset, by_found in zip(timed, model.times(timed, {}), model.times(timed, found)):
        figures = f"{row['ms']:.4g} | {speed(row)} | {by_preset:.4g} | {by_found:.4g} | {by_found / row['ms']:.2f}"
        lines.append(f"| {name_of(row)} | {figures} |")
    failed = {}
    for row in rows:
        if "error" in row:
            failed.setdefault(row["error"], []).append(name_of(row))
    lines += [""] if failed else []
    for error, names in failed.items():
        lines.append(f"- not measured: {names[0]}" + f" and {len(names) - 1} more" * (len(names) > 1) + f": {error}")
    return "\n".join(line for line in lines if line is not None) + "\n"


def read(path):
    """What rates.jsonl is about, and its rows."""
    rows = []
    for line in path.read_text().splitlines():
        try:
            rows.append(json.loads(line))
        except ValueError:  # cut off when its program was stopped
            continue
    if not rows or "device" not in rows[0]:
        raise ValueError(f"{path} does not begin with a line of the device: measured_rates.py writes it")
    return rows[0], rows[1:]


def write(folder, program):
    """Writes kernels.toml and rates.md, and returns the latter."""
    about, rows = read(folder / "rates.jsonl")
    model = Model(program, about["device"], about["kernels"])
    found, said = fit(rows, model)
    head = [
        f"# Rates of kernels, measured by benchmarks/python/measured_rates.py: {about['machine']}.",
        f"# Shares are thousandths of the datasheet of {about['device']}. What is not here is that of the preset.",
    ]
    if about.get("rehearsed"):
        head.append("# A rehearsal with tiny kernels on the CPU: of no use to a plan.")
    if about.get("named"):
        head.append(f'preset = "{about["device"]}-{about["kernels"]}"')
    text = table(rows, about, model, found, said)
    for name, content in (("kernels.toml", toml(found, head)), ("rates.md", text)):
        (folder / "writing").write_text(content)
        os.replace(folder / "writing", folder / name)  # a limit on the time leaves the old file or the new one
    return text


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        print(write(pathlib.Path(sys.argv[1]), sys.argv[2]), end="")
    except (OSError, ValueError) as error:
        sys.exit(f"{error}")
