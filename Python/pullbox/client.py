"""The agent of this device, over its Unix socket."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import stat
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Collection, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

from . import coding
from .connection import Exchange
from .documents import (
    AgentCodePreview, AgentProductsResponse, AgentPublicationResponse, AgentPublicationsResponse, AgentStatus, AgentTransaction,
    Conditions, ContentFile, ContentFiles, ContentSection, ContentSections, DownloadStatus, DownloadUrgency, EntitledProduct,
    LibraryItem, LibraryVerification, NewReaderKey, NewsEntry, Ownership, ProductOwnership, ReaderKey, ReadingStatus,
    StoreSubscription,
)
from .errors import AgentError, Problem, UnexpectedResponse, Unreachable
from .events import AgentEvents
from .following import AgentUpdate, Backoff, FollowedEntries, Lost, Snapshot, known
from .leases import LEASE_MEDIA_TYPE, LibraryLease

Value = TypeVar("Value")

SYSTEM_SOCKET_PATH = "/run/pullbox/agent.sock"
_PRODUCTS_AT_ONCE = 20
_READ_LENGTH = 1 << 20
"""Bytes of a file that are asked for at once."""
_READ_WAIT = 25
"""Seconds that the agent waits for bytes before it says that they are not here yet."""


@dataclass(frozen=True, slots=True)
class _Transactions:
    transactions: tuple[AgentTransaction, ...]
    next: str | None = None


@dataclass(frozen=True, slots=True)
class _Downloads:
    downloads: tuple[DownloadStatus, ...]
    next: str | None = None


@dataclass(frozen=True, slots=True)
class _Repair:
    downloads: tuple[DownloadStatus, ...]


@dataclass(frozen=True, slots=True)
class _Items:
    items: tuple[LibraryItem, ...]


@dataclass(frozen=True, slots=True)
class _Verifications:
    items: tuple[LibraryVerification, ...]


@dataclass(frozen=True, slots=True)
class _Subscriptions:
    subscriptions: tuple[StoreSubscription, ...]


@dataclass(frozen=True, slots=True)
class _Entitlements:
    products: tuple[EntitledProduct, ...]


@dataclass(frozen=True, slots=True)
class _Restored:
    products: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _News:
    entries: tuple[NewsEntry, ...]


@dataclass(frozen=True, slots=True)
class _Readers:
    readers: tuple[ReaderKey, ...]


@dataclass(frozen=True, slots=True)
class _Cleared:
    removed: int


def default_socket_path() -> str:
    """Where an agent listens whose socket nothing names: the user's own where there is one, else that of the device. A socket that an agent
    has left behind counts only where no other is there."""
    directory = os.environ.get("XDG_RUNTIME_DIR", "")
    if os.geteuid() == 0 or not directory.startswith("/"):
        return SYSTEM_SOCKET_PATH
    candidates = [f"{directory}/pullbox/agent.sock", SYSTEM_SOCKET_PATH]
    found = [path for path in candidates if _is_socket(path)]
    if len(found) < 2:
        # Without a choice no connection is tried, which would start an agent that systemd listens for.
        return (found or candidates)[0]
    return next((path for path in found if not _is_abandoned(path)), found[0])


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.stat(path).st_mode)
    except OSError:
        return False


def _is_abandoned(path: str) -> bool:
    """Whether no process listens any more at the socket. One whose queue is full has an owner, and is not waited for."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.setblocking(False)
            probe.connect(path)
    except ConnectionRefusedError:
        return True
    except OSError:
        pass
    return False


