# SPDX-License-Identifier: Apache-2.0
"""Tests `python -m ballast` with NumPy alone, and with pyarrow and tokenizers where these are installed.

The program is one of the test's own, which prints what it gets; where BALLAST names the command line, that runs, too.
"""

import contextlib
import gzip
import importlib.util
import io
import json
import os
import pathlib
import random
import stat
import subprocess
import sys
import tarfile
import tempfile
import time
import tracemalloc
import types
import unittest
import unittest.mock

import numpy as np

import ballast.__main__ as command_line
from ballast._files import Asked, kind_of, lengths_in

REAL = os.environ.get("BALLAST", "")
PROGRAM = f"#!{sys.executable}\nimport sys\nprint(*sys.argv[1:])\nsys.exit(3)\n"
VALUED = {"--field", "--columns", "--capacity"}  # options that take a value, as the program's help says
ROWS = [[1] * n for n in (3, 1, 4, 1, 5, 9)]


def tar_of(members, mode="w"):
    """A tar file of names and bytes."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as tar:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


class Files(unittest.TestCase):
    """Runs the module in a folder of its own."""

    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        self.program = self.folder / "ballast"
        self.program.write_text(PROGRAM)
        self.program.chmod(self.program.stat().st_mode | stat.S_IXUSR)

    def write(self, name, data):
        path = self.folder / name
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path

    def run_module(self, *words, program=None, data=b""):
        """As the shell does, but in this process, where the program prints what it gets, or is run."""
        out, err = io.StringIO(), io.StringIO()

        def called(given, stdin=None):
            if program:
                ran = subprocess.run(given, stdin=stdin, capture_output=True, text=True)
                out.write(ran.stdout)
                err.write(ran.stderr)
                return ran.returncode
            pairs = [
                word.removeprefix("--stand-in=").rpartition("=") for word in given if word.startswith("--stand-in=")
            ]
            got = {
                "words": [word for word in given[1:] if not word.startswith("--stand-in=")],
                "read": stdin.read().decode("latin-1") if stdin else "",
                "stand_ins": {name: np.load(file).tolist() for name, _, file in pairs},
            }
            print(json.dumps(got), file=out)
            return 0

        mock = unittest.mock.patch
        with contextlib.ExitStack() as patched:
            patched.enter_context(mock.dict(os.environ, BALLAST=str(program or self.program)))
            patched.enter_context(mock.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(data))))
            patched.enter_context(mock.object(command_line.subprocess, "call", called))
            if not program:
                patched.enter_context(mock.object(command_line, "options_with_value", lambda *_: VALUED))
            patched.enter_context(contextlib.redirect_stdout(out))
            patched.enter_context(contextlib.redirect_stderr(err))
            code = command_line.main(list(words))
        return types.SimpleNamespace(returncode=code, stdout=out.getvalue(), stderr=err.getvalue())

    def run_process(self, *words, **environment):
        """As the shell does."""
        command = [sys.executable, "-m", "ballast", *words]
        return subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True)

    def given(self, *words, data=b""):
        """What the program got."""
        ran = self.run_module(*words, data=data)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        return json.loads(ran.stdout)

    def refused(self, sentence, *words):
        """One line on standard error."""
        ran = self.run_module(*words)
        text = ran.stderr
        self.assertEqual((ran.returncode, ran.stdout, text.count("\n")), (2, "", 1), text)
        self.assertIn(sentence, text)


class HandOver(Files):
    def test_what_the_program_reads_itself_is_handed_over_as_it_is(self):
        self.write("a.jsonl", '{"n": 3}\n')
        words = ["stats", "a.jsonl", "--field", "n", "--json"]
        self.assertEqual(
            self.given(*words), {"words": ["stats", "a.jsonl", "--field", "n", "--json"], "read": "", "stand_ins": {}}
        )
        self.assertEqual(self.given("stats", "-", data=b"3\n4\n")["read"], "3\n4\n")
        self.assertEqual(self.given("--version")["words"], ["--version"])
        self.assertIn("--tokenizer FILE", self.run_module("stats", "--help").stdout)

    def test_the_program_is_found(self):
        paths = {**os.environ, "PATH": str(self.folder)}
        paths.pop("BALLAST", None)
        for environment in ({**os.environ, "BALLAST": str(self.program)}, paths):
            ran = self.run_process("stats", "x", "--json", **environment)
            self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (3, "stats x --json\n", ""))
        self.program.unlink()
        for environment, sentence in (
            ({**os.environ, "BALLAST": str(self.folder)}, f"BALLAST={self.folder} names no program\n"),
            (
                paths,
                "the program ballast is neither in PATH nor beside Python or this package; build it (docs/cli.md), or",
            ),
        ):
            ran = self.run_process("stats", "x", **environment)
            self.assertEqual((ran.returncode, ran.stdout), (2, ""))
            self.assertTrue(ran.stderr.startswith(sentence), ran.stderr)

    def test_options_of_a_tokenizer_go_together(self):
        self.write("a.jsonl", '{"text": "a"}\n')
        self.refused("go together", "stats", "a.jsonl", "--tokenizer", "t.json")
        self.refused("go together", "stats", "a.jsonl", "--text-field", "text")
        self.refused("--per-turn is for --tokenizer", "stats", "a.jsonl", "--per-turn", "3")
        self.refused("--tokenizer: expected FILE behind it", "stats", "a.jsonl", "--tokenizer")


class ObjectArrays(Files):
    def saved(self, rows, name="rows.npy"):
        array = np.empty(len(rows), object)
        array[:] = rows
        np.save(self.folder / name, array, allow_pickle=True)
        return self.folder / name

    def test_rows_of_token_ids(self):
        for kind in (list, np.array, lambda row: np.array(row, np.uint16)):
            self.saved([kind(row) for row in ROWS])
            self.assertEqual(self.given("stats", "rows.npy")["stand_ins"], {"rows.npy": [3, 1, 4, 1, 5, 9]})
        np.save(self.folder / "plain.npy", np.arange(3))
        self.assertEqual(self.given("stats", "plain.npy")["stand_ins"], {})

    def test_bad_rows(self):
        self.saved([[1], None, [2, 3]])
        self.refused("rows.npy: entry 2: it is null, which has no length", "stats", "rows.npy")
        self.saved([[1], "text"])
        self.refused("rows.npy: entry 2: it is text, and its length in tokens depends", "stats", "rows.npy")
        self.refused("rows.npy: is an array of rows, which has no columns", "stats", "rows.npy", "--field", "a")

    def test_nothing_in_a_file_is_executed(self):
        class Call:
            def __reduce__(self):
                return os.mkdir, ("executed",)

        self.saved([[1], Call()])
        self.refused("rows.npy: cannot be read as an array of rows of numbers: it holds", "stats", "rows.npy")
        self.assertFalse((self.folder / "executed").exists())


class WebDataset(Files):
    def shard(self, mode="w"):
        return tar_of(
            [
                ("a/0.jpg", b"\xff\xd8"),
                ("a/0.json", json.dumps({"tokens": 7, "meta": {"ids": [1, 2]}, "turns": [{"role": "user"}]}).encode()),
                ("a/0.len", b" 12\n"),
                ("a/1.jpg", b"\xff\xd8"),
                ("a/1.json", json.dumps({"tokens": 9, "meta": {"ids": []}, "turns": []}).encode()),
                ("a/1.len", b"5"),
                ("README", b"no sample"),
            ],
            mode,
        )

    def test_members(self):
        for mode in ("w", "w:gz"):
            self.write("s-0.tar", self.shard(mode))
            for field, expected in (
                ("json.tokens", [7, 9]),
                ("len", [12, 5]),
                ("json.tokens+len", [19, 14]),
                ("json.meta.ids,len", [[2, 12], [0, 5]]),
            ):
                given = self.given("pack", "s-*.tar", f"--field={field}")
                self.assertEqual(given["stand_ins"], {"s-0.tar": expected})
                self.assertEqual(given["words"], ["pack", "s-*.tar", f"--field={field}"])
        self.assertEqual(
            self.given("stats", "s-0.tar", "--columns", "json.turns", "--turns")["stand_ins"], {"s-0.tar": [1, 0]}
        )

    def test_bad_members(self):
        self.write("s.tar", self.shard())
        for field, sentence in (
            ("txt", "s.tar: sample a/0 has no member for txt; its members are jpg, json, len"),
            ("jpg", "s.tar: a/0.jpg: is no text"),
            ("json.token", "s.tar: a/0.json: the object has no field token; did you mean tokens?"),
            (
                "json.turns",
                "s.tar: sample a/0: json.turns is a conversation; --turns counts its turns; add --tokenizer",
            ),
            ("json", "s.tar: sample a/0: json is of type dict, which has no length"),
        ):
            self.refused(sentence, "stats", "s.tar", "--field", field)
        self.refused("s.tar: is a tar file; say which member", "stats", "s.tar")
        self.write("s.tar", tar_of([("0.json", bytes(65 << 20))], "w:gz"))
        self.refused("s.tar: 0.json: has more than 64 MiB", "stats", "s.tar", "--field", "json.n")
        self.write("s.tar", tar_of([(f"{i}.len", b"1" if i != 5000 else b"a") for i in range(5001)]))
        self.refused("s.tar: sample 5000: len is text", "stats", "s.tar", "--field", "len")
        packed = tar_of([(f"{i}.len", b"%d" % (i * i)) for i in range(1, 999)], "w:gz")
        middle = len(packed) // 2
        for data in (packed[:middle], packed[:middle] + bytes(40) + packed[middle + 40 :]):
            self.write("s.tar", data)
            self.refused("s.tar: ", "stats", "s.tar", "--field", "len")
        self.write("s.tar", tar_of([("0.json", b"{")]))
        self.refused("s.tar: 0.json: is not valid JSON", "stats", "s.tar", "--field", "json.n")
        self.write("s.tar", tar_of([("0.json", b'{"n": -4}')]))
        self.refused("s.tar: sample 0: -4 in json.n is not a length", "stats", "s.tar", "--field", "json.n")
        self.write("s.tar", tar_of([("0.json", b'{"n": 1.5}')]))
        self.refused("s.tar: sample 0: 1.5 in json.n is not a length", "stats", "s.tar", "--field", "json.n")

    def test_hostile_and_cut_files_end_in_a_sentence_soon(self):
        whole = self.shard()
        draw = random.Random(3)
        seen = set()
        for name, data in (
            ("s.tar", whole),
            ("r.npy", ObjectArrays.saved(self, [np.array(row) for row in ROWS]).read_bytes()),
        ):
            for round in range(300):
                damaged = bytearray(data[: draw.randrange(len(data))] if round % 3 == 0 else data)
                for _ in range(draw.choice([1, 1, 4, 40])):
                    if damaged:
                        damaged[draw.randrange(len(damaged))] = draw.randrange(256)
                path = self.write(name, bytes(damaged))
                kind = kind_of(path)
                if not kind:
                    continue
                asked = Asked(columns=[["json.tokens"]] if name == "s.tar" else [])
                try:
                    lengths_in(path, kind, asked, name)
                    seen.add((name, "read"))
                except ValueError as fault:
                    seen.add((name, "refused"))
                    self.assertTrue(str(fault).startswith(name), fault)
                    self.assertNotIn("\n", str(fault))
        self.assertEqual(seen, {("s.tar", "read"), ("s.tar", "refused"), ("r.npy", "read"), ("r.npy", "refused")})

    def test_a_megabyte_takes_neither_long_nor_much_memory(self):
        many = tar_of([(f"{i}.json", b'{"n": [%s1]}' % (b"1," * 100)) for i in range(1000)])
        deep = tar_of([("0.json", b"[" * 500_000), ("1.json", b"{}")])
        huge = bytearray(tar_of([("0.json", b"{}")]))
        huge[124:136] = b"77777777777\0"  # its size
        huge[148:156] = b"%06o\0 " % (sum(huge[:148]) + sum(huge[156:512]) + 8 * 32)
        zeros = gzip.compress(tar_of([("0.bin", bytes(50 << 20)), ("1.json", b'{"n": 1}')]))
        for data in (many, deep, bytes(huge), zeros):
            path = self.write("s.tar", data)
            tracemalloc.start()
            begin = time.process_time()
            try:
                lengths_in(path, kind_of(path), Asked(columns=[["json.n"]]), "s.tar")
            except ValueError as fault:
                self.assertTrue(str(fault).startswith("s.tar"))
            self.assertLess(time.process_time() - begin, 2)
            self.assertLess(tracemalloc.get_traced_memory()[1], 500e6)
            tracemalloc.stop()


@unittest.skipUnless(importlib.util.find_spec("pyarrow"), "pyarrow is not installed")
class Tables(Files):
    def table(self, **columns):
        import pyarrow as pa

        return pa.table(columns)

    def store(self, table, name):
        import pyarrow as pa
        import pyarrow.feather
        import pyarrow.parquet

        path = self.folder / name
        if name.endswith(".parquet"):
            pa.parquet.write_table(table, path, row_group_size=2)
        elif name.endswith(".feather"):
            pa.feather.write_feather(table, path)
        else:
            new = pa.ipc.new_stream if name.endswith(".stream") else pa.ipc.new_file
            with new(str(path), table.schema) as out:
                out.write_table(table, max_chunksize=4)
        return path

    def test_columns_of_every_form(self):
        import pyarrow as pa

        meta = pa.array([{"tokens": n, "x": "a"} for n in range(1, 7)])
        table = self.table(input_ids=ROWS, n=[1, 2, 3, 4, 5, 6], meta=meta, real=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
        for name in ("a.parquet", "a.arrow", "a.stream", "a.feather"):
            self.store(table, name)
            for field, expected in (
                ("input_ids", [3, 1, 4, 1, 5, 9]),
                ("n", [1, 2, 3, 4, 5, 6]),
                ("2", [1, 2, 3, 4, 5, 6]),
                ("meta.tokens+n", [2, 4, 6, 8, 10, 12]),
                ("real", [1, 2, 3, 4, 5, 6]),
                ("n,input_ids", [[1, 3], [2, 1], [3, 4], [4, 1], [5, 5], [6, 9]]),
            ):
                self.assertEqual(self.given("stats", name, "--field", field)["stand_ins"], {name: expected})
        self.store(self.table(input_ids=ROWS), "a.parquet")
        self.store(self.table(input_ids=ROWS[:2]), "b.parquet")
        given = self.given("plan", "?.parquet", "x.txt", "--capacity", "8", "--json")
        self.assertEqual(given["stand_ins"], {"a.parquet": [3, 1, 4, 1, 5, 9], "b.parquet": [3, 1]})
        self.assertEqual(given["words"], ["plan", "?.parquet", "x.txt", "--capacity", "8", "--json"])
        data = (self.folder / "b.parquet").read_bytes()
        self.assertEqual(self.given("stats", "-", data=data)["stand_ins"], {"-": [3, 1]})
        self.store(self.table(length=[4, 5], count=[2, 0]), "h.parquet")
        self.assertEqual(self.given("stats", "h.parquet", "--histogram")["stand_ins"], {"h.parquet": [[4, 2], [5, 0]]})

    def test_bad_columns(self):
        import pyarrow as pa

        turns = [[{"role": "user", "content": "a"}], [], [], [], [], []]
        table = self.table(
            input_ids=ROWS,
            holes=[[1], [1], [1], None, [1], [1]],
            n=[1, 2, 3, -4, 5, 6],
            real=[1.0, 2.5, 3.0, 4.0, 5.0, 6.0],
            nan=[1.0, None, 3.0, 4.0, 5.0, 6.0],
            text=["a"] * 6,
            messages=turns,
            yes=[True] * 6,
            wide=pa.array([1, 2, 3, 4, 5, 2**63], pa.uint64()),
        )
        self.store(table, "a.parquet")
        listed = "(input_ids, holes, n, real, nan, text, messages, yes, wide)"
        for field, sentence in (
            (
                "input_idz",
                f"a.parquet: there is no column input_idz among its 9 columns {listed}; did you mean input_ids?",
            ),
            ("meta.tokens", "a.parquet: there is no column meta among its 9 columns"),
            ("n.tokens", "a.parquet: there is no column n.tokens; n is of type int64 and has no fields"),
            ("holes", "a.parquet: entry 4: holes is null, which has no length; leave such rows out of the file"),
            ("n", "a.parquet: entry 4: -4 in n is not a length: lengths are whole numbers from 1 to 2^63-1"),
            ("real", "a.parquet: entry 2: 2.5 in real is not a length"),
            ("nan", "a.parquet: entry 2: nan is null"),
            (
                "text",
                "a.parquet: entry 1: text is text, and its length in tokens depends on the tokenizer; add --tokenizer",
            ),
            ("messages", "a.parquet: entry 1: messages is a conversation; --turns counts its turns; add --tokenizer"),
            ("yes", "a.parquet: entry 1: yes is of type bool, which has no length"),
            ("wide", "a.parquet: entry 6: 9223372036854775808 in wide is not a length"),
        ):
            self.refused(sentence, "stats", "a.parquet", "--field", field)
        self.refused("a.parquet: has 9 columns", "stats", "a.parquet")
        self.refused("; a histogram has two, length and count, see --columns", "stats", "a.parquet", "--histogram")
        self.assertEqual(
            self.given("stats", "a.parquet", "--field=messages", "--turns")["stand_ins"]["a.parquet"][:2], [1, 0]
        )
        for name in ("b.parquet", "b.arrow"):  # in a later batch
            self.store(self.table(n=[1] * 5000 + [-1]), name)
            self.refused(f"{name}: entry 5001: -1 in n is not a length", "stats", name)
        self.store(self.table(n=[2**62, 5], m=[2**62, 6]), "b.parquet")
        self.refused("b.parquet: entry 1: the columns add up to 2^63 or more", "stats", "b.parquet", "--field", "n+m")
        whole = (self.folder / "a.parquet").read_bytes()
        self.write("c.parquet", whole[:-100])
        self.refused("c.parquet: cannot be read as a Parquet file", "stats", "c.parquet", "--field", "n")
        self.write("c.parquet", whole[:40] + bytes(200) + whole[240:])
        self.refused("c.parquet: cannot be read as a Parquet file", "stats", "c.parquet", "--field", "input_ids")
        self.store(self.table(n=pa.array([], pa.int64())), "e.parquet")
        self.assertEqual(self.given("stats", "e.parquet")["stand_ins"], {"e.parquet": []})

    def test_lines_by_zstd(self):
        import pyarrow as pa

        with pa.CompressedOutputStream(str(self.folder / "a.jsonl.zst"), "zstd") as out:
            out.write(b'{"n": 3, "ids": [1, 2]}\n\n{"n": 4, "ids": []}\n')
        with pa.CompressedOutputStream(str(self.folder / "b.jsonl.zst"), "zstd") as out:
            out.write(b'{"n": 3, "ids": [1, 2]}\n' * 9000)
        self.assertEqual(self.given("stats", "a.jsonl.zst", "--field", "n+ids")["stand_ins"], {"a.jsonl.zst": [5, 4]})
        self.refused("a.jsonl.zst:1: the object has no field m", "stats", "a.jsonl.zst", "--field", "m")
        whole = (self.folder / "b.jsonl.zst").read_bytes()
        self.write("b.jsonl.zst", whole[:40] + bytes(9) + whole[49:])
        self.refused("b.jsonl.zst: is damaged or ends early", "stats", "b.jsonl.zst", "--field", "n")


class WithoutPackages(Files):
    def test_what_is_missing_is_named_in_a_sentence(self):
        self.write("a.parquet", b"PAR1")
        self.write("t.json", "{}")
        for words, sentence in (
            (
                ["stats", "a.parquet"],
                "a.parquet: is a Parquet file, which needs the package pyarrow: pip install pyarrow\n",
            ),
            (
                ["stats", "a.jsonl", "--tokenizer", "t.json", "--text-field", "text"],
                "--tokenizer needs the package tokenizers: pip install tokenizers\n",
            ),
        ):
            with unittest.mock.patch.dict(sys.modules, pyarrow=None, tokenizers=None):
                self.refused(sentence, *words)


@unittest.skipUnless(importlib.util.find_spec("tokenizers"), "tokenizers is not installed")
class Texts(Files):
    """A tokenizer of words, which adds one token in front of a text."""

    def setUp(self):
        super().setUp()
        import tokenizers
        from tokenizers import models, pre_tokenizers, processors

        of = tokenizers.Tokenizer(models.WordLevel({"?": 0, "<s>": 1}, "?"))
        of.pre_tokenizer = pre_tokenizers.Whitespace()
        of.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
        of.enable_truncation(2)
        of.save(str(self.folder / "tokenizer.json"))
        self.by = ["--tokenizer", "tokenizer.json", "--text-field"]

    def lines(self, *rows):
        self.write("a.jsonl", "".join(json.dumps(row) + "\n" for row in rows))

    def test_texts_and_conversations(self):
        chat = [{"role": "user", "content": "twice two"}, {"role": "assistant", "content": "is four indeed"}]
        parts = [
            {"role": "user", "content": [{"type": "text", "text": "what is this"}, {"type": "text", "text": " now"}]}
        ]
        shared = [{"from": "human", "value": "a b c"}]
        self.lines(
            {"text": "a b", "m": chat, "n": [1]},
            {"text": "", "m": parts, "n": [1, 2]},
            {"text": "a " * 50, "m": shared, "n": []},
        )
        for words, expected in (
            ([*self.by, "text"], [3, 1, 51]),
            ([*self.by, "m"], [5, 4, 3]),
            ([*self.by, "m", "--per-turn", "4"], [13, 8, 7]),
            ([*self.by, "text+m"], [8, 5, 54]),
            ([*self.by, "text,m"], [[3, 5], [1, 4], [51, 3]]),
            ([*self.by, "text", "--field", "n"], [[1, 3], [2, 1], [0, 51]]),
        ):
            given = self.given("stats", "a.jsonl", "--capacity", "8", *words)
            self.assertEqual(given["stand_ins"], {"a.jsonl": expected})
            several = isinstance(expected[0], list)
            self.assertEqual(
                given["words"], ["stats", "a.jsonl", "--capacity", "8", *["--field=measure,measure"] * several]
            )
        with gzip.open(self.folder / "b.jsonl.gz", "wb") as out:
            out.write((self.folder / "a.jsonl").read_bytes())
        self.assertEqual(self.given("stats", "b.jsonl.gz", *self.by, "text")["stand_ins"], {"b.jsonl.gz": [3, 1, 51]})
        self.write("c.json", json.dumps([{"text": "a b c"}]))
        self.assertEqual(
            self.given("stats", "c.json", "--tokenizer", ".", "--text-field", "text")["stand_ins"], {"c.json": [4]}
        )
        self.write("s.tar", tar_of([("0.txt", b"a b"), ("1.txt", b"c")]))
        self.assertEqual(self.given("stats", "s.tar", *self.by, "txt")["stand_ins"], {"s.tar": [3, 2]})
        self.assertEqual(self.given("check", "a.jsonl", "c.json", *self.by, "text")["stand_ins"], {"c.json": [4]})

    def test_batches_do_not_change_counts(self):
        rows = [{"text": "word " * (i * 7919 % 997)} for i in range(9000)]
        self.lines(*rows)
        expected = [1 + i * 7919 % 997 for i in range(9000)]
        self.assertEqual(self.given("stats", "a.jsonl", *self.by, "text")["stand_ins"]["a.jsonl"], expected)

    def test_what_is_no_text(self):
        self.lines(
            {"m": [{"role": "assistant", "content": None, "tool_calls": []}, {"role": "user", "content": "a b"}]}
        )
        ran = self.run_module("stats", "a.jsonl", *self.by, "m")
        self.assertIn("1 turns or parts of turns hold no text", ran.stderr)
        self.assertEqual(json.loads(ran.stdout)["stand_ins"], {"a.jsonl": [2]})
        data = gzip.compress(b'{"m": "a"}\n' * 9000)
        self.write("a.jsonl.gz", data[:-9])
        self.refused("a.jsonl.gz: is damaged or ends early", "stats", "a.jsonl.gz", *self.by, "m")
        self.write("a.jsonl.gz", data[:20] + bytes(20) + data[40:])
        self.refused("a.jsonl.gz: is damaged or ends early", "stats", "a.jsonl.gz", *self.by, "m")
        self.lines({"t": "a"}, {"t": None}, {"t": 5})
        self.refused("a.jsonl:2: t is null, and neither a text nor a conversation", "stats", "a.jsonl", *self.by, "t")
        self.refused("a.jsonl:1: the object has no field text", "stats", "a.jsonl", *self.by, "text")
        self.write("b.txt", "5\n")
        self.refused("b.txt: holds no JSON objects, whose fields are read", "stats", "b.txt", *self.by, "text")
        self.refused(
            "none.json: there is no such file", "stats", "a.jsonl", "--tokenizer", "none.json", "--text-field", "t"
        )
        self.refused("a.jsonl: is no tokenizer.json", "stats", "a.jsonl", "--tokenizer", "a.jsonl", "--text-field", "t")
        self.refused("--per-turn -3: expected a whole number", "stats", "a.jsonl", *self.by, "t", "--per-turn", "-3")

    @unittest.skipUnless(importlib.util.find_spec("pyarrow"), "pyarrow is not installed")
    def test_columns_of_text(self):
        import pyarrow as pa
        import pyarrow.parquet

        chat = [
            [{"role": "user", "content": "a b"}],
            [{"role": "user", "content": "c"}, {"role": "user", "content": "d"}],
        ]
        pa.parquet.write_table(pa.table({"text": ["a b c", "d"], "m": chat, "n": [5, 6]}), self.folder / "a.parquet")
        for field, expected in (("text", [4, 2]), ("m", [2, 2]), ("text,m", [[4, 2], [2, 2]])):
            self.assertEqual(self.given("stats", "a.parquet", *self.by, field)["stand_ins"], {"a.parquet": expected})
        given = self.given("stats", "a.parquet", *self.by, "text", "--field=n")
        self.assertEqual(given["stand_ins"], {"a.parquet": [[5, 4], [6, 2]]})


@unittest.skipUnless(REAL, "BALLAST does not name the command line")
class Program(Files):
    def test_the_command_line_reads_what_stands_in(self):
        rows = np.empty(3, object)
        rows[:] = [[1] * 5, [1] * 7, [1] * 900]
        np.save(self.folder / "rows.npy", rows, allow_pickle=True)
        self.write("s.tar", tar_of([("0.len", b"40"), ("1.len", b"60")]))
        self.write("n.txt", "5\n7\n900\n")
        stats = [self.run_module("stats", name, "--json", program=REAL) for name in ("rows.npy", "n.txt")]
        self.assertEqual((stats[0].stdout, stats[0].stderr), (stats[1].stdout, ""))
        ran = self.run_module("pack", "rows.npy", "--capacity", "100", program=REAL)
        self.assertEqual(ran.returncode, 2)
        self.assertIn("rows.npy: entry 3: 900 exceeds the capacity 100; --oversize", ran.stderr)
        ran = self.run_module("pack", "s.tar", "--field", "len", "--capacity", "100", "--out", "plan", program=REAL)
        self.assertEqual(ran.stderr, "")
        plan = json.loads((self.folder / "plan/plan.json").read_text())
        self.assertEqual((plan["files"], plan["tokens"]), (["s.tar"], 100))
        check = ["check", "plan", "s.tar", "--field", "len", "--capacity", "100"]
        self.assertEqual(self.run_module(*check, program=REAL).returncode, 0)


if __name__ == "__main__":
    unittest.main()
