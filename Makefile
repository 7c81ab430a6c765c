# SPDX-License-Identifier: Apache-2.0
# Every target installs what it needs (tools/setup) and may be the first to run on a fresh machine.
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
SHELL := bash

JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
ROUNDS ?= 3
FUZZ_SECONDS ?= 600

.PHONY: help demo test test-torch2 test-libtorch2 test-python-ecosystem gpu test-gpu test-gpu-python sanitize-gpu test-gpu-libtorch wheel test-long asan tsan fuzz bench bench-gpu bench-gpu-ours lint format install clean

help: ## list these targets
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/\1|\2/p' Makefile | while IFS='|' read -r target text; do printf '  make %-21s %s\n' "$$target" "$$text"; done

demo: ## the paper's burst study in a minute or two; report with figures in out/mechanistic-desk
	@tools/setup build demo
	@cmake --preset default
	@cmake --build --preset default -j $(JOBS) --target trasmuon_program
	@build/bin/trasmuon run mechanistic-desk
	@build/bin/trasmuon report out/mechanistic-desk

test: ## build everything and run the tests, except the long ones; Python with Debian's torch 1.13
	@tools/setup build lab python
	@cmake --preset default -DTorch_DIR="$$(tools/find-libtorch)"
	@cmake --build --preset default -j $(JOBS)
	@ctest --preset default -j $(JOBS)
	@tools/test-python debian build/src

test-torch2: ## run the Python tests with a torch 2.x wheel, in a virtual environment under build/ (5 GB)
	@tools/setup build python
	@cmake --preset default
	@cmake --build --preset default -j $(JOBS) --target trasmuon
	@tools/test-python torch2 build/src

test-libtorch2: ## build the LibTorch tests with the torch 2.x of make test-torch2 or TRASMUON_PYTHON, and run them
	@tools/setup build lab
	@torch=$$("$${TRASMUON_PYTHON:-build/python/torch2/bin/python}" -c 'import os, torch; print(os.path.dirname(torch.__file__))') && \
	  TORCH_CUDA_ARCH_LIST="$${TORCH_CUDA_ARCH_LIST:-9.0}" cmake -G Ninja -B build/libtorch2 -DCMAKE_BUILD_TYPE=Release \
	    -DCMAKE_PREFIX_PATH="$$torch" -DTRASMUON_WITH_LIBTORCH=ON -DTRASMUON_CUDA=OFF
	@cmake --build build/libtorch2 -j $(JOBS) --target tests/libtorch/all examples/all
	@ctest --test-dir build/libtorch2/tests/libtorch --output-on-failure -LE gpu
	@ctest --test-dir build/libtorch2/examples --output-on-failure

test-python-ecosystem: ## run examples/python with Trainer, Accelerate and Lightning from PyPI
	@$(MAKE) test-torch2
	@build/python/torch2/bin/pip --disable-pip-version-check install -q transformers accelerate lightning tensorboard
	@for example in examples/python/*.py; do echo "$$example"; \
	  case $$example in *ddp.py | */fsdp2.py) run='-m torch.distributed.run --standalone --nproc-per-node 2';; *) run=;; esac; \
	  build/python/torch2/bin/python $$run "$$example" || exit 1; done

wheel: ## build a Python wheel into dist/, with the CUDA backend where nvcc is found
	@tools/setup build python
	@/usr/bin/python3 -m venv build/python/wheel
	@build/python/wheel/bin/pip --disable-pip-version-check wheel -q --no-deps -w dist .
	@ls dist/*.whl

gpu: ## run this first on a GPU: builds, runs all GPU tests, sanitizers and the benchmark; PARTS, GPU_SECONDS
	@tools/gpu $(PARTS)

test-gpu: ## run the tests of the CUDA backend (needs a GPU)
	@tools/gpu products tests

test-gpu-python: ## run the GPU tests of Python (needs a GPU and a Python with torch and pytest: TRASMUON_PYTHON)
	@tools/gpu python

test-gpu-libtorch: ## run the GPU tests of the LibTorch adapter (needs a GPU and a Python with torch: TRASMUON_PYTHON)
	@tools/gpu libtorch

sanitize-gpu: ## run the short CUDA tests under compute-sanitizer (needs a GPU)
	@tools/gpu memcheck racecheck initcheck

test-long: ## run the long tests
	@tools/setup build lab
	@cmake --preset default -DTorch_DIR="$$(tools/find-libtorch)"
	@cmake --build --preset default -j $(JOBS)
	@ctest --preset long -j $(JOBS)

asan: ## run the tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@tools/setup build
	@cmake --preset asan
	@cmake --build --preset asan -j $(JOBS)
	@ctest --preset asan -j $(JOBS)

tsan: ## run the tests of threads and processes under ThreadSanitizer
	@tools/setup build lab
	@cmake --preset tsan
	@cmake --build --preset tsan -j $(JOBS)
	@ctest --preset tsan -j $(JOBS)

fuzz: ## fuzz every reader for FUZZ_SECONDS=600 each; inputs that break one are left in build/fuzz/findings
	@tools/setup build fuzz
	@cmake --preset fuzz
	@cmake --build --preset fuzz -j $(JOBS) --target fuzz_targets
	@tools/fuzz build/fuzz $(FUZZ_SECONDS)

bench: ## time a step against LibTorch and, if Python has torch >= 2.9, torch.optim.Muon; ROUNDS=3
	@tools/setup build bench
	@cmake --preset bench -DTRASMUON_WITH_LIBTORCH=ON -DTorch_DIR="$$(tools/find-libtorch)"
	@cmake --build --preset bench -j $(JOBS) --target trasmuon bench_step
	@build/bench/benchmarks/bench_step --rounds $(ROUNDS)
	@if python=$$(tools/find-python-torch); then \
	  echo; "$$python" benchmarks/python/bench.py build/bench/src/libtrasmuon.so --device cpu --rounds $(ROUNDS); \
	elif [ -n "$$TRASMUON_PYTHON" ]; then exit 1; \
	else echo 'torch.optim.Muon: not measured'; fi

bench-gpu: ## time a step on the GPU beside torch's optimizers (needs a GPU and a Python with torch)
	@tools/setup gpu
	@cmake --preset gpu
	@cmake --build --preset gpu -j $(JOBS) --target trasmuon trasmuon_cuda
	@"$${TRASMUON_PYTHON:-python3}" benchmarks/python/bench.py build/gpu/src/libtrasmuon.so --device cuda

bench-gpu-ours: ## time a step on the GPU without peers (needs a GPU, but no Python)
	@tools/gpu bench

lint: ## check the format; run clang-tidy, shellcheck, black and mypy
	@tools/setup build lab lint
	@cmake --preset default -DTorch_DIR="$$(tools/find-libtorch)"
	@tools/lint build $(JOBS)

format: ## format the sources in place
	@tools/setup lint
	@tools/format

install: ## install the library, and the program if CLI11 and fmt are found, into PREFIX (default /usr/local)
	@tools/setup build
	@cmake --preset default
	@cmake --build --preset default -j $(JOBS) --target installables
	@cmake --install build --prefix "$(PREFIX)"
	@# Updates the loader's cache, without which it does not find a new library.
	@if [ "$$(id -u)" = 0 ]; then PATH="$$PATH:/sbin:/usr/sbin" ldconfig; fi

clean: ## remove build/, dist/ and out/
	@rm -rf build dist out
