#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the table of docs/cuda.md#share-of-a-training-step: how much of a training step the optimizer is, from its
measured time (benchmarks/results/h200-2026-11-19.json) and the arithmetic of the model.

A model's forward and backward pass takes at least its operations at the speed of the large bf16 product of the same
run; so the share is at most optimizer / (optimizer + operations / that speed). A real model is slower: 40 % of the
data sheet's 989 TFLOP/s is usual.
"""
import json
import pathlib

RESULTS = json.loads((pathlib.Path(__file__).parent.parent / "benchmarks/results/h200-2026-11-19.json").read_text())
FASTEST = RESULTS["ceilings"]["bf16 product, TFLOP/s"] * 1e12  # operations/s
USUAL = 0.4 * 989e12

# Parameters of all layers, of those in hidden matrices, and of the passes per token (positions in the vision model):
# 6 operations for a parameter that is multiplied, 12 layers width context for attention.
GPT2 = {"timed": "GPT-2 small", "all": 124.4e6, "hidden": 84.9e6, "per_token": 6 * 124.4e6 + 12 * 12 * 768 * 1024}
QWEN3 = {"timed": "Qwen3-0.6B", "all": 596e6, "hidden": 440.4e6, "per_token": 6 * 596e6 + 12 * 28 * 2048 * 1024}
VIT = {"timed": "GPT-2 small", "all": 86.6e6, "hidden": 84.9e6, "per_token": 6 * 85.7e6 + 12 * 12 * 768 * 197}
CASES = [
    ("Qwen3-0.6B, the paper's batch", QWEN3, 1024 * 1024),
    ("Qwen3-0.6B, `qwen3-h200`", QWEN3, 65536),
    ("GPT-2 small, the paper's batch", GPT2, 1024 * 1024),
    ("GPT-2 small, `gpt2-h200`", GPT2, 65536),
    ("ViT-B/16, 1024 images", VIT, 1024 * 197),
]


def optimizer_seconds(model):
    """TrasMuon on the hidden matrices, and AdamW on the rest at the speed per parameter that it has on the matrices."""
    times = RESULTS["milliseconds, median and minimum"][model["timed"]]
    matrices, elementwise = times["ours, trasmuon"][0], times["ours, adamw"][0]
    return 1e-3 * (matrices + elementwise * (model["all"] - model["hidden"]) / model["hidden"])


def main():
    for name, model, tokens in CASES:
        optimizer, work = optimizer_seconds(model), model["per_token"] * tokens
        shares = [optimizer / (optimizer + work / speed) for speed in (FASTEST, USUAL)]
        cells = [name, f"{work:.1e}", f"{1e3 * optimizer:.1f} ms", *(f"{100 * share:.2g} %" for share in shares)]
        print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
