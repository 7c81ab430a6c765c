# SPDX-License-Identifier: Apache-2.0
"""What the ranks of a group tell each other through their store when an exchange has failed."""
import threading
import time
from typing import Any, Callable, List, Sequence, Tuple

_FAILED_TOO = "failed too"
_PAUSE = 0.05  # seconds between two questions
_GRACE = 1.0  # seconds more for the answers that are on their way


class FailureReports:
    """The reports of the ranks of a group, for one optimizer. They name the ranks that have failed too, those that have
    left, with their reason, and those that do not answer within `patience` seconds."""

    def __init__(self, store: Any, rank: int, count: int, patience: float) -> None:
        self._store, self._rank, self._count, self._patience = store, rank, count, patience
        self._name, self._task, self._attempt = "", "start", 0
        self._in_other_groups: List["FailureReports"] = []

    def name(self, name: str) -> None:
        """Tells this optimizer from others over the same ranks; the same on all of them. The first name stays."""
        self._name = self._name or name

    def begin(self, task: str) -> None:
        """Begins a task, perhaps once more: older reports are ignored."""
        self._task, self._attempt = task, self._attempt + 1

    def tell_too(self, others: Sequence["FailureReports"]) -> None:
        """Those of the same rank in other groups, where ranks may wait for it in vain."""
        self._in_other_groups = [reports for reports in others if reports is not self]

    def write(self, reason: str) -> None:
        """Tells the others, when an exchange of theirs fails, why this rank is not coming."""
        try:
            _within(self._patience, lambda: self._write(reason))
        except (RuntimeError, _NoAnswer):  # the store is gone; the others see that themselves
            pass

    def of_others(self) -> str:
        """Reports that an exchange has failed here, waits for the reports of the others, and says what is in them."""
        if self._store is None:
            return ""
        try:
            return _within(self._patience + _GRACE, self._ask)
        except _NoAnswer:
            reason = f"no answer within {self._patience:g} s"
        except RuntimeError as failure:
            reason = str(failure).splitlines()[0]
        return f"; the store does not answer, so the rank that serves it may be gone ({reason})"

    def _ask(self) -> str:
        end = time.monotonic() + self._patience
        for reports in (self, *self._in_other_groups):
            reports._write(_FAILED_TOO)
        missing, said = [], ""
        for rank in range(self._count):
            if rank == self._rank:
                continue
            while not (there := self._is_there(rank)) and time.monotonic() < end:
                time.sleep(_PAUSE)
            if not there:
                missing.append(str(rank))
                continue
            report = self._store.get(self._key(rank)).decode()
            said += "" if report == _FAILED_TOO else f"; rank {rank} has left: {report}"
        if missing:
            return f"{said}; no answer within {self._patience:g} s from rank {', '.join(missing)}"
        return said or "; all ranks are alive"

    def _key(self, rank: int) -> str:
        return f"libtrasmuon {self._name}: {self._task}, attempt {self._attempt}, failed on rank {rank}"

    # A counter says whether a report is there: waiting for a key that does not come breaks the connection of old stores.

    def _write(self, report: str) -> None:
        if self._store is not None:
            self._store.set(self._key(self._rank), report)
            self._store.add(self._key(self._rank) + "?", 1)

    def _is_there(self, rank: int) -> bool:
        return self._store.add(self._key(rank) + "?", 0) > 0


class _NoAnswer(Exception):
    pass


def _within(seconds: float, work: Callable[[], Any]) -> Any:
    """Does work, or raises _NoAnswer and leaves it to a thread. A store never answers if the rank that serves it is
    stopped, and most of its calls know no timeout."""
    results: List[Tuple[Any, Any]] = []

    def run() -> None:
        try:
            results.append((work(), None))
        except BaseException as failure:
            results.append((None, failure))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if not results:
        raise _NoAnswer
    result, failure = results[0]
    if failure is not None:
        raise failure
    return result
