# SPDX-License-Identifier: Apache-2.0
"""state_dict, load_state_dict, pickling, copying."""
import copy
import io
import pickle

import pytest
import torch
from conftest import TORCH, needs_torch
from nets import equal, loss_of, mlp, train

import libtrasmuon
from libtrasmuon import AdamW, Dion, Muon, NorMuon, TrasMuon


def _through_file(state_dict):
    file = io.BytesIO()
    torch.save(state_dict, file)
    file.seek(0)
    return torch.load(file, weights_only=TORCH >= (2, 0))  # 1.13's safe reader knows no floating-point numbers


@pytest.mark.parametrize("kind", [TrasMuon, NorMuon, Muon, Dion, AdamW])
def test_state_is_there_from_construction(kind):
    model = mlp()
    optimizer = kind(model)
    state = optimizer.state_dict()["state"]
    assert sorted(state) == list(range(6))
    train(model, optimizer, 1)
    assert {k: set(v) for k, v in optimizer.state_dict()["state"].items()} == {k: set(v) for k, v in state.items()}


@pytest.mark.parametrize("kind", [TrasMuon, NorMuon, Muon, Dion, AdamW])
def test_resumed_run_has_the_same_bits(kind, device):
    model = mlp(device)
    optimizer = kind(model, lr=5e-3)
    train(model, optimizer, 10)
    saved_model, saved = copy.deepcopy(model.state_dict()), _through_file(optimizer.state_dict())
    expected = train(model, optimizer, 10)

    resumed = mlp(device)
    resumed.load_state_dict(saved_model)
    other = kind(resumed, lr=1.0)
    other.load_state_dict(saved)
    assert other.param_groups[0]["lr"] == 5e-3
    assert equal(train(resumed, other, 10), expected)


@pytest.mark.gpu
def test_state_goes_from_cpu_to_gpu_and_back():
    model = mlp("cpu")
    optimizer = TrasMuon(model)
    train(model, optimizer, 5)
    on_gpu = TrasMuon(mlp("cuda"))
    on_gpu.load_state_dict(optimizer.state_dict())
    assert all(v.is_cuda for state in on_gpu.state.values() for v in state.values())
    back = TrasMuon(mlp("cpu"))
    back.load_state_dict(on_gpu.state_dict())
    pairs = zip(optimizer.state.values(), back.state.values())
    assert all(torch.equal(a[name], b[name]) for a, b in pairs for name in a)


def test_bf16_weights_keep_f32_state():
    optimizer = TrasMuon(mlp(dtype=torch.bfloat16), master_weights=True)
    other = TrasMuon(mlp(dtype=torch.bfloat16), master_weights=True)
    other.load_state_dict(_through_file(optimizer.state_dict()))
    state = next(iter(other.state.values()))
    assert state["momentum"].dtype is torch.float32 and state["master"].dtype is torch.float32


def _saved():
    return TrasMuon(mlp()).state_dict()


def _with(change):
    saved = copy.deepcopy(_saved())
    change(saved)
    return saved


