"""What an installed agent meets at home: a network of NetworkManager's, a machine that sleeps, a battery, a desktop
(check-installed). What the machine lacks is said as skipped."""

import json
import re
import time

from bus_chapters import NAME, BusChapters
from chapters import COMIC, SECOND, STORE
from installation import OPERATOR

# More than meteredLimit.
LARGE, LARGE_BYTES = "check.large", 24 << 20
WAY = "way0"
# How long a process is watched that has nothing to do.
QUIET_SECONDS = 20
# What nmcli and the questions of this check take besides what is measured.
ASKING_SECONDS = 0.5

# How often a second a process wakes up: it runs, and did not in the 20 ms before. $1: its number, $2: seconds.
WAKES = r"""
import pathlib, re, sys, time
tasks, seconds = pathlib.Path(f"/proc/{sys.argv[1]}/task"), float(sys.argv[2])
def turns():
    count = 0
    for task in tasks.iterdir():
        try:
            count += int(re.search(r"(?m)^voluntary_ctxt_switches:\s*(\d+)", (task / "status").read_text()).group(1))
        except OSError:
            pass
    return count
before, slept, woken, end = turns(), True, 0, time.monotonic() + seconds
while time.monotonic() < end:
    time.sleep(0.02)
    now = turns()
    woken += slept and now != before
    slept, before = now == before, now
print(woken / seconds)
"""

# Two pages of noise, which nothing packs smaller. $1: directory, $2: bytes, $3: product.
NOISE = r"""
import os, pathlib, struct, sys, zlib
place, length, product = pathlib.Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
place.mkdir(parents=True)
def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
for page in (1, 2):
    width, height = 1024, length // 2 // 3072
    rows = b"".join(b"\0" + os.urandom(3 * width) for _ in range(height))
    (place / f"page-00{page}.png").write_bytes(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
        + chunk(b"IDAT", zlib.compress(rows, 0)) + chunk(b"IEND", b""))
(place / "product.json5").write_text('{id: "%s", type: "non-consumable", version: "1.0", localizations: {"en-US": {title: "Noise", '
    'description: "Two pages of it."}}, prices: {USA: {amount: "0.99", currency: "USD"}}}' % product)
"""


