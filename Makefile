# A thin front: sets the machine up, then calls the presets of CMakePresets.json.
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
N ?= 2000000
say = @echo "ndpool: $(1)"

# Virtual environments, what goes into a wheel, and the library that it is made around.
venv = build/venv
demo_venv = build/venv-demo
python_code = python bench examples
library = build/dev/libndpool.so
wheel_sources = $(shell find python/core python/jax python/ndpool -name '*.cc' -o -name '*.h' -o -name '*.py' -o -name '*.pyi') \
  pyproject.toml CMakeLists.txt cmake/python.cmake

# GCC 12's thread sanitizer fails on kernels that randomise addresses more than it expects.
fixed_addresses = $(shell setarch -R true 2>/dev/null && echo setarch -R)

.DEFAULT_GOAL := help
.PHONY: help setup test demo lint format dev asan tsan python python-check python-test test-torch test-tiny release bench-quick bench-scaling bench bench-models bench-publish soak test-aarch64 clean

help: ## list the targets
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' Makefile | expand -t 16

setup: ## install what is missing (Debian packages); nothing is called when nothing is missing
	@tools/setup build lint python

# Python's packages come while compilers work; if that fails, `make python` tries again and says why.
test: setup | build ## everything: lint, tests, tests under asan+ubsan, runner tests under tsan, Python's tests
	@tools/venv $(venv) python/requirements.txt >build/venv.log 2>&1 &
	@$(MAKE) --no-print-directory lint
	@$(MAKE) --no-print-directory dev
	@$(MAKE) --no-print-directory asan
	@$(MAKE) --no-print-directory tsan
	@$(MAKE) --no-print-directory python
	$(call say,all tests passed)

demo: | build ## build, pool, show: a first look in C++, then pictures and tables in Python
	@tools/setup build python
	@tools/venv $(demo_venv) python/requirements-demo.txt
	$(call say,building the library and the demonstration)
	@cmake --preset release >/dev/null
	@cmake --build --preset release --parallel $(JOBS) --target ndpool example_demo
	$(call say,running examples/demo.cc)
	@build/release/examples/demo
	@$(MAKE) --no-print-directory $(demo_venv)/wheel/installed
	$(call say,running ndpool demo)
	@$(demo_venv)/bin/ndpool demo

$(demo_venv)/wheel/installed: build/release/libndpool.so $(wheel_sources)
	$(call say,making the wheel)
	@tools/wheel $< $(demo_venv)
	@touch $@

lint: ## check format (clang-format) and code (clang-tidy); remembers what has passed
	@tools/setup build lint
	@JOBS=$(JOBS) tools/lint

format: ## rewrite all C and C++ files in the project's format
	@tools/setup lint
	@tools/list-sources | xargs clang-format-19 -i
	@[ ! -x $(venv)/bin/ruff ] || $(venv)/bin/ruff format $(python_code)

# build-and-test PRESET,COMMAND PREFIX
define build-and-test
	$(call say,building the $(1) preset)
	@cmake --preset $(1) >build/$(1).log 2>&1 || { cat build/$(1).log; exit 1; }
	@cmake --build --preset $(1) --parallel $(JOBS)
	$(call say,running the $(1) tests)
	@$(2) ctest --preset $(1) --parallel $(JOBS)
endef

dev asan tsan: | build ## build and test one preset
	$(call build-and-test,$@,$(if $(filter tsan,$@),$(fixed_addresses)))

# ---- Python --------------------------------------------------------------------------------------
python: | build ## the Python package: build the wheel around the dev library, check, test
	@tools/setup build python
	@tools/venv $(venv) python/requirements.txt
	@cmake --preset dev >build/dev.log 2>&1 || { cat build/dev.log; exit 1; }
	@cmake --build --preset dev --parallel $(JOBS) --target ndpool
	@$(MAKE) --no-print-directory $(venv)/wheel/installed
	$(call say,testing the Python package and checking format and types)
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target python-test python-check

python-check:
	@$(venv)/bin/ruff format --check --quiet $(python_code) || { $(venv)/bin/ruff format --diff $(python_code); exit 1; }
	@$(venv)/bin/ruff check --quiet $(python_code)
	@$(venv)/bin/mypy

python-test:
	@$(venv)/bin/python -m pytest --numprocesses=$(JOBS)

$(venv)/wheel/installed: $(library) $(wheel_sources)
	$(call say,making the wheel)
	@tools/wheel $(library) $(venv)
	@touch $@