@pytest.mark.parametrize(
    "make, text",
    [
        (lambda: torch.optim.AdamW(mlp().parameters()).state_dict(), "group 0 was not written by libtrasmuon"),
        (lambda: {"model": 1}, "must have 'state' and 'param_groups'"),
        (lambda: Muon(mlp()).state_dict(), "group 0: rule must be trasmuon, got muon"),
        (lambda: AdamW(mlp()).state_dict(), "must have 2 groups, got 1"),
        (lambda: TrasMuon(torch.nn.Sequential(torch.nn.Linear(4, 4))).state_dict(), "must have 2 parameters, got 1"),
        (lambda: _with(lambda s: s["param_groups"][0].update(format="libtrasmuon 0")), "must be 'libtrasmuon 1', got"),
        (lambda: _with(lambda s: s["param_groups"][0]["param_names"].reverse()), "parameter must be '0.weight', got"),
        (lambda: _with(lambda s: s["param_groups"][0].update(layouts=["flatten"] * 2)), "layout must be automatic"),
        (lambda: _with(lambda s: s["state"][0].pop("momentum")), "'0.weight': state 'momentum' is missing"),
        (lambda: _with(lambda s: s["state"][0].update(extra=torch.ones(1))), "this optimizer has no state 'extra'"),
        (
            lambda: _with(lambda s: s["state"][0].update(momentum=torch.ones(2, 2))),
            "state 'momentum' must be torch.float32 [16, 4], got torch.float32 [2, 2]",
        ),
        (lambda: _with(lambda s: s["param_groups"][0].update(alpha=-1.0)), "trasmuon: alpha must be > 0, got -1"),
        (
            lambda: _with(lambda s: s["param_groups"][0].update(alpha=None)),
            "alpha must be a number or a text, got None",
        ),
        (lambda: _with(lambda s: s["param_groups"][0].update(betas=None)), "betas must be two numbers, got None"),
        (lambda: _with(lambda s: s["param_groups"][1].pop("rule")), "group 1: has no 'rule'"),
        (lambda: _with(lambda s: s["param_groups"][0].pop("params")), "group 0: has no 'params'"),
        (lambda: _with(lambda s: s["param_groups"][0].pop("layouts")), "group 0: has no 'layouts'"),
        (lambda: _with(lambda s: s["param_groups"][0].update(params=3)), "group 0: params must be a list, got 3"),
        (lambda: _with(lambda s: s["param_groups"][0].update(layouts=[])), "layouts must have 2 entries, got 0"),
        (lambda: _with(lambda s: s["param_groups"][0].update(layouts=[1, 2])), "layout must be automatic, got 1"),
        (
            lambda: _with(lambda s: s["param_groups"][0].update(param_names=[])),
            "param_names must have 2 entries, got 0",
        ),
        (
            lambda: _with(lambda s: s["param_groups"][0].update(maximize=True)),
            "group 0: trasmuon has no option 'maximize'",
        ),
        (lambda: _with(lambda s: s["state"].update({0: None})), "state of parameter 0 must be a dict, got None"),
        (lambda: {"state": {}, "param_groups": [1, 2]}, "group 0 must be a dict, got 1"),
    ],
)
def test_other_state_dicts_are_refused_with_the_reason(make, text):
    model = mlp()
    optimizer = TrasMuon(model)
    train(model, optimizer, 3)
    before = copy.deepcopy(optimizer.state_dict())
    with pytest.raises(libtrasmuon.Error) as caught:
        optimizer.load_state_dict(make())
    assert text in str(caught.value)
    after = optimizer.state_dict()
    assert after["param_groups"] == before["param_groups"]
    assert all(torch.equal(after["state"][k][n], v) for k, s in before["state"].items() for n, v in s.items())


@pytest.mark.parametrize("what", [None, 3, {"state": None, "param_groups": []}, {"state": {}, "param_groups": None}])
def test_what_is_no_state_dict_is_refused(what):
    with pytest.raises(libtrasmuon.Error, match="load_state_dict: must"):
        TrasMuon(mlp()).load_state_dict(what)


def test_options_are_not_shared_with_the_source():
    optimizer, other = TrasMuon(mlp(), lr=torch.tensor(0.1)), TrasMuon(mlp())
    other.load_state_dict(optimizer.state_dict())
    optimizer.param_groups[0]["lr"].fill_(0.5)
    assert other.param_groups[0]["lr"].item() == pytest.approx(0.1)


def test_options_of_a_newer_file_are_named():
    optimizer = TrasMuon(mlp())
    optimizer.param_groups[0].update(initial_lr=0.1, mine=1)
    saved = _with(lambda s: s["param_groups"][0].update(from_the_future=3, mine=2, initial_lr=0.2))
    with pytest.warns(
        UserWarning, match="group 0: trasmuon has no option 'from_the_future', it has no influence"
    ) as found:
        optimizer.load_state_dict(saved)
    assert len(found) == 1 and optimizer.param_groups[0]["mine"] == 2


