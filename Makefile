# One command a developer's act; CI runs the same. `make help` lists them.
# Each target checks for the Debian packages that it needs (tools/bootstrap.sh), and prints the command that installs them.

JOBS ?= $(shell nproc)
VENV := .venv
BIN := $(VENV)/bin
CCACHE := $(shell command -v ccache 2>/dev/null)
export TARE_COMPILER_LAUNCHER := $(CCACHE)
ifneq ($(CCACHE),)
export CMAKE_CXX_COMPILER_LAUNCHER := $(CCACHE)
export CMAKE_C_COMPILER_LAUNCHER := $(CCACHE)
endif
export CMAKE_BUILD_PARALLEL_LEVEL := $(JOBS)
# gcc 12's thread sanitizer can't place its shadow where the kernel randomizes addresses by 32 bits
NO_ASLR = $(shell setarch -R true 2>/dev/null && echo setarch -R)

PACKAGE_SOURCES := pyproject.toml CMakeLists.txt tools/man_pages.py $(shell find $(wildcard src include python cmake docs/man) -type f ! -name '*.pyc' ! -path '*/.*')
CPP_SOURCES = $(shell git ls-files --cached --others --exclude-standard '*.cc' '*.cpp' '*.h' '*.c' | grep -v '^fuzz/corpus/')
PYTHON_SOURCES := python fuzz bench tools demo guide tests packaging
TYPED_PYTHON := bench tools demo guide tests/docs

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help build check check-abi accept-abi demo test test-cpp test-asan test-tsan test-fuzz test-compilers test-aarch64 test-linear check-size-models fuzz-programs test-python test-spark nightly wheel wheel-aarch64 test-wheel test-wheel-aarch64 test-packages lint lint-format lint-tidy lint-python \
        format bench guide docs dev clean distclean

help: ## this list
	@awk -F ':.*## ' '/^[a-zA-Z_%-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# ---- build

build: $(VENV)/.built ## the `tare` command in .venv/bin, recorder and core inside

$(VENV)/.tools: pyproject.toml tools/venv.sh tools/find-python.sh tools/bootstrap.sh
	tools/bootstrap.sh build
	tools/venv.sh $(VENV)
	@touch $@

# Tests and linters: 120 MB that a user of the command doesn't need.
$(VENV)/.dev: $(VENV)/.tools tools/requirements-dev.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --requirement tools/requirements-dev.txt
	@touch $@

# A persistent build folder makes a rebuild incremental; --no-deps because venv.sh has installed them.
$(VENV)/.built: $(VENV)/.tools $(PACKAGE_SOURCES)
	$(BIN)/pip install --quiet --no-build-isolation --no-deps --force-reinstall \
	  --config-settings=build-dir=build/wheel .
	@touch $@

dev: ## the C++ alone, with tests (build/dev)
	@tools/bootstrap.sh test
	cmake --preset dev >/dev/null
	cmake --build --preset dev

wheel: ## the wheel for other machines, in dist: glibc 2.28 and later, Python 3.10 and later
	@tools/bootstrap.sh build wheel
	PYTHON=$$(tools/find-python.sh) packaging/wheel/build.sh dist

wheel-aarch64: build ## the wheel for aarch64, in dist: compiled here, with the same demands
	@tools/bootstrap.sh wheel aarch64
	PYTHON=$$(tools/find-python.sh) packaging/wheel/build.sh dist aarch64

test-wheel: wheel $(VENV)/.dev ## install that wheel in fresh Debian systems; record there and with other C libraries; check the source distribution
	$(BIN)/python -m pytest -v -m nightly tests/packaging/test_wheel.py tests/packaging/test_wheel_recorder.py tests/packaging/test_sdist.py

test-wheel-aarch64: wheel-aarch64 $(VENV)/.dev ## check the files of that wheel, and record and report with it under qemu
	$(BIN)/python -m pytest -v -m nightly tests/packaging/test_wheel.py tests/packaging/test_wheel_aarch64.py -k aarch64

