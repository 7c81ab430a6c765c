# SPDX-License-Identifier: Apache-2.0
"""Diagnostics as numbers to log. Callbacks for Optimizer.add_callback; the optimizer needs diagnostics=True.

    optimizer.add_callback(TensorBoard(SummaryWriter()), every=100)
    optimizer.add_callback(ToFunction(wandb.log), every=100)
"""
from typing import Any, Callable, Dict

from ._optimizer import Optimizer

# How the matrices of a parameter, or all parameters, become one number.
_LARGEST = ("step", "skipped", "updated", "r_max", "r_q95")
_SMALLEST = ("c_min",)


def _combined(name: str, values: Any) -> float:
    values = list(values)
    if name in _LARGEST:
        return max(values)
    return min(values) if name in _SMALLEST else sum(values) / len(values)


def by_parameter(optimizer: Optimizer) -> Dict[str, Dict[str, float]]:
    """One dict per parameter. Over its matrices r_max, r_q95 and the counters are the largest, c_min is the smallest,
    everything else the mean."""
    found = {}
    for parameter, matrices in optimizer.diagnostics().items():
        found[parameter] = {name: _combined(name, [matrix[name] for matrix in matrices]) for name in matrices[0]}
    return found


def summary(optimizer: Optimizer) -> Dict[str, float]:
    """One dict for all parameters of matrix rules, combined in the same way; `skipped` is the sum.

    >>> import torch, libtrasmuon
    >>> model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 8))
    >>> optimizer = libtrasmuon.TrasMuon(model, lr=0.01, diagnostics=True)
    >>> model(torch.randn(4, 8)).sum().backward()
    >>> optimizer.step()
    >>> summary(optimizer)["step"], summary(optimizer)["skipped"]
    (1, 0)
    """
    rules = {name: group["rule"] for group in optimizer.param_groups for name in group["param_names"]}
    entries = by_parameter(optimizer)
    matrices = [entry for name, entry in entries.items() if rules[name] != "adamw"] or list(entries.values())
    found = {name: _combined(name, [entry[name] for entry in matrices]) for name in matrices[0]}
    found["skipped"] = sum(entry["skipped"] for entry in entries.values())
    return found


def scalars(optimizer: Optimizer, prefix: str = "optimizer") -> Dict[str, float]:
    """All numbers in one flat dict: "optimizer/update_rms" of the summary, "optimizer/0.weight/update_rms", ..."""
    found = {f"{prefix}/{name}": value for name, value in summary(optimizer).items()}
    for parameter, entry in by_parameter(optimizer).items():
        found.update({f"{prefix}/{parameter}/{name}": value for name, value in entry.items()})
    return found


class TensorBoard:
    """Writes scalars() to a torch.utils.tensorboard.SummaryWriter, or anything with add_scalar(name, value, step)."""

    def __init__(self, writer: Any, prefix: str = "optimizer") -> None:
        self.writer, self.prefix = writer, prefix

    def __call__(self, optimizer: Optimizer, step: int) -> None:
        for name, value in scalars(optimizer, self.prefix).items():
            self.writer.add_scalar(name, value, step)


class ToFunction:
    """Calls function(scalars, step): wandb.log, a logger of your own."""

    def __init__(self, function: Callable[[Dict[str, float], int], Any], prefix: str = "optimizer") -> None:
        self.function, self.prefix = function, prefix

    def __call__(self, optimizer: Optimizer, step: int) -> None:
        self.function(scalars(optimizer, self.prefix), step)
