"""The installed agent on the bus of the system, before polkit (check-installed). What the machine lacks is said as skipped."""

import json
import shlex
import time
import xml.etree.ElementTree

from chapters import COMIC, Chapters

NAME, ROOT = "com.pullbox.Agent1", "/com/pullbox/Agent1"
CALL = f"busctl --system call {NAME} {ROOT} {NAME}"
# Of the device's agent, also for a user who has one of their own.
PULLBOX = "PULLBOX_AGENT_SOCKET=/run/pullbox/agent.sock pullbox"
GET = f"busctl --system get-property {NAME} {ROOT} {NAME}"
# The seat that a person sits before.
SEAT = "-E XDG_SEAT=seat0 -E XDG_SESSION_TYPE=tty -E XDG_SESSION_CLASS=user"
PASSWORD = "correct horse"

# Runs a command for which polkit asks a person, and gives the password at the terminal. $1: the command, $2: the password.
AT_TERMINAL = r"""
import os, pty, re, sys, termios, time
child, terminal = pty.fork()
if child == 0:
    os.execvp("bash", ["bash", "-c", "pkttyagent --process $$ & sleep 2; exec " + sys.argv[1]])
said, given = b"", False
while True:
    try:
        part = os.read(terminal, 4096)
    except OSError:
        break
    if not part:
        break
    said += part
    if not given and re.search(rb"(?i)password: *$", said):
        # What is typed while the terminal still shows it is thrown away.
        while termios.tcgetattr(terminal)[3] & termios.ECHO:
            time.sleep(0.05)
        os.write(terminal, sys.argv[2].encode() + b"\n")
        given = True
print(said.decode(errors="replace"))
if not given:
    print("no password was asked for")
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


class BusChapters(Chapters):
    def skipped(self, what, why):
        line = f"skipped  {what}: {why}"
        print(line, flush=True)
        self.machine.transcript.write(f"\n===== {line}\n\n")

    def lacks(self, what, *programs):
        """Says so, and answers True, where one of the programs is not there."""
        for program in programs:
            if self.machine.code(f"[ -x {program} ] || command -v {program} >/dev/null") != 0:
                self.skipped(what, f"this machine has no {program}")
                return True
        return False

    def failing(self, command, user=None):
        """What a command that has to fail prints."""
        printed = self.run(f"({command}) 2>&1 && echo 'it did not fail'; true", user)
        self.require("it did not fail" not in printed, f"{user or 'root'} may: {command}")
        return printed

    def agent(self, path):
        """A document of the agent's socket."""
        return json.loads(self.run(f"curl -sf --unix-socket /run/pullbox/agent.sock http://agent{path}"))

    def condition(self, name):
        return next(one for one in self.agent("/v1/conditions")["conditions"] if one["name"] == name)

    def source(self, name):
        return next(one["state"] for one in self.agent("/v1/conditions")["sources"] if one["name"] == name)

    def download(self, product):
        """The newest download of a product; None where there is none."""
        return next((one for one in self.agent("/v1/downloads?limit=50")["downloads"] if one["product"] == product), None)

    def is_on_the_bus(self):
        self.machine.wait(10, "name on the bus", lambda: self.machine.code(f"busctl --system status {NAME} >/dev/null") == 0)
        status = self.run(f"busctl --system status {NAME}")
        self.require(f"PID={self.main_pid('pullbox-agent')}" in status.splitlines(), f"{NAME} is somebody else's: {status}")
        self.require(self.interfaces(self.run(f"busctl --system introspect --xml-interface {NAME} {ROOT}", "bob"))[NAME]
                     == self.interfaces(self.run(f"cat /usr/share/dbus-1/interfaces/{NAME}.xml"))[NAME],
                     "the agent has another interface than its file")
        self.held(f"the unit of the device owns {NAME} on the bus of the system, with the interface of its file")
        tree = self.run(f"busctl --system tree --list {NAME}", "bob").split()
        managed = self.run(f"busctl --system --json=short call {NAME} {ROOT} org.freedesktop.DBus.ObjectManager GetManagedObjects", "bob")
        objects = json.loads(managed)["data"][0]
        self.require(set(objects) <= set(tree), f"objects that introspection does not show: {set(objects) - set(tree)}")
        comic = next((one for one in objects.values() if one.get(f"{NAME}.LibraryItem", {}).get("Product", {}).get("data") == COMIC), None)
        self.require(comic is not None, f"{COMIC} is no object")
        self.held(f"a user who is in no group sees its {len(objects)} objects")

    @staticmethod
    def interfaces(text):
        found = {}
        for interface in xml.etree.ElementTree.fromstring(text[text.index("<node"):]).iter("interface"):
            members = [(one.tag, one.get("name"), one.get("type"), one.get("access"),
                        [(part.get("type"), part.get("direction", "")) for part in one.iter("arg")]) for one in interface]
            found[interface.get("name")] = sorted(members, key=str)
        return found

    def is_started_by_asking(self):
        self.run("systemctl stop pullbox-agent")
        begin = time.monotonic()
        self.run(f"{GET} Version", "bob")
        self.require(self.property("pullbox-agent", "ActiveState") == "active", "what answers is not the unit")
        took = time.monotonic() - begin
        self.run("systemctl disable --now pullbox-agent")
        self.failing(f"{GET} Version", "bob")
        self.require(self.property("pullbox-agent", "ActiveState") == "inactive", "asking starts a unit that is not enabled")
        self.run("systemctl enable --now pullbox-agent")
        self.held(f"asking starts the unit, in {took:.1f} s, but not one that is disabled")

    def is_started_by_its_socket(self):
        self.run("systemctl stop pullbox-agent && systemctl enable --now pullbox-agent.socket")
        self.require(self.property("pullbox-agent", "ActiveState") == "inactive", "the socket has started the agent by itself")
        self.failing(f"{PULLBOX} library", "bob")
        self.require(self.property("pullbox-agent", "ActiveState") == "inactive", "who is not in the group starts the agent")
        begin = time.monotonic()
        self.run(f"{PULLBOX} library", "ada")
        took = time.monotonic() - begin
        self.require(self.property("pullbox-agent", "ActiveState") == "active", "what answers is not the unit")
        self.run("systemctl stop pullbox-agent")
        self.run(f"{PULLBOX} library", "ada")
        self.run("systemctl disable --now pullbox-agent.socket; systemctl restart pullbox-agent")
        self.run("systemctl --user stop pullbox-agent && systemctl --user start pullbox-agent.socket", "bob")
        self.run("pullbox library", "bob")
        self.require(self.run("systemctl --user is-active pullbox-agent", "bob").strip() == "active", "what answers the user is not the unit")
        self.run("systemctl --user stop pullbox-agent pullbox-agent.socket && systemctl --user start pullbox-agent", "bob")
        self.held(f"asking at the socket of pullbox-agent.socket starts the unit, in {took:.1f} s, also a user's, and not for who is not in the group")

    def asks_polkit(self):
        if self.lacks("polkit", "/usr/lib/polkit-1/polkitd"):
            return
        changes = {"buy": f"{CALL} Buy 'sa{{sv}}' {COMIC} 0", "restore": f"{CALL} Restore 'asa{{sv}}' 1 {COMIC} 0",
                   "pause": f"{CALL} Inhibit ss check check"}
        since = self.cursor()
        for change in changes.values():
            refused = self.failing(change, "bob")
            self.require("Access denied" in refused, f"something else was refused: {refused}")
        self.require(self.property("polkit", "ActiveState") == "active", "polkit was not asked")
        self.require("polkit does not answer" not in self.journal("pullbox-agent", since), "polkit gives the agent no answer")
        self.run(f"{CALL} Offer ss {COMIC} en-US", "bob")
        self.failing(f"{PULLBOX} library", "bob")
        for user in ("ada", None):
            self.run(changes["restore"], user)
            self.run(changes["pause"], user)
            self.run(f"{PULLBOX} restore {COMIC}", user)
        self.held("polkit refuses who is neither at the seat nor in the group; the group and root may, on the bus as at the socket")
        self.has_rules(changes)
        self.agrees_with_the_socket(changes)
        self.knows_the_seat(changes)

    def has_rules(self, changes):
        """An administrator's rule counts, for its action alone."""
        self.machine.write("/etc/polkit-1/rules.d/10-check.rules", "polkit.addRule(function (action, subject) {\n"
                           f'  if (subject.user === "bob" && action.id === "{NAME}.restore") return polkit.Result.YES;\n}});\n')
        self.machine.wait(10, "rule of polkit", lambda: self.machine.code(f"{changes['restore']} >/dev/null", "bob") == 0)
        self.failing(changes["buy"], "bob")
        self.held("a rule of polkit lets a user restore, and not buy")

    def agrees_with_the_socket(self, changes):
        """Where users of the group may only watch, and the agent sees who asks at its socket."""
        self.run("mkdir -p /run/systemd/system/pullbox-agent.service.d")
        self.machine.write("/run/systemd/system/pullbox-agent.service.d/check.conf",
                           "[Service]\nPrivateUsers=no\nProtectProc=default\nEnvironment=PULLBOX_CONTROL_GROUP=root\n")
        self.run("usermod --append --groups pullbox bob && systemctl daemon-reload && systemctl restart pullbox-agent")
        for user, may in (("bob", True), ("ada", False), (None, True)):
            for command in (changes["restore"], f"{PULLBOX} restore {COMIC}"):
                self.require((self.machine.code(f"({command}) >/dev/null 2>&1", user) == 0) == may,
                             f"{user or 'root'} {'may not' if may else 'may'}: {command}")
            self.run(f"{PULLBOX} library", user)
        self.failing(changes["buy"], "bob")
        status = self.run("curl -s -o /dev/null -w '%{http_code}' --unix-socket /run/pullbox/agent.sock "
                          f"-H 'Content-Type: application/json' -d '{{\"product\":\"{COMIC}\"}}' http://agent/v1/purchases", "bob")
        self.require(status == "403", f"the socket answers {status} to a purchase that polkit refuses")
        self.held("polkit's word is the same at the socket: who may on the bus may there, and who may not there may not here")
        self.run("gpasswd --delete bob pullbox; rm -r /run/systemd/system/pullbox-agent.service.d /etc/polkit-1/rules.d/10-check.rules && "
                 "systemctl daemon-reload && systemctl restart pullbox-agent")

    def knows_the_seat(self, changes):
        if self.lacks("the seat", "/lib/systemd/systemd-logind", "pkttyagent"):
            return
        self.run(f"useradd --create-home cyd && echo cyd:{shlex.quote(PASSWORD)} | chpasswd")
        self.machine.write("/tmp/at-terminal.py", AT_TERMINAL, mode="755")
        terminal = " -E XDG_VTNR=1" if self.run("loginctl show-seat --property=CanTTY seat0", code=None) == "CanTTY=yes" else ""
        seated = f"systemd-run --quiet --pipe --wait --collect -p PAMName=login -p User=cyd {SEAT}{terminal}"
        if "Active=yes" not in self.run(f"{seated} loginctl show-session --property=Active self", code=None):
            self.skipped("the seat", "logind makes no session there that is active")
            return
        self.run(f"{seated} {changes['pause']}")
        self.failing(f"{seated} {changes['restore'].replace('call', 'call --allow-interactive-authorization=no', 1)}")
        self.held("the user at the active seat may pause, and restores nothing without a password")
        command = f"/usr/bin/python3 /tmp/at-terminal.py {shlex.quote(changes['restore'])}"
        self.failing(f"{seated} {command} wrong")
        self.run(f"{seated} {command} {shlex.quote(PASSWORD)}")
        self.held("with the password of that user, which polkit asks for at the terminal, it is allowed")
