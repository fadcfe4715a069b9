"""What is done again and again with Pullbox as it is installed from its packages (check-installed, check-profiles, check-upgrade)."""

import argparse
import hashlib
import json
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time

from booted_machine import CommandFailed

SERVICES = ("pullbox-server", "pullbox-agent", "pullbox-sandbox")
SERVER = "http://127.0.0.1:8080"
OPERATOR = f"PULLBOX_OPERATOR_KEY=$(cat /etc/pullbox/operator-key) PULLBOX_SERVER={SERVER} pullbox"


class Installation:
    def __init__(self, machine, project):
        self.machine, self.project, self.content = machine, project, project / "content"
        self.run, self.property = machine.run, machine.property
        self.started = time.monotonic()

    def held(self, what):
        line = f"held  {what}"
        print(f"{line}  ({time.monotonic() - self.started:.0f} s)", flush=True)
        self.machine.transcript.write(f"\n===== {line}\n\n")

    def require(self, is_so, what):
        if not is_so:
            raise CommandFailed(what)

    def commands(self, heading, page="deploy/README.md", block=0):
        """Those of the first block, or a later one, below a heading of a page."""
        below = re.search(rf"(?ms)^## {heading}$.*?(?=^## |\Z)", (self.project / page).read_text()).group()
        return re.findall(r"(?ms)^```sh\n(.*?)^```", below)[block].splitlines()

    def apt(self, arguments):
        self.run(f"apt-get --quiet --no-install-recommends {arguments}")

    def buy(self, product, issue, user="ada"):
        self.run(f"pullbox buy {product} --yes --wait", user)
        self.read(product, issue, user)

    def read(self, product, issue, user="ada"):
        """Every page is the published one."""
        path = self.run(f"pullbox path {product}", user)
        printed = self.run(f"cd {shlex.quote(path)} && sha256sum page-*", user)
        pages = {name: digest for digest, name in (line.split() for line in printed.splitlines())}
        published = {page.name: hashlib.sha256(page.read_bytes()).hexdigest() for page in (self.content / issue).glob("page-*")}
        self.require(pages == published, f"the pages of {product} are not the published ones")
        return path

    def main_pid(self, service):
        return int(self.property(service, "MainPID"))

    def journal(self, service, since):
        # Not --unit: with it journalctl 252 leaves out the first line behind a cursor of another unit.
        printed = self.run("journalctl --quiet --output=json --output-fields=MESSAGE,UNIT,_SYSTEMD_UNIT "
                           f"--after-cursor={shlex.quote(since)}")
        entries = [json.loads(line) for line in printed.splitlines()]
        return "\n".join(entry["MESSAGE"] for entry in entries if f"{service}.service" in (entry.get("UNIT"), entry.get("_SYSTEMD_UNIT")))

    def cursor(self):
        return self.run("journalctl --quiet --output=cat --lines=1 --show-cursor").split("cursor: ")[-1].strip()

    def reload_server(self, commands=("systemctl reload pullbox-server",)):
        """Runs the commands, the last of which reloads; returns once the log says that this is done."""
        pid, since = self.main_pid("pullbox-server"), self.cursor()
        for command in commands:
            self.run(f"cd /tmp && {command}")
        self.machine.wait(10, "reload in the log", lambda: "reload" in self.journal("pullbox-server", since))
        self.require(self.main_pid("pullbox-server") == pid, "a reload ended the server")

    def configure(self, service, text):
        name = service.removeprefix("pullbox-")
        self.machine.write(f"/etc/pullbox/{name}.json5", text)

    def certificate(self, number):
        """A new one, with its key, in /tmp."""
        self.run("cd /tmp && umask 077 && openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost "
                 f"-addext subjectAltName=DNS:localhost -set_serial {number} -keyout privkey.pem -out fullchain.pem 2>/dev/null")

    def served_serial(self):
        text = self.run("openssl s_client -connect localhost:8443 </dev/null 2>/dev/null | openssl x509 -noout -serial", code=None)
        return text.removeprefix("serial=")

    def again(self, service, former, seconds):
        """Returns once the service runs in another process."""
        self.machine.wait(seconds, f"new process of {service}", lambda: self.main_pid(service) not in (0, former) and
                          self.property(service, "ActiveState") == "active")

    def state_of_server(self, product):
        return self.run(f"{OPERATOR} products --json"), self.run(f"{OPERATOR} versions {product} --json")


def arguments_for(description, *required):
    """The options of a check on a machine: those that are named, each a path, and --files and --hide."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in required:
        parser.add_argument(name, type=pathlib.Path, required=True)
    parser.add_argument("--files", type=pathlib.Path, default="/")
    parser.add_argument("--hide", action="append", default=[])
    # Ended from outside, it takes its machine along.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    return parser.parse_args()


def tell(story, machine, arguments):
    """Boots the machine and tells the story on it; the exit code of the check."""
    with machine:
        told = story(machine, arguments.project)
        try:
            told.held("systemd " + machine.run("systemctl --version").split()[1] + " is up")
            told.tell()
        except CommandFailed as failure:
            machine.run("journalctl --quiet --no-pager --lines=400 | tail -n 400; systemctl --no-pager status 'pullbox*'", code=None)
            print(f"FAILED  {failure}\nthe transcript is {arguments.transcript}", flush=True)
            return 1
        machine.run("journalctl --quiet --no-pager | tail -n 2000", code=None)
    return 0


# Asks again and again over new connections, until a line comes in.
LOAD = """
import http.client, json, sys, threading
answered, lost, done = 0, [], threading.Event()
lock = threading.Lock()
def ask():
    global answered
    while not done.is_set():
        try:
            connection = http.client.HTTPConnection("127.0.0.1", 80, timeout=20)
            connection.request("GET", "/products_v1.json")
            answer = connection.getresponse()
            answer.read()
            wrong = "" if answer.status == 200 else str(answer.status)
            connection.close()
        except Exception as error:
            wrong = repr(error)
        with lock:
            if wrong: lost.append(wrong)
            else: answered += 1
        done.wait(0.01)
threads = [threading.Thread(target=ask) for _ in range(8)]
for thread in threads: thread.start()
sys.stdin.readline()
done.set()
for thread in threads: thread.join()
print(json.dumps({"answered": answered, "lost": lost}))
"""


def make_earlier(packages, directory):
    """The same packages under a version that theirs replaces."""
    directory.mkdir()
    for package in packages.glob("*.deb"):
        with tempfile.TemporaryDirectory() as work:
            subprocess.run(["dpkg-deb", "--raw-extract", package, f"{work}/tree"], check=True)
            control = pathlib.Path(work) / "tree/DEBIAN/control"
            control.write_text(re.sub(r"(?m)^(Version: .*)$", r"\1~before", control.read_text()))
            subprocess.run(["dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "--build", f"{work}/tree", directory],
                           check=True, stdout=subprocess.DEVNULL)
