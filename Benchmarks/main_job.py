"""The main job measured: a package of 2 GiB from grant to library, and what serving it costs.

Run through scripts/bench main-job. Each figure is measured beside its peer in the same run, alternating, and compared by
medians: absolute numbers of a shared machine mean little, ratios more.
"""
import argparse
import contextlib
import datetime
import json
import os
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

LARGEST_PACKAGE = 2_147_483_648
# A folder's package also holds its directory: a little less, so that both fit.
FOLDER_MARGIN = 1_500_000
GIGABYTE = 1e9
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


def say(text):
    print(text, file=sys.stderr, flush=True)


def run(*command, **options):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)
    if result.returncode != 0:
        raise RuntimeError(f"{command[0]} {command[1]}: exit code {result.returncode}\n{result.stderr}{result.stdout}")
    return result.stdout


def peak_memory(pid):
    """VmHWM in bytes."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"process {pid} tells no VmHWM")


def processor_time(pids):
    """Seconds that the threads of these processes have run, user and system together, to the nanosecond."""
    nanoseconds = 0
    for pid in pids:
        for task in Path(f"/proc/{pid}/task").iterdir():
            # A thread may end between being listed and being read.
            with contextlib.suppress(FileNotFoundError):
                nanoseconds += int((task / "schedstat").read_text().split()[0])
    return nanoseconds / 1e9


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

    def request(self, url, body=None, token=None):
        headers = {"Content-Type": "application/json"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        data = None if body is None else json.dumps(body).encode()
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(urllib.request.Request(url, data, headers), timeout=60) as response:
            return json.load(response)

    def account(self):
        url = self.description["store"] + "/sandbox/v1/accounts"
        return self.request(url, {"territory": "USA", "name": "Bench"})["token"]

    def grant(self, product):
        """A grant for a reader without an agent: where the bytes are, and their ticket."""
        store, token, device = self.description["store"], self.account(), "bench"
        self.request(store + "/store/v1/purchases", {"product": product, "device": device}, token)
        receipt = self.request(store + f"/store/v1/receipt?device={device}", token=token)["receipt"]
        body = {"receipt": receipt, "product": product, "device": {"id": device}}
        return self.request(self.description["server"] + "/v1/grants", body)["download"]

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
    with open(directory / "log", "wb") as log:
        agent = subprocess.Popen(
            [arguments.bin / "pullbox-agent", "--state", directory / "state", "--server",
             stack.description["server"], "--store", stack.description["store"], "--account-token", stack.account(),
             "--socket", socket, "--ready-file", ready], stderr=log)
    try:
        while not ready.exists():
            if agent.poll() is not None:
                raise RuntimeError((directory / "log").read_text())
            time.sleep(0.02)
        output = stack.pullbox("buy", product, "--wait", "--json", PULLBOX_AGENT_SOCKET=str(socket))
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


NGINX = """
daemon off;
pid {work}/nginx.pid;
error_log {work}/nginx.log warn;
worker_processes auto;
events {{ worker_connections 1024; }}
http {{
  access_log off;
  sendfile on;
  tcp_nopush on;
  keepalive_requests 100000000;
  open_file_cache max=100;
  client_body_temp_path {work}/nginx-body;
  proxy_temp_path {work}/nginx-proxy;
  fastcgi_temp_path {work}/nginx-fastcgi;
  uwsgi_temp_path {work}/nginx-uwsgi;
  scgi_temp_path {work}/nginx-scgi;
  server {{
    listen 127.0.0.1:{port} reuseport;
    root {work}/www;
    location /gated/ {{
      alias {work}/www/;
      secure_link $arg_md5,$arg_expires;
      secure_link_md5 "$secure_link_expires$uri secret";
      if ($secure_link = "") {{ return 403; }}
      if ($secure_link = "0") {{ return 410; }}
    }}
  }}
}}
"""


class Nginx:
    def __init__(self, arguments, package):
        self.port = arguments.port_base + 20
        www = arguments.work / "www"
        www.mkdir()
        os.link(package, www / "package")
        # Workers give up root for a user who must be able to get here.
        for directory in (arguments.work, www):
            directory.chmod(0o755)
        package.chmod(0o644)
        configuration = arguments.work / "nginx.conf"
        configuration.write_text(NGINX.format(work=arguments.work, port=self.port))
        executable = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
        self.process = subprocess.Popen([executable, "-c", configuration], stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 10
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        while time.monotonic() < deadline:
            self.workers = [int(pid) for pid in children.read_text().split()]
            if len(self.workers) >= os.cpu_count():
                return
            time.sleep(0.05)
        raise RuntimeError((arguments.work / "nginx.log").read_text())

    def gated_path(self):
        import base64
        import hashlib
        expires = 4_000_000_000
        digest = hashlib.md5(f"{expires}/gated/package secret".encode()).digest()
        return f"/gated/package?md5={base64.urlsafe_b64encode(digest).decode().rstrip('=')}&expires={expires}"

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)


def load(arguments, pids, port, path, connections, requests, length, span, field=None):
    """Processor seconds of the server, body bytes, wall seconds."""
    before = processor_time(pids)
    words = [port, path, connections, requests, length, span] + ([field] if field else [])
    count, seconds = run(arguments.work / "ranges", *words).split()
    return processor_time(pids) - before, int(count), float(seconds)


def measure_serving(stack, product, package):
    arguments = stack.arguments
    nginx = Nginx(arguments, package)
    ours, theirs, our_ranges, their_ranges = [], [], [], []
    try:
        length = package.stat().st_size
        whole = max(4, int(8 * GIGABYTE // length) // 4 * 4)
        ranges = 40_000
        pids = [stack.server_pid]
        port = arguments.port_base
        for _ in range(arguments.pairs + 2):
            terms = stack.grant(product)
            ticket = f"Authorization: Bearer {terms['ticket']}"
            path = terms["contentURL"]
            cost, count, _ = load(arguments, pids, port, path, 4, whole, length, 0, ticket)
            ours.append(cost / count * GIGABYTE)
            cost, count, _ = load(arguments, nginx.workers, nginx.port, "/package", 4, whole, length, 0)
            theirs.append(cost / count * GIGABYTE)
            cost, _, _ = load(arguments, pids, port, path, 8, ranges, length, RANGE, ticket)
            our_ranges.append(cost / ranges * 1e6)
            cost, _, _ = load(arguments, nginx.workers, nginx.port, nginx.gated_path(), 8, ranges, length, RANGE)
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
            "machine": {"kernel": platform.release(), "processors": os.cpu_count(), "model": model()},
            "figures": self.figures}, indent=2) + "\n")

    def show(self):
        width = max(len(figure["name"]) for figure in self.figures)
        print(f"{'':{width}}  {'measured':>9}  {'target':>7}")
        for figure in self.figures:
            verdict = "" if figure["held"] else "  MISSED"
            print(f"{figure['name']:{width}}  {figure['value']:9.2f}  {figure['target']:7.2f}  "
                  f"{figure['measure']}{verdict}")


def model():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


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