test-packages: $(VENV)/.dev ## build the library's packages for Conan, vcpkg and Debian, and use them (15 minutes)
	@tools/bootstrap.sh build wheel
	$(BIN)/python -m pytest -v -m nightly tests/packaging --ignore tests/packaging/test_wheel.py --ignore tests/packaging/test_wheel_recorder.py --ignore tests/packaging/test_sdist.py --ignore tests/packaging/test_wheel_aarch64.py

# ---- demo

demo: build ## record a real Python program's heap and explain it
	@tools/bootstrap.sh demo
	@demo/run.sh

# ---- test

test: ## everything: C++, sanitizers, fuzz targets, end to end (50 minutes on two cores from scratch)
	@tools/timed.sh test-cpp test-asan test-tsan test-fuzz check-abi test-python

test-cpp: dev ## C++ tests
	ctest --preset dev -j $(JOBS)

test-asan test-tsan: test-%: ## C++ tests under address+undefined or thread sanitizers
	@tools/bootstrap.sh test
	cmake --preset $* >/dev/null
	cmake --build --preset $*
	$(NO_ASLR) ctest --preset $* -j $(JOBS)

test-fuzz: build $(VENV)/.dev ## each fuzz target over its corpus and a fixed course of new inputs (FUZZ_SECONDS=600: ever others)
	@tools/bootstrap.sh test
	cmake --preset fuzz >/dev/null
	cmake --build --preset fuzz
	tools/fuzz.sh build/fuzz/fuzz $(BIN)/python

check-abi: ## the shared library's binary interface beside the last release's
	@tools/bootstrap.sh test
	tools/check_abi.sh

accept-abi: ## make the present binary interface the reference: for a release, or for a change before it
	tools/check_abi.sh --accept

check-size-models: dev ## each model of an allocator beside the allocator itself, as installed, with its version
	$(BIN)/python tools/check_size_models.py build/dev/tests/lib/buffers/model-sizes

test-linear: dev ## instruction counts of hostile inputs from 4 KiB to 16 MiB, which must grow as their sizes do
	$(BIN)/python tests/lib/linear/linear_test.py build/dev/tests/lib/linear/linear-work 16777216

test-compilers: ## the library under gcc 11 to 13 and clang 14 to 19, -O0 to LTO, static and shared: those that are installed
	tools/test_compilers.sh build/compilers

test-aarch64: build ## what's portable, for aarch64 against Debian's packages, and the tests that qemu can run
	@tools/bootstrap.sh aarch64
	tools/aarch64_sysroot.sh build/aarch64-sysroot
	cmake --preset aarch64 >/dev/null
	cmake --build --preset aarch64
	$(BIN)/python -m pytest -q tests/end_to_end/test_aarch64.py
	TARE_GC_SEEDS=2 ctest --preset aarch64 -j $(JOBS) -E "$$(grep -v -e '^#' -e '^$$' tests/not_under_qemu.txt | paste -sd '|')"

fuzz-programs: build ## generated programs natively and recorded, for FUZZ_SECONDS (default 600)
	$(BIN)/python fuzz/programs/compare.py --seconds $(or $(FUZZ_SECONDS),600)

# C++ tests that took more than 1 s at their last run, and Python tests marked as slow, are left to `make test`.
check: format build $(VENV)/.dev ## before a commit: format, build what changed, lint, fast tests (under 3 minutes when warm)
	@$(MAKE) --no-print-directory lint-python dev
	ctest --preset dev -j $(JOBS) -E "$$(tools/slow_tests.sh build/dev 1)"
	$(BIN)/python -m pytest -q -n $(JOBS) --dist loadfile -m "not slow and not nightly" tests/python tests/docs

test-python: build $(VENV)/.dev ## end to end, through the installed command
	@tools/bootstrap.sh test
	-@if command -v npm >/dev/null; then $(MAKE) --no-print-directory build/viewers/.installed; fi
	$(BIN)/python -m pytest -q -n $(JOBS) --dist loadfile $(wildcard tests/python tests/docs tests/end_to_end)
	-@$(MAKE) --no-print-directory build/pyspark/.installed
	PYTHONPATH=$(CURDIR)/build/pyspark $(BIN)/python -m pytest -q tests/end_to_end/test_fleet_engines.py