def test_older_files_without_an_option_get_its_default():
    optimizer = TrasMuon(mlp())
    optimizer.load_state_dict(_with(lambda s: s["param_groups"][0].pop("c_min")))
    assert optimizer.param_groups[0]["c_min"] == libtrasmuon.default_options("trasmuon")["c_min"]


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda pair: pickle.loads(pickle.dumps(pair))])
def test_copies_continue_with_the_same_bits(duplicate):
    model = mlp()
    optimizer = TrasMuon(model, lr=5e-3, diagnostics=True)
    train(model, optimizer, 5)
    other_model, other = duplicate((model, optimizer))
    assert equal(train(model, optimizer, 5), train(other_model, other, 5))
    assert other.diagnostics().keys() == optimizer.diagnostics().keys()
    other.load_state_dict({**other.state_dict(), "state": {}})  # as built
    assert not any(state["momentum"].any() for state in other.state.values() if "momentum" in state)


def test_state_can_be_assigned_replaced_and_reset():
    model = mlp()
    optimizer = TrasMuon(model)
    fresh = copy.deepcopy(optimizer.state_dict()["state"])
    train(model, optimizer, 3)
    kept = copy.deepcopy(optimizer.state_dict()["state"])
    tensor = model[0].weight
    bound = optimizer.state[tensor]["momentum"]
    optimizer.state[tensor]["momentum"] = torch.ones_like(bound)  # as programs that move state do
    assert optimizer.state[tensor]["momentum"] is bound and (bound == 1).all()
    with pytest.raises(libtrasmuon.Error, match="shape must be"):
        optimizer.state[tensor]["momentum"] = torch.ones(3)
    optimizer.state[tensor].update(momentum=2 * torch.ones_like(bound))
    assert optimizer.state[tensor]["momentum"] is bound and (bound == 2).all()

    for p, values in zip(model.parameters(), [kept[0], kept[2], kept[1], kept[3], kept[4], kept[5]]):
        optimizer.state[p] = {name: value.clone() for name, value in values.items()}  # as Lightning does
    model.zero_grad(set_to_none=True)
    optimizer.step()
    assert torch.equal(optimizer.state[tensor]["momentum"], kept[0]["momentum"])

    optimizer.state.clear()
    optimizer.step()
    state = optimizer.state_dict()["state"]
    assert all(torch.equal(state[k][name], value) for k, s in fresh.items() for name, value in s.items())


@needs_torch(2, 1, "hooks of state dicts")
def test_state_dict_hooks():
    optimizer, seen = TrasMuon(mlp()), []
    optimizer.register_state_dict_post_hook(lambda o, s: {**s, "extra": 1})
    optimizer.register_load_state_dict_pre_hook(lambda o, s: seen.append(s.pop("extra")))
    optimizer.register_load_state_dict_post_hook(lambda o: seen.append("loaded"))
    optimizer.load_state_dict(optimizer.state_dict())
    assert seen == [1, "loaded"]


def test_loss_goes_on_after_loading_a_scheduler():
    model = mlp()
    optimizer = TrasMuon(model, lr=5e-3)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    train(model, optimizer, 2)
    schedule.step()
    other_model = mlp()
    other = TrasMuon(other_model, lr=5e-3)
    other_schedule = torch.optim.lr_scheduler.ExponentialLR(other, 0.9)
    other.load_state_dict(optimizer.state_dict())
    other_schedule.load_state_dict(schedule.state_dict())
    train(other_model, other, 1)
    other_schedule.step()
    assert other.param_groups[0]["lr"] == pytest.approx(5e-3 * 0.81)
    assert loss_of(other_model).isfinite()