class AgentClient:
    """Every call of the agent's interface, and its events.

    Calls raise ``Problem`` when the agent refuses, ``Unreachable`` when none listens there, and ``UnexpectedResponse``. A process that may
    open the socket may watch; the agent's configuration says whose changes it takes (``not-permitted``). A client has no connection of its
    own and may be used by many tasks.
    """

    def __init__(self, socket_path: str | None = None, *, timeout: float = 60.0) -> None:
        self.socket_path = socket_path or default_socket_path()
        self.timeout = timeout
        """Seconds that a call may take, but for those that read all of a product."""
        self._sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    # ---- the agent itself

    async def status(self, *, asks: bool = False) -> AgentStatus:
        """How the agent stands. With ``asks`` it asks both services first, for five seconds at most."""
        return await self._get(AgentStatus, "/v1/status", [("ask", "true")] if asks else [])

    async def conditions(self) -> Conditions:
        """The conditions of the machine that downloads wait for, and who tells them."""
        return await self._get(Conditions, "/v1/conditions")

    async def transactions(self, part: str = "all", *, session: str | None = None) -> list[AgentTransaction]:
        """The transactions by identifier; ``part`` is ``all``, ``live`` or ``over``, ``session`` the app that began them."""
        found: list[AgentTransaction] = []
        after: str | None = None
        while True:
            page = await self._get(_Transactions, "/v1/transactions", _page(part, after, 1000, session))
            found += page.transactions
            after = page.next if page.transactions else None
            if after is None:
                return found

    async def transaction(self, identifier: str) -> AgentTransaction:
        """How it stands; raises ``transaction-unknown``."""
        return await self._get(AgentTransaction, f"/v1/transactions/{_segment(identifier)}")

    # ---- what is for sale

    async def products(self, names: Sequence[str] = (), *, locale: str | None = None) -> AgentProductsResponse:
        """The products of these names as they are sold to the account; without names, the account alone."""
        parts = [names[start:start + _PRODUCTS_AT_ONCE] for start in range(0, len(names), _PRODUCTS_AT_ONCE)] or [[]]
        answers = [
            await self._get(AgentProductsResponse, "/v1/products", [*(("id", name) for name in part), *_optional(locale=locale)])
            for part in parts]
        nearest: dict[str, str] = {}
        for answer in reversed(answers):
            nearest.update(answer.nearest or {})
        return AgentProductsResponse(
            answers[0].account, tuple(product for answer in answers for product in answer.products),
            tuple(name for answer in answers for name in answer.invalid_product_identifiers), nearest or None)

    async def publications(self, *, locale: str | None = None, after: str | None = None) -> AgentPublicationsResponse:
        """A page of the publications of which something is for sale; ``after`` is the ``next`` of the page before."""
        return await self._get(AgentPublicationsResponse, "/v1/publications", _optional(locale=locale, after=after))

    async def publication(
        self, identifier: str, *, locale: str | None = None, after: str | None = None
    ) -> AgentPublicationResponse:
        """A page of a publication's issues, the newest first, with its subscriptions; raises ``publication-unknown``."""
        return await self._get(
            AgentPublicationResponse, f"/v1/publications/{_segment(identifier)}", _optional(locale=locale, after=after))

    async def singles(self, *, locale: str | None = None, after: str | None = None) -> AgentPublicationResponse:
        """A page of what is for sale and belongs to no publication."""
        return await self._get(AgentPublicationResponse, "/v1/singles", _optional(locale=locale, after=after))

    # ---- purchases

    async def buy(
        self, product: str, *, quantity: int | None = None, key: str | None = None, shown: str | None = None,
        application_username: str | None = None, opt_in: bool | None = None, session: str | None = None,
        ignore: Iterable[str] | None = None,
    ) -> AgentTransaction:
        """Buys at the store, and returns once the store has accepted the purchase; what follows is the agent's work.

        ``shown`` is the price that the buyer saw (``AgentProduct.shown_price``); if it is another by now, nothing is bought
        (``price-changed``). An answer that is lost is asked for again, for half a minute. Store and agent know the repetition by ``key``, so
        that it buys once; an application that repeats a purchase later gives the same key again. ``ignore`` are conditions of the machine
        that its downloads pass, such as ``metered``.
        """
        body = coding.write({
            "product": product, "quantity": quantity, "shown": shown, "application_username": application_username, "opt_in": opt_in,
            "session": session, "ignore": None if ignore is None else list(ignore)})
        return await self._ask_once("/v1/purchases", key, body)

    async def preview(self, code: str, *, locale: str | None = None) -> AgentCodePreview:
        """What a gift or promotional code gives the account; nothing is redeemed. Raises as ``redeem`` does."""
        return await self._get(AgentCodePreview, f"/v1/codes/{_segment(code)}", _optional(locale=locale))

    async def redeem(
        self, code: str, *, key: str | None = None, session: str | None = None, ignore: Iterable[str] | None = None
    ) -> AgentTransaction:
        """Redeems a code; what follows, and what is said with it, is as with ``buy``. Raises ``not-found``, and ``state-conflict`` for one that
        gives nothing now."""
        body = coding.write({"session": session, "ignore": None if ignore is None else list(ignore)})
        return await self._ask_once(f"/v1/codes/{_segment(code)}", key, body)

    async def subscriptions(self) -> list[StoreSubscription]:
        """The account's subscriptions, also those that are over."""
        return list((await self._get(_Subscriptions, "/v1/subscriptions")).subscriptions)

    async def change(
        self, original_id: str, *, auto_renew: bool | None = None, product: str | None = None, accept_price: bool | None = None
    ) -> StoreSubscription:
        """Changes what comes after the present period, and returns how the subscription stands."""
        body = coding.write({"auto_renew": auto_renew, "product": product, "accept_price": accept_price})
        return await self._call(StoreSubscription, "PATCH", f"/v1/subscriptions/{_segment(original_id)}", body)

    async def request_refund(self, transaction: str, *, reason: str | None = None) -> None:
        """Asks the store for a refund, which it decides on later. ``reason`` is ``UNINTENDED_PURCHASE``, ``FULFILLMENT_ISSUE``,
        ``UNSATISFIED_WITH_PURCHASE``, ``LEGAL`` or ``OTHER``. Raises ``transaction-unpaid``, and ``not-implemented`` of a store that takes no
        such request from a program.
        """
        await self._exchange("POST", f"/v1/transactions/{_segment(transaction)}/refund-request", coding.write({"reason": reason}))

    async def restore(
        self, products: Collection[str] | None = None, *, order: str | None = None, limit: int | None = None,
        session: str | None = None, ignore: Iterable[str] | None = None,
    ) -> list[str]:
        """Fetches what is owned, wanted and not in the library, and returns those products. ``order`` is ``newest`` or ``smallest``.
        ``ignore`` are conditions of the machine that the downloads pass, also those of wanted products that are under way already.

        Raises ``purchase-required`` where one of ``products`` is not owned; nothing is fetched then.
        """
        body = coding.write({
            "products": None if products is None else list(products), "order": order, "limit": limit, "session": session,
            "ignore": None if ignore is None else list(ignore)})
        return list((await self._call(_Restored, "POST", "/v1/restore", body)).products)

    async def restore_plan(self) -> list[EntitledProduct]:
        """Everything that the account owns: what ``restore`` compares with the library."""
        return list((await self._get(_Entitlements, "/v1/restore")).products)

    async def news(self) -> list[NewsEntry]:
        """The arrivals that the agent does not fetch by itself, the newest first; ``restore`` fetches them."""
        return list((await self._get(_News, "/v1/news")).entries)

    # ---- downloads

    async def downloads(self, state: str = "all", *, limit: int | None = None, session: str | None = None) -> list[DownloadStatus]:
        """The downloads, the newest first; ``state`` is ``all``, ``live``, ``over`` or a state of theirs, ``session`` their app."""
        found: list[DownloadStatus] = []
        after: str | None = None
        while limit is None or len(found) < limit:
            wanted = 1000 if limit is None else min(1000, limit - len(found))
            page = await self._get(_Downloads, "/v1/downloads", _page(state, after, wanted, session))
            found += page.downloads
            after = page.next if page.downloads else None
            if after is None:
                break
        return found[:limit]

    async def download(self, identifier: str) -> DownloadStatus:
        """How it stands; raises ``download-unknown``."""
        return await self._get(DownloadStatus, f"/v1/downloads/{_segment(identifier)}")

    async def clear_downloads(self) -> int:
        """Has the agent forget what is over, but for unfinished transactions; returns how many downloads."""
        return (await self._call(_Cleared, "DELETE", "/v1/downloads")).removed

    async def pause(self, identifier: str) -> DownloadStatus:
        """Pauses the download; what was verified is kept. Raises ``state-conflict`` when its state does not allow that; so do the next two."""
        return await self._step(identifier, "pause")

    async def resume(self, identifier: str) -> DownloadStatus:
        """Continues a paused download, or starts a failed or cancelled one again."""
        return await self._step(identifier, "resume")

    async def cancel(self, identifier: str) -> DownloadStatus:
        """Cancels the download; what was fetched is dropped, and the transaction stays unfinished."""
        return await self._step(identifier, "cancel")

    async def set_priority(self, identifier: str, priority: int) -> DownloadStatus:
        """Sets the priority, -1000 to 1000: the higher goes first among downloads of one urgency."""
        return await self._call(DownloadStatus, "PATCH", f"/v1/downloads/{_segment(identifier)}", coding.write({"priority": priority}))

    async def set_urgency(self, identifier: str, urgency: DownloadUrgency) -> DownloadStatus:
        """Says how urgently it is wanted: ``NOW`` takes the place of a less urgent one, which goes on later and loses nothing."""
        return await self._call(DownloadStatus, "PATCH", f"/v1/downloads/{_segment(identifier)}", coding.write({"urgency": urgency}))

    async def set_session(self, identifier: str, session: str) -> DownloadStatus:
        """Makes it the download of the app of that name: 1 to 64 characters of ``A-Z a-z 0-9 . _ -``."""
        return await self._call(DownloadStatus, "PATCH", f"/v1/downloads/{_segment(identifier)}", coding.write({"session": session}))

    async def ignore(self, identifier: str, conditions: Iterable[str]) -> DownloadStatus:
        """Has it pass these conditions of the machine, such as ``metered``, and no others."""
        return await self._call(DownloadStatus, "PATCH", f"/v1/downloads/{_segment(identifier)}", coding.write({"ignore": list(conditions)}))

    async def _step(self, identifier: str, verb: str) -> DownloadStatus:
        return await self._call(DownloadStatus, "POST", f"/v1/downloads/{_segment(identifier)}/{verb}", b"")

    # ---- the library

    async def library(self) -> list[LibraryItem]:
        """What is placed on this device, by product and version; ``current`` chooses the version that is read."""
        return list((await self._get(_Items, "/v1/library")).items)

    async def verify(self, product: str) -> list[LibraryVerification]:
        """Reads every placed file of the product. Raises ``library-item-unknown`` and ``library-offline``, as the next eight do."""
        answer = await self._call(_Verifications, "POST", f"/v1/library/{_segment(product)}/verify", b"", timeout=3600)
        return list(answer.items)

    async def repair(self, product: str) -> list[DownloadStatus]:
        """Fetches what is missing or damaged, and returns the downloads that do; none when nothing is to be fetched."""
        answer = await self._call(_Repair, "POST", f"/v1/library/{_segment(product)}/repair", b"", timeout=3600)
        return list(answer.downloads)

    async def set_pinned(self, product: str, is_pinned: bool) -> list[LibraryItem]:
        """Keeps the product, so that it is never removed to make room, or ends that."""
        verb = "pin" if is_pinned else "unpin"
        return list((await self._call(_Items, "POST", f"/v1/library/{_segment(product)}/{verb}", b"")).items)

    async def note_opened(self, product: str) -> list[LibraryItem]:
        """Tells that a reader opens the product now: what was opened last is removed last to make room."""
        return list((await self._call(_Items, "POST", f"/v1/library/{_segment(product)}/opened", b"")).items)

    async def sections(self, product: str) -> ContentSections:
        """The parts of the content that are fetched and given up by themselves, of the version that is read."""
        return await self._get(ContentSections, f"/v1/library/{_segment(product)}/sections")

    async def fetch(self, product: str, section: str) -> ContentSection:
        """Asks for a section, which stays wanted. Raises ``section-unknown`` and ``purchase-required``; without a download it is here."""
        path = f"/v1/library/{_segment(product)}/sections/{_segment(section)}"
        return await self._call(ContentSection, "PUT", path, b"")

    async def drop(self, product: str, section: str) -> None:
        """Removes the files of a section. Raises ``section-unknown`` and ``section-required``."""
        await self._exchange("DELETE", f"/v1/library/{_segment(product)}/sections/{_segment(section)}")

    async def reading(self, product: str) -> ReadingStatus:
        """How far the product was read on this device, by any program; raises ``library-item-unknown``."""
        return await self._get(ReadingStatus, f"/v1/library/{_segment(product)}/progress")

    async def report_reading(
            self, product: str, *, page: int | None = None, progression: float | None = None,
            locator: dict[str, object] | None = None) -> ReadingStatus:
        """Tells how far the product is read now: the page from 0, the part of the whole from 0 to 1, and a locator of Readium's as JSON.
        Returns what counts from then on."""
        body = coding.write({"page": page, "progression": progression, "locator": locator})
        return await self._call(ReadingStatus, "PUT", f"/v1/library/{_segment(product)}/progress", body)

    async def ownership(self, product: str) -> ProductOwnership:
        """Because of what a product is owned, until when, and when that was heard. The agent asks no service: without a network it answers by
        the license of the device."""
        return await self._call(ProductOwnership, "GET", f"/v1/library/{_segment(product)}/ownership")

    async def all_ownership(self) -> Ownership:
        """The same of all products that the delivery server has told of, with the license of the device."""
        return await self._call(Ownership, "GET", "/v1/ownership")

    async def go_back(self, product: str, version: str | None = None) -> list[LibraryItem]:
        """Goes back to the version before, or to the named one: from now on it is read, until a newer one comes. Raises ``version-unknown``,
        and ``state-conflict`` where there is none to go back to."""
        body = coding.write({"version": version})
        return list((await self._call(_Items, "POST", f"/v1/library/{_segment(product)}/rollback", body)).items)

    async def lease(self, product: str, version: str | None = None) -> LibraryLease:
        """Keeps the version that is read, or the named one, until the lease is closed, whatever comes after it. Raises ``too-many-requests``
        for a lease too many.

            async with await agent.lease("com.example.heroes.issue42") as lease:
                read(lease.item.path)
        """
        fields = [("Accept", LEASE_MEDIA_TYPE), ("Content-Type", "application/json")]
        body = coding.write({"version": version})
        async with _Limit(self.timeout):
            exchange = await Exchange.begin(
                self.socket_path, "POST", f"/v1/library/{_segment(product)}/leases", fields, body)
            if exchange.status == 200 and exchange.media_type == LEASE_MEDIA_TYPE:
                return await LibraryLease._read(exchange)
            async with exchange:
                raise self._refusal(exchange, await exchange.body())

    async def remove(self, product: str) -> None:
        """Removes every version from this device; it can be restored."""
        await self._exchange("DELETE", f"/v1/library/{_segment(product)}")

    # ---- reading, also while content comes

    async def files(self, *, download: str | None = None, product: str | None = None, version: str | None = None) -> ContentFiles:
        """The files of what a download brings, or of a product, and how much of each is here. A manifest that has not come is waited for.

        Raises ``download-unknown``, ``library-item-unknown`` or ``version-unknown``, and the reason of a download that has ended or waits for
        room; so do the next two."""
        address, query = _content(download, product, version)
        while True:
            target = f"{address}?{urlencode([*query, ('wait', str(_READ_WAIT))])}"
            status, content = await self._exchange("GET", target)
            if status != 202:
                return coding.read(ContentFiles, content, status)

    async def read(
        self, file: ContentFile, start: int = 0, end: int | None = None, *, download: str | None = None, product: str | None = None,
        version: str | None = None,
    ) -> bytes:
        """Bytes of a file, all of them unless ``start`` and ``end`` say less. Those that are not here yet are waited for, and their pieces come
        before all others: the download is wanted now for as long as it is read."""
        content = bytearray()
        async for part in self.read_parts(file, start, end, download=download, product=product, version=version):
            content += part
        return bytes(content)

    async def read_parts(
        self, file: ContentFile, start: int = 0, end: int | None = None, *, download: str | None = None, product: str | None = None,
        version: str | None = None,
    ) -> AsyncIterator[bytes]:
        """The same in parts of 1 MiB at most, each as soon as it has come."""
        address, query = _content(download, product, version)
        target = f"{address}/{quote(file.path, safe='/')}?{urlencode([*query, ('wait', str(_READ_WAIT))])}"
        end = file.length if end is None else min(end, file.length)
        while start < end:
            last = min(end, start + _READ_LENGTH) - 1
            fields = [("Range", f"bytes={start}-{last}"), ("If-Match", f'"{file.digest}"')]
            status, part = await self._exchange("GET", target, fields=fields)
            if status == 202:
                continue
            if status != 206 or not 0 < len(part) <= last + 1 - start:
                raise UnexpectedResponse("another range than was asked for", status=status)
            start += len(part)
            yield part

    # ---- keys of applications for reading

    async def add_reader(self, title: str, *, locale: str | None = None) -> NewReaderKey:
        """Lets an application in. Raises ``device-limit`` and ``purchase-required``."""
        return await self._call(NewReaderKey, "POST", "/v1/readers", coding.write({"title": title, "locale": locale}))

    async def readers(self) -> list[ReaderKey]:
        """The keys, the oldest first, without their passwords."""
        return list((await self._call(_Readers, "POST", "/v1/readers/list", b"")).readers)

    async def remove_reader(self, name: str) -> None:
        """Ends a key; raises ``not-found``."""
        await self._exchange("DELETE", f"/v1/readers/{_segment(name)}")

    async def local_reader(self) -> NewReaderKey:
        """The key of the catalog of this device; raises ``state-conflict`` where the agent serves none."""
        return await self._call(NewReaderKey, "POST", "/v1/readers/local", b"")

    # ---- events

    async def events(self, behind: str | None = None) -> AgentEvents:
        """Opens the event stream. It begins with every unfinished transaction and every download that is not over, so that nothing is missed
        between this call's return and the first event. ``behind`` is the ``last_identifier`` of an earlier stream: this one goes on there, or
        begins with a ``reset`` where the agent has not all of it any more."""
        fields = [("Accept", "text/event-stream")] + ([("Last-Event-ID", behind)] if behind is not None else [])
        async with _Limit(self.timeout):
            exchange = await Exchange.begin(self.socket_path, "GET", "/v1/events", fields)
            if exchange.status == 200 and exchange.media_type == "text/event-stream":
                return AgentEvents(exchange)
            async with exchange:
                raise self._refusal(exchange, await exchange.body())

    async def follow(
        self, transactions: Iterable[str] = (), *, backoff: Backoff = Backoff(), maximum_failures: int = 30
    ) -> AsyncGenerator[AgentUpdate, None]:
        """How everything stands that is not over, and then every change, through restarts of the agent.

        After a restart, what has ended meanwhile is told as well; so are, from the beginning, ``transactions`` and their downloads. A first
        connection that fails raises its error at once; later ones are repeated, up to ``maximum_failures`` in a row.
        """
        followed = FollowedEntries(transactions)
        failures, was_connected = 0, False
        while True:
            reason: AgentError | None = None
            try:
                async with await self.events() as events:
                    # After the stream is open: what ended before is in the lists, what ends later is an event.
                    snapshot = await self._snapshot(followed)
                    was_connected, failures = True, 0
                    yield snapshot
                    async for event in events:
                        if followed.is_news(event):
                            followed.note(event)
                            yield event
            except AgentError as error:
                if not was_connected or not error.is_temporary:
                    raise
                reason = error
            failures += 1
            if failures > maximum_failures:
                raise reason or Unreachable("the agent stopped and did not come back")
            delay = backoff.delay(failures)
            yield Lost(reason, delay)
            await self._sleep(delay)

    async def delivered(self, transaction: str) -> AgentTransaction:
        """Waits until the transaction is finished or has failed, through restarts of the agent, and returns how it ended. Raises
        ``transaction-unknown``, also for one that the agent forgets meanwhile."""
        async with aclosing(self.follow([transaction])) as updates:
            async for update in updates:
                if isinstance(update, Snapshot) and all(found.id != transaction for found in update.transactions):
                    # The agent has just said that it knows none; its words are the error.
                    return await self.transaction(transaction)
                for found in update.transactions:
                    if found.id == transaction and found.is_over:
                        return found
        raise Unreachable("the agent stopped and did not come back")

    async def _snapshot(self, followed: FollowedEntries) -> Snapshot:
        """The live transactions and downloads, and those that were live before."""
        transactions = await self.transactions("live")
        downloads = await self.downloads("live")
        names = set(followed.downloads)
        for identifier in sorted(followed.transactions - {transaction.id for transaction in transactions}):
            if (ended := await known(self.transaction, identifier)) is not None:
                names.update(ended.downloads)
                transactions.append(ended)
        for identifier in sorted(names - {download.id for download in downloads}):
            if (over := await known(self.download, identifier)) is not None:
                downloads.append(over)
        snapshot = Snapshot(tuple(transactions), tuple(downloads))
        followed.list(snapshot)
        return snapshot

    # ---- calls

    async def _get(self, kind: type[Value], path: str, query: Sequence[tuple[str, str]] = ()) -> Value:
        return await self._call(kind, "GET", f"{path}?{urlencode(query)}" if query else path)

    async def _call(
        self, kind: type[Value], method: str, target: str, body: bytes | None = None,
        fields: Sequence[tuple[str, str]] = (), timeout: float | None = None,
    ) -> Value:
        status, content = await self._exchange(method, target, body, fields, timeout)
        return coding.read(kind, content, status)

    async def _exchange(
        self, method: str, target: str, body: bytes | None = None, fields: Sequence[tuple[str, str]] = (),
        timeout: float | None = None,
    ) -> tuple[int, bytes]:
        if body:
            fields = [*fields, ("Content-Type", "application/json")]
        async with _Limit(timeout or self.timeout):
            async with await Exchange.begin(self.socket_path, method, target, fields, body) as exchange:
                content = await exchange.body()
                if 200 <= exchange.status < 300:
                    return exchange.status, content
                raise self._refusal(exchange, content)

    @staticmethod
    def _refusal(exchange: Exchange, content: bytes) -> AgentError:
        if exchange.media_type != "application/problem+json":
            return UnexpectedResponse(f"a body of the type '{exchange.media_type[:100]}'", status=exchange.status)
        try:
            return coding.read(Problem, content, exchange.status)
        except UnexpectedResponse as error:
            return error

    async def _ask_once(self, target: str, key: str | None, body: bytes) -> AgentTransaction:
        """Asks again, for half a minute, while the answer is lost on its way."""
        key = secrets.token_hex(16) if key is None else key
        if not 1 <= len(key) <= 255 or not all("!" <= character <= "~" for character in key):
            raise ValueError("a key has 1 to 255 visible characters")
        backoff = Backoff()
        losses = 0
        while True:
            try:
                return await self._call(AgentTransaction, "POST", target, body, [("Idempotency-Key", key)])
            except Unreachable as error:
                # Only a connection that was there can have lost an answer; after that, one that is not there yet is waited for.
                if not (error.connection_lost or losses) or losses == 10:
                    raise
                losses += 1
                await self._sleep(backoff.delay(losses))


