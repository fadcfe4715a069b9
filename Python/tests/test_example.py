"""The program of docs/python.md: always against the agent of the tests, and against a real one where PULLBOX_TEST_BINARIES names a directory
with the executables."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import pathlib
import runpy
import subprocess
import sys
import tempfile
import time
import typing
import unittest
import unittest.mock
import urllib.request

import pullbox
from fake_agent import FakeAgentTestCase, answer, event, stream
from test_client import DOWNLOAD, FINISHED, ITEM, PLACED, TRANSACTION

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARIES = os.environ.get("PULLBOX_TEST_BINARIES")
OPERATOR_KEY = "operator-key-of-the-tests"


def example() -> str:
    return (ROOT / "docs" / "python.md").read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]


async def buy(agent: pullbox.AgentClient, name: str) -> tuple[str, str]:
    """Where it lies, and what was printed."""
    namespace: dict[str, typing.Any] = {"__name__": "example"}
    exec(compile(example(), "docs/python.md", "exec"), namespace)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        path = await namespace["buy"](agent, name)
    return path, printed.getvalue()


class ShelfTests(unittest.TestCase):
    """The state of Examples/Shelf, which has no widgets: GTK need not be here."""

    def test_a_section_that_comes_is_not_the_content(self) -> None:
        toolkit = unittest.mock.MagicMock(Gtk=unittest.mock.MagicMock(Application=object))
        with unittest.mock.patch.dict(sys.modules, {"gi": unittest.mock.MagicMock(), "gi.repository": toolkit}):
            state = runpy.run_path(str(ROOT / "Examples" / "Shelf" / "shelf.py"))["State"]()
        state.library = [pullbox.coding.decode(pullbox.LibraryItem, ITEM)]
        for members in ({"section": "hires"}, {"section": "hires", "state": "failed"}):
            status = pullbox.coding.decode(pullbox.DownloadStatus, {**DOWNLOAD, "product": ITEM["product"], **members})
            state.apply(pullbox.AgentEvent("download", status))
            self.assertEqual([row.verb for row in state.rows()], ["Open"])


class ExampleTests(FakeAgentTestCase):
    async def test_it_buys_follows_and_tells_where_the_content_lies(self) -> None:
        price = {"amount": "2.99", "currency": "EUR", "formatted": "2,99 €"}
        listing = {"id": "a", "type": "non-consumable", "title": "Heroes", "description": "", "price": price}
        self.answers += [
            answer(200, {
                "account": {"territory": "FRA", "environment": "Sandbox", "canMakePayments": True},
                "products": [{"listing": listing, "owned": False}], "invalidProductIdentifiers": []}),
            answer(201, TRANSACTION),
            stream(event("download", {**DOWNLOAD, "progress": 0.75, "timeRemaining": 3.2, "bytesReceived": 30}), event("download", PLACED),
                   event("transaction", FINISHED)),
            answer(200, {"transactions": [TRANSACTION]}), answer(200, {"downloads": [DOWNLOAD]}), answer(200, {"items": [ITEM]}),
            answer(200, {"items": [ITEM]})]
        path, printed = await buy(self.agent, "a")
        self.assertEqual(path, "/library/a/1")
        self.assertEqual(
            printed.splitlines(), ["Heroes, 2.99 EUR", " 50%  transferring", " 75%  transferring, 3 s left", "100%  placed"])
        self.assertIn(b'"shown": "2.99 EUR"', self.requests[1])


class Stack:
    """A sandbox store, a server and an agent with state of their own."""

    def __init__(self, binaries: str, directory: str) -> None:
        self.binaries, self.directory = binaries, directory
        self.processes: list[subprocess.Popen[bytes]] = []
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith("PULLBOX_")}
        self.socket = f"{directory}/agent.sock"

    def start(self, name: str, *arguments: str) -> str:
        """The daemon's first address, once it is ready."""
        ready = pathlib.Path(self.directory, f"{name}.ready")
        with open(f"{self.directory}/{name}.log", "wb") as log:
            process = subprocess.Popen(
                [f"{self.binaries}/{name}", "--state", f"{self.directory}/{name}", "--ready-file", str(ready), *arguments],
                stdout=log, stderr=log, env=self.environment)
        self.processes.append(process)
        end = time.monotonic() + 60
        while not ready.exists():
            if process.poll() is not None or time.monotonic() > end:
                raise AssertionError(f"{name} does not start: {pathlib.Path(log.name).read_text(encoding='utf-8')}")
            time.sleep(0.02)
        address: str = json.loads(ready.read_text(encoding="utf-8"))["addresses"][0]
        return address if "://" in address else f"http://{address}"

    def __enter__(self) -> Stack:
        try:
            store = self.start("pullbox-sandbox", "--listen", "127.0.0.1:0", "--server-credential", "server")
            server = self.start(
                "pullbox-server", "--listen", "127.0.0.1:0", "--operator-key", OPERATOR_KEY, "--store-url", store, "--store-credential", "server")
            # The store asks the server for products, whose address is known only now.
            first = self.processes.pop(0)
            first.terminate()
            first.wait(30)
            pathlib.Path(self.directory, "pullbox-sandbox.ready").unlink()
            address = store.removeprefix("http://")
            self.start("pullbox-sandbox", "--listen", address, "--server-credential", "server", "--catalog", server)
            self.account(store)
            self.start("pullbox-agent", "--server", server, "--store", store, "--account-token-file", f"{self.directory}/token", "--socket",
                       self.socket)
            subprocess.run(
                [f"{self.binaries}/pullbox", "publish", str(ROOT / "content" / "kestrel-station-1"), "--release"], check=True,
                stdout=subprocess.DEVNULL, env={**self.environment, "PULLBOX_SERVER": server, "PULLBOX_OPERATOR_KEY": OPERATOR_KEY})
            return self
        except BaseException:
            self.__exit__()
            raise

    def account(self, store: str) -> None:
        request = urllib.request.Request(
            f"{store}/sandbox/v1/accounts", b'{"territory":"USA","name":"reader"}', {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as response:
            token = json.load(response)["token"]
        path = pathlib.Path(self.directory, "token")
        path.touch(0o600)
        path.write_text(token, encoding="utf-8")

    def __exit__(self, *_: object) -> None:
        for process in self.processes:
            process.kill()
            process.wait()


@unittest.skipUnless(BINARIES, "PULLBOX_TEST_BINARIES names no executables")
class RealAgentTests(unittest.TestCase):
    def test_the_example_buys_from_a_real_agent_which_answers_the_other_calls(self) -> None:
        product = "com.example.kestrelstation.issue1"

        async def use(agent: pullbox.AgentClient) -> None:
            path, printed = await buy(agent, product)
            self.assertTrue(os.path.isdir(path))
            self.assertIn("The Long Signal", printed)
            self.assertIn("100%", printed)
            self.assertEqual((await agent.status(asks=True)).unfinished_transactions, 0)
            self.assertEqual((await agent.set_pinned(product, True))[0].pinned, True)
            self.assertEqual([found.state for found in await agent.verify(product)], [pullbox.LibraryState.PRESENT])
            (transaction,) = await agent.transactions("over")
            self.assertEqual((await agent.delivered(transaction.id)).step, "finished")
            self.assertEqual([plan.product for plan in await agent.restore_plan()], [product])
            with self.assertRaises(pullbox.Problem) as caught:
                await agent.pause(transaction.downloads[0])
            self.assertEqual(caught.exception.code, "state-conflict")
            await agent.remove(product)
            self.assertEqual(await agent.restore(), [product])

        with tempfile.TemporaryDirectory() as directory, Stack(BINARIES or "", directory) as stack:
            asyncio.run(asyncio.wait_for(use(pullbox.AgentClient(stack.socket)), 120))


if __name__ == "__main__":
    unittest.main()