class HomeChapters(BusChapters):
    # The network

    def publishes_noise(self):
        self.machine.write("/tmp/noise.py", NOISE)
        self.run(f"python3 /tmp/noise.py /tmp/noise {LARGE_BYTES} {LARGE} && {OPERATOR} publish /tmp/noise --release")

    def waits_on_a_metered_way(self):
        if self.lacks("a metered way", "NetworkManager", "nmcli"):
            return
        self.publishes_noise()
        # Without udev NetworkManager waits for none where it may not write to /sys.
        self.run("mkdir -p /run/systemd/system/NetworkManager.service.d && printf '[Service]\\nReadOnlyPaths=/sys\\n' "
                 ">/run/systemd/system/NetworkManager.service.d/check.conf && systemctl daemon-reload && systemctl start NetworkManager")
        kind = "dummy"
        if self.machine.code(f"ip link add {WAY} type dummy && ip link delete {WAY}") != 0:
            kind = "ethernet"
            self.run(f"ip link add {WAY} type veth peer name way1 && ip link set way1 up && nmcli device set way1 managed no")
        self.run(f"nmcli connection add type {kind} ifname {WAY} con-name way ipv4.method manual ipv4.addresses 10.9.9.2/24 "
                 "ipv4.gateway 10.9.9.1 ipv6.method disabled connection.metered yes connection.autoconnect no")
        self.run("nmcli --wait 20 connection up way")
        self.machine.wait(10, "metered way", lambda: self.condition("metered")["state"] == "yes")
        said = self.condition("metered")
        self.require((said["source"], said["device"]) == ("NetworkManager", WAY), f"metered is told by {said}")
        # Slow enough to be stopped in the middle.
        self.run("mkdir -p /run/systemd/system/pullbox-agent.service.d && printf '[Service]\\nEnvironment=PULLBOX_MAXIMUM_SPEED=2MiB\\n' "
                 ">/run/systemd/system/pullbox-agent.service.d/check.conf && systemctl daemon-reload && systemctl restart pullbox-agent")
        self.machine.wait(10, "metered way", lambda: self.condition("metered")["state"] == "yes")
        self.run(f"pullbox buy {LARGE} --yes", "ada")
        self.machine.wait(10, "waiting download", lambda: (self.download(LARGE) or {}).get("reason") == "metered")
        words = self.run("pullbox downloads", "ada")
        self.require(f"waits for a way that is not metered ({WAY}, by NetworkManager): `pullbox resume --now" in words, f"it says {words}")
        time.sleep(2)
        held = self.download(LARGE)
        self.require((held["state"], held["bytesReceived"]) == ("waiting", 0), f"bytes go over the metered way: {held}")
        self.held(f"a link that is metered by nmcli ({'of the kind dummy' if kind == 'dummy' else 'one end of a veth'}) holds a download of {LARGE_BYTES >> 20} MiB, by name: no byte of it comes")
        went = self.meters(False, lambda: self.download(LARGE)["bytesReceived"] > 0)
        stopped = self.meters(True, lambda: self.download(LARGE)["reason"] == "metered")
        time.sleep(1)
        before = self.download(LARGE)["bytesReceived"]
        time.sleep(2)
        self.require(0 < self.download(LARGE)["bytesReceived"] == before < LARGE_BYTES, "bytes go over the metered way")
        # A hold begins at once. It ends half a second after its condition, and two after the change before, which was longer ago here.
        self.require(stopped <= 1 + ASKING_SECONDS and went <= 2 + ASKING_SECONDS, f"on after {went:.1f} s, held after {stopped:.1f} s")
        self.meters(False, lambda: self.download(LARGE)["state"] == "finished")
        finished = self.download(LARGE)
        self.require(finished["bytesReceived"] < finished["bytesTotal"] + (4 << 20), f"bytes came twice: {finished}")
        self.held(f"not metered any more it goes on ({went:.1f} s later), metered again it stops in the middle ({stopped:.1f} s), and ends "
                  f"with {finished['bytesReceived']} of {finished['bytesTotal']} bytes received")
        self.passes_small_and_urgent()

    def meters(self, is_metered, is_so):
        """The seconds until it is so after the link is metered, or is no more."""
        self.run(f"nmcli connection modify way connection.metered {'yes' if is_metered else 'no'}")
        begin = time.monotonic()
        self.run(f"nmcli device reapply {WAY}")
        self.machine.wait(30, f"download after metered is {is_metered}", is_so)
        return time.monotonic() - begin

    def passes_small_and_urgent(self):
        self.run(f"pullbox remove {LARGE} && pullbox remove {COMIC}", "ada")
        self.meters(True, lambda: self.condition("metered")["state"] == "yes")
        self.run(f"pullbox restore {COMIC} {LARGE}", "ada")
        self.machine.wait(30, "small issue", lambda: self.machine.code(f"pullbox path {COMIC}", "ada") == 0)
        self.machine.wait(10, "waiting download", lambda: self.download(LARGE)["reason"] == "metered")
        self.run(f"pullbox resume --now {self.download(LARGE)['id']}", "ada")
        self.machine.wait(60, "large issue", lambda: self.machine.code(f"pullbox path {LARGE}", "ada") == 0)
        self.held("what is below meteredLimit comes over a metered way, and what a person wants now")
        self.meters(False, lambda: self.condition("metered")["state"] == "no")
        self.run("rm -r /run/systemd/system/pullbox-agent.service.d && systemctl daemon-reload && systemctl restart pullbox-agent")

    # Sleep

    def inhibitors(self):
        """What the agent of the device keeps logind from, and how."""
        lines = [line.split() for line in self.run("systemd-inhibit --list --no-legend --no-pager").splitlines()]
        return {(words[5], words[-1]) for words in lines if words[0] == "Pullbox" and words[2] == "pullbox-agent"}

    def inhibits_sleep(self):
        if self.delays_sleep():
            self.sleeps()

    def delays_sleep(self):
        """Whether there is a logind here."""
        if self.lacks("sleep", "/lib/systemd/systemd-logind"):
            return False
        self.machine.wait(10, "logind", lambda: self.source("logind") == "speaks")
        self.machine.wait(10, "delay of sleep and shutdown", lambda: self.inhibitors() == {("sleep", "delay"), ("shutdown", "delay")})
        self.held("systemd-inhibit lists the agent's delay of sleep and of shutdown")
        return True

    def sleeps(self):
        # The kernel of namespaces does not sleep: what it can, and the step that would have it do so, are others.
        self.run("echo 'freeze mem' >/run/check-sleep-states && mount --bind /run/check-sleep-states /sys/power/state")
        self.run("mkdir -p /run/systemd/system/systemd-suspend.service.d && printf '[Service]\\nExecStart=\\nExecStart=/bin/sleep 5\\n' "
                 ">/run/systemd/system/systemd-suspend.service.d/check.conf && systemctl daemon-reload && systemctl restart systemd-logind")
        self.machine.wait(40, "delay", lambda: self.source("logind") == "speaks" and len(self.inhibitors()) > 0)
        can = self.run("busctl --system call org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager CanSuspend")
        if can != 's "yes"':
            self.skipped("sleep", f"logind cannot suspend here: {can}")
            return
        self.run("mkdir -p /run/systemd/system/pullbox-agent.service.d && printf '[Service]\\nEnvironment=PULLBOX_MAXIMUM_SPEED=2MiB\\n' "
                 ">/run/systemd/system/pullbox-agent.service.d/check.conf && systemctl daemon-reload && systemctl restart pullbox-agent")
        self.machine.wait(10, "delay", lambda: len(self.inhibitors()) > 0)
        if self.machine.code(f"pullbox path {LARGE} >/dev/null 2>&1", "ada") != 0:
            if self.machine.code("test -d /tmp/noise") != 0:
                self.publishes_noise()
            self.run(f"pullbox buy {LARGE} --yes", "ada")
        else:
            self.run(f"pullbox remove {LARGE} && pullbox restore {LARGE}", "ada")
        self.machine.wait(20, "running download", lambda: self.download(LARGE)["bytesVerified"] > 0)
        since = self.cursor()
        self.run("systemctl suspend")
        self.machine.wait(10, "sleep", lambda: self.property("systemd-suspend", "ActiveState") == "activating")
        asleep = self.download(LARGE)
        self.require(asleep["reason"] == "machine-sleeps", f"it does not know that the machine sleeps: {asleep}")
        self.require("timeout is reached" not in self.journal("systemd-logind", since), "logind has waited in vain for the agent")
        self.machine.wait(20, "waking up", lambda: self.property("systemd-suspend", "ActiveState") == "inactive")
        begin = time.monotonic()
        self.machine.wait(20, "byte after sleep", lambda: self.download(LARGE)["bytesVerified"] > asleep["bytesVerified"])
        took = time.monotonic() - begin
        self.machine.wait(60, "issue", lambda: self.download(LARGE)["state"] == "finished")
        finished = self.download(LARGE)
        # In this are the half second for which a hold outlasts its condition, and a grant or a connection anew.
        self.require(took <= 3, f"on after {took:.1f} s")
        self.require(finished["bytesReceived"] < finished["bytesTotal"] + (4 << 20), f"bytes came twice: {finished}")
        self.held(f"'systemctl suspend' in the middle: logind does not wait in vain, the download says why it waits, and {took:.1f} s after "
                  "waking up it goes on where it was")
        self.run("rm -r /run/systemd/system/pullbox-agent.service.d /run/systemd/system/systemd-suspend.service.d && umount /sys/power/state && "
                 "systemctl daemon-reload && systemctl restart systemd-logind pullbox-agent")
        self.keeps_awake_while_placing()

    def keeps_awake_while_placing(self):
        if self.lacks("the block of sleep", "/usr/lib/polkit-1/polkitd"):
            return
        self.machine.wait(10, "logind", lambda: self.source("logind") == "speaks")
        self.run("systemd-run --quiet --unit=check-inhibitors busctl --system monitor --json=short org.freedesktop.login1")
        time.sleep(1)
        since = self.cursor()
        self.run(f"pullbox remove {LARGE} && pullbox restore {LARGE} --wait", "ada")
        self.run("systemctl stop check-inhibitors")
        said = self.journal("check-inhibitors", since)
        asked = [line for line in said.splitlines() if '"member":"Inhibit"' in line and '"block"' in line]
        self.require(asked and "is moved to its place" in asked[0], f"it does not ask for a block: {said[-2000:]}")
        self.require("does not let the agent" not in self.journal("pullbox-agent", since), "logind refuses the block")
        self.require("AccessDenied" not in said and "InteractiveAuthorizationRequired" not in said, "logind refuses the block")
        self.require(re.search(r'"BlockInhibited":\{"type":"s","data":"[^"]*sleep', said), f"logind blocks no sleep: {said[-2000:]}")
        self.held("while content is placed the machine is kept awake: logind gives the block by the package's rule for polkit")

    # The battery

    def saves_the_battery(self):
        """A battery that the kernel does not have, laid over /sys, which UPower reads as any other."""
        if self.lacks("the battery", "/usr/libexec/upowerd"):
            return
        place = "/run/check-supplies/BAT0"
        members = {"type": "Battery", "scope": "System", "present": 1, "status": "Discharging", "capacity": 12, "energy_full": 50000000,
                   "energy_full_design": 50000000, "energy_now": 6000000, "power_now": 9000000, "voltage_now": 12000000,
                   "technology": "Li-ion", "model_name": "Check", "manufacturer": "Check", "serial_number": "1",
                   "uevent": "POWER_SUPPLY_NAME=BAT0"}
        self.run(f"mkdir -p {place}")
        for name, value in members.items():
            self.machine.write(f"{place}/{name}", f"{value}\n")
        self.run("ln -s /sys/class/power_supply " + place + "/subsystem && mount --bind /run/check-supplies /sys/class/power_supply")
        self.run("mkdir -p /run/systemd/system/upower.service.d && printf '[Service]\\nEnvironment=SYSTEMD_DEVICE_VERIFY_SYSFS=0\\n' "
                 ">/run/systemd/system/upower.service.d/check.conf && systemctl daemon-reload && systemctl restart pullbox-agent")
        try:
            self.machine.wait(10, "low battery", lambda: self.condition("battery-low")["state"] == "yes")
            said = self.condition("battery-low")
            self.require((said["source"], said["level"]) == ("power_supply", 12), f"the battery is told by {said}")
            self.held("the kernel's word of a battery at 12 percent holds what is not wanted now")
            if self.machine.code("systemctl start upower") != 0:
                self.skipped("UPower", "it does not start here")
                return
            if not re.search(r"(?m)^ *state: +discharging$", self.run("upower --dump", code=None)):
                self.skipped("UPower", "it sees no battery that only lies over /sys")
                return
            self.machine.wait(10, "UPower", lambda: self.condition("battery-low")["source"] == "UPower")
            self.held("UPower's word of it counts before the kernel's")
            self.saves_power()
        finally:
            self.run("systemctl stop upower; umount /sys/class/power_supply; rm -rf /run/check-supplies /run/systemd/system/upower.service.d; "
                     "systemctl daemon-reload; systemctl restart pullbox-agent", code=None)

    def saves_power(self):
        if self.lacks("the saver of power", "/usr/libexec/power-profiles-daemon"):
            return
        self.run("mkdir -p /run/systemd/system/power-profiles-daemon.service.d && printf '[Service]\\nEnvironment=POWER_PROFILE_DAEMON_FAKE_DRIVER=1\\n' "
                 ">/run/systemd/system/power-profiles-daemon.service.d/check.conf && systemctl daemon-reload")
        if self.machine.code("systemctl start power-profiles-daemon && busctl --system set-property net.hadess.PowerProfiles "
                             "/net/hadess/PowerProfiles net.hadess.PowerProfiles ActiveProfile s power-saver") != 0:
            self.skipped("the saver of power", "power-profiles-daemon has no profile for that here")
            return
        self.machine.wait(10, "saver of power", lambda: self.condition("power-saver")["state"] == "yes")
        self.require(self.condition("power-saver")["source"] == "power-profiles-daemon", "somebody else tells of the saver")
        self.run("systemctl stop power-profiles-daemon")
        self.held("the profile power-saver of power-profiles-daemon holds what is not wanted now")

    # The desktop

    def has_a_desktop(self):
        files = {"desktop-file-validate": "desktop-file-validate /usr/share/applications/com.pullbox.Desktop.desktop",
                 "appstreamcli": "appstreamcli validate --no-net /usr/share/metainfo/com.pullbox.Desktop.metainfo.xml",
                 "update-mime-database": "grep -x application/x-pullbox-package /usr/share/mime/types"}
        for program, command in files.items():
            if not self.lacks("files of the desktop", program):
                self.run(command)
        self.held("desktop-file-validate, appstreamcli and shared-mime-info take the installed files")
        timers = ("pullbox-verify.timer", "pullbox-prefetch.timer")
        for timer in timers:
            self.require(self.run(f"systemctl --user is-enabled {timer}", "bob", code=None) == "disabled", f"{timer} is not off")
        self.run("systemctl --user enable --now " + " ".join(timers), "bob")
        listed = self.run("systemctl --user list-timers --all --no-pager", "bob")
        self.require(all(timer in listed for timer in timers), f"the timers are not there: {listed}")
        self.run("systemctl --user start pullbox-verify.service pullbox-prefetch.service", "bob")
        for service in ("pullbox-verify", "pullbox-prefetch"):
            done = self.run(f"systemctl --user show --property=Result,ConditionResult {service}", "bob")
            self.require("Result=success" in done, f"{service}: {done}")
        self.run("systemctl --user disable --now " + " ".join(timers), "bob")
        self.held("the timers are off, can be enabled, and what they start ends well")
        self.notifies()

    def notifies(self):
        status = self.run(f"busctl --user status {NAME}", "bob", code=None)
        self.require("UserUnit=pullbox-agent.service" in status, f"the user's agent is not on the user's bus: {status}")
        self.held(f"the user's agent owns {NAME} on the user's bus")
        self.require(self.run("systemctl --user is-enabled pullbox-desktop", "bob", code=None) == "enabled",
                     "pullbox-desktop does not start with the graphical session")
        self.run("systemctl --user start pullbox-desktop", "bob")
        self.machine.wait(10, "desktop on the bus", lambda: self.machine.code("busctl --user status com.pullbox.Desktop >/dev/null", "bob") == 0)
        self.machine.wait(10, "title in the search of the shell", lambda: SECOND in self.run(
            "busctl --user --json=short call com.pullbox.Desktop /com/pullbox/Desktop/SearchProvider "
            "org.gnome.Shell.SearchProvider2 GetInitialResultSet as 1 missing", "bob"))
        self.held("pullbox-desktop starts as a unit of the user, and finds titles for the shell")
        unit = dict(line.split("=", 1) for line in self.run(
            "systemctl --user show --property=KillMode,MemoryHigh,MemoryMax pullbox-desktop", "bob").splitlines())
        self.require(unit == {"KillMode": "process", "MemoryHigh": "infinity", "MemoryMax": "infinity"},
                     f"readers that it starts would end or be throttled with it: {unit}")
        self.held("readers that pullbox-desktop starts outlive its unit, which bounds no memory of theirs")
        self.is_small()
        if self.lacks("notices", "dunst", "dunstctl", "xvfb-run"):
            return
        self.run("systemd-run --user --quiet --unit=check-notices xvfb-run --auto-servernum dunst", "bob")
        self.machine.wait(20, "notification server", lambda: self.machine.code(
            "busctl --user status org.freedesktop.Notifications >/dev/null && dunstctl count", "bob") == 0)
        # As another device of the account would.
        self.run(f"curl -sf -H \"Authorization: Bearer $(cat ~/token)\" -d '{{\"product\":\"{COMIC}\"}}' {STORE}/store/v1/purchases", "bob")
        self.machine.wait(60, "issue", lambda: self.machine.code(f"pullbox path {COMIC}", "bob") == 0)
        self.machine.wait(20, "notice", lambda: self.run("dunstctl count displayed", "bob") == "1")
        self.run("dunstctl action", "bob")
        self.machine.wait(20, "end of the notice", lambda: self.run("dunstctl count displayed", "bob") == "0")
        shown = json.loads(self.run("dunstctl history", "bob"))["data"][0][0]
        self.require("Kestrel Station" in shown["summary"]["data"] and "A new issue is here" in shown["body"]["data"], f"the notice is {shown}")
        items = json.loads(self.run("curl -sf --unix-socket $XDG_RUNTIME_DIR/pullbox/agent.sock http://agent/v1/library", "bob"))["items"]
        self.require(any(item["product"] == COMIC and item.get("lastOpened") for item in items), "Read opens nothing")
        self.held("dunst shows the issue that came by its title, 'Read' opens it, and the notice goes")
        self.run("systemctl --user stop check-notices", "bob", code=None)

    def is_small(self):
        pid = int(self.run("systemctl --user show --value --property MainPID pullbox-desktop", "bob"))
        woken, anonymous, _ = self.idle(pid)
        self.require(sum(woken.values()) == 0, f"pullbox-desktop wakes up: {woken}")
        self.require(anonymous <= 6, f"pullbox-desktop has {anonymous:.1f} MiB of its own")
        self.held(f"pullbox-desktop has {anonymous:.1f} MiB of its own, and wakes up for nothing in {QUIET_SECONDS} s")

    def idle(self, pid):
        """How often a second each of its threads wakes up while nothing happens, by name; the MiB of its own; how often the process does."""
        def turns():
            printed = self.run(f"cd /proc/{pid}/task && for one in *; do echo $one $(cat $one/comm) "
                               "$(awk '/^voluntary_ctxt_switches/ { print $2 }' $one/status); done")
            return {(number, name): int(count) for number, name, count in (line.split() for line in printed.splitlines())}
        time.sleep(5)
        self.machine.write("/tmp/wakes.py", WAKES)
        before, begin = turns(), time.monotonic()
        process = float(self.run(f"python3 /tmp/wakes.py {pid} {QUIET_SECONDS}"))
        seconds = time.monotonic() - begin
        woken = {}
        for thread, count in turns().items():
            woken[thread[1]] = woken.get(thread[1], 0) + (count - before.get(thread, 0)) / seconds
        anonymous = int(re.search(r"(?m)^RssAnon:\s+(\d+) kB$", self.run(f"cat /proc/{pid}/status")).group(1))
        return woken, anonymous / 1024, process

    def is_frugal(self):
        """The agent of the device, idle: without a bus and a word of the machine, and with all that is here."""
        said = {}
        self.run("mkdir -p /run/systemd/system/pullbox-agent.service.d")
        for case, environment in (("without", "PULLBOX_BUS=none PULLBOX_CONDITION_SOURCES=none"), ("with", "")):
            self.machine.write("/run/systemd/system/pullbox-agent.service.d/check.conf", f"[Service]\nEnvironment={environment}\n")
            self.run("systemctl daemon-reload && systemctl restart pullbox-agent")
            self.machine.wait(15, "answering agent", lambda: self.machine.code("pullbox library", "ada") == 0)
            said[case] = self.idle(self.main_pid("pullbox-agent"))
        self.run("rm -r /run/systemd/system/pullbox-agent.service.d && systemctl daemon-reload")
        sources = [one["name"] for one in self.agent("/v1/conditions")["sources"] if one["state"] == "speaks"]
        heard = sum(said["with"][0].get(thread, 0) for thread in ("conditions", "message-bus"))
        more = said["with"][1] - said["without"][1]
        self.require(heard <= 0.5, f"what hears of the machine wakes up {heard:.2f} times a second: {said['with'][0]}")
        self.require(said["with"][2] <= 0.5, f"an idle agent wakes up {said['with'][2]:.2f} times a second: {said['with'][0]}")
        self.require(more <= 1, f"what hears of the machine takes {more:.1f} MiB")
        self.held(f"an idle agent hears of {', '.join(sources)} and its bus with {heard:.2f} wake-ups a second and {more:.1f} MiB more of its own; "
                  f"it wakes up {said['with'][2]:.2f} times a second, {said['without'][2]:.2f} without, and all of its threads together "
                  f"{sum(said['with'][0].values()):.1f} times, {sum(said['without'][0].values()):.1f} without")
