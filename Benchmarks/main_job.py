"""The main job measured: a package of 2 GiB from grant to library, and what serving it costs.

Run through scripts/bench main-job. Each figure is measured beside its peer in the same run, alternating, and compared by
medians: absolute numbers of a shared machine mean little, ratios more.
"""
import argparse
import datetime
import json
import os
import shutil
import signal
import statistics
import subprocess
import time
from pathlib import Path

import peers
from measuring import GIGABYTE, machine, peak_memory, processor_time, run, say
from services import buy, request

LARGEST_PACKAGE = 2_147_483_648
# A folder's package also holds its directory: a little less, so that both fit.
FOLDER_MARGIN = 1_500_000
RANGE = 65_536


def parse_arguments():
    parser = argparse.ArgumentParser(prog="scripts/bench main-job")
    parser.add_argument("--bytes", type=int, default=LARGEST_PACKAGE, metavar="N", help="size of the package")
    parser.add_argument("--images", type=int, default=2000, metavar="N", help="files in the folder")
    parser.add_argument("--pairs", type=int, default=3, metavar="N", help="times each pair is measured")
    parser.add_argument("--port-base", type=int, default=28080, metavar="N")
    parser.add_argument("--root", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--bin", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--work", type=Path, required=True, help=argparse.SUPPRESS)
    return parser.parse_args()


class Stack:
    """Store, server and a first, idle agent through scripts/stack."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.script = arguments.root / "scripts/stack"
        self.directory = arguments.work / "stack"
        output = run(self.script, "up", "--dir", self.directory, "--port-base", arguments.port_base)
        self.take(json.loads(output))

    def take(self, description):
        self.description = description
        self.environment = os.environ | description["env"]

    def restart_server(self):
        """A fresh peak of memory."""
        run(self.script, "kill", "server", "--dir", self.directory)
        self.take(json.loads(run(self.script, "start", "server", "--dir", self.directory)))

    @property
    def server_pid(self):
        return self.description["pids"]["server"]

    def pullbox(self, *words, **variables):
        return run(self.arguments.bin / "pullbox", *words, env=self.environment | variables)

    def account(self):
        url = self.description["store"] + "/sandbox/v1/accounts"
        return request(url, {"territory": "USA", "name": "Bench"})["token"]

    def grant(self, product):
        return buy(self.description["store"], self.description["server"], product)

    def history(self, transaction):
        for line in self.pullbox("deliveries", "--json").splitlines():
            delivery = json.loads(line)
            if delivery["transaction"] == transaction:
                return {event["state"]: instant(event["at"]) for event in delivery["history"]}
        raise RuntimeError(f"no delivery for transaction {transaction}")

    def down(self):
        run(self.script, "down", "--dir", self.directory)


def instant(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def deliver_with_agent(stack, product):
    """Seconds from the grant to the report of what is placed and durable, and the agent's peak memory."""
    arguments = stack.arguments
    directory = arguments.work / "agent"
    directory.mkdir()
    ready = directory / "ready"
    socket = directory / "agent.sock"
    token = directory / "account-token"
    token.touch(0o600)
    token.write_text(stack.account())
    with open(directory / "log", "wb") as log:
        agent = subprocess.Popen(
            [arguments.bin / "pullbox-agent", "--state", directory / "state", "--server",
             stack.description["server"], "--store", stack.description["store"], "--account-token-file", token,
             "--socket", socket, "--ready-file", ready], stderr=log)
    try:
        while not ready.exists():
            if agent.poll() is not None:
                raise RuntimeError((directory / "log").read_text())
            time.sleep(0.02)
        output = stack.pullbox("buy", product, "--yes", "--wait", "--json", PULLBOX_AGENT_SOCKET=str(socket))
        transaction = json.loads(output.splitlines()[0])["id"]
        memory = peak_memory(agent.pid)
        history = stack.history(transaction)
        return history["completed"] - history["granted"], memory
    finally:
        agent.send_signal(signal.SIGTERM)
        agent.wait(60)
        shutil.rmtree(directory)


def deliver_with_curl(stack, terms):
    """Seconds that curl, sha256sum and sync take for the same bytes."""
    path = stack.arguments.work / "curl.download"
    start = time.monotonic()
    run("curl", "--silent", "--fail", "--noproxy", "*", "--header", f"Authorization: Bearer {terms['ticket']}",
        "-o", path, stack.description["server"] + terms["contentURL"])
    digest = run("sha256sum", path).split()[0]
    run("sync", path)
    seconds = time.monotonic() - start
    path.unlink()
    if digest != terms["digest"]:
        raise RuntimeError("curl's file is not what was published")
    return seconds


def measure_delivery(stack, product):
    agent, curl, memory = [], [], []
    for _ in range(stack.arguments.pairs):
        # What earlier runs left to be written must not be paid for by the next.
        run("sync", "--file-system", stack.arguments.work)
        seconds, peak = deliver_with_agent(stack, product)
        agent.append(seconds)
        memory.append(peak)
        run("sync", "--file-system", stack.arguments.work)
        curl.append(deliver_with_curl(stack, stack.grant(product)))
        say(f"  {product}: agent {agent[-1]:.2f} s, curl + sha256sum + sync {curl[-1]:.2f} s")
    return agent, curl, memory


def measure_server_memory(stack, product):
    """Peak memory of a server that has only served eight downloads at once."""
    stack.restart_server()
    terms = stack.grant(product)
    clients = [
        subprocess.Popen(
            ["curl", "--silent", "--fail", "--noproxy", "*", "--header", f"Authorization: Bearer {terms['ticket']}",
             "-o", "/dev/null", stack.description["server"] + terms["contentURL"]]) for _ in range(8)]
    if any(client.wait() != 0 for client in clients):
        raise RuntimeError("one of eight downloads failed")
    return peak_memory(stack.server_pid)


