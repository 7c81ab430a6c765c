# SPDX-License-Identifier: Apache-2.0
"""Work that all ranks do together, or none."""
import ctypes
from typing import Callable, Optional, Sequence

import torch

from .._library import Error, check, lib, text_of
from .ranks import Ranks


def together(groups: Sequence[Ranks], work: Callable[[], str]) -> None:
    """Runs `work` on every rank, which returns a text that must be the same on all ranks of all groups. If it raises on
    one rank, all raise: nobody is left waiting. If the texts differ, raises Error with the first line that differs and
    the two ranks."""
    text, failure = "", None
    try:
        text = work()
    except Exception as error:  # is raised below, once the others know
        failure = error
    for ranks in groups:
        failure = _compared(ranks, text, failure)
    if failure is not None:
        raise failure


def _compared(ranks: Ranks, text: str, failure: Optional[Exception]) -> Optional[Exception]:
    """The failure of this rank or, if it has none, what is wrong with another."""
    message = text if failure is None else _text_of_failure(failure)
    # One row per rank: failed, size and hash of the message. The sum over ranks gathers the rows.
    table = torch.zeros(ranks.count, 3, dtype=torch.int64)
    table[ranks.rank] = torch.tensor([failure is not None, len(message.encode()), _fingerprint(message)])
    ranks.all_reduce(table, "comparison of the ranks")
    failed, sizes, hashes = table.t().tolist()
    if any(failed):
        rank = failed.index(1)
        reason = _shared(ranks, message, sizes[rank], rank)
        return failure or Error(f"{ranks.task}: rank {rank}: {reason}")
    for rank in range(1, ranks.count):
        if hashes[rank] != hashes[0]:
            first, other = _shared(ranks, text, sizes[0], 0), _shared(ranks, text, sizes[rank], rank)
            difference = text_of(lib.trasmuon_first_difference, first.encode(), other.encode())
            return Error(f"{ranks.task}: ranks 0 and {rank} must agree, got in {difference}")
    return None


def _text_of_failure(failure: Exception) -> str:
    return str(failure) if isinstance(failure, Error) else f"{type(failure).__name__}: {failure}"


def _fingerprint(text: str) -> int:
    value = ctypes.c_uint64()
    check(lib.trasmuon_fingerprint(text.encode(), ctypes.byref(value)))
    return ctypes.c_int64(value.value).value


def _shared(ranks: Ranks, text: str, size: int, source: int) -> str:
    """The text of one rank, on all. `size` is the number of its bytes."""
    if size == 0:
        return ""
    data = torch.zeros(size, dtype=torch.uint8)
    if ranks.rank == source:
        data = torch.tensor(list(text.encode()), dtype=torch.uint8)
    ranks.broadcast(data, source, f"broadcast of a description from rank {source}")
    return bytes(data.tolist()).decode()
