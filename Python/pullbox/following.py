"""How a follower keeps up with the agent through its restarts."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from .documents import AgentTransaction, DownloadState, DownloadStatus
from .errors import AgentError, Problem
from .events import AgentEvent

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Connected, for the first time or again: how all stands that is not over. Events may repeat part of it."""

    transactions: tuple[AgentTransaction, ...]
    downloads: tuple[DownloadStatus, ...]


@dataclass(frozen=True, slots=True)
class Lost:
    """The agent does not answer, and is asked again after ``retry_in`` seconds. Its downloads go on when it comes back."""

    error: AgentError | None
    retry_in: float

    @property
    def transactions(self) -> tuple[AgentTransaction, ...]:
        """None."""
        return ()

    @property
    def downloads(self) -> tuple[DownloadStatus, ...]:
        """None."""
        return ()


AgentUpdate = Snapshot | AgentEvent | Lost


@dataclass(frozen=True, slots=True)
class Backoff:
    """Delays that double from ``initial`` to ``cap`` seconds, less up to half of each at random."""

    initial: float = 0.2
    cap: float = 5.0

    def delay(self, failures: int) -> float:
        """The delay after so many failures in a row, 1 or more."""
        return min(self.cap, self.initial * 2.0 ** min(failures - 1, 60)) * random.uniform(0.5, 1)


class FollowedEntries:
    """The transactions and downloads that a follower was told of, and that may end while the agent does not answer."""

    def __init__(self, asked: Iterable[str]) -> None:
        self.asked = tuple(asked)
        self.transactions = set(self.asked)
        self.downloads: set[str] = set()
        self._listed: dict[str, int] = {}

    def list(self, snapshot: Snapshot) -> None:
        """Begins anew with what the agent's lists have."""
        self.transactions, self.downloads, self._listed = set(self.asked), set(), {}
        for transaction in snapshot.transactions:
            self.note(AgentEvent("transaction", transaction))
        for download in snapshot.downloads:
            self.note(AgentEvent("download", download))
            self._listed[download.id] = download.bytes_received

    def is_news(self, event: AgentEvent) -> bool:
        """False for progress from before the list that was told already: it would take the download back."""
        download = event.value
        if not isinstance(download, DownloadStatus) or download.id not in self._listed:
            return True
        may_be_older = download.state in (DownloadState.ACTIVE, DownloadState.WAITING)
        if may_be_older and download.bytes_received < self._listed[download.id]:
            return False
        del self._listed[download.id]
        return True

    def note(self, event: AgentEvent) -> None:
        """Takes in what an event tells."""
        value = event.value
        if isinstance(value, AgentTransaction):
            if not value.is_over:
                self.transactions.add(value.id)
            elif value.id not in self.asked:
                self.transactions.discard(value.id)
        elif isinstance(value, DownloadStatus):
            if value.state.is_final:
                self.downloads.discard(value.id)
            else:
                self.downloads.add(value.id)


async def known(ask: Callable[[str], Awaitable[Value]], identifier: str) -> Value | None:
    """None for what the agent has forgotten."""
    try:
        return await ask(identifier)
    except Problem as problem:
        if problem.status == 404:
            return None
        raise
