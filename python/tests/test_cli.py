"""The command line, as a user runs it: a process of its own, piped and in a terminal."""

from __future__ import annotations

import json
import os
import pty
import random
import shlex
import signal
import struct
import subprocess
import sys
import time
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndpool

NDPOOL = [sys.executable, "-m", "ndpool.cli"]


def run(*args: object, code: int = 0, **options: Any) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [*NDPOOL, *map(str, args)], capture_output=True, text=True, timeout=120, **options
    )
    assert done.returncode == code, (args, done.returncode, done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    return done


def refused(*args: object, code: int, words: str) -> None:
    done = run(*args, code=code)
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert words in done.stderr, done.stderr


@pytest.fixture
def array(tmp_path: Path) -> Path:
    path = tmp_path / "in.npy"
    np.save(path, np.random.default_rng(0).standard_normal((3, 40, 50)).astype(np.float32))
    return path


# ---- pool ---------------------------------------------------------------------------------------


def test_pool_writes_what_the_library_gives(array: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.npy"
    x = np.load(array)
    run(*("pool", array, out, "--window", "3x3", "--stride", "2", "--padding", "1"))
    np.testing.assert_array_equal(np.load(out), ndpool.max_pool(x, (3, 3), 2, 1))
    run(*("pool", array, out, "--op", "avg", "--window", "2", "--axes", "0", "--padding", "1:0"))
    np.testing.assert_array_equal(np.load(out), ndpool.avg_pool(x, 2, None, ((1, 0),), axes=(0,)))
    run(*("pool", array, out, "--op", "smooth", "--beta", "2", "--adaptive", "7x7"))
    np.testing.assert_array_equal(
        np.load(out), ndpool.adaptive_smooth_max_pool(x, (7, 7), beta=2.0)
    )
    run("pool", array, out, "--global", "--axes", "2", "--op", "avg")
    np.testing.assert_array_equal(np.load(out), ndpool.global_avg_pool(x, keepdims=True))
    assert {path.name for path in tmp_path.iterdir()} == {"in.npy", "out.npy"}


def test_pool_takes_any_order_of_memory_and_bytes(tmp_path: Path) -> None:
    x = np.arange(48.0).reshape(6, 8)
    for name, saved in (("f", np.asfortranarray(x)), ("b", x.astype(">f8")), ("e", x[:0])):
        np.save(tmp_path / f"{name}.npy", saved)
        run(*("pool", tmp_path / f"{name}.npy", tmp_path / "y.npy", "--window", "2", "--axes", "1"))
        np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), ndpool.max_pool(saved, (2,)))


