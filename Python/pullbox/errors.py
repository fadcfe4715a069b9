"""The errors of calls to the agent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


class AgentError(Exception):
    """An error of a call to the agent: ``Problem``, ``Unreachable`` or ``UnexpectedResponse``."""

    @property
    def is_temporary(self) -> bool:
        """Whether the same call may succeed later by itself."""
        return False


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault among several."""

    code: str
    detail: str
    path: str | None = None


@dataclass(unsafe_hash=True)
class Problem(AgentError):
    """A refusal (RFC 9457), by the agent or by a service that it asked. docs/problems.md of Pullbox lists the codes."""

    prefix: ClassVar[str] = "urn:pullbox:problem:"

    type: str
    title: str
    status: int
    detail: str | None = None
    instance: str | None = None
    missing_step: str | None = None
    retry_after_seconds: int | None = None
    after: int | None = None
    faults: tuple[Fault, ...] | None = None

    @property
    def code(self) -> str | None:
        """The word for programs, such as ``product-unknown``; None for a type that is none of Pullbox."""
        return self.type.removeprefix(self.prefix) if self.type.startswith(self.prefix) else None

    @property
    def is_temporary(self) -> bool:
        return self.status in (408, 429, 500, 502, 503, 504)

    def __str__(self) -> str:
        return f"{self.title}: {self.detail}" if self.detail else self.title


class Unreachable(AgentError):
    """No answer: no agent listens there, or the connection broke."""

    def __init__(self, message: str, *, connection_lost: bool = False) -> None:
        super().__init__(message)
        self.connection_lost = connection_lost
        """Whether a connection broke that was there: the request may have arrived, and its answer is lost."""

    @property
    def is_temporary(self) -> bool:
        return True


class UnexpectedResponse(AgentError):
    """An answer that is not one of the agent's interface, or longer than this client takes."""

    def __init__(self, detail: str, *, status: int | None = None) -> None:
        super().__init__(detail if status is None else f"an answer with the status {status}: {detail}")
        self.status = status
        self.detail = detail
