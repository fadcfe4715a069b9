"""Programs in sandboxes of Flatpak's beside what is installed: a reader before the portals of freedesktop.org, pullbox-desktop, and an agent
(check-installed). What the machine lacks is said as skipped."""

import json
import re
import shlex

from bus_chapters import NAME, ROOT
from chapters import SECOND, STORE
from home_chapters import LARGE, WAY, HomeChapters
from installation import OPERATOR

# An issue that nothing has bought before.
SMALL, SMALL_BYTES = "check.small", 64 << 10
READER, OTHER = "com.pullbox.Shelf", "com.pullbox.check.Other"
DESKTOP, AGENT = "com.pullbox.check.Desktop", "com.pullbox.check.Agent"
# Flatpak looks for the bus nowhere else.
FLATPAK = "DBUS_SESSION_BUS_ADDRESS=unix:path=$XDG_RUNTIME_DIR/bus flatpak"
ITEMS = f"{ROOT}/library"
DENIED = "org.freedesktop.DBus.Error.AccessDenied"
SOCKET = "--unix-socket $XDG_RUNTIME_DIR/pullbox/agent.sock"

# A runtime of this machine's own programs, with the libraries that they ask for. $1: where to, then the programs.
RUNTIME = r"""
set -euo pipefail
umask 022
place=$1 bus=$(ldconfig -p | sed -n 's/^\tlibsystemd\.so\.0 .*=> //p' | head -n 1)
shift
mkdir -p "$place"/files "$place"/usr/bin "$place"/usr/lib
programs=()
for name in "$@"; do programs+=("$(command -v "$name")"); done
cp -L "${programs[@]}" "$place/usr/bin/"
ln -s bash "$place/usr/bin/sh"
# The library of the bus is opened at run time.
cp -L "$bus" "$place/usr/lib/"
ldd "${programs[@]}" "$bus" | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p' | sort -u | xargs cp -L -t "$place/usr/lib/"
# The linker is named by its path.
for linker in $(ldd "${programs[@]}" | sed -n 's/^\t\(\/[^ ]*\) .*/\1/p' | sort -u); do
  mkdir -p "$place/usr$(dirname "$linker")"
  cp -L "$linker" "$place/usr$linker"
done
"""
PROGRAMS = ("bash", "cat", "curl", "find", "gdbus", "ls", "rm", "sha256sum", "touch", "pullbox-agent", "pullbox-desktop")

# In the place of a desktop's own portal: it lets programs begin with the session, and tells of no window.
BACKEND = "org.freedesktop.impl.portal.desktop.check"
PORTAL = "/org/freedesktop/portal/desktop"
METHODS = (("EnableAutostart", "sbasu", "b", "ret = True"), ("GetAppState", "", "a{sv}", "ret = dbus.Dictionary({}, signature='sv')"),
           ("NotifyBackground", "oss", "ua{sv}", "ret = (dbus.UInt32(2), dbus.Dictionary({}, signature='sv'))"))