torch_venv = build/venv-torch

test-torch: | build ## PyTorch's tests; installs torch (several GB)
	@tools/setup build python
	@tools/enough-disk 9 $(torch_venv) torch
	@tools/venv $(torch_venv) python/requirements-torch.txt
	@tools/venv $(venv) python/requirements.txt
	@cmake --preset dev >build/dev.log 2>&1 || { cat build/dev.log; exit 1; }
	@cmake --build --preset dev --parallel $(JOBS) --target ndpool
	@$(MAKE) --no-print-directory $(venv)/wheel/installed
	@$(torch_venv)/bin/python -m pip install --quiet --no-deps --no-index --force-reinstall \
	  --disable-pip-version-check $(venv)/wheel/*.whl
	$(call say,testing the PyTorch plug-in)
	@$(torch_venv)/bin/python -m pytest python/tests/test_torch.py

release: | build ## build the library as users do
	$(call say,building the release preset)
	@cmake --preset release >/dev/null
	@cmake --build --preset release --parallel $(JOBS)

bench-quick: | build ## ndpool against the limit of memory, a few problems in under two minutes
	@tools/setup build
	$(call say,building the benchmark)
	@cmake --preset release >/dev/null
	@cmake --build --preset release --parallel $(JOBS) --target bench_quick
	$(call say,running; compare the time of ndpool with the smaller of both limits)
	@build/release/bench_quick

bench-scaling: | build ## how cost grows from 1 KB to 1 GB, and what a second thread gains
	@tools/setup build
	$(call say,building the benchmark)
	@cmake --preset release >/dev/null
	@cmake --build --preset release --parallel $(JOBS) --target bench_scaling
	@mkdir -p build/bench
	@build/release/bench_scaling | tee build/bench/scaling.new
	@mv build/bench/scaling.new build/bench/scaling.md

bench: | build ## ndpool against its peers; one line: make bench LINES='forward | max f32 4x8x8 w2x2'
	@tools/setup build bench
	@python3 bench/install.py build/bench-venv
	$(call say,building the library)
	@cmake --preset release >/dev/null
	@cmake --build --preset release --parallel $(JOBS) --target ndpool bench_limit
	$(call say,measuring; keep the machine quiet)
	@build/bench-venv/bin/python bench/compare.py $(bench_lines) $(BENCH_ARGS)
	@[ -n "$(bench_lines)" ] || $(MAKE) --no-print-directory bench-scaling bench-models

bench-models: ## three small networks in torch, before and after accelerate(); after make bench
	$(call say,whole models: torch's pooling and ndpool's)
	@tools/wheel build/release/libndpool.so build/bench-venv
	@if build/bench-venv/bin/python -c 'import torch' 2>/dev/null; then \
	  build/bench-venv/bin/python examples/accelerate.py; \
	else echo "ndpool: torch is not installed: left out"; fi

# Not from the environment: terminals have a variable of that name.
bench_lines = $(if $(filter command,$(origin LINES)),--lines '$(LINES)')

bench-publish: ## write docs/benchmarks.md from what make bench has found
	@python3 bench/publish.py

soak: | build ## compare engine and definition on N random problems: make soak N=10000000
	@tools/setup build
	$(call say,comparing engine and definition on $(N) random problems)
	@cmake --preset release >/dev/null
	@cmake --build --preset release --parallel $(JOBS) --target tests_tests
	@NDPOOL_TEST_PROBLEMS=$(N) build/release/tests_tests --gtest_filter='Differential.*'
	@if [ -x $(venv)/bin/ndpool ]; then \
	  echo "ndpool: killing ndpool pool at 200 moments"; \
	  NDPOOL_TEST_KILLS=200 $(venv)/bin/python -m pytest python/tests/test_cli.py -k killed; fi

test-tiny: | build ## micro-controllers: cross compilers and emulated boards, bits, sizes, packages
	@tools/setup build tiny
	$(call say,building the desktop engine for comparison)
	@cmake --preset dev >build/dev.log 2>&1 || { cat build/dev.log; exit 1; }
	@cmake --build --preset dev --parallel $(JOBS) --target tiny_lines_by_engine
	@tools/test-tiny build/dev/tiny_lines_by_engine build/tiny

test-aarch64: | build ## the tests on 64-bit Arm: cross compiler and qemu
	@tools/setup build aarch64
	@tools/sysroot-aarch64
	$(call build-and-test,aarch64)

clean: ## remove everything that was built
	rm -rf build

build:
	@mkdir -p build
