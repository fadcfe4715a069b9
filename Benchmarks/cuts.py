"""What a link that breaks costs: bytes received for a package, over bytes needed.

Run through scripts/bench cuts. A proxy between agent and server ends the connection that carries content so many times,
evenly spread, and counts what it handed to the agent; heads and everything else that the agent asks for counts too.
"""
import argparse
import asyncio
import threading
from pathlib import Path

from main_job import LARGEST_PACKAGE, Stack, deliver_with_agent
from measuring import run, say

SMALL_PACKAGE = 20 << 20


def parse_arguments():
    parser = argparse.ArgumentParser(prog="scripts/bench cuts")
    parser.add_argument("--cuts", type=int, default=20, metavar="N", help="times that the connection breaks")
    parser.add_argument("--bytes", type=int, nargs="+", default=[SMALL_PACKAGE, LARGEST_PACKAGE], metavar="N",
                        help="sizes of the packages")
    parser.add_argument("--port-base", type=int, default=28080, metavar="N")
    parser.add_argument("--root", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--bin", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--work", type=Path, required=True, help=argparse.SUPPRESS)
    return parser.parse_args()


class BreakingProxy:
    """Forwards from a port of its own, and breaks the connection after each `interval` bytes that it hands out."""

    def __init__(self, port, upstream, interval, cuts):
        self.port, self.upstream, self.interval = port, upstream, interval
        self.remaining, self.sent, self.made = cuts, 0, 0
        self.loop = asyncio.new_event_loop()
        self.server = self.loop.run_until_complete(asyncio.start_server(self.serve, "127.0.0.1", port))
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    async def serve(self, reader, writer):
        host, port = self.upstream
        upstream_reader, upstream_writer = await asyncio.open_connection(host, port)
        forwarding = asyncio.ensure_future(self.forward(reader, upstream_writer))
        until_cut = self.interval
        try:
            while data := await upstream_reader.read(65536):
                # The last byte before a break is the interval's.
                data = data[:until_cut] if self.remaining else data
                writer.write(data)
                await writer.drain()
                self.sent += len(data)
                until_cut -= len(data)
                if self.remaining and until_cut <= 0:
                    self.remaining -= 1
                    self.made += 1
                    break
        except ConnectionError:
            pass
        finally:
            forwarding.cancel()
            writer.close()
            upstream_writer.close()

    @staticmethod
    async def forward(reader, writer):
        try:
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
            writer.write_eof()
        except ConnectionError:
            pass

    def close(self):
        self.loop.call_soon_threadsafe(self.server.close)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()


def measure(arguments, stack, length):
    product = f"com.example.bench.cuts{length}"
    package = arguments.work / f"cuts-{length}.cbz"
    say(f"Making and publishing {length:,} bytes")
    run("python3", "-B", arguments.root / "content/generate", "package", "--size", length, package)
    stack.pullbox("publish", package, "--product", product, "--version", "1.0", "--release",
                  XDG_STATE_HOME=str(arguments.work / "publisher"))
    package.unlink()
    direct = stack.description
    host, port = direct["server"].removeprefix("http://").split(":")
    proxy = BreakingProxy(
        arguments.port_base + 30, (host, int(port)), length // (arguments.cuts + 1), arguments.cuts)
    try:
        stack.description = direct | {"server": f"http://127.0.0.1:{proxy.port}"}
        seconds, _ = deliver_with_agent(stack, product)
    finally:
        stack.description = direct
        proxy.close()
    return proxy, seconds


def main():
    arguments = parse_arguments()
    stack = Stack(arguments)
    try:
        for length in arguments.bytes:
            proxy, seconds = measure(arguments, stack, length)
            ratio = proxy.sent / length
            bound = 1.05 if length <= SMALL_PACKAGE else 1.01
            verdict = "" if ratio <= bound else "  MISSED"
            print(f"{length:,} bytes, {proxy.made} cuts: received {proxy.sent:,}, ratio {ratio:.4f} "
                  f"(at most {bound}), {seconds:.1f} s{verdict}", flush=True)
    finally:
        stack.down()


if __name__ == "__main__":
    main()
