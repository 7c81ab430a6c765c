# SPDX-License-Identifier: Apache-2.0
"""Muon-family optimizers for PyTorch: TrasMuon, NorMuon, Muon, Dion, AdamW.

>>> import torch, libtrasmuon
>>> model = torch.nn.Sequential(torch.nn.Linear(2, 64), torch.nn.GELU(), torch.nn.Linear(64, 1))
>>> optimizer = libtrasmuon.TrasMuon(model, lr=3e-3, adamw={"lr": 1e-3})
"""
from ._layouts import Layout
from ._library import Error, ExchangeError, core_version, get_num_threads, set_num_threads, why_unusable
from ._optimizer import Optimizer
from ._options import default_options, describe
from ._routing import classify
from .optimizers import AdamW, Dion, Muon, NorMuon, TrasMuon

__version__ = core_version()

__all__ = [
    "AdamW",
    "Dion",
    "Error",
    "ExchangeError",
    "Layout",
    "Muon",
    "NorMuon",
    "Optimizer",
    "TrasMuon",
    "classify",
    "default_options",
    "describe",
    "get_num_threads",
    "set_num_threads",
    "why_unusable",
]
