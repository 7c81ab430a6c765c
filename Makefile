# SPDX-License-Identifier: Apache-2.0
# Every target sets up what it needs (tools/setup) and may be run first on a fresh machine.
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
SHELL := bash

JOBS ?= $(shell nproc)
PREFIX ?= /usr/local

.PHONY: help demo test test-gpu sanitize-gpu test-gpu-libtorch test-long asan bench bench-gpu lint format install clean

help: ## list these targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' Makefile | while IFS='|' read -r target text; do printf '  make %-17s %s\n' "$$target" "$$text"; done

demo: ## the paper's burst study in a minute or two; report with figures in out/mechanistic-desk
	@tools/setup build demo
	@cmake --preset default
	@cmake --build --preset default -j $(JOBS) --target trasmuon_program
	@build/bin/trasmuon run mechanistic-desk
	@build/bin/trasmuon report out/mechanistic-desk

test: ## build everything and run the tests, but the long ones
	@tools/setup build lab
	@cmake --preset default -DTorch_DIR="$$(tools/find-libtorch)"
	@cmake --build --preset default -j $(JOBS)
	@ctest --preset default -j $(JOBS)

test-gpu: ## run the tests of the CUDA backend, where there is a GPU
	@tools/setup build
	@cmake --preset default -DTRASMUON_CUDA=ON
	@cmake --build --preset default -j $(JOBS) --target cuda_test cuda_products_test
	@build/tests/cuda/cuda_products_test && build/tests/cuda/cuda_test

test-gpu-libtorch: ## run those of the LibTorch adapter, where there is a GPU and a LibTorch with CUDA
	@tools/setup build
	@cmake --preset default -DTRASMUON_CUDA=ON -DTRASMUON_WITH_LIBTORCH=ON -DTorch_DIR="$$(tools/find-libtorch)"
	@cmake --build --preset default -j $(JOBS) --target libtorch_cuda_test
	@build/tests/libtorch/libtorch_cuda_test

sanitize-gpu: ## run the short CUDA tests under compute-sanitizer
	@tools/setup build
	@cmake --preset default -DTRASMUON_CUDA=ON
	@cmake --build --preset default -j $(JOBS) --target cuda_test cuda_products_test
	@# initcheck does not see what bulk tensor copies store, so a result that nothing else wrote looks unwritten.
	@for tool in memcheck racecheck initcheck; do \
	  left_out=$$([ $$tool = initcheck ] && echo '-*In16Bits'); \
	  compute-sanitizer --tool $$tool --error-exitcode 1 build/tests/cuda/cuda_products_test && \
	  compute-sanitizer --tool $$tool --error-exitcode 1 build/tests/cuda/cuda_test \
	    --gtest_filter="*Stream*:*NonFinite*:*Recorded*:*Masters*:CudaSmall.Beside*:CudaOrthogonalize*:CudaDion.A*:CudaDiagnostics.OfAdamW$$left_out" || exit 1; \
	done

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

bench: ## time a step against the same step written with LibTorch
	@tools/setup build bench
	@cmake --preset bench -DTorch_DIR="$$(tools/find-libtorch)"
	@cmake --build --preset bench -j $(JOBS) --target bench_step
	@build/bench/benchmarks/bench_step

bench-gpu: ## time a step on the GPU beside torch's optimizers (needs Python with torch)
	@tools/setup build
	@cmake --preset default -DTRASMUON_CUDA=ON
	@cmake --build --preset default -j $(JOBS) --target trasmuon_cuda
	@benchmarks/gpu/bench.py build/src/libtrasmuon.so

lint: ## check the format, run clang-tidy and shellcheck
	@tools/setup build lab lint
	@cmake --preset default -DTorch_DIR="$$(tools/find-libtorch)"
	@tools/lint build $(JOBS)

format: ## format the sources in place
	@tools/setup lint
	@tools/format

install: ## install the library, and the program if CLI11 and fmt are there, into PREFIX (default /usr/local)
	@tools/setup build
	@cmake --preset default
	@cmake --build --preset default -j $(JOBS) --target installables
	@cmake --install build --prefix "$(PREFIX)"
	@# Without this the loader does not find a library that is new in a folder it knows.
	@if [ "$$(id -u)" = 0 ]; then PATH="$$PATH:/sbin:/usr/sbin" ldconfig; fi

clean: ## remove build/ and out/
	@rm -rf build out