def load(arguments, pids, port, path, fields, connections, requests, length, span):
    """Processor seconds of the server, and body bytes."""
    before = processor_time(pids)
    words = ["--port", port, "--path", path, "--connections", connections, "--requests", requests, "--length", length,
             "--range", span] + (["--fields", fields] if fields else [])
    told = json.loads(run(arguments.work / "load", *words))
    return processor_time(pids) - before, told["bytes"]


def measure_serving(stack, product, package):
    arguments = stack.arguments
    www = arguments.work / "www"
    www.mkdir()
    os.link(package, www / "package")
    nginx = peers.Nginx("main-job", arguments.port_base + 20, www, arguments.work, workers=os.cpu_count())
    fields = arguments.work / "ticket.fields"
    ours, theirs, our_ranges, their_ranges = [], [], [], []
    try:
        length = package.stat().st_size
        whole = max(4, int(8 * GIGABYTE // length) // 4 * 4)
        ranges = 40_000
        pids, workers = [stack.server_pid], nginx.pids
        port, gated = arguments.port_base, peers.Nginx.secure_link("package")
        for _ in range(arguments.pairs + 2):
            terms = stack.grant(product)
            fields.write_text(f"Authorization: Bearer {terms['ticket']}\n")
            path = terms["contentURL"]
            cost, count = load(arguments, pids, port, path, fields, 4, whole, length, 0)
            ours.append(cost / count * GIGABYTE)
            cost, count = load(arguments, workers, nginx.port, "/package", None, 4, whole, length, 0)
            theirs.append(cost / count * GIGABYTE)
            cost, _ = load(arguments, pids, port, path, fields, 8, ranges, length, RANGE)
            our_ranges.append(cost / ranges * 1e6)
            cost, _ = load(arguments, workers, nginx.port, gated, None, 8, ranges, length, RANGE)
            their_ranges.append(cost / ranges * 1e6)
            say(f"  CPU a GB: {ours[-1]:.3f} s, nginx {theirs[-1]:.3f} s; "
                f"a range: {our_ranges[-1]:.1f} us, nginx secure_link {their_ranges[-1]:.1f} us")
    finally:
        nginx.stop()
    return ours, theirs, our_ranges, their_ranges


class Report:
    def __init__(self):
        self.figures = []

    def ratio(self, name, unit, ours, peer, peers, target):
        value = statistics.median(ours) / statistics.median(peers)
        self.add(name, value, "x " + peer, target, unit=unit, ours=ours, peers=peers)

    def memory(self, name, samples, target):
        self.add(name, max(samples) / (1 << 20), "MiB", target, samples=samples)

    def add(self, name, value, measure, target, **details):
        self.figures.append({"name": name, "value": round(value, 3), "measure": measure, "target": target,
                             "held": value <= target} | details)

    def write(self, path, arguments):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({
            "benchmark": "main-job", "command": "scripts/bench main-job",
            "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "bytes": arguments.bytes, "images": arguments.images, "pairs": arguments.pairs,
            "machine": machine(),
            "figures": self.figures}, indent=2) + "\n")

    def show(self):
        width = max(len(figure["name"]) for figure in self.figures)
        print(f"{'':{width}}  {'measured':>9}  {'target':>7}")
        for figure in self.figures:
            verdict = "" if figure["held"] else "  MISSED"
            print(f"{figure['name']:{width}}  {figure['value']:9.2f}  {figure['target']:7.2f}  "
                  f"{figure['measure']}{verdict}")


def main():
    arguments = parse_arguments()
    generate = arguments.root / "content/generate"
    file_product, folder_product = "com.example.bench.file", "com.example.bench.folder"
    say("Making the packages")
    package, folder = arguments.work / "package.cbz", arguments.work / "folder"
    run("python3", "-B", generate, "package", "--size", arguments.bytes, package)
    run("python3", "-B", generate, "package", "--size", arguments.bytes - FOLDER_MARGIN, "--files", arguments.images,
        "--product", folder_product, folder)
    stack = Stack(arguments)
    report = Report()
    try:
        say("Publishing them")
        # The packed folder lies in the command's own state directory until it is sent.
        state = str(arguments.work / "publisher")
        stack.pullbox("publish", package, "--product", file_product, "--version", "1.0", "--release",
                      XDG_STATE_HOME=state)
        stack.pullbox("publish", folder, "--release", XDG_STATE_HOME=state)
        shutil.rmtree(folder)
        say("Delivering them")
        memory = []
        for name, product in (("file", file_product), ("folder", folder_product)):
            agent, curl, peaks = measure_delivery(stack, product)
            report.ratio(f"agent, {name}: grant to placed and durable", "s", agent, "curl + sha256sum + sync", curl, 0.75)
            memory += peaks
        report.memory("agent, peak memory", memory, 64)
        say("Serving eight downloads at once")
        report.memory("server, peak memory with 8 downloads", [measure_server_memory(stack, file_product)], 64)
        say("Serving beside nginx")
        ours, theirs, our_ranges, their_ranges = measure_serving(stack, file_product, package)
        report.ratio("server, CPU a GB", "s", ours, "nginx sendfile", theirs, 1.0)
        report.ratio("server, CPU a 64 KiB range", "us", our_ranges, "nginx secure_link", their_ranges, 0.9)
    finally:
        stack.down()
    report.write(arguments.root / "Benchmarks/results/main-job.json", arguments)
    report.show()


if __name__ == "__main__":
    main()