class PortalChapters(HomeChapters):
    def lives_in_sandboxes(self):
        if self.lacks("a sandbox", "flatpak", "bwrap", "xdg-dbus-proxy", "/usr/libexec/xdg-desktop-portal", "/usr/libexec/xdg-document-portal",
                      "fusermount3", "gdbus"):
            return
        if self.machine.code("exec 3<>/dev/fuse", "bob") != 0:
            return self.skipped("a sandbox", "this kernel has no FUSE, by which the document portal shows content")
        if self.machine.code("bwrap --ro-bind / / --unshare-pid --proc /proc --dev /dev true", "bob") != 0:
            return self.skipped("a sandbox", "bwrap may make no namespaces here")
        self.installs_applications()
        try:
            self.run("systemctl --user start pullbox-desktop", "bob")
            self.reads_in_a_sandbox()
            self.changes_nothing_alone()
            self.reads_by_the_socket()
            self.shows_notices_by_the_portal()
            self.runs_in_a_sandbox()
        finally:
            self.leaves_no_sandbox()

    # Flatpak

    def flatpak(self, arguments, code=0):
        return self.run(f"{FLATPAK} {arguments}", "bob", code=code)

    def inside(self, command, application=READER, code=0):
        """What a command prints that runs in the sandbox of an application."""
        return self.flatpak(f"run --command=sh {application} -c {shlex.quote(f'({command}) 2>&1')}", code)

    def asks(self, method, *arguments, path=ROOT, name=NAME, interface=NAME, application=READER, bus="session"):
        """What the answer or the error of a call is that is made in a sandbox."""
        words = " ".join(shlex.quote(argument) for argument in arguments)
        return self.inside(f"gdbus call --{bus} --dest {name} --object-path {path} --method {interface}.{method} {words}", application, code=None)

    def item(self, product):
        return f"{ITEMS}/" + "".join(one if one.isalnum() else f"_{ord(one):02x}" for one in product)

    def installs_applications(self):
        """A runtime of Debian's programs, and the applications on it, as flatpak-builder would export them."""
        machine = self.flatpak("--default-arch")
        self.machine.write("/tmp/runtime.sh", RUNTIME)
        self.run(f"rm -rf ~/flatpak && mkdir ~/flatpak && bash /tmp/runtime.sh ~/flatpak/runtime {' '.join(PROGRAMS)}", "bob")
        manifest = (self.project / "Examples/Shelf/com.pullbox.Shelf.yml").read_text()
        permissions = re.findall(r"(?m)^  - (--\S+)$", manifest)
        self.require(any(NAME in one for one in permissions), f"the manifest of the reader is not understood: {permissions}")
        proxy = self.run("dpkg-query --show --showformat='${Version}' xdg-dbus-proxy", code=None)
        whole = []
        if self.machine.code(f"dpkg --compare-versions {shlex.quote(proxy)} ge 0.1.6") != 0:
            self.skipped("the agent and pullbox-desktop behind xdg-dbus-proxy", f"sd-bus is understood by 0.1.6, and this one is {proxy}: "
                         "in their sandboxes they have the bus itself")
            whole = ["--socket=session-bus"]
        runtime = f"com.pullbox.check.Runtime/{machine}/now"
        for name, finish in ((None, None), (READER, permissions), (OTHER, permissions),
                             (DESKTOP, ["--own-name=com.pullbox.Desktop", f"--talk-name={NAME}", *whole]),
                             (AGENT, ["--share=network", f"--own-name={NAME}", "--filesystem=xdg-run/pullbox", *whole])):
            directory = f"~/flatpak/{name or 'runtime'}"
            metadata = f"[{'Application' if name else 'Runtime'}]\nname={name or runtime.split('/')[0]}\nruntime={runtime}\nsdk={runtime}\ncommand=sh\n"
            self.run(f"mkdir -p {directory}/files/bin && printf %s {shlex.quote(metadata)} >{directory}/metadata", "bob")
            if name == DESKTOP:
                # Its reader notes what it is to open.
                self.run(f"printf '#!/bin/sh\\necho \"$@\" >$XDG_DATA_HOME/opened\\n' >{directory}/files/bin/pullbox && "
                         f"chmod 755 {directory}/files/bin/pullbox", "bob")
            if name:
                self.flatpak(f"build-finish {directory} " + " ".join(finish))
            self.flatpak(f"build-export --disable-sandbox --no-update-summary {'' if name else '--runtime'} ~/flatpak/repository {directory} now")
        self.flatpak("build-update-repo ~/flatpak/repository && " + FLATPAK + " --user remote-add --no-gpg-verify check ~/flatpak/repository")
        self.flatpak(f"--user install --assumeyes --noninteractive check {runtime} {READER} {OTHER} {DESKTOP} {AGENT}")
        self.require(f"name={READER}" in self.inside("cat /.flatpak-info"), "flatpak's sandbox says nothing of itself")
        version = self.flatpak("--version").split()[-1]
        self.held(f"flatpak {version} runs applications with the permissions of the reader's manifest, on a runtime of this machine's programs")

    # A reader

    def reads_in_a_sandbox(self):
        self.require("0." in self.asks("Get", NAME, "Version", interface="org.freedesktop.DBus.Properties"), "a sandbox sees no agent")
        self.require(SECOND in self.asks("GetManagedObjects", interface="org.freedesktop.DBus.ObjectManager"), "a sandbox sees no library")
        outside = self.run(f"busctl --user call {NAME} {self.item(SECOND)} {NAME}.LibraryItem Open", "bob")
        library = re.search(r's "(/[^"]+)"', outside).group(1)
        self.require(library.startswith("/home/bob/"), f"a program in no sandbox finds {outside}")
        path = self.shown(self.asks("LibraryItem.Open", path=self.item(SECOND)))
        self.require(re.fullmatch(r"/run/user/\d+/doc/[^/]+/[^/]+", path), f"a program in a sandbox finds {path}")
        pages = self.inside(f"cd {path} && sha256sum page-*")
        self.require(pages == self.run(f"cd {library} && sha256sum page-*", "bob") and "page-001" in pages, "the document has other pages")
        again = self.asks("Open", SECOND, name="com.pullbox.Desktop", path="/com/pullbox/Desktop", interface="com.pullbox.Desktop1")
        self.require(self.shown(again) == path, f"pullbox-desktop shows another place: {again}")
        for command in (f"touch {path}/new", f": >{path}/page-001.png", f"rm -f {path}/page-001.png", f"ls {library}", "ls ~/Comics"):
            self.require("no" not in self.inside(f"{command} && echo no", code=None).split(), f"a sandbox may: {command}")
        listed = self.inside("find $XDG_RUNTIME_DIR/doc/ -mindepth 1 -maxdepth 1").split()
        self.require(listed == [path.rsplit("/", 1)[0]], f"a sandbox is shown more than one product: {listed}")
        self.require(not self.inside("find $XDG_RUNTIME_DIR/doc/ -mindepth 1", OTHER), "another application is shown the reader's document")
        self.held("in its sandbox a reader watches and opens: the document portal shows it the pages of one product, to read, and to no other "
                  "application; it sees nothing of the library")
        for method, arguments in (("Sandbox", ["uint32 1"]), ("Show", [":1.1", SECOND, "/etc/passwd"])):
            printed = self.asks(method, *arguments, name="com.pullbox.Desktop", path="/com/pullbox/Desktop", interface="com.pullbox.Desktop1")
            self.require(DENIED in printed, f"a program in a sandbox may {method}: {printed}")
        self.run(f"pullbox remove {SECOND}", "bob")
        self.machine.wait(10, "end of the document", lambda: self.inside(f"ls {path} >/dev/null && echo there", code=None).split()[-1:] != ["there"])
        self.run(f"pullbox restore {SECOND} --wait", "bob")
        self.held("pullbox-desktop shows files to no one but the agent of its user, and the document ends when its product is removed")

    def shown(self, printed):
        found = re.fullmatch(r"\('(/[^']+)',\)", printed.strip())
        self.require(found, f"content is not shown: {printed}")
        return found.group(1)

    def changes_nothing_alone(self):
        slow = "~/.config/systemd/user/pullbox-agent.service.d"
        self.run(f"mkdir -p {slow} && printf '[Service]\\nEnvironment=PULLBOX_MAXIMUM_SPEED=1MiB\\n' >{slow}/check.conf && "
                 "systemctl --user daemon-reload && systemctl --user restart pullbox-agent", "bob")
        if self.machine.code("test -d /tmp/noise") != 0:
            self.publishes_noise()
        self.run(f"pullbox buy {LARGE} --yes", "bob")
        self.machine.wait(20, "download", lambda: self.own("/v1/downloads?limit=50", "downloads", LARGE).get("bytesReceived"))
        download = f"{ROOT}/downloads/" + self.escaped(self.own("/v1/downloads?limit=50", "downloads", LARGE)["id"])
        for method, state in (("Pause", "paused"), ("Resume", "running"), ("Pause", "paused")):
            printed = self.asks(f"Download.{method}", path=download)
            self.require("Error" not in printed, f"a program in a sandbox may not {method}: {printed}")
            self.machine.wait(10, state, lambda: self.is_in(state, self.own("/v1/downloads?limit=50", "downloads", LARGE)))
        self.require("uint32" in self.asks("Inhibit", "check", "check"), "a program in a sandbox may not inhibit")
        changes = ((f"{NAME}.Buy", ROOT, [SMALL, "{}"]), (f"{NAME}.Restore", ROOT, ["[]", "{}"]), (f"{NAME}.Download.Cancel", download, []),
                   (f"{NAME}.Download.SetUrgency", download, ["now"]), (f"{NAME}.LibraryItem.Pin", self.item(SECOND), ["true"]))
        for method, path, arguments in changes:
            printed = self.asks(method.removeprefix(f"{NAME}."), *arguments, path=path)
            self.require(DENIED in printed, f"a program in a sandbox may {method}: {printed}")
        for application in (READER, OTHER):
            printed = self.asks("Restore", "[]", "{}", application=application, bus="system")
            self.require(DENIED in printed, f"a program in a sandbox may restore at the agent of the device: {printed}")
        self.held("in its sandbox a reader pauses and resumes; it buys, restores, removes, hastens and keeps nothing by itself")
        self.run(f"pullbox cancel {self.own('/v1/downloads?limit=50', 'downloads', LARGE)['id']}; rm -r {slow} && "
                 "systemctl --user daemon-reload && systemctl --user restart pullbox-agent", "bob")
        self.machine.wait(15, "answering agent", lambda: self.machine.code("pullbox library", "bob") == 0)
        if self.lacks("polkit's word on a sandbox", "/usr/lib/polkit-1/polkitd"):
            return
        self.machine.write("/etc/polkit-1/rules.d/10-check.rules", "polkit.addRule(function (action, subject) {\n"
                           f'  if (subject.user === "bob" && action.id === "{NAME}.keep") return polkit.Result.YES;\n}});\n')
        self.machine.wait(10, "rule of polkit", lambda: "()" in self.asks("LibraryItem.Pin", "true", path=self.item(SECOND)))
        self.require(DENIED in self.asks("Buy", SMALL, "{}"), "a rule of polkit for one action lets another pass")
        self.asks("LibraryItem.Pin", "false", path=self.item(SECOND))
        self.run("rm /etc/polkit-1/rules.d/10-check.rules")
        self.held("polkit is asked about a program in a sandbox: what its rules let it do, it does, and nothing else")

    @staticmethod
    def is_in(state, download):
        return download["state"] == state or state == "running" and download["state"] not in ("paused", "waiting")

    @staticmethod
    def escaped(text):
        """As sd_bus_path_encode(3) writes it."""
        return "".join(f"_{ord(one):02x}" if not one.isalnum() or (one.isdigit() and index == 0) else one for index, one in enumerate(text))

    def own(self, path, members, product):
        """What the agent of the user says of a product; nothing where it has none of it."""
        document = json.loads(self.run(f"curl -sf {SOCKET} http://agent{path}", "bob"))
        return next((one for one in document[members] if one["product"] == product), {})

    def reads_by_the_socket(self):
        status = f"curl -s -o /dev/null -w '%{{http_code}} ' {SOCKET} -H 'Content-Type: application/json'"
        body = json.dumps({"product": SMALL})
        asked = (("-X GET", "/v1/library", "200"), ("-X GET", f"/v1/library/{SECOND}/files/page-001.png", "200"),
                 ("-X POST", f"/v1/library/{SECOND}/opened", "200"), ("-X POST", f"/v1/library/{SECOND}/pin", "403"),
                 ("-X DELETE", f"/v1/library/{SECOND}", "403"), (f"-d '{body}'", "/v1/purchases", "403"))
        for options, path, expected in asked:
            answered = self.inside(f"{status} {options} http://agent{path}")
            self.require(answered == expected, f"the socket answers a program in a sandbox {answered} to {options} {path}")
        self.held("by the agent's socket a sandbox reads, and buys, removes and keeps nothing, as on the bus")

    # The portals of a session

    def has_a_screen(self):
        """A session with notices and portals; False, said as skipped, where it cannot be had."""
        if self.lacks("a session with portals", "Xvfb", "dunst", "dunstctl", "/usr/libexec/xdg-desktop-portal-gtk"):
            return False
        if self.machine.code("systemctl --user is-active --quiet check-screen", "bob") == 0:
            return True
        self.run("systemd-run --user --quiet --collect --unit=check-screen Xvfb :7 -screen 0 800x600x24 -nolisten tcp && "
                 "systemctl --user set-environment DISPLAY=:7", "bob")
        self.machine.wait(20, "screen", lambda: self.machine.code("test -S /tmp/.X11-unix/X7") == 0)
        self.run("systemd-run --user --quiet --collect --unit=check-notifier dunst", "bob")
        self.machine.wait(20, "notification server", lambda: self.machine.code("dunstctl count >/dev/null", "bob") == 0)
        self.run("systemctl --user restart xdg-desktop-portal", "bob")
        return True

    def shows_notices_by_the_portal(self):
        if not self.has_a_screen():
            return
        self.run("systemctl --user stop pullbox-desktop", "bob")
        self.starts_inside("check-desktop", DESKTOP, "pullbox-desktop")
        self.machine.wait(20, "pullbox-desktop in a sandbox", lambda: self.machine.code("busctl --user status com.pullbox.Desktop >/dev/null", "bob") == 0)
        self.machine.wait(20, "title in the search of the shell", lambda: SECOND in self.run(
            "busctl --user --json=short call com.pullbox.Desktop /com/pullbox/Desktop/SearchProvider "
            "org.gnome.Shell.SearchProvider2 GetInitialResultSet as 1 missing", "bob"))
        self.run(f"python3 /tmp/noise.py /tmp/small {SMALL_BYTES} {SMALL} && {OPERATOR} publish /tmp/small --release")
        # As another device of the account would.
        self.run(f"curl -sf -H \"Authorization: Bearer $(cat ~/token)\" -d '{{\"product\":\"{SMALL}\"}}' {STORE}/store/v1/purchases", "bob")
        # It is shown for some seconds.
        self.run("for attempt in $(seq 600); do [ \"$(dunstctl count displayed)\" != 1 ] || exec dunstctl action; sleep 0.1; done; exit 1", "bob")
        self.machine.wait(20, "word that it is open", lambda: self.own("/v1/library", "items", SMALL).get("lastOpened"))
        # GTK's part of the portal has forgotten it by now: dunst keeps it until its time is over.
        self.machine.wait(30, "end of the notice", lambda: self.run("dunstctl count displayed", "bob") == "0")
        notice = json.loads(self.run("dunstctl history", "bob"))["data"][0][0]
        said = {name: notice[name]["data"] for name in ("summary", "body", "icon_path")}
        self.require(said["summary"] == "Noise" and "A new issue is here" in said["body"] and "com.pullbox.Desktop" in said["icon_path"], f"the notice is {said}")
        self.machine.wait(10, "reader that opens page 1", lambda: self.run(f"cat ~/.var/app/{DESKTOP}/data/opened", "bob", code=None) == f"open {SMALL} 1")
        self.held("pullbox-desktop in a sandbox shows its notices by the portal, with its own icon, and 'Read' opens page 1 there")
        self.flatpak(f"kill {DESKTOP}")

    def starts_inside(self, unit, application, command):
        self.flatpak(f"--version >/dev/null && systemd-run --user --quiet --collect --unit={unit} "
                     f"-E DBUS_SESSION_BUS_ADDRESS=unix:path=$XDG_RUNTIME_DIR/bus flatpak run --command={command.split()[0]} "
                     f"{application} {' '.join(command.split()[1:])}")

    # An agent

    def runs_in_a_sandbox(self):
        self.run("systemctl --user stop pullbox-agent", "bob")
        self.run(f"mkdir -p ~/.var/app/{AGENT}/data $XDG_RUNTIME_DIR/pullbox && cp ~/token ~/.config/pullbox/agent.json5 ~/.var/app/{AGENT}/data/", "bob")
        if not self.has_a_screen():
            return
        self.asks_for_the_background()
        self.run("systemctl --user start pullbox-desktop", "bob")
        self.failing(f"pullbox restore {SECOND}", "bob")
        restore = json.dumps({"products": [SECOND]})
        self.flatpak(f"enter {AGENT} curl -sf {SOCKET} -H 'Content-Type: application/json' -d '{restore}' http://agent/v1/restore")
        self.machine.wait(60, "issue", lambda: self.own("/v1/library", "items", SECOND).get("state") == "present")
        outside = self.run(f"busctl --user call {NAME} {self.item(SECOND)} {NAME}.LibraryItem Open", "bob")
        self.require(f"/.var/app/{AGENT}/" in outside, f"a program in no sandbox finds {outside}")
        self.held("at an agent in a sandbox its own application changes what it wants, others nothing; content is found where it lies")
        self.hears_the_network_by_the_portal()
        self.flatpak(f"kill {AGENT}")

    def starts_agent(self):
        place = f"/home/bob/.var/app/{AGENT}/data"
        self.flatpak(f"kill {AGENT}", code=None)
        self.machine.wait(20, "end of the agent", lambda: AGENT not in self.flatpak("ps --columns=application"))
        self.starts_inside("check-agent", AGENT, f"pullbox-agent --config {place}/agent.json5 --state {place}/state --library {place}/Comics "
                           f"--account-token-file {place}/token")
        self.machine.wait(20, "agent in a sandbox", lambda: self.machine.code("pullbox library", "bob") == 0)

    def heard(self, source):
        document = json.loads(self.run(f"curl -sf {SOCKET} http://agent/v1/conditions", "bob"))
        return next(one for one in document["sources"] if one["name"] == source)

    def asks_for_the_background(self):
        if self.machine.code("/usr/bin/python3 -c 'import dbusmock'") != 0:
            self.skipped("the portal of the background", "this machine has no python3-dbusmock")
            return self.starts_agent()
        # Debian's desktops have one each; without a desktop it is a stand-in, before the real xdg-desktop-portal.
        self.machine.write("/usr/share/xdg-desktop-portal/portals/check.portal",
                           f"[portal]\nDBusName={BACKEND}\nInterfaces=org.freedesktop.impl.portal.Background;\nUseIn=check\n")
        self.run("systemd-run --user --quiet --collect --unit=check-portal /usr/bin/python3 -m dbusmock --session "
                 f"{BACKEND} {PORTAL} org.freedesktop.impl.portal.Background", "bob")
        self.machine.wait(20, "backend", lambda: self.machine.code(f"busctl --user status {BACKEND} >/dev/null", "bob") == 0)
        for method in METHODS:
            self.run(f"busctl --user call {BACKEND} {PORTAL} org.freedesktop.DBus.Mock AddMethod sssss '' "
                     + " ".join(shlex.quote(one) for one in method), "bob")
        self.run("systemctl --user restart xdg-desktop-portal", "bob")
        self.flatpak(f"permission-set background background {AGENT} no")
        self.starts_agent()
        self.machine.wait(20, "refusal", lambda: self.heard("Background")["state"] == "absent")
        self.require("refused it" in self.heard("Background")["error"], f"of the refusal it says {self.heard('Background')}")
        self.flatpak(f"permission-set background background {AGENT} yes && rm -r ~/.var/app/{AGENT}/data/state")
        for _ in range(2):
            self.starts_agent()
            self.machine.wait(20, "permission", lambda: self.heard("Background")["state"] == "speaks")
        began = json.loads(self.run(f"busctl --user --json=short call {BACKEND} {PORTAL} org.freedesktop.DBus.Mock GetMethodCalls s EnableAutostart", "bob"))
        allowed = [one[1] for one in began["data"][0] if one[1][1]["data"]]
        self.require(len(allowed) == 1 and allowed[0][2]["data"][:4] == ["flatpak", "run", "--command=pullbox-agent", AGENT], f"begun with the session is {began}")
        monitor = "org.freedesktop.background.Monitor /org/freedesktop/background/monitor org.freedesktop.background.Monitor"
        self.machine.wait(20, "line of what it does", lambda: "No download is under way" in self.run(
            f"busctl --user get-property {monitor} BackgroundApps", "bob", code=None))
        self.held("an agent in a sandbox asks xdg-desktop-portal whether it may run in the background: a refusal is its reason, a permission is "
                  "asked for once, begins it with the session, and the desktop is told what it does")

    def hears_the_network_by_the_portal(self):
        self.machine.wait(20, "word of the network", lambda: self.heard("NetworkMonitor")["state"] == "speaks")
        self.require(self.heard("NetworkManager")["state"] == "absent", "a sandbox reaches NetworkManager")
        if self.machine.code("nmcli --get-values GENERAL.STATE connection show way 2>/dev/null | grep -qx activated") != 0:
            self.skipped("a metered way in a sandbox", "no NetworkManager runs here")
            return
        for is_metered in (True, False):
            self.run(f"nmcli connection modify way connection.metered {'yes' if is_metered else 'no'} && nmcli device reapply {WAY}")
            self.machine.wait(20, f"word that metered is {is_metered}", lambda: self.own_condition("metered") == ("yes" if is_metered else "no", "NetworkMonitor"))
        self.held("an agent in a sandbox hears by xdg-desktop-portal whether the way is metered, and does not reach NetworkManager")

    def own_condition(self, name):
        document = json.loads(self.run(f"curl -sf {SOCKET} http://agent/v1/conditions", "bob"))
        return next((one["state"], one.get("source")) for one in document["conditions"] if one["name"] == name)

    def leaves_no_sandbox(self):
        for application in (READER, OTHER, DESKTOP, AGENT):
            self.flatpak(f"kill {application}", code=None)
        self.run("systemctl --user unset-environment DISPLAY; systemctl --user stop check-agent check-desktop check-portal check-notifier check-screen "
                 "xdg-desktop-portal xdg-desktop-portal-gtk xdg-document-portal xdg-permission-store", "bob", code=None)
        self.run("rm -rf ~/flatpak ~/.local/share/flatpak ~/.var ~/.config/systemd/user/pullbox-agent.service.d; systemctl --user daemon-reload; "
                 "systemctl --user start pullbox-agent pullbox-desktop", "bob", code=None)
        self.run("rm -f /usr/share/xdg-desktop-portal/portals/check.portal /etc/polkit-1/rules.d/10-check.rules", code=None)
