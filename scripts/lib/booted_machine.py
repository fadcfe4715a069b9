"""A machine with a systemd of its own, in namespaces of this one: its root is an overlay of this machine's, or of another
Debian in a directory, so that nothing that is installed or written there stays."""

import os
import pathlib
import shlex
import subprocess
import tempfile
import time

BOOT_SECONDS = 60
COMMAND_SECONDS = 180

# The files of a machine below $work/root: those of $files, and what is written there goes away with the machine.
FILES = r"""
root=$work/root
mount --make-rprivate /
mkdir -p "$root" "$work/upper" "$work/lower-work"
mount -t overlay overlay -o "lowerdir=$files,upperdir=$work/upper,workdir=$work/lower-work" "$root"

# The services of this machine are not its own: only what the distribution's packages start everywhere.
find "$root/etc/systemd/system" -mindepth 1 -delete
for unit in systemd-sysctl systemd-modules-load systemd-udevd systemd-udev-trigger systemd-timesyncd systemd-networkd \
  apparmor e2scrub_reap systemd-pstore; do
  ln -s /dev/null "$root/etc/systemd/system/$unit.service"
done
for unit in systemd-udevd-kernel systemd-udevd-control; do ln -s /dev/null "$root/etc/systemd/system/$unit.socket"; done
rm -f "$root/usr/sbin/policy-rc.d" "$root/etc/fstab"
: >"$root/etc/machine-id"
: >"$root/etc/fstab"
echo pullbox-check >"$root/etc/hostname"
# No one is there to say yes.
echo 'APT::Get::Assume-Yes "true";' >"$root/etc/apt/apt.conf.d/99-pullbox-check"
printf '127.0.0.1 localhost pullbox-check\n::1 localhost\n' >"$root/etc/hosts"
rm -rf "$root"/var/lib/pullbox* "$root"/etc/pullbox "$root"/var/log/journal
for directory in proc sys dev run tmp srv home; do mkdir -p "$root/$directory"; done
"""

# Runs as process 1 of the new namespaces and becomes systemd. $1: work directory, $2: directory to lay in, $3: what is
# hidden, $4: whose files it has.
ENTER = r"""
set -eu
echo $$ >"$1/cgroup/$(basename "$1")/cgroup.procs"
exec unshare --cgroup bash -euc "$INSIDE" _ "$@"
"""

INSIDE = r"""
work=$1 packages=$2 hidden=$3 files=$4
""" + FILES + r"""
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
# It would pass for the whole machine's.
mount -t tmpfs -o mode=755 tmpfs "$root/sys/fs/cgroup" && umount "$root/sys/fs/cgroup" || true
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
mkdir "$root"/dev/{pts,shm}
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$root/dev/pts"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
for node in "null 1 3" "zero 1 5" "full 1 7" "random 1 8" "urandom 1 9" "tty 5 0" "fuse 10 229"; do
  set -- $node
  mknod -m 666 "$root/dev/$1" c "$2" "$3"
done
for directory in run tmp srv home; do mount -t tmpfs -o mode=755 tmpfs "$root/$directory"; done
chmod 1777 "$root/tmp"
mkdir "$root/run/packages"
mount --bind "$packages" "$root/run/packages"
# What the programs were built with and from.
for directory in $hidden; do [ ! -d "$root$directory" ] || mount -t tmpfs tmpfs "$root$directory"; done

cd "$root"
mkdir -p run/former
pivot_root . run/former
umount -l /run/former
rmdir /run/former
# Credentials of services are mounted in a namespace of their own and have to appear here.
mount --make-rshared /
exec env -i container=pullbox PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 TERM=dumb \
  /lib/systemd/systemd --system --unit=multi-user.target --show-status=no </dev/null
"""


class CommandFailed(Exception):
    pass


def shell(command, user=None):
    """The arguments that run a command in the machine, as root or as another user."""
    bare = ["env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8"]
    if not user:
        return [*bare, "DEBIAN_FRONTEND=noninteractive", "HOME=/root", "bash", "-c", f"cd /; {command}"]
    runtime = 'XDG_RUNTIME_DIR="/run/user/$(id -u)"'
    return [*bare, "runuser", "-u", user, "--", "bash", "-c",
            f"cd; export HOME=~{user}; [ ! -d /run/user/$(id -u) ] || export {runtime}; {command}"]


