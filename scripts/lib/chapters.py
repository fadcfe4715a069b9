"""What is done with Pullbox as it is installed from its packages, chapter by chapter (check-installed, check-profiles)."""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

from installation import OPERATOR, SERVER, SERVICES, Installation

COMIC = "com.example.kestrelstation.issue1"
SECOND = "com.example.mossandmallow.issue3"
STORE = "http://127.0.0.1:8090"


class Chapters(Installation):
    # The directory of the packages that are installed first.
    first = "now"

    def installs(self):
        self.run(f"cd /run/packages/{self.first} && {self.commands('Trying it out')[0]}")
        self.require(not self.run("dpkg --audit"), "dpkg --audit complains")
        for user in SERVICES:
            self.run(f"id {user}")
        for path, mode in (("/etc/pullbox/server.env", "600 root"), ("/etc/pullbox/sandbox.env", "600 root"),
                           ("/etc/pullbox/operator-key", "600 root"), ("/etc/pullbox/operators", "600 pullbox-server"),
                           ("/var/lib/pullbox-library", "750 pullbox-agent"), ("/var/lib/pullbox-server", "700 pullbox-server")):
            self.require(self.run(f"stat -c '%a %U' {path}") == mode, f"{path} is not {mode}")
        self.held("apt installs the packages, makes their users and directories, and no secret can be read by others")

    def needs_debian_alone(self):
        for program in ("pullbox", *SERVICES):
            executable = f"/proc/{self.machine.first}/root/usr/bin/{program}"
            dynamic = subprocess.run(["readelf", "--dynamic", executable], check=True, capture_output=True, text=True).stdout
            self.require("RUNPATH" not in dynamic and "RPATH" not in dynamic, f"{program} has a RUNPATH")
            libraries = self.run(f"ldd /usr/bin/{program}")
            self.require("not found" not in libraries and "swift" not in libraries, f"{program} lacks libraries")
            self.run(f"{program} --version")
        self.held("each executable runs without the toolchain, on libraries of Debian alone")

    def starts(self):
        for service in ("pullbox-server", "pullbox-sandbox"):
            self.require(self.property(service, "ActiveState") == "active", f"{service} does not run")
        self.require(self.property("pullbox-agent", "ConditionResult") == "no", "the agent started without an account")
        account, agent, publish, buy = self.commands("Trying it out")[1:]
        self.run(account)
        self.before_the_agent_starts()
        self.run(agent)
        self.machine.wait(10, "answering server", lambda: self.machine.code(f"curl -sf {SERVER}/products_v1.json") == 0)
        for service in SERVICES:
            self.require(self.property(service, "ActiveState") == "active", f"{service} does not run")
            self.require(self.property(service, "NRestarts") == "0", f"{service} was started again")
        self.held("server and store run after the installation, the agent once it has an account; all stay up")
        self.run(publish)
        self.run(buy)
        self.read(COMIC, "kestrel-station-1", None)
        self.held("the five commands of deploy/README.md end with an issue that can be read")

    def before_the_agent_starts(self):
        """The account's token is there."""

    def sells(self):
        self.run("useradd --create-home --groups pullbox ada && useradd --create-home bob")
        shutil.copytree(self.content, self.machine.packages / "content", dirs_exist_ok=True)
        self.run(f"{OPERATOR} publish /run/packages/content/moss-and-mallow-3 --release")
        self.read(COMIC, "kestrel-station-1")
        self.buy(SECOND, "moss-and-mallow-3")
        self.held("a member of the group pullbox buys an issue and reads its pages")

    def refuses_strangers(self):
        path = self.run(f"pullbox path {COMIC}", "ada")
        self.require(self.machine.code(f"head -c 8 {path}/page-001.png", "bob") != 0, "a stranger reads the library")
        self.require(self.machine.code("pullbox library", "bob") != 0, "a stranger talks to the agent")
        self.require(self.machine.code("cat /etc/pullbox/operator-key", "ada") != 0, "a reader reads the server's secrets")
        self.held("others neither open the library nor talk to the agent")

    def reloads(self):
        self.configure("pullbox-server", '{ ticketLifetime: "10m", accessLog: "/var/log/pullbox/access.log" }')
        self.reload_server()
        self.held("a reload takes the new configuration, in the same process")

    def rotates_keys(self):
        keys = "/var/lib/pullbox-server/ticket-keys.json"
        before = self.run(f"stat -c '%U %a' {keys}; sha256sum <{keys}")
        self.run("pullbox-server --state /var/lib/pullbox-server --rotate-ticket-key")
        after = self.run(f"stat -c '%U %a' {keys}; sha256sum <{keys}")
        self.require(before.splitlines()[0] == after.splitlines()[0] and before != after, "the key file changed hands")
        self.reload_server()
        self.run(f"pullbox remove {SECOND} && pullbox restore", "ada")
        self.machine.wait(60, "restored issue", lambda: self.machine.code(f"pullbox path {SECOND}", "ada") == 0)
        self.read(SECOND, "moss-and-mallow-3")
        self.held("ticket keys are rotated by root, the server takes them at a reload and delivers with them")

    def renews_tls(self):
        self.certificate(0x11)
        # User-mode Linux has no IPv6.
        every = "[::]" if self.machine.code("test -e /proc/net/if_inet6") == 0 else "0.0.0.0"
        self.configure("pullbox-server", """{
  accessLog: "/var/log/pullbox/access.log",
  tls: { listen: ["%s:8443"], certificate: "/etc/pullbox/tls/chain.pem", key: "/etc/pullbox/tls/key.pem" },
}""" % every)
        self.reload_server(self.commands("The TLS key"))
        self.run("systemctl restart pullbox-server")
        self.require(self.served_serial() == "11", "another certificate is served")
        self.run("curl -sf --cacert /etc/pullbox/tls/chain.pem https://localhost:8443/products_v1.json")
        self.certificate(0x22)
        self.reload_server(self.commands("The TLS key"))
        self.require(self.served_serial() == "22", "the earlier certificate is served after the reload")
        self.held("TLS is served, and a renewed certificate after a reload, in the same process")

    def moves_library(self):
        text = self.run("cat /etc/pullbox/agent.json5")
        moved = re.sub(r'(?m)^  library: "[^"]*"', '  library: "/srv/comics"', text)
        self.require(moved != text, "agent.json5 names no library")
        for command in self.commands("The agent of a device"):
            if command.startswith("editor "):
                self.configure("pullbox-agent", moved)
            else:
                self.run(command)
        self.run(f"pullbox remove {COMIC} && pullbox restore", "ada")
        self.machine.wait(60, "restored issue", lambda: self.machine.code(f"pullbox path {COMIC}", "ada") == 0)
        path = self.read(COMIC, "kestrel-station-1")
        self.require(path.startswith("/srv/comics/"), f"the issue is in {path}")
        self.require(self.machine.code(f"ls {path}", "bob") != 0, "a stranger reads the library")
        self.held("a library in /srv, readable by members of the group and no one else")

    def serves_a_user(self):
        # As a user who is logged in, whose services outlive what others do in that user's name.
        self.run("loginctl enable-linger bob; systemctl start user@$(id -u bob)")
        self.run(f"umask 077; curl -sf -d '{{\"territory\":\"USA\",\"name\":\"bob\"}}' {STORE}/sandbox/v1/accounts |"
                 " sed 's/.*\"token\":\"\\([^\"]*\\)\".*/\\1/' >~/token", "bob")
        for command in self.commands("The agent of a user"):
            self.run(command.replace("TOKEN-FILE", "~/token"), "bob")
        self.buy(SECOND, "moss-and-mallow-3", "bob")
        path = self.run(f"pullbox path {SECOND}", "bob")
        self.require(path.startswith("/home/bob/Comics/"), f"the issue is in {path}")
        self.run("test -S $XDG_RUNTIME_DIR/pullbox/agent.sock", "bob")
        pid = int(self.run("systemctl --user show --value --property MainPID pullbox-agent", "bob"))
        self.run(f"kill -KILL {pid}")
        self.machine.wait(15, "new process", lambda: self.machine.code("pullbox library", "bob") == 0)
        self.held("a user's own agent: library in ~/Comics, socket below XDG_RUNTIME_DIR, started again when killed")

    def rotates_logs(self):
        self.run("systemctl restart pullbox-server")
        self.run(f"curl -sf {SERVER}/products_v1.json")
        log = "/var/log/pullbox/access.log"
        self.machine.wait(5, "access log", lambda: self.machine.code(f"test -s {log}") == 0)
        since = self.cursor()
        self.run("logrotate --force /etc/logrotate.d/pullbox-server")
        self.machine.wait(10, "reload", lambda: "reload" in self.journal("pullbox-server", since))
        self.run(f"test -s {log}.1 && curl -sf {SERVER}/products_v1.json")
        self.machine.wait(5, "new access log", lambda: self.machine.code(f"test -s {log}") == 0)
        self.held("the access log is rotated without a lost file")

    def backs_up(self):
        """As docs/operations.md has it, with its timer's service."""
        page = "docs/operations.md"
        self.run(self.commands("Backup", page)[0])
        unit = re.search(r"(?m)^# (/etc/systemd/system/pullbox-backup\.service)\n((?:.+\n)+)", (self.project / page).read_text())
        self.machine.write(unit.group(1), unit.group(2))
        self.run("systemctl daemon-reload && systemctl start pullbox-backup")
        self.require(self.property("pullbox-backup", "Result") == "success", "the service of the backup fails")
        generations = self.run("ls /srv/backup/pullbox").split()
        self.require(len(generations) == 2, f"generations: {generations}")
        for generation in generations:
            self.run(re.sub(r"\d{8}T\d{6}\.\d{3}Z", generation, self.commands("Backup", page, block=1)[0]))
        self.held("root backs the running server up, by hand and by a timer's service, and both generations are whole")

    def restores(self):
        state = self.state_of_server(COMIC)
        for command in self.commands("Restore", "docs/operations.md"):
            self.run(command)
        self.machine.wait(15, "answering server", lambda: self.machine.code(f"curl -sf {SERVER}/products_v1.json") == 0)
        self.require(self.state_of_server(COMIC) == state, "products or versions are lost with the restore")
        self.require(self.run("find /var/lib/pullbox-server ! -user pullbox-server") == "", "not all is the service's")
        self.run("pullbox-server check --state /var/lib/pullbox-server")
        self.run(f"pullbox remove {COMIC} && pullbox restore", "ada")
        self.machine.wait(60, "restored issue", lambda: self.machine.code(f"pullbox path {COMIC}", "ada") == 0)
        self.read(COMIC, "kestrel-station-1")
        self.held("the state is restored from the newest backup, and devices go on with it")

    def repairs(self):
        page, blobs = "docs/operations.md", "/var/lib/pullbox-server/blobs"
        named = self.run(f"{OPERATOR} versions {COMIC} --json")
        blob = next(path for path in self.run(f"find {blobs} -type f").split() if path.removeprefix(f"{blobs}/").replace("/", "") in named)
        digest = blob.removeprefix(f"{blobs}/").replace("/", "")
        for command in self.commands("Damaged packages", page)[:2]:
            # A file of its own: backups are linked to nothing in the state.
            self.run(f"printf x | dd of={blob} bs=1 seek=4096 conv=notrunc status=none")
            self.run("pullbox-server check", code=6)
            self.run(re.sub(r"\b[0-9a-f]{64}\b", digest, command))
            self.run("pullbox-server check")
        self.machine.wait(40, "whole package", lambda: self.machine.code(f"{OPERATOR} status") == 0)
        self.held("a damaged package is named, and taken from the backup by name and by a check of everything")

    def makes_room(self):
        for command in self.commands("A full disk", "docs/operations.md"):
            self.run(command if not command.startswith("pullbox ") else f"export {OPERATOR.removesuffix(' pullbox')}; {command}")
        self.read(COMIC, "kestrel-station-1")
        self.held("the commands for a full disk run, and remove nothing that is needed")