class _Limit:
    """A bound of time whose end is ``Unreachable``."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._timeout = asyncio.timeout(seconds)

    async def __aenter__(self) -> None:
        await self._timeout.__aenter__()

    async def __aexit__(self, *arguments: Any) -> None:
        try:
            await self._timeout.__aexit__(*arguments)
        except TimeoutError:
            raise Unreachable(f"the agent did not answer within {self._seconds:g} seconds") from None


def _segment(name: str) -> str:
    if not name or name in (".", ".."):
        raise ValueError(f"'{name}' is no name")
    return quote(name, safe="")


def _content(download: str | None, product: str | None, version: str | None) -> tuple[str, list[tuple[str, str]]]:
    if (download is None) == (product is None) or (download is not None and version is not None):
        raise ValueError("a download is read, or a product, of which a version may be named")
    if download is not None:
        return f"/v1/downloads/{_segment(download)}/files", []
    return f"/v1/library/{_segment(product or '')}/files", _optional(version=version)


def _page(state: str, after: str | None, limit: int, session: str | None = None) -> list[tuple[str, str]]:
    return [("limit", str(max(1, limit))), *_optional(state=None if state == "all" else str(state), after=after, session=session)]


def _optional(**values: str | None) -> list[tuple[str, str]]:
    return [(name, value) for name, value in values.items() if value is not None]
