# SPDX-License-Identifier: Apache-2.0
"""Diagnostics, logging, python -m libtrasmuon."""
import subprocess
import sys

import pytest
import torch
from nets import mlp, train
from torch import nn

import libtrasmuon
from libtrasmuon import TrasMuon, diagnostics


def test_diagnostics_by_parameter_and_matrix(device):
    model = nn.Sequential(nn.MultiheadAttention(16, 2), nn.Linear(16, 16)).to(device)
    optimizer = TrasMuon(model, lr=0.01, weight_decay=0.0, clip="none", diagnostics=True)
    for p in model.parameters():
        p.grad = torch.randn_like(p)
    optimizer.step()
    found = optimizer.diagnostics()
    assert len(found["0.in_proj_weight"]) == 3 and len(found["1.weight"]) == 1
    assert found["1.weight"][0]["step"] == 1 and found["1.weight"][0]["updated"] == 1
    assert diagnostics.by_parameter(optimizer)["1.weight"]["update_rms"] == pytest.approx(0.2 * 0.01, rel=1e-3)
    assert diagnostics.summary(optimizer)["c_min"] == 1.0


def test_skipped_steps_are_summed():
    model = mlp()
    optimizer = TrasMuon(model, diagnostics=True)
    for p in model.parameters():
        p.grad = torch.full_like(p, float("nan"))
    optimizer.step()
    assert diagnostics.summary(optimizer)["skipped"] == 6 and diagnostics.summary(optimizer)["updated"] == 0


def test_without_diagnostics_it_says_how():
    with pytest.raises(libtrasmuon.Error, match="build the optimizer with diagnostics=True"):
        TrasMuon(mlp()).diagnostics()
    with pytest.raises(libtrasmuon.Error, match="every must be >= 1, got 0"):
        TrasMuon(mlp()).add_callback(print, every=0)


def test_tensorboard_and_functions_get_the_numbers():
    class Writer:
        def __init__(self):
            self.rows = []

        def add_scalar(self, name, value, step):
            self.rows.append((name, value, step))

    model, writer, calls = mlp(), Writer(), []
    optimizer = TrasMuon(model, diagnostics=True)
    optimizer.add_callback(diagnostics.TensorBoard(writer), every=2)
    optimizer.add_callback(diagnostics.ToFunction(lambda numbers, step: calls.append((step, numbers)), "opt"), every=3)
    train(model, optimizer, 4)
    assert {step for _, _, step in writer.rows} == {2, 4}
    assert {"optimizer/update_rms", "optimizer/2.weight/r_max"} <= {name for name, _, _ in writer.rows}
    assert [step for step, _ in calls] == [3] and calls[0][1]["opt/step"] == 3


def test_tensorboard_itself(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from torch.utils.tensorboard import SummaryWriter

    model, writer = mlp(), SummaryWriter(str(tmp_path))
    optimizer = TrasMuon(model, diagnostics=True)
    optimizer.add_callback(diagnostics.TensorBoard(writer), every=2)
    train(model, optimizer, 4)
    writer.close()
    events = EventAccumulator(str(tmp_path)).Reload()
    assert [event.step for event in events.Scalars("optimizer/update_rms")] == [2, 4]
    written = events.Scalars("optimizer/2.weight/r_max")[-1].value
    assert written == pytest.approx(diagnostics.by_parameter(optimizer)["2.weight"]["r_max"], rel=1e-6)


def test_the_module_prints_what_it_found():
    done = subprocess.run([sys.executable, "-m", "libtrasmuon"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for text in ("libtrasmuon", libtrasmuon.__version__, torch.__version__, "usable", "CUDA backend"):
        assert text in done.stdout


def test_a_missing_or_foreign_library_is_named(tmp_path):
    foreign = tmp_path / "libtrasmuon.so"
    foreign.write_text("no library")
    for path in (foreign, tmp_path / "absent.so"):
        program = f"import os; os.environ['TRASMUON_LIBRARY'] = {str(path)!r}; import libtrasmuon"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        assert done.returncode != 0 and f"cannot load {path}" in done.stderr
