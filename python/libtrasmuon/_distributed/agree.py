# SPDX-License-Identifier: Apache-2.0
"""Ranks that agree before they go on. If one cannot, all raise the reason, and nobody is left waiting."""
import ctypes
import time
from typing import Any, Callable, Optional, Sequence

import torch

from .._library import Error, ExchangeError, check, lib, text_of
from .all_ranks import AllRanks

_SPARE = 12  # bits of a hash that do not fit into a double


def must_stay(as_built: bool) -> None:
    """Raises Error unless parameters and state are as they were when the core was built."""
    if not as_built:
        raise Error(
            "parameters and state of an optimizer over ranks must stay as they were built, apart from values and "
            "addresses: build it after the model is on its device, in its dtype and memory format; add_param_group() "
            "adds more"
        )


class Statement:
    """What a rank has to say: a text that must be the same on all ranks, or why it cannot go on."""

    def __init__(self) -> None:
        self.text = ""
        self.failure: Optional[Exception] = None
        self.is_known = False  # to all ranks

    def attempt(self, work: Callable[[], Any]) -> Any:
        """Does work, unless this rank has failed before; notes if it fails. Failed exchanges are raised at once."""
        if self.failure is None:
            try:
                return work()
            except ExchangeError:
                raise
            except Exception as failure:
                self.failure = failure

    def rethrow(self) -> None:
        if self.failure is not None:
            raise self.failure

    def message(self) -> str:
        if self.failure is None or isinstance(self.failure, Error):
            return self.text if self.failure is None else str(self.failure)
        return f"{type(self.failure).__name__}: {self.failure}"

    def vote(self) -> float:
        """A number that sums with zeros exactly: a hash of the text, or -1."""
        value = ctypes.c_uint64()
        check(lib.trasmuon_fingerprint(self.text.encode(), ctypes.byref(value)))
        return -1.0 if self.failure is not None else float(value.value >> _SPARE)


def settle(everyone: AllRanks, own: Statement, votes: Sequence[float]) -> None:
    """Compares the statements of all ranks, whose votes are the same on every rank. If one has failed or differs, the
    statement has failed afterwards on all, with the reason, or with the first line that differs and the two ranks.
    """
    failed = [number for number, vote in enumerate(votes) if vote == -1]
    if failed:
        reason = everyone.share(own.message(), failed[0])
        own.failure = own.failure or Error(f"{everyone.task}: rank {failed[0]}: {reason}")
        own.is_known = True
        return
    for number in range(1, everyone.count):
        if votes[number] != votes[0]:
            first, other = (everyone.share(own.text, source) for source in (0, number))
            difference = text_of(lib.trasmuon_first_difference, first.encode(), other.encode())
            own.failure = Error(f"{everyone.task}: ranks 0 and {number} must agree, got in {difference}")
            own.is_known = True
            return


def compare(everyone: AllRanks, own: Statement) -> None:
    """Lets all ranks vote, and settles. Every rank must call it."""
    votes = torch.zeros(everyone.count + 1, dtype=torch.float64)
    votes[everyone.number] = own.vote()
    if everyone.number == 0:
        votes[-1] = time.time_ns() // 1000  # a number that only this optimizer has, in 53 bits
    everyone.all_reduce(votes, "comparison of the ranks")
    everyone.name(f"{votes[-1]:.0f}")
    settle(everyone, own, votes[:-1].tolist())


def together(everyone: AllRanks, work: Callable[[], str]) -> None:
    """Runs `work` on every rank, which returns a text that must be the same on all. If it raises on one rank, or the
    texts differ, all raise."""
    own = Statement()
    own.text = own.attempt(work) or ""
    compare(everyone, own)
    own.rethrow()
