# SPDX-License-Identifier: Apache-2.0
"""All ranks of an optimizer, in one group or on a mesh."""
from typing import Sequence

import torch

from .ranks import Ranks


class AllRanks:
    """The ranks of groups[0], which exchange rows; further groups each have one rank of every replica of these rows
    (HSDP). `number` counts all ranks, those of a replica after each other, as a mesh of replicas and rows does."""

    def __init__(self, groups: Sequence[Ranks]) -> None:
        self.groups = list(groups)
        self.number, self.count = 0, 1
        for ranks in self.groups:
            self.number += ranks.rank * self.count
            self.count *= ranks.count
        for ranks in self.groups:
            ranks.reports.tell_too([other.reports for other in self.groups])

    @property
    def ranks(self) -> Ranks:
        return self.groups[0]

    @property
    def replicas(self) -> Sequence[Ranks]:
        return self.groups[1:]

    @property
    def task(self) -> str:
        return self.ranks.task

    def begin(self, task: str) -> None:
        """Names what the following exchanges are for ("step 7")."""
        for ranks in self.groups:
            ranks.begin(task)

    def name(self, name: str) -> None:
        """Names the optimizer, where ranks report failures to each other."""
        for ranks in self.groups:
            ranks.reports.name(name)

    def report(self, reason: str) -> None:
        """Lets ranks that wait for this one in vain know why."""
        for ranks in self.groups if self.count > 1 else []:
            ranks.reports.write(reason)

    def all_reduce(self, tensor: torch.Tensor, name: str, largest: bool = False) -> None:
        """Sums over all ranks, or takes the largest value."""
        for ranks in self.groups:
            ranks.all_reduce(tensor, name, largest)

    def share(self, text: str, source: int) -> str:
        """The text of the rank with number `source`, on all."""
        for ranks in self.groups:  # first within every replica; then what the source's replica has got
            source, rank = divmod(source, ranks.count)
            text = _broadcast_text(ranks, text, rank)
        return text


def _broadcast_text(ranks: Ranks, text: str, source: int) -> str:
    name = f"broadcast of a description from rank {source}"
    data = torch.tensor(list(text.encode()), dtype=torch.uint8)
    size = torch.tensor([data.numel()])
    ranks.broadcast(size, source, name)
    if ranks.rank != source:
        data = torch.zeros(int(size.item()), dtype=torch.uint8)
    if data.numel() > 0:
        ranks.broadcast(data, source, name)
    return bytes(data.tolist()).decode()