@pytest.mark.parametrize("window", [("2x2", None), ("3x3", "0,1"), ("2x3x2", "0,1,2")])
def test_large_files_are_pooled_in_pieces_with_little_memory(
    window: tuple[str, str | None], tmp_path: Path
) -> None:
    x = np.lib.format.open_memmap(tmp_path / "x.npy", "w+", np.float32, (96, 1024, 1024))
    x[::7, ::5, ::3] = np.float32(1.5)
    x.flush()
    code = """
import sys, threading, time
from ndpool.cli import main

def anonymous():
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))

peak, done = 0, threading.Event()

def watch():
    global peak
    while not done.wait(0.002):
        peak = max(peak, anonymous())

watcher = threading.Thread(target=watch)
watcher.start()
code = main(sys.argv[1:])
done.set()
watcher.join()
print(peak)
sys.exit(code)
"""
    options = ["--window", window[0], "--stride", "2", "--padding", "1", "--op", "avg"]
    options += ["--axes", window[1]] if window[1] else []
    done = subprocess.run(
        [sys.executable, "-c", code, "pool", tmp_path / "x.npy", tmp_path / "y.npy", *options],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert 0 < int(done.stdout) < 256 * 1024
    sizes = tuple(int(n) for n in window[0].split("x"))
    axes = tuple(int(n) for n in window[1].split(",")) if window[1] else None
    wanted = ndpool.avg_pool(np.asarray(x), sizes, 2, 1, axes=axes)
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy", mmap_mode="r"), wanted)


def test_pictures_go_in_and_out(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    x = np.random.default_rng(1).integers(0, 256, (32, 48, 3), dtype=np.uint8)
    image.fromarray(x).save(tmp_path / "x.png")
    run("pool", tmp_path / "x.png", tmp_path / "y.png", "--op", "avg", "--window", "4x4")
    wanted = ndpool.avg_pool(x, (4, 4), axes=(0, 1))
    np.testing.assert_array_equal(np.asarray(image.open(tmp_path / "y.png")), wanted)
    run("pool", tmp_path / "x.png", tmp_path / "y.tif", "--window", "4")
    run("pool", tmp_path / "y.tif", tmp_path / "z.npy", "--window", "2", "--axes", "0,1")
    assert np.load(tmp_path / "z.npy").shape == (4, 6, 3)


def npy(header: bytes, version: tuple[int, int] = (1, 0), body: bytes = b"") -> bytes:
    return b"\x93NUMPY" + bytes(version) + struct.pack("<H", len(header)) + header + body


BAD_FILES = {
    "empty": (b"", "no .npy file"),
    "not one": (b"hello world, this is text", "no .npy file"),
    "version 9": (npy(b"{}\n", (9, 0)), "version"),
    "long header": (b"\x93NUMPY\x01\x00\xff\xff{}", "no .npy file"),
    "no dict": (npy(b"[1, 2]\n"), "no .npy file"),
    "negative": (npy(b"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}\n"), "no shape"),
    "overflowing": (
        npy(b"{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999, 9999999999)}\n"),
        "cut short",
    ),
    "truncated": (
        npy(b"{'descr': '<f4', 'fortran_order': False, 'shape': (4,)}\n", body=b"\0" * 12),
        "cut short",
    ),
    "objects": (npy(b"{'descr': '|O', 'fortran_order': False, 'shape': (1,)}\n"), "objects"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_damaged_files_are_refused_in_one_line(name: str, tmp_path: Path) -> None:
    content, words = BAD_FILES[name]
    (tmp_path / "bad.npy").write_bytes(content)
    out = tmp_path / "out.npy"
    out.write_bytes(b"old")
    refused(*("pool", tmp_path / "bad.npy", out, "--window", "2"), code=3, words=words)
    assert out.read_bytes() == b"old" and len(list(tmp_path.iterdir())) == 2


def test_wrong_usage_is_said_in_one_line(array: Path, tmp_path: Path) -> None:
    out = tmp_path / "o.npy"
    for options, code, words in (
        (["--window", "0x3"], 3, "window"),
        (["--window", "3x"], 2, "3x"),
        (["--window", "99x99"], 3, "covers 99"),
        (["--window", "2x2", "--adaptive", "3x3"], 2, "one of"),
        ([], 2, "one of"),
        (["--window", ""], 2, "--window"),
        (["--adaptive", ""], 2, "--adaptive"),
        (["--window", "2x2", "--beta", "2"], 2, "belongs to smooth"),
        (["--adaptive", "3x3", "--stride", "2"], 2, "--window"),
        (["--window", "2x2", "--axes", "0,0"], 3, "twice"),
        (["--window", "2x2", "--axes", "zero"], 2, "--axes"),
    ):
        refused("pool", array, out, *options, code=code, words=words)
    refused("pool", tmp_path / "none.npy", out, "--window", "2", code=3, words="does not exist")
    refused("pool", tmp_path, out, "--window", "2", code=2, words="must end")
    refused("pool", array, tmp_path / "y.exe", "--window", "2", code=2, words="must end")
    refused("pool", array, tmp_path / "no" / "y.npy", "--window", "2", code=1, words="directory")
    refused("pool", array, "/proc/y.npy", "--window", "2", code=1, words="/proc")
    assert not out.exists()
    assert run("pool", array, out, "--op", "median", code=2).stderr


def test_pictures_that_unpack_to_too_much_or_are_none_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("PIL")

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 100_000, 100_000, 8, 0, 0, 0, 0))
    bomb = b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")
    for name, content, words in (
        ("bomb.png", bomb, "more cells"),
        ("text.png", b"hello", "no picture"),
        ("cut.png", bomb[:20], "damaged"),
        ("bad.tif", b"II*\0garbage", "no TIFF"),
    ):
        (tmp_path / name).write_bytes(content)
        command = ("pool", tmp_path / name, tmp_path / "y.png", "--window", "2x2", "--axes", "0,1")
        done = run(*command, code=3)
        assert len(done.stderr.strip().splitlines()) == 1 and words in done.stderr, done.stderr
        assert not (tmp_path / "y.png").exists()


def test_where_there_is_no_room_the_old_file_survives(array: Path, tmp_path: Path) -> None:
    out = tmp_path / "y.npy"
    out.write_bytes(b"old")
    small = ["bash", "-c", 'ulimit -f 1; exec "$@"', "bash"]
    command = [*small, *NDPOOL, "pool", str(array), str(out), "--window", "2x2"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1 and "no room" in done.stderr, done.stderr
    assert out.read_bytes() == b"old" and len(list(tmp_path.iterdir())) == 2


def test_a_pool_that_is_killed_leaves_the_old_file_or_the_whole_new_one(tmp_path: Path) -> None:
    x = np.random.default_rng(3).standard_normal((64, 512, 512)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    out = tmp_path / "y.npy"
    np.save(out, np.zeros(3))
    wanted = ndpool.max_pool(x, (2, 2))
    rng = random.Random(5)
    for _ in range(int(os.environ.get("NDPOOL_TEST_KILLS", "20"))):
        command = [*NDPOOL, "pool", str(tmp_path / "x.npy"), str(out), "--window", "2x2"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(rng.uniform(0.05, 0.4))
        process.kill()
        process.wait()
        found = np.load(out)
        assert found.shape == (3,) or np.array_equal(found, wanted)


def test_ctrl_c_leaves_nothing_behind(tmp_path: Path) -> None:
    """Work for minutes, f64 tap by tap, interrupted once the file beside the output is there."""
    np.lib.format.open_memmap(tmp_path / "x.npy", "w+", np.float64, (16, 1024, 1024)).flush()
    command = ["pool", tmp_path / "x.npy", tmp_path / "y.npy", "--op", "lp", "--p", "2.5"]
    options = ["--window", "101x101", "--stride", "1"]
    process = subprocess.Popen(
        [*NDPOOL, *map(str, command), *options], stderr=subprocess.PIPE, text=True
    )
    try:
        while process.poll() is None and len(list(tmp_path.iterdir())) == 1:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130 and "interrupted" in errors, (process.returncode, errors)
    assert [path.name for path in tmp_path.iterdir()] == ["x.npy"]


# ---- The others ---------------------------------------------------------------------------------


def test_explain_says_shape_roundings_and_plan() -> None:
    text = run("explain", "max f32 32x64x112x112 w3x3 s2 p1 ceil").stdout
    assert text.startswith("32x64x112x112 -> 32x64x57x57")
    assert "refused" in text and "98.0 MiB in" in text and "u8" in text
    record = json.loads(
        run(
            *("explain", "--shape", "32x64x112x112", "--window", "3x3", "--stride", "2"),
            *("--padding", "1", "--json"),
        ).stdout
    )
    assert record["output"] == [32, 64, 56, 56]
    assert record["axes"][2]["floor"] == 56 and record["axes"][2]["ceil"] == 57
    assert record["axes"][2]["exact"] is None
    refused("explain", "max f32 4x4 w9x9", code=3, words="covers 9")
    refused("explain", "what is this", code=3, words="expected")
    refused("explain", code=2, words="problem line")


RF = """\
layer    field  jump  start
-------  -----  ----  -----
conv3        3     1      1
pool2/2      4     2    1.5
conv3        8     2    3.5
pool2/2     10     4    4.5
conv3       18     4    8.5
"""


def test_rf_prints_the_table_of_the_lesson() -> None:
    assert run(*"rf conv3 pool2/2 conv3 pool2/2 conv3".split()).stdout.startswith(RF)
    records = json.loads(
        run(*"rf conv7/2+3 pool3/2+1 conv3x5+1x2@2 --input 224x224 --json".split()).stdout
    )
    assert records[0]["size"] == [7, 7] and records[0]["output"] == [112, 112]
    assert records[2]["size"] == [27, 43]
    refused("rf", "conv", code=2, words="conv3")
    refused("rf", "pool0", code=3, words="kernel 0")


def test_gap_says_what_is_saved() -> None:
    text = run("gap", "4x32x7x7", "--classes", "1000").stdout
    assert "saves 98 %" in text and "1569000" in text and "33000" in text
    assert json.loads(run("gap", "4x32x7x7", "--json").stdout)["saved_percent"] > 97
    refused("gap", "4x32", code=3, words="size")


def test_show_draws_in_the_terminal_and_in_files(array: Path, tmp_path: Path) -> None:
    text = run("show", "--demo").stdout
    assert "max pool 4x4" in text and text.count("*") == 17
    pytest.importorskip("matplotlib")
    for name in ("a.png", "a.svg"):
        run("show", "--demo", "--gradient", "--out", tmp_path / name)
        assert (tmp_path / name).stat().st_size > 10_000
    run(
        "show",
        array,
        "--slice",
        "1",
        "--window",
        "3x3",
        "--stride",
        "2x2",
        "--out",
        tmp_path / "b.png",
    )
    np.save(tmp_path / "line.npy", np.sin(np.arange(100) / 5))
    run("show", tmp_path / "line.npy", "--window", "4", "--out", tmp_path / "c.png")
    assert "average pool 1x25" in run("show", tmp_path / "line.npy", "--window", "4").stdout
    refused("show", code=2, words="--demo")


def test_pictures_have_one_scale_the_windows_and_the_winners() -> None:
    pytest.importorskip("matplotlib")
    from ndpool.cli import _figures
    from ndpool.cli._show import feature_map

    x = feature_map()
    pools = {"max": ndpool.max_pool, "average": ndpool.avg_pool}
    figure = _figures.side_by_side(x, (2, 2), (2, 2), pools, gradient=True)
    source, largest, mean, back = figure.axes[:4]
    scales = {image.get_clim() for ax in (source, largest, mean) for image in ax.images}
    assert scales == {(x.min(), x.max())}
    np.testing.assert_array_equal(largest.images[0].get_array(), ndpool.max_pool(x, (2, 2)))
    np.testing.assert_array_equal(mean.images[0].get_array(), ndpool.avg_pool(x, (2, 2)))
    assert back.images[0].get_array().sum() == 16
    assert len(source.patches) == 16  # one border per window
    rings = source.collections[0].get_offsets()
    rows, columns = np.divmod(ndpool.max_pool(x, (2, 2), return_indices=True)[1].ravel(), 8)
    assert {tuple(ring) for ring in rings.tolist()} == set(zip(columns, rows))
    assert source.get_title().startswith("input 8×8") and largest.get_title() == "max 4×4"
    panels = _figures.ties().axes
    assert [ax.get_title() for ax in panels[1:]] == [
        f'ties="{policy}"' for policy in ("first", "last", "all", "split")
    ]
    assert [float(ax.images[0].get_array().sum()) for ax in panels[1:]] == [2, 2, 5, 2]


def in_terminal(*args: object) -> str:
    """What a terminal shows of a command: both streams."""
    fd, inside = pty.openpty()
    process = subprocess.Popen(
        [*NDPOOL, *map(str, args)],
        stdin=inside,
        stdout=inside,
        stderr=inside,
        env={**os.environ, "TERM": "xterm-256color"},
    )
    os.close(inside)
    shown = b""
    while True:
        try:
            piece = os.read(fd, 4096)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    status = process.wait()
    os.close(fd)
    text = shown.decode()
    assert status == 0 and "Traceback" not in text, text
    return text


def test_a_terminal_gets_colours_and_a_bar_and_a_pipe_does_not(array: Path, tmp_path: Path) -> None:
    assert "\x1b[48;2;" in in_terminal("show", "--demo")
    assert "\x1b[" not in run("show", "--demo").stdout
    command = ("pool", array, tmp_path / "y.npy", "--window", "2x2")
    assert "█" in in_terminal(*command)
    assert "█" not in run(*command).stderr


@pytest.mark.parametrize(
    "line, words",
    [
        ("explain 'max f32 4x8x8 w2x2'", "4x8x8 -> 4x4x4"),
        ("rf conv3 pool2/2", "pool2/2"),
        ("gap 4x32x7x7", "98 %"),
        ("bench --batch 1 --rounds 1", "numpy"),
        ("--version", "ndpool"),
    ],
)
def test_commands_say_the_same_in_a_terminal(line: str, words: str) -> None:
    assert words in in_terminal(*shlex.split(line))


def test_bench_compares_with_the_limit_and_numpy() -> None:
    records = json.loads(run("bench", "--batch", "1", "--rounds", "1", "--json").stdout)
    assert {"limit", "ndpool", "numpy"} <= {r["library"] for r in records}


def test_demo_makes_its_pictures(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    text = run("demo", "--folder", tmp_path / "demo").stdout
    names = sorted(path.name for path in (tmp_path / "demo").iterdir())
    assert names == ["feature-map.png", "photograph.png", "receptive-field.png", "ties.png"]
    assert all(name in text for name in names) and "saves 98 %" in text


def test_version_help_and_completion_are_there() -> None:
    assert run("--version").stdout == f"ndpool {ndpool.__version__}\n"
    assert "pool a file" in run("--help").stdout
    script = run("completion", "bash").stdout
    check = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True)
    assert check.returncode == 0 and "--window" in script
    run(code=2)
