#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the tables of docs/distributed-costs.md: what a step costs on 8 to 1,024 GPUs, by arithmetic.

Nothing here was run on more than one GPU. Constants are measured on one H200 (benchmarks/results/h200-2026-11-16.json)
or the makers' (the two wires); the formulas stand beside their functions. Latency and congestion are not in it.
"""
import heapq
import json
import pathlib

RESULTS = json.loads((pathlib.Path(__file__).parent.parent / "benchmarks/results/h200-2026-11-16.json").read_text())

PRODUCTS = 590e12  # operations/s of the iteration, between the rates of rates() below
MEMORY = RESULTS["ceilings"]["copy, TB/s"] * 1e12  # bytes/s of a pass
NVLINK = 450e9  # bytes/s of a GPU in each direction, NVLink 4 (NVIDIA H200 data sheet: 900 GB/s both ways)
INFINIBAND = 50e9  # bytes/s of a GPU in each direction, one 400 Gbit/s card for each
NODE = 8  # GPUs that NVLink connects

WHOLE_PASSES = 26  # bytes per parameter of a step on one GPU: G, M, W, O once each, and 16-bit copies
CUT_PASSES = 26 + 16 + 8  # by rows: M and G are read twice more, and the owner unpacks M and packs O
WIRE = 2  # bytes per element of M, and of O

# (rows, columns, count) of the hidden matrices; embeddings and heads are AdamW's.
MODELS = {
    "Qwen3-0.6B": [(2048, 1024, 28), (1024, 1024, 56), (1024, 2048, 28), (3072, 1024, 56), (1024, 3072, 28)],
    "8 B (Qwen3-8B)": [(4096, 4096, 72), (1024, 4096, 72), (12288, 4096, 72), (4096, 12288, 36)],
    "70 B (Llama 3 70B)": [(8192, 8192, 160), (1024, 8192, 160), (28672, 8192, 160), (8192, 28672, 80)],
}
RANKS = (1, 8, 16, 32, 64, 128, 256, 512, 1024)


def operations(rows, columns):
    """Five Newton-Schulz steps, symmetric products computed once: the cheaper of the standard and the Gram form."""
    short, long = sorted((rows, columns))
    aspect = long / short
    return short**3 * min(15 * aspect + 5, 6 * aspect + 14)


def matrices(model):
    return [(rows, columns) for rows, columns, count in model for _ in range(count)]


def assign(model, ranks):
    """Most expensive first, each to the rank with the least so far, as the library does. Returns for each rank the
    operations and the elements that it owns."""
    loads = [(0.0, rank, 0) for rank in range(ranks)]
    for rows, columns in sorted(matrices(model), key=lambda shape: -operations(*shape)):
        work, rank, elements = heapq.heappop(loads)
        heapq.heappush(loads, (work + operations(rows, columns), rank, elements + rows * columns))
    return [work for work, _, _ in loads], [elements for _, _, elements in loads]


def wire_seconds(sent, ranks):
    """A rank sends `sent` bytes to all ranks alike. What stays in the node goes over NVLink, the rest over InfiniBand,
    both at once."""
    inside = min(NODE, ranks)
    return max(sent * (inside - 1) / ranks / NVLINK, sent * (ranks - inside) / ranks / INFINIBAND)


def sharded(model, ranks):
    """Seconds of passes, products and wire of a step by rows. Nothing overlaps."""
    shapes = matrices(model)
    parameters = sum(rows * columns for rows, columns in shapes)
    if ranks == 1:
        return WHOLE_PASSES * parameters / MEMORY, sum(operations(*shape) for shape in shapes) / PRODUCTS, 0.0
    work, owned = assign(model, ranks)
    # There and back: what the busiest owner gathers, or what every rank holds.
    rows_sent = 2 * WIRE * max(max(owned), parameters / ranks)
    sums = 8 * sum(columns + 4 for _, columns in shapes)  # doubles of both all-reduces
    wire = wire_seconds(rows_sent, ranks) + wire_seconds(2 * sums, ranks)
    passes = (CUT_PASSES - 8) * parameters / ranks + 8 * max(owned)
    return passes / MEMORY, max(work) / PRODUCTS, wire


def seconds_to_all(size, ranks):
    """Every rank gets `size` bytes, of which it has its share. They enter a node once, spread over its cards, and go
    round in it over NVLink."""
    inside = size * (ranks - 1) / ranks / NVLINK
    outside = size * max(0, ranks - NODE) / ranks / (NODE * INFINIBAND)
    return max(inside, outside)


def replicated(model, ranks):
    """Seconds of computing, and of the wire with copies in f32. Buckets travel while the next ones are computed."""
    parameters = sum(rows * columns for rows, columns in matrices(model))
    work, owned = assign(model, ranks)
    compute = WHOLE_PASSES * max(owned) / MEMORY + max(work) / PRODUCTS
    return compute, seconds_to_all(4 * parameters, ranks)


def gathered_everywhere(model, ranks):
    """Seconds of a step by rows if every rank gathers all of M in f32 and iterates on it, as the release does."""
    parameters = sum(rows * columns for rows, columns in matrices(model))
    work = sum(operations(*shape) for shape in matrices(model))
    return WHOLE_PASSES * parameters / ranks / MEMORY + work / PRODUCTS + seconds_to_all(4 * parameters, ranks)


def milliseconds(seconds):
    value = seconds * 1e3
    return f"{value:.0f}" if value >= 99.5 else f"{value:.1f}" if value >= 9.95 else f"{value:.2f}"


def rates():
    """What the iteration reached on the H200: operations over the measured time less the passes."""
    times = RESULTS["milliseconds, median and minimum"]
    for name, shapes in {
        "Qwen3-0.6B": MODELS["Qwen3-0.6B"],
        "112 x 1024 x 1024": [(1024, 1024, 112)],
        "7 x 2048 x 2048": [(2048, 2048, 7)],
        "7 x 4096 x 4096": [(4096, 4096, 7)],
        "one 8192 x 8192": [(8192, 8192, 1)],
    }.items():
        measured = times[name]["ours, trasmuon"][0] * 1e-3
        parameters = sum(rows * columns for rows, columns in matrices(shapes))
        work = sum(operations(*shape) for shape in matrices(shapes))
        rate = work / (measured - WHOLE_PASSES * parameters / MEMORY) / 1e12
        print(f"| {name} | {measured * 1e3:.1f} ms | {work / 1e12:.2f} T | {rate:.0f} TFLOP/s |")


def main():
    rates()
    for name, model in MODELS.items():
        shapes = matrices(model)
        parameters = sum(rows * columns for rows, columns in shapes)
        largest = max(operations(*shape) for shape in shapes) / PRODUCTS
        print(f"**{name}**: {len(shapes)} matrices, {parameters / 1e9:.2f} billion parameters; "
              f"the largest matrix alone takes {milliseconds(largest)} ms.")
        alone = sum(sharded(model, 1))
        dominated = []
        for ranks in RANKS:
            passes, products, wire = sharded(model, ranks)
            step = passes + products + wire
            cells = [ranks, milliseconds(passes), milliseconds(products), milliseconds(wire) if wire else "-",
                     milliseconds(step), f"{alone / step:.1f}", max(0, ranks - len(shapes)) or "-"]
            if ranks == 1:
                cells += [milliseconds(step), "-", milliseconds(step)]
            else:
                compute, weights = replicated(model, ranks)
                cells += [milliseconds(max(compute, weights)), milliseconds(weights),
                          milliseconds(gathered_everywhere(model, ranks))]
            if wire > step / 2:
                dominated.append(ranks)
            print("| " + " | ".join(map(str, cells)) + " |")
        where = f"on {dominated[0]} GPUs and more" if dominated else "nowhere in this table"
        print(f"By rows the wire takes more than half of the step {where}; owners run out above {len(shapes)}.")


if __name__ == "__main__":
    main()