# Pages and validators of other tools, from npm; without npm or its registry, tests that need them are skipped.
build/viewers/.installed: tools/viewers/package.json
	mkdir -p build/viewers
	cp tools/viewers/package.json build/viewers/
	npm install --silent --no-audit --no-fund --prefix build/viewers && touch $@

# 490 MB beside the environment, so that other tests don't see it. Without PyPI, tests that need it are skipped.
build/pyspark/.installed: pyproject.toml | $(VENV)/.tools
	@tools/bootstrap.sh spark
	$(BIN)/pip install --quiet --disable-pip-version-check --upgrade --target build/pyspark 'pyspark>=4,<5' && touch $@

test-spark: build $(VENV)/.dev build/pyspark/.installed ## `tare fleet` with Spark and with DuckDB: equal answers
	TARE_FLEET_RECORDINGS=500 PYTHONPATH=$(CURDIR)/build/pyspark $(BIN)/python -m pytest -v -m 'nightly or not nightly' tests/python/fleet/test_spark.py tests/end_to_end/test_fleet_engines.py

nightly: build $(VENV)/.dev ## what takes long: the whole matrix, generated programs for an hour, each fuzz target for 5 minutes (about 4 hours)
	@tools/bootstrap.sh test nightly
	-@if command -v npm >/dev/null; then $(MAKE) --no-print-directory build/viewers/.installed; fi
	$(BIN)/python -m pytest -v -m 'nightly or not nightly' tests/end_to_end/unharmed
	$(MAKE) test-spark
	$(MAKE) fuzz-programs FUZZ_SECONDS=3600
	$(MAKE) test-fuzz FUZZ_SECONDS=300

# ---- lint

lint: lint-format lint-python lint-tidy ## formatters, linters and types, as CI demands them

lint-format: $(VENV)/.dev ## clang-format
	@echo $(CPP_SOURCES) | xargs -n 40 $(BIN)/clang-format --dry-run --Werror

lint-python: build $(VENV)/.dev ## ruff and mypy --strict
	$(BIN)/ruff check $(wildcard $(PYTHON_SOURCES))
	$(BIN)/ruff format --check $(wildcard $(PYTHON_SOURCES))
	$(BIN)/mypy --python-version 3.10 python/tare
	$(BIN)/mypy $(wildcard $(TYPED_PYTHON))

lint-tidy: dev ## clang-tidy on every unit of the build changed since it last passed
	@tools/bootstrap.sh lint
	$(BIN)/python tools/tidy.py --build build/dev --jobs $(JOBS)

format: $(VENV)/.dev ## rewrite the sources as lint-format and lint-python want them
	@echo $(CPP_SOURCES) | xargs -n 40 $(BIN)/clang-format -i
	$(BIN)/ruff format $(wildcard $(PYTHON_SOURCES))
	$(BIN)/ruff check --fix-only $(wildcard $(PYTHON_SOURCES))

# ---- bench

bench: bench-spine ## every bench, and bench/RESULTS.md from their results

bench-%: build ## one bench; bench-spine: tare beside heaptrack and memray (BENCH_ARGS="--runs 3 --case git")
	@tools/bootstrap.sh bench
	cmake --preset release >/dev/null
	cmake --build --preset release
	$(BIN)/python bench/$*.py $(BENCH_ARGS)

bench-fleet_engines: build/pyspark/.installed

# A module named gc would hide Python's own.
bench-gc: bench-collector ; @:

bench-sampling-cost: bench-sampling_cost ; @:
bench-watch-cost: bench-watch_cost ; @:
bench-variant-preload: bench-variant_preload ; @:

# ---- guide

guide: build $(VENV)/.dev ## build and record the guide's pairs, and rewrite what its pages say was measured
	@tools/bootstrap.sh test
	$(BIN)/python guide/measure.py

# ---- docs

docs: $(VENV)/.dev ## one offline site of all documents and the API: build/docs/index.html; man pages: build/man
	$(BIN)/python tools/site.py build/docs
	$(BIN)/python tools/man_pages.py build/man

# ---- clean

clean: ## remove what was built, keep the virtual environment's packages
	rm -rf build bench/results $(VENV)/.built

distclean: clean ## remove the virtual environment too
	rm -rf $(VENV)
