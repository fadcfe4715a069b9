"""The client against an agent that answers as the test wants, also as no agent does."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import tempfile
import unittest
import unittest.mock

import pullbox
from fake_agent import STREAM_HEAD, Answer, FakeAgentTestCase, answer, chunk, event, problem, stream
from pullbox import client, connection, events

TRANSACTION = {"id": "1", "product": "a", "state": "purchased", "step": "delivering", "downloads": ["d1"]}
FINISHED = {**TRANSACTION, "step": "finished"}
DOWNLOAD = {
    "id": "d1", "product": "a", "transaction": "1", "state": "active", "reason": "transferring", "bytesVerified": 10,
    "bytesReceived": 20, "progress": 0.5, "speed": 0, "timeRemaining": None}
PLACED = {**DOWNLOAD, "state": "finished", "reason": "placed", "progress": 1, "contentPath": "/library/a/1", "bytesReceived": 40}
ITEM = {
    "product": "a", "version": "1", "path": "/library/a/1", "digest": "0" * 64, "length": 1, "placedAt": "2026-11-21T08:30:00.000Z"}


class CallTests(FakeAgentTestCase):
    async def test_each_call_asks_its_route(self) -> None:
        items, downloads = {"items": [ITEM]}, {"downloads": [DOWNLOAD]}
        agent = self.agent
        for expected, document, call in (
                ("GET /v1/transactions/1", TRANSACTION, lambda: agent.transaction("1")),
                ("GET /v1/downloads/d1", DOWNLOAD, lambda: agent.download("d1")),
                ("POST /v1/downloads/d1/pause", DOWNLOAD, lambda: agent.pause("d1")),
                ("POST /v1/downloads/d1/resume", DOWNLOAD, lambda: agent.resume("d1")),
                ("POST /v1/downloads/d1/cancel", DOWNLOAD, lambda: agent.cancel("d1")),
                ("PATCH /v1/downloads/d1", DOWNLOAD, lambda: agent.set_priority("d1", -5)),
                ("PATCH /v1/downloads/d1", DOWNLOAD, lambda: agent.set_urgency("d1", pullbox.DownloadUrgency.NOW)),
                ("PATCH /v1/downloads/d1", DOWNLOAD, lambda: agent.ignore("d1", ["metered"])),
                ("GET /v1/conditions", {"conditions": [], "sources": []}, lambda: agent.conditions()),
                ("DELETE /v1/downloads", {"removed": 2}, lambda: agent.clear_downloads()),
                ("GET /v1/library", items, lambda: agent.library()),
                ("POST /v1/library/a/pin", items, lambda: agent.set_pinned("a", True)),
                ("POST /v1/library/a/unpin", items, lambda: agent.set_pinned("a", False)),
                ("POST /v1/library/a/opened", items, lambda: agent.note_opened("a")),
                ("GET /v1/library/a/progress", {"version": "1.0"}, lambda: agent.reading("a")),
                ("PUT /v1/library/a/progress", {"version": "1.0", "pages": 3}, lambda: agent.report_reading("a", page=1)),
                ("POST /v1/library/a/rollback", items, lambda: agent.go_back("a")),
                ("POST /v1/library/a/verify", {"items": []}, lambda: agent.verify("a")),
                ("POST /v1/library/a/repair", downloads, lambda: agent.repair("a")),
                ("DELETE /v1/library/a%2Fb%20c", None, lambda: agent.remove("a/b c")),
                ("GET /v1/restore", {"products": []}, lambda: agent.restore_plan()),
                ("POST /v1/restore", {"products": ["a"]}, lambda: agent.restore(["a"], order="newest", limit=1)),
                ("GET /v1/news", {"entries": []}, lambda: agent.news()),
                ("GET /v1/subscriptions", {"subscriptions": []}, lambda: agent.subscriptions()),
                ("POST /v1/codes/ABC-1", TRANSACTION, lambda: agent.redeem("ABC-1")),
                ("POST /v1/readers/list", {"readers": []}, lambda: agent.readers()),
                ("DELETE /v1/readers/kabiz", None, lambda: agent.remove_reader("kabiz"))):
            self.answers.append(answer(200 if document else 204, document))
            await call()
            self.assertEqual(self.targets()[-1], expected)

    async def test_bodies_have_what_was_given(self) -> None:
        self.answers += [answer(201, TRANSACTION), answer(202, {"products": []}), answer(200, DOWNLOAD)]
        await self.agent.buy("a", quantity=2, shown="0.99 EUR", key="k1")
        self.assertEqual(self.last_body(), {"product": "a", "quantity": 2, "shown": "0.99 EUR"})
        self.assertIn(b"\r\nIdempotency-Key: k1\r\n", self.requests[-1])
        await self.agent.restore()
        self.assertEqual(self.last_body(), {})
        await self.agent.set_urgency("d1", pullbox.DownloadUrgency.BACKGROUND)
        self.assertEqual(self.last_body(), {"urgency": "background"})
        self.answers += [answer(200, DOWNLOAD), answer(201, TRANSACTION)]
        await self.agent.ignore("d1", ["metered"])
        self.assertEqual(self.last_body(), {"ignore": ["metered"]})
        await self.agent.buy("a", ignore=("on-battery",))
        self.assertEqual(self.last_body(), {"product": "a", "ignore": ["on-battery"]})
        self.answers.append(answer(202, {"products": []}))
        await self.agent.restore(["a"], ignore=("metered",))
        self.assertEqual(self.last_body(), {"products": ["a"], "ignore": ["metered"]})
        self.answers += [answer(201, TRANSACTION), answer(201, TRANSACTION)]
        await self.agent.redeem("ABC-1")
        self.assertEqual(self.last_body(), {})
        await self.agent.redeem("ABC-1", session="org.example.Reader", ignore=("metered",))
        self.assertEqual(self.last_body(), {"session": "org.example.Reader", "ignore": ["metered"]})

    async def test_a_lease_has_its_item_and_ends_with_its_connection(self) -> None:
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"
        line = json.dumps(ITEM).encode() + b"\n"
        self.answers.append(head + chunk(line[:10]) + chunk(line[10:] + b"\n") + chunk(b"\n") + b"0\r\n\r\n")
        async with await self.agent.lease("a", "1") as lease:
            self.assertEqual((lease.item.product, lease.item.path), ("a", "/library/a/1"))
            self.assertEqual(self.last_body(), {"version": "1"})
            await lease.ended()
        self.answers.append(problem(404, "library-item-unknown"))
        with self.assertRaises(pullbox.Problem):
            await self.agent.lease("b")

    async def test_reading_is_told_and_asked(self) -> None:
        locations = {"position": 4, "totalProgression": 0.4, "fragments": ["page=4"]}
        progress = {
            "modified": "2026-11-29T08:30:00.000Z", "device": {"id": "6f1c", "name": "Tablet"}, "page": 3, "progression": 0.4,
            "locator": {"href": "pages/4.jpg", "type": "image/jpeg", "locations": locations}}
        self.answers.append(answer(200, {"version": "1.1", "pages": 10, "progress": progress}))
        status = await self.agent.report_reading("a", page=3, locator={"href": "pages/4.jpg", "type": "image/jpeg"})
        self.assertEqual(self.last_body(), {"page": 3, "locator": {"href": "pages/4.jpg", "type": "image/jpeg"}})
        self.assertEqual((status.version, status.pages), ("1.1", 10))
        assert status.progress is not None and status.progress.locator is not None and status.progress.locator.locations is not None
        self.assertEqual((status.progress.page, status.progress.device.name), (3, "Tablet"))
        self.assertEqual(status.progress.locator.locations.total_progression, 0.4)
        self.assertEqual(status.progress.locator.locations.fragments, ("page=4",))

    async def test_lists_are_read_page_by_page(self) -> None:
        self.answers += [
            answer(200, {"downloads": [DOWNLOAD], "next": "d1"}), answer(200, {"downloads": [{**DOWNLOAD, "id": "d2"}]}),
            answer(200, {"downloads": [DOWNLOAD], "next": "d1"}), answer(200, {"transactions": [], "next": "1"})]
        self.assertEqual([found.id for found in await self.agent.downloads("live")], ["d1", "d2"])
        self.assertEqual(len(await self.agent.downloads(limit=1)), 1)
        self.assertEqual(await self.agent.transactions(), [])
        self.assertEqual(self.targets(), [
            "GET /v1/downloads?limit=1000&state=live", "GET /v1/downloads?limit=1000&state=live&after=d1",
            "GET /v1/downloads?limit=1", "GET /v1/transactions?limit=1000"])

    async def test_many_products_are_asked_for_in_parts(self) -> None:
        account = {"territory": "FRA", "environment": "Sandbox", "canMakePayments": True}
        self.answers += [
            answer(200, {"account": account, "products": [], "invalidProductIdentifiers": ["p0"], "nearest": {"p0": "p"}}),
            answer(200, {"account": account, "products": [], "invalidProductIdentifiers": ["p20"]})]
        found = await self.agent.products([f"p{number}" for number in range(21)], locale="fr")
        self.assertEqual((found.invalid_product_identifiers, found.nearest), (("p0", "p20"), {"p0": "p"}))
        self.assertEqual(self.targets()[1], "GET /v1/products?id=p20&locale=fr")

    async def test_a_refusal_is_a_problem(self) -> None:
        self.answers.append(problem(409, "state-conflict", detail="it is over", retryAfterSeconds=3, tomorrow=1))
        with self.assertRaises(pullbox.Problem) as caught:
            await self.agent.pause("d1")
        found = caught.exception
        self.assertEqual(
            (found.code, found.status, found.title, found.detail, found.retry_after_seconds),
            ("state-conflict", 409, "It is refused", "it is over", 3))
        self.assertEqual(str(found), "It is refused: it is over")
        self.assertFalse(found.is_temporary)

    async def test_names_that_would_be_another_route_are_not_sent(self) -> None:
        for name in ("", ".", ".."):
            with self.assertRaises(ValueError):
                await self.agent.remove(name)
        for key in ("", "a b", "a\r\nb", "é", "k" * 256):
            with self.assertRaises(ValueError):
                await self.agent.buy("a", key=key)
        self.assertEqual(self.requests, [])


class PurchaseTests(FakeAgentTestCase):
    async def test_a_lost_answer_is_asked_for_again_with_the_same_key(self) -> None:
        self.answers += [b"", b"HTTP/1.1 201 Created\r\nContent-Le", answer(201, TRANSACTION)]
        self.assertEqual((await self.agent.buy("a")).id, "1")
        keys = {line for request in self.requests for line in request.split(b"\r\n") if line.startswith(b"Idempotency-Key")}
        self.assertEqual((len(self.requests), len(keys), len(self.delays)), (3, 1, 2))

    async def test_a_refusal_is_not_asked_for_again(self) -> None:
        self.answers.append(problem(503, "store-unavailable"))
        with self.assertRaises(pullbox.Problem):
            await self.agent.buy("a")
        self.assertEqual(len(self.requests), 1)

    async def test_an_agent_that_never_answers_is_given_up(self) -> None:
        with self.assertRaises(pullbox.Unreachable):
            await self.agent.buy("a")
        self.assertEqual((len(self.requests), len(self.delays)), (11, 10))

    async def test_no_agent_is_told_at_once(self) -> None:
        with self.assertRaises(pullbox.Unreachable) as caught:
            await pullbox.AgentClient(f"{self.path}.none").buy("a")
        self.assertFalse(caught.exception.connection_lost)


class HostileAnswerTests(FakeAgentTestCase):
    async def refuse(self, made: bytes, kind: type[pullbox.AgentError] = pullbox.UnexpectedResponse) -> None:
        self.answers.append(made)
        with self.subTest(made[:60]), self.assertRaises(kind):
            await self.agent.library()

    async def test_what_is_no_answer_is_refused(self) -> None:
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
        for made in (
                b"SSH-2.0-Open\r\n\r\n", b"HTTP/1.0 200 OK\r\n\r\n", b"HTTP/1.1 2x0 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\nno field\r\n\r\n",
                head + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n{}", head + b"Content-Length: -1\r\n\r\n",
                head + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n", head + b"Transfer-Encoding: gzip\r\n\r\n",
                head + b"Content-Length: 99999999999\r\n\r\n", head + b"Content-Length: 1" + b"0" * 30 + b"\r\n\r\n",
                head + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n", head + b"Transfer-Encoding: chunked\r\n\r\n" + b"1" * 300 + b"\r\n",
                head + b"Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n", b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n",
                answer(500, {"type": 7}, "application/problem+json"), answer(200, {"items": {}})):
            await self.refuse(made)

    async def test_a_carriage_return_alone_is_refused_wherever_it_is(self) -> None:
        items = b'{"items": []}'
        whole = answer(200, {"items": []})
        chunked = STREAM_HEAD.replace(b"text/event-stream", b"application/json")
        for made in (
                whole.replace(b"Fine\r\n", b"Fine\r\r\n"), whole.replace(b"json\r\n", b"json\r\r\n"),
                whole.replace(b"Fine\r\n", b"Fi\nne\r\n"),
                chunked + b"d\r\r\n" + items + b"\r\n0\r\n\r\n", chunked + b"d\r\n" + items + b"\r\n0\r\r\n\r\n",
                chunked + b"d\r\n" + items + b"\r\n0\r\nA: b\r\r\n\r\n", chunked + b"d\r\n" + items + b"\r\n0\r\n\r\r\n\r\n"):
            await self.refuse(made)

    async def test_a_body_that_is_cut_is_a_lost_connection(self) -> None:
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
        for made in (b"", b"HTTP/1.1 200", head + b"Content-Length: 5\r\n\r\n{}", head + b"Transfer-Encoding: chunked\r\n\r\n5\r\n{}"):
            await self.refuse(made, pullbox.Unreachable)

    @unittest.mock.patch.object(connection, "MAXIMUM_BODY_LENGTH", 1024 * 1024)
    async def test_endless_heads_bodies_and_trailers_end(self) -> None:
        def endless(first: bytes, repeated: bytes, count: int = 100_000) -> Answer:
            async def write(writer: asyncio.StreamWriter) -> None:
                writer.write(first)
                for _ in range(count):
                    writer.write(repeated)
                    await writer.drain()
            return write

        chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        for made in (
                endless(b"HTTP/1.1 200 OK\r\n", b"X-A: b\r\n"), endless(b"HTTP/1.1 200 OK\r\n\r\n", b" " * 65536, 1000),
                endless(chunked, chunk(b" " * 65536), 1000), endless(chunked + b"0\r\n", b"X-A: b\r\n"), endless(chunked, b"0" * 1000)):
            self.answers.append(made)
            with self.assertRaises(pullbox.UnexpectedResponse):
                await self.agent.library()

    async def test_an_agent_that_says_nothing_costs_the_timeout(self) -> None:
        released = asyncio.Event()

        async def wait(writer: asyncio.StreamWriter) -> None:
            await released.wait()

        self.answers.append(wait)
        self.agent.timeout = 0.01
        with self.assertRaises(pullbox.Unreachable) as caught:
            await self.agent.library()
        released.set()
        self.assertFalse(caught.exception.connection_lost)


class EventTests(FakeAgentTestCase):
    async def collect(self, made: bytes) -> list[pullbox.AgentEvent]:
        self.answers.append(made)
        async with await self.agent.events() as stream:
            return [found async for found in stream]

    async def test_events_come_in_their_order_wherever_the_bytes_are_split(self) -> None:
        text = b": pullbox agent\n\n" + event("transaction", TRANSACTION) + event("tomorrow", [1]) + b":\n\n" + event("download", DOWNLOAD)
        for parts in ([text], [text[index:index + 1] for index in range(len(text))], [text.replace(b"\n", b"\r\n")], [text.replace(b"\n", b"\r")]):
            found = await self.collect(stream(*parts))
            self.assertEqual([event.name for event in found], ["transaction", "download"])
            self.assertEqual(found[1].value, pullbox.DownloadStatus(
                "d1", "a", "1", pullbox.DownloadState.ACTIVE, "transferring", 10, 20, 0.5, 0.0))

    async def test_a_file_is_read_part_by_part_while_it_comes(self) -> None:
        file = {"path": "pages/é 1.png", "length": 8, "digest": "ab", "page": 1, "verified": [{"offset": 0, "length": 3}]}
        listed = {"product": "p", "version": "1", "placed": False, "length": 8, "files": [file]}
        soon = problem(202, "not-here-yet", after=1)
        parts = [b"HTTP/1.1 206 Part\r\nContent-Length: %d\r\n\r\n" % len(part) + part for part in (b"abc", b"de", b"fgh")]
        self.answers += [soon, answer(200, listed), parts[0], soon, parts[1], parts[2]]
        files = await self.agent.files(product="p")
        page = files.page(1)
        assert page is not None and files.page(2) is None
        self.assertEqual(page.verified, (pullbox.FilePart(offset=0, length=3),))
        self.assertEqual(await self.agent.read(page, product="p", version="1"), b"abcdefgh")
        lines = [request.split(b"\r\n") for request in self.requests]
        self.assertEqual(lines[0][0], b"GET /v1/library/p/files?wait=25 HTTP/1.1")
        self.assertEqual(lines[2][0], b"GET /v1/library/p/files/pages/%C3%A9%201.png?version=1&wait=25 HTTP/1.1")
        ranges = [line for request in lines[2:] for line in request if line.startswith(b"Range: ")]
        self.assertEqual(ranges, [b"Range: bytes=0-7", b"Range: bytes=3-7", b"Range: bytes=3-7", b"Range: bytes=5-7"])
        self.assertIn(b'If-Match: "ab"', lines[2])

    async def test_the_reason_of_a_download_that_brings_nothing_is_raised(self) -> None:
        page = pullbox.ContentFile(path="a", length=5, digest="ab", verified=())
        self.answers.append(problem(410, "download-cancelled"))
        with self.assertRaises(pullbox.Problem) as caught:
            await self.agent.read(page, download="d")
        self.assertEqual(caught.exception.code, "download-cancelled")
        with self.assertRaises(ValueError):
            await self.agent.files()

    async def test_a_stream_goes_on_behind_the_last_change_or_says_that_all_begins_anew(self) -> None:
        numbered = event("download", DOWNLOAD)[:-1] + b"id: run-7\n\n"
        self.answers.append(stream(event("reset", {}), b"id: run-6\n\n", numbered))
        async with await self.agent.events(behind="old-3") as opened:
            found = [one async for one in opened]
        self.assertEqual([one.value for one in found][0], pullbox.EventReset())
        self.assertEqual(opened.last_identifier, "run-7")
        self.assertIn(b"Last-Event-ID: old-3\r\n", self.requests[-1])

    async def test_an_identifier_is_that_of_the_last_change_that_was_read(self) -> None:
        def numbered(number: int) -> bytes:
            return event("download", DOWNLOAD)[:-1] + f"id: run-{number}\n\n".encode()

        self.answers.append(stream(numbered(1) + numbered(2) + numbered(3)))
        async with await self.agent.events() as opened:
            await anext(opened)
            self.assertEqual(opened.last_identifier, "run-1")
        # Its empty line never comes.
        self.answers.append(stream(numbered(1), numbered(2)[:-1]))
        async with await self.agent.events() as opened:
            self.assertEqual(len([one async for one in opened]), 1)
            self.assertEqual(opened.last_identifier, "run-1")

    async def test_an_event_that_is_cut_is_not_told(self) -> None:
        whole, cut = event("transaction", TRANSACTION), event("transaction", FINISHED)[:-1]
        found = []
        self.answers.append(stream(whole, cut, ends=False))
        with self.assertRaises(pullbox.Unreachable) as caught:
            async for told in await self.agent.events():
                found.append(told)
        self.assertEqual(len(found), 1)
        self.assertTrue(caught.exception.connection_lost)
        self.assertEqual(len(await self.collect(stream(whole, cut))), 1)

    async def test_events_without_a_bound_and_events_that_are_none_end_the_stream(self) -> None:
        long_line = b"data: " + b"x" * events.MAXIMUM_EVENT_LENGTH
        many_lines = (b"data: " + b"x" * 1000 + b"\n") * 1100
        for part in (long_line, many_lines, event("library", {"change": "placed"}), b"event: download\ndata: {\n\n"):
            with self.assertRaises(pullbox.UnexpectedResponse):
                await self.collect(stream(part))

    async def test_a_refused_stream_is_a_problem(self) -> None:
        self.answers += [problem(429, "too-many-requests"), answer(200, {})]
        with self.assertRaises(pullbox.Problem):
            await self.agent.events()
        with self.assertRaises(pullbox.UnexpectedResponse):
            await self.agent.events()

    async def test_silence_ends_the_stream(self) -> None:
        released = asyncio.Event()

        async def rest(writer: asyncio.StreamWriter) -> None:
            writer.write(STREAM_HEAD)
            await released.wait()

        self.answers.append(rest)
        found = await self.agent.events()
        found._silence_limit = 0.01
        with self.assertRaises(pullbox.Unreachable):
            await anext(found)
        released.set()


class FollowingTests(FakeAgentTestCase):
    LISTS = [answer(200, {"transactions": [TRANSACTION]}), answer(200, {"downloads": [DOWNLOAD]})]

    async def follow(self, count: int, *names: str) -> list[object]:
        found: list[object] = []
        follower = self.agent.follow(names, maximum_failures=2)
        try:
            async for update in follower:
                found.append(update)
                if len(found) == count:
                    break
        finally:
            await follower.aclose()
        return found

    async def test_a_restart_is_followed_and_what_ended_meanwhile_is_told(self) -> None:
        self.answers += [stream(event("download", {**DOWNLOAD, "bytesReceived": 30})), *self.LISTS]
        self.answers += [
            stream(), answer(200, {"transactions": []}), answer(200, {"downloads": []}), answer(200, FINISHED), answer(200, PLACED)]
        first, progress, lost, second = await self.follow(4)
        assert isinstance(first, pullbox.Snapshot) and isinstance(second, pullbox.Snapshot)
        assert isinstance(progress, pullbox.AgentEvent) and isinstance(lost, pullbox.Lost)
        self.assertEqual(first.downloads[0].bytes_received, 20)
        self.assertEqual(progress.name, "download")
        self.assertIsNone(lost.error)
        self.assertEqual(self.delays, [lost.retry_in])
        self.assertEqual([transaction.step for transaction in second.transactions], ["finished"])
        self.assertEqual(second.downloads[0].content_path, "/library/a/1")

    async def test_progress_from_before_the_list_is_not_told(self) -> None:
        older, newer = {**DOWNLOAD, "bytesReceived": 5}, {**DOWNLOAD, "bytesReceived": 25}
        self.answers += [stream(event("download", older), event("download", newer)), *self.LISTS]
        _, told = await self.follow(2)
        assert isinstance(told, pullbox.AgentEvent) and isinstance(told.value, pullbox.DownloadStatus)
        self.assertEqual(told.value.bytes_received, 25)

    async def test_an_agent_that_stays_away_is_given_up(self) -> None:
        self.answers += [stream(ends=False), *self.LISTS]
        with self.assertRaises(pullbox.Unreachable):
            await self.follow(10)
        self.assertEqual(len(self.delays), 2)

    async def test_what_the_agent_has_forgotten_is_left_out(self) -> None:
        self.answers += [
            stream(), answer(200, {"transactions": []}), answer(200, {"downloads": []}), problem(404, "transaction-unknown")]
        (first,) = await self.follow(1, "7")
        self.assertEqual(first, pullbox.Snapshot((), ()))

    async def test_a_delivery_is_waited_for(self) -> None:
        self.answers += [stream(event("transaction", FINISHED)), *self.LISTS]
        self.assertEqual((await self.agent.delivered("1")).step, "finished")

    async def test_a_delivery_of_what_nothing_is_known_of_is_not_waited_for(self) -> None:
        unknown = problem(404, "transaction-unknown")
        self.answers += [stream(), answer(200, {"transactions": []}), answer(200, {"downloads": []}), unknown, unknown]
        with self.assertRaises(pullbox.Problem) as caught:
            await self.agent.delivered("7")
        self.assertEqual(caught.exception.code, "transaction-unknown")


class SocketPathTests(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.own = f"{directory.name}/pullbox/agent.sock"
        self.device = f"{directory.name}/device.sock"
        os.mkdir(f"{directory.name}/pullbox")
        for patch in (
                unittest.mock.patch.dict(os.environ, {"XDG_RUNTIME_DIR": directory.name}),
                unittest.mock.patch.object(os, "geteuid", lambda: 1000),
                unittest.mock.patch.object(client, "SYSTEM_SOCKET_PATH", self.device)):
            patch.start()
            self.addCleanup(patch.stop)

    def listen(self, path: str) -> socket.socket:
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.addCleanup(made.close)
        made.bind(path)
        made.listen(0)
        return made

    def test_the_own_socket_goes_first(self) -> None:
        self.assertEqual(pullbox.default_socket_path(), self.own)
        self.listen(self.device)
        self.assertEqual(pullbox.default_socket_path(), self.device)
        self.listen(self.own)
        self.assertEqual(pullbox.default_socket_path(), self.own)

    def test_a_socket_that_was_left_behind_is_passed_over_for_one_that_lives(self) -> None:
        self.listen(self.own).close()
        self.assertEqual(pullbox.default_socket_path(), self.own)
        device = self.listen(self.device)
        self.assertEqual(pullbox.default_socket_path(), self.device)
        device.close()
        self.assertEqual(pullbox.default_socket_path(), self.own)

    def test_a_full_queue_has_an_owner(self) -> None:
        self.listen(self.own)
        self.listen(self.device)
        waiting = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.addCleanup(waiting.close)
        waiting.connect(self.own)
        self.assertEqual(pullbox.default_socket_path(), self.own)

    def test_root_has_the_socket_of_the_device(self) -> None:
        self.listen(self.own)
        with unittest.mock.patch.object(os, "geteuid", lambda: 0):
            self.assertEqual(pullbox.default_socket_path(), self.device)


class BoundTests(unittest.TestCase):
    def test_delays_double_up_to_their_cap(self) -> None:
        backoff = pullbox.Backoff(initial=1, cap=10)
        for failures, longest in ((1, 1), (2, 2), (4, 8), (5, 10), (10_000, 10)):
            delay = backoff.delay(failures)
            self.assertTrue(longest / 2 <= delay <= longest, (failures, delay))

    def test_a_head_is_bounded(self) -> None:
        self.assertLessEqual(connection.MAXIMUM_HEAD_LENGTH, 64 * 1024)


if __name__ == "__main__":
    unittest.main()
