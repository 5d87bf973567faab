"""What is installed stands alone: it carries Highway, and loads nothing but NumPy."""

from __future__ import annotations

import glob
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

import ndpool

PACKAGE = Path(ndpool.__file__).parent
ROOT = Path(__file__).parents[2]

USE = "import numpy, ndpool; print(ndpool.max_pool(numpy.arange(4.0), (2,)))"


def run(code: str, *before: str) -> str:
    done = subprocess.run([*before, sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_libraries_are_loaded_from_the_package_itself() -> None:
    code = USE + "; print(open('/proc/self/maps').read())"
    loaded = {word for word in run(code).split() if "libhwy" in word or "libndpool" in word}
    assert len(loaded) == 2
    assert all(Path(name).parent == PACKAGE for name in loaded), loaded


@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare")
def test_the_package_works_where_highway_is_hidden() -> None:
    system = glob.glob("/usr/lib/libhwy.so*") + glob.glob("/usr/lib/*/libhwy.so*")
    if not system:
        assert run(USE) == "[1. 3.]\n"
        return
    hide = " && ".join(f"mount --bind /dev/null {name}" for name in system)
    isolated = ["unshare", "--map-root-user", "--mount", "sh", "-c"]
    if subprocess.run([*isolated, hide], capture_output=True).returncode != 0:
        pytest.skip("this machine allows no namespaces to hide a file in")
    assert run(USE, *isolated, f'{hide} && "$@"', "sh") == "[1. 3.]\n"


@pytest.mark.parametrize("framework", ["torch", "jax", "mygrad"])
def test_frameworks_are_loaded_on_use_and_named_where_missing(framework: str) -> None:
    assert run(f"import sys, ndpool; print({framework!r} in sys.modules)") == "False\n"
    hidden = f"import sys; sys.modules[{framework!r}] = None\n"
    code = hidden + f"try: import ndpool.{framework}\nexcept ImportError as e: print(e)"
    assert f"pip install 'ndpool[{framework}]'" in run(code)


def test_the_source_distribution_holds_what_a_build_needs(tmp_path: Path) -> None:
    code = (
        "import os; from scikit_build_core.build import build_sdist\n"
        f"os.chdir({str(ROOT)!r}); print(build_sdist({str(tmp_path)!r}))"
    )
    pytest.importorskip("scikit_build_core")
    run(code)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as files:
        names = {name.partition("/")[2] for name in files.getnames()}
    assert {"CMakeLists.txt", "pyproject.toml", "LICENSE", "README.md"} <= names
    assert {"src/plan.cc", "include/ndpool/ndpool.h", "python/core/module.cc"} <= names
    assert {"python/ndpool/torch/__init__.py", "cmake/python.cmake"} <= names
    assert not any(name.startswith(("build/", "bench/", ".ci")) for name in names)
