"""A machine with a kernel of its own, which runs as a program: User-mode Linux, of Debian's package of that name. Its AppArmor is
there whether this machine's kernel has one or not."""

import json
import os
import pathlib
import subprocess
import time

from booted_machine import BOOT_SECONDS, FILES, CommandFailed, Machine, shell

# Lays out the files and becomes the kernel. $1: work directory, $2: whose files it has, $3: the kernel.
ENTER = r"""
work=$1 files=$2 kernel=$3
""" + FILES + r"""
install -m 755 "$work/exchange/first" "$root/etc/pullbox-check-init"
cat >"$root/etc/systemd/system/pullbox-check-commands.service" <<TEXT
[Unit]
DefaultDependencies=no
[Service]
ExecStartPre=/bin/mkdir -p /run/exchange
ExecStartPre=/bin/mount -t hostfs -o $work/exchange none /run/exchange
ExecStart=/usr/bin/python3 /run/exchange/answer.py
TEXT
mkdir -p "$root/etc/systemd/system/multi-user.target.wants"
# The index of all manuals would be made anew, which takes minutes there.
echo 'path-exclude=/usr/share/man/*' >"$root/etc/dpkg/dpkg.cfg.d/pullbox-check"
ln -s ../pullbox-check-commands.service "$root/etc/systemd/system/multi-user.target.wants/"
for directory in tmp srv home; do echo "tmpfs /$directory tmpfs mode=755 0 0" >>"$root/etc/fstab"; done
sed -i 's|/tmp tmpfs mode=755|/tmp tmpfs mode=1777|' "$root/etc/fstab"
exec env -i HOME=/root PATH="$PATH" TMPDIR=/dev/shm "$kernel" umid="$(basename "$work")" uml_dir="$work" mem=2G root=/dev/root \
  rootfstype=hostfs rootflags="$root" ro security=apparmor apparmor=1 con=null con0=null,fd:1 con1=null quiet \
  init=/etc/pullbox-check-init </dev/null
"""

# The first process. What is written goes into the machine's own memory: as a file of ours (hostfs) it would be root's.
FIRST = r"""#!/bin/bash
set -eu
mount -t tmpfs -o size=1500m tmpfs /mnt
mkdir /mnt/{upper,work,root}
mount -t hostfs -o MODULES none /mnt/work
python3 -c 'import ctypes, os
number_of_finit_module = 313
if ctypes.CDLL(None).syscall(number_of_finit_module, os.open("/mnt/work/overlay.ko", os.O_RDONLY), b"", 0): raise SystemExit("overlay.ko is refused")'
umount /mnt/work
mount -t overlay overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work /mnt/root
cd /mnt/root
mkdir -p mnt/former
pivot_root . mnt/former
exec /lib/systemd/systemd --system --unit=multi-user.target --show-status=no --log-target=console
"""

# Runs in the machine: performs the commands that are laid into the directory, in their order.
ANSWER = r"""
import json, os, pathlib, subprocess, time
place, number = pathlib.Path("/run/exchange"), 1
while True:
    question = place / f"{number}.ask"
    if not question.exists():
        time.sleep(0.02)
        continue
    asked = json.loads(question.read_text())
    try:
        done = subprocess.run(asked["command"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=asked["within"])
        answer = {"printed": done.stdout.decode(errors="replace"), "ended": done.returncode}
    except subprocess.TimeoutExpired:
        answer = {"printed": "", "ended": None}
    (place / f"{number}.new").write_text(json.dumps(answer))
    (place / f"{number}.new").rename(place / f"{number}.answer")
    number += 1
"""


class UserModeMachine(Machine):
    # Each system call of a program there takes two switches here.
    slowness = 10

    def __init__(self, kernel, modules_of_files, packages, transcript):
        super().__init__(modules_of_files, packages, [], transcript)
        self.kernel, self.asked = pathlib.Path(kernel).resolve(), 0

    def boot(self):
        self.mount("tmpfs", self.work)
        # Left as it is: this kernel has no groups here.
        (self.work / "cgroup").mkdir()
        self.mount("tmpfs", self.work / "cgroup")
        self.exchange = self.work / "exchange"
        self.exchange.mkdir()
        (self.exchange / "answer.py").write_text(ANSWER)
        modules = next(self.kernel.parent.parent.rglob("overlay.ko")).parent
        (self.exchange / "first").write_text(FIRST.replace("MODULES", str(modules)))
        self.process = subprocess.Popen(
            ["unshare", "--mount", "--pid", "--net", "--ipc", "--fork", "--kill-child", "--mount-proc",
             "bash", "-euc", ENTER, "_", self.work, self.files, self.kernel],
            stdin=subprocess.DEVNULL, stdout=self.console, stderr=self.console)
        self.wait(BOOT_SECONDS, "systemd", self.is_up)
        self.run("mkdir -p /run/packages && mount -t hostfs -o " + str(self.packages) + " none /run/packages")

    def is_up(self):
        printed, _ = self.perform("systemctl is-system-running", None, BOOT_SECONDS)
        return printed.strip() in ("running", "degraded")

    def perform(self, command, user, within):
        self.asked += 1
        within *= self.slowness
        question, answer = self.exchange / f"{self.asked}.new-ask", self.exchange / f"{self.asked}.answer"
        question.write_text(json.dumps({"command": shell(command, user), "within": within}))
        question.rename(question.with_suffix(".ask"))
        deadline = time.monotonic() + within + 10
        while not answer.exists():
            if self.process.poll() is not None:
                raise CommandFailed(f"it ended: {self.work.with_suffix('.console').read_text(errors='replace')[-2000:]}")
            if time.monotonic() > deadline:
                raise CommandFailed(f"no answer after {within} s: {command}")
            time.sleep(0.02)
        done = json.loads(answer.read_text())
        if done["ended"] is None:
            raise CommandFailed(f"still runs after {within} s: {command}")
        return done["printed"], done["ended"]