class Machine:
    """Boots when it is entered and is gone when it is left. All commands and what they print go into the transcript."""

    # Times of patience are multiplied by it.
    slowness = 1

    def __init__(self, files, packages, hidden, transcript):
        self.files, self.packages, self.hidden = pathlib.Path(files).resolve(), pathlib.Path(packages).resolve(), hidden
        self.transcript = open(transcript, "w", encoding="utf-8")
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="pullbox-installed-"))
        self.console = open(self.work.with_suffix(".console"), "wb")
        self.process = self.first = None

    def __enter__(self):
        try:
            self.boot()
        except BaseException:
            self.__exit__()
            raise
        return self

    def boot(self):
        self.mount("tmpfs", self.work)
        (self.work / "cgroup").mkdir()
        self.mount("cgroup2", self.work / "cgroup")
        (self.work / "cgroup" / self.work.name).mkdir()
        self.process = subprocess.Popen(
            ["unshare", "--mount", "--pid", "--net", "--uts", "--ipc", "--fork", "--kill-child",
             "bash", "-euc", ENTER, "_", self.work, self.packages, " ".join(self.hidden), self.files],
            env=os.environ | {"INSIDE": INSIDE}, stdin=subprocess.DEVNULL, stdout=self.console, stderr=self.console)
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        self.wait(BOOT_SECONDS, "a first process", lambda: children.read_text().split())
        self.first = int(children.read_text().split()[0])
        self.wait(BOOT_SECONDS, "systemd", self.is_up)

    def is_up(self):
        if self.process.poll() is not None:
            raise CommandFailed(f"it ended: {self.work.with_suffix('.console').read_text()[-2000:]}")
        state = subprocess.run(self.entering("systemctl is-system-running"), capture_output=True, text=True).stdout.strip()
        return state in ("running", "degraded")

    def __exit__(self, *_):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for _ in range(100):
            # The last process of the namespaces may still hold it.
            if not self.cgroup_left():
                break
            time.sleep(0.1)
        for mount in (self.work / "cgroup", self.work):
            subprocess.run(["umount", "--lazy", mount], stderr=subprocess.DEVNULL)
        self.work.rmdir()
        self.console.close()
        self.work.with_suffix(".console").unlink()
        self.transcript.close()

    def cgroup_left(self):
        own = self.work / "cgroup" / self.work.name
        for directory, _, _ in os.walk(own, topdown=False):
            try:
                os.rmdir(directory)
            except OSError:
                return True
        return own.exists()

    @staticmethod
    def mount(kind, where):
        subprocess.run(["mount", "-t", kind, kind, where], check=True)

    def entering(self, command, user=None):
        return ["nsenter", "--target", str(self.first), "--all", *shell(command, user)]

    def run(self, command, user=None, code=0, within=COMMAND_SECONDS):
        """What a command prints; its exit code has to be `code`, unless that is None."""
        self.transcript.write(f"{user or 'root'}# {command}\n")
        printed, ended = self.perform(command, user, within)
        self.transcript.write(printed + (f"[exit {ended}]\n" if ended else ""))
        self.transcript.flush()
        if code is not None and ended != code:
            raise CommandFailed(f"exit code {ended}, not {code}: {command}\n{printed[-3000:]}")
        return printed.strip()

    def perform(self, command, user, within):
        """What a command prints, and its exit code."""
        try:
            done = subprocess.run(self.entering(command, user), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, errors="replace", timeout=within)
        except subprocess.TimeoutExpired:
            raise CommandFailed(f"still runs after {within} s: {command}") from None
        return done.stdout, done.returncode

    def code(self, command, user=None):
        """The exit code of a command."""
        return int(self.run(f"({command}); code=$?; echo; echo $code", user).split()[-1])

    def write(self, path, text, mode="644", owner="root:root"):
        self.run(f"printf %s {shlex.quote(text)} >{path} && chmod {mode} {path} && chown {owner} {path}")

    def property(self, unit, name):
        return self.run(f"systemctl show --value --property {name} {unit}")

    def wait(self, seconds, what, is_there):
        deadline = time.monotonic() + seconds * self.slowness
        while not (found := is_there()):
            if time.monotonic() > deadline:
                raise CommandFailed(f"no {what} after {seconds} s")
            time.sleep(0.1)
        return found
