# SPDX-License-Identifier: Apache-2.0
"""FullyShardedDataParallel (FSDP1) is refused, since AdamW would take its flat parameters."""
import pytest
import torch
from conftest import needs_torch
from rank_nets import Net, backward
from rank_processes import error_of, run_ranks
from torch import nn

import libtrasmuon
from libtrasmuon import Error


def _fsdp1(rank):
    from torch.distributed.fsdp import FullyShardedDataParallel

    for keeps_names in (False, True):
        inner = Net()
        inner.up = FullyShardedDataParallel(inner.up, device_id=torch.device("cpu"), use_orig_params=keeps_names)
        assert "makes parameters flat" in error_of(Error, lambda: libtrasmuon.TrasMuon(inner))  # and not half of it
        net = FullyShardedDataParallel(Net(), device_id=torch.device("cpu"), use_orig_params=keeps_names)
        for params in (net, nn.ModuleList([net]), net.named_parameters(), list(net.parameters())):
            text = error_of(Error, lambda: libtrasmuon.TrasMuon(params))
            assert "(FSDP1) makes parameters flat" in text and "fully_shard" in text
        backward(net)
        libtrasmuon.AdamW(net).step()


@needs_torch(2, 6, "FSDP1 on the CPU")
@pytest.mark.filterwarnings("ignore")
def test_fsdp1_is_refused():
    run_ranks(2, _fsdp1)
