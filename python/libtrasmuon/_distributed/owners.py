# SPDX-License-Identifier: Apache-2.0
"""Which rank owns which matrix."""
import ctypes
from typing import List, NamedTuple, Sequence

from .._core import BoundParameter
from .._library import check, lib

# Reading and writing weight, gradient and state of an element takes as long as about so many multiplications: some 50 on
# CPUs, 2,000 on GPUs.
_PASS = 500
_STEPS = 5  # of the iteration: only ratios of costs count


class Ownership(NamedTuple):
    """Which rank does which piece of work: owners has one rank per piece, balance is the largest load over the mean,
    idle the number of ranks without work."""

    owners: List[int]
    balance: float
    idle: int


def assign_owners(costs: Sequence[float], ranks: int) -> Ownership:
    """Distributes pieces of work over ranks; the result depends on the arguments alone."""
    owners = (ctypes.c_int * len(costs))()
    balance, idle = ctypes.c_double(), ctypes.c_int()
    values = (ctypes.c_double * len(costs))(*costs)
    check(lib.trasmuon_assign_owners(values, len(costs), ranks, owners, ctypes.byref(balance), ctypes.byref(idle)))
    return Ownership(list(owners), balance.value, idle.value)


def step_cost(parameter: BoundParameter) -> float:
    """Estimates the multiplications of a step of one parameter of a matrix rule."""
    weight, layout = parameter.tensor, parameter.layout
    entries = weight.size(0) if layout.is_batch(weight) else 1
    rows = layout.rows(weight)
    columns = weight.numel() // (entries * rows)
    blocks = layout.row_blocks(weight) or [rows]
    return _PASS * weight.numel() + entries * sum(iteration_cost(block, columns) for block in blocks)


def iteration_cost(rows: int, columns: int) -> float:
    cost = ctypes.c_double()
    check(lib.trasmuon_iteration_cost(rows, columns, _STEPS, ctypes.byref(cost)))
    return cost.value
