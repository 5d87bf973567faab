"""Installs the libraries that ndpool is compared with, in a virtual environment of their own.

Each is installed by itself, so that one that fails does not stop the others. When nothing is
missing, pip is not called. NDPOOL_PIP_ARGS is passed on to pip, for a package index of your own
(one with CPU builds of torch saves some GB).
"""

from __future__ import annotations

import importlib.metadata
import os
import re
import shlex
import shutil
import subprocess
import sys
import venv
from pathlib import Path

from peers import PACKAGES

# Without these there is nothing to run.
NEEDED = ("numpy", "matplotlib", "nanobind", "scikit-build-core")
# What has to stay free, in GB: builds and results need room, too.
SPARE = 2.0


def say(text: str) -> None:
    print(f"ndpool: {text}", flush=True)


def installed(folder: Path) -> set[str]:
    """The packages in the environment. Read from its files: quicker than to ask its Python."""
    sites = [str(site) for site in folder.glob("lib*/python*/site-packages")]
    names = (found.metadata["Name"] for found in importlib.metadata.distributions(path=sites))
    return {re.sub(r"[-_.]+", "-", name).lower() for name in names if name}


def install(folder: Path, package: str) -> bool:
    """Whether pip succeeded; its last lines are shown where it did not."""
    command = [folder / "bin" / "python", "-m", "pip", "install", "--quiet"]
    extra = shlex.split(os.environ.get("NDPOOL_PIP_ARGS", ""))
    run = subprocess.run(
        [*command, *extra, package], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if run.returncode:
        print("\n".join(run.stdout.splitlines()[-5:]), file=sys.stderr)
    return run.returncode == 0


def main() -> int:
    folder = Path(sys.argv[1])
    missing = [name for name in PACKAGES if name not in installed(folder)]
    if not missing:
        return 0
    if not (folder / "bin" / "python").exists():
        say(f"making the virtual environment {folder}")
        venv.create(folder, with_pip=True)
    left_out = []
    for package in missing:
        free = shutil.disk_usage(folder).free / 1e9
        if free < PACKAGES[package] + SPARE:
            say(f"{package} needs {PACKAGES[package]:.1f} GB, {free:.1f} GB are free: left out")
            left_out.append(package)
            continue
        say(f"installing {package}")
        if not install(folder, package):
            say(f"{package} could not be installed: left out")
            left_out.append(package)
    if left_out:
        say(f"compared without: {', '.join(left_out)}")
    return int(any(package in left_out for package in NEEDED))


if __name__ == "__main__":
    sys.exit(main())
