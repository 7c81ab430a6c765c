# SPDX-License-Identifier: Apache-2.0
"""The matrices to time, and tensors of their shapes."""
import json
import pathlib

import torch

_FILE = json.loads((pathlib.Path(__file__).parent.parent / "models.json").read_text())
MODELS, SHAPES = _FILE["models"], _FILE["shapes"]  # name -> [[rows, cols, count], ...]


def parameters(shapes, dtype, device):
    """Random weights with random gradients."""
    torch.manual_seed(0)
    tensors = []
    for rows, cols, count in shapes:
        for _ in range(count):
            p = torch.randn(rows, cols, device=device, dtype=dtype).requires_grad_()
            p.grad = torch.randn(rows, cols, device=device, dtype=dtype)
            tensors.append(p)
    return tensors
