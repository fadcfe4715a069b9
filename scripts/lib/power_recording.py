"""What a program does to files, in its order: strace records every system call that can change one, the kernel's own word for it."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

from node_engines import Failure, until

# Whatever changes a file, a name or what is on the device; and what is sent, which tells when an answer left. A call that is not among them
# shows where the recording, played back, differs from what the program left.
CALLS = (
    "open,openat,openat2,creat,close,lseek,write,pwrite64,writev,pwritev,pwritev2,truncate,ftruncate,fallocate,rename,renameat,renameat2,link,"
    "linkat,symlink,symlinkat,unlink,unlinkat,mkdir,mkdirat,rmdir,mknod,mknodat,chmod,fchmod,fchmodat,fsync,fdatasync,sync,syncfs,"
    "sync_file_range,copy_file_range,sendfile,splice,ioctl,mmap,msync,io_uring_setup,sendto,sendmsg")
LINE = re.compile(rb"^(\d+) +(\d+)\.(\d+) (?:<\.\.\. (\w+) resumed>|(\w+)\()(.*)$", re.DOTALL)
RESULT = re.compile(rb"^(.*)\)\s+= (-?\d+|0x[0-9a-f]+|\?)", re.DOTALL)
UNFINISHED = b" <unfinished ...>"
PATH = re.compile(rb"^(?:AT_FDCWD|-?\d+)<([^>]*)>(\(deleted\))?$")


class Call:
    """A system call that succeeded. `begun` and `ended` are places in the order of all that was recorded; `at` is when it began, in seconds."""

    __slots__ = ("name", "words", "result", "begun", "ended", "at")

    def __init__(self, name, words, result, begun, ended, at):
        self.name, self.words, self.result, self.begun, self.ended, self.at = name, words, result, begun, ended, at

    def number(self, place):
        """A number, or the descriptor before its path."""
        text = re.match(rb"-?\w+", self.words[place]).group()
        return int(text, 8 if re.fullmatch(rb"0\d+", text) else 0)

    def text(self, place):
        return text_of(self.words[place])

    def file(self, place):
        """The path of an open descriptor, and whether nothing has that name any more."""
        found = PATH.match(self.words[place])
        return (os.fsdecode(unescaped(found[1])), found[2] is not None) if found else (None, False)

    def path(self, place, directory=None):
        """The path that an argument names, below a directory's descriptor where the call has one."""
        name = os.fsdecode(self.text(place))
        if name.startswith("/") or directory is None:
            return os.path.normpath(name)
        return os.path.normpath(os.path.join(self.file(directory)[0], name))

    def is_sent_from(self, port):
        """Whether it sends bytes from a port of this machine."""
        return self.name in ("write", "writev", "sendto", "sendmsg", "sendfile") and f"TCP:[127.0.0.1:{port}->".encode() in unescaped(self.words[0])


def unescaped(text):
    if b"\\x" not in text:
        return text
    return re.sub(rb"(?:\\x[0-9a-f]{2})+", lambda found: bytes.fromhex(found.group().replace(b"\\x", b"").decode()), text)


def text_of(word):
    if not word.startswith(b'"') or not word.endswith(b'"'):
        raise Failure(f"strace did not write all of {word[:80]!r}")
    return bytes.fromhex(word[1:-1].replace(b"\\x", b"").decode())


def split(text):
    """The arguments of a call; every character of a string is escaped."""
    words, depth, begin = [], 0, 0
    for found in re.finditer(rb"[\[{(]|[\]})]|, ", text):
        character = found.group()
        if character == b", " and depth == 0:
            words.append(text[begin:found.start()])
            begin = found.end()
        elif character != b", ":
            depth += 1 if character in b"[{(" else -1
    return [*words, text[begin:]]


def read_calls(path):
    """The calls that succeeded, in the order of their ends."""
    open_calls, calls = {}, []
    with open(path, "rb") as file:
        for place, line in enumerate(file):
            found = LINE.match(line.rstrip(b"\n"))
            if not found:
                continue
            thread, at = found[1], int(found[2]) + int(found[3].ljust(6, b"0")) / 1e6
            name, text, begun = found[4] or found[5], found[6], place
            if found[4]:
                begun, at, before = open_calls.pop(thread, (place, at, b""))
                text = before + text
            elif text.endswith(UNFINISHED):
                open_calls[thread] = (place, at, text.removesuffix(UNFINISHED))
                continue
            result = RESULT.match(text)
            if not result or result[2] == b"?" or result[2].startswith(b"-"):
                continue
            name = name.decode()
            if name == "io_uring_setup":
                raise Failure("the program uses io_uring, whose calls strace does not see")
            calls.append(Call(name, split(result[1]), int(result[2], 0), begun, place, at))
    return calls


class Recorded:
    """A program that runs under strace, until it is ended."""

    def __init__(self, command, log, environment=None):
        self.log, self.trace, self.command = pathlib.Path(log), pathlib.Path(str(log) + ".strace"), [str(word) for word in command]
        self.environment, self.process = environment, None

    @staticmethod
    def is_available():
        return shutil.which("strace") is not None and subprocess.run(
            ["strace", "-f", "--seccomp-bpf", "-o", "/dev/null", "true"], stderr=subprocess.DEVNULL).returncode == 0

    def start(self, stdin=subprocess.DEVNULL, stdout=None):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                ["strace", "-f", "--seccomp-bpf", "-o", self.trace, "-yy", "-ttt", "-xx", "-s", str(64 << 20), "-e", f"trace={CALLS}", "-e",
                 "signal=none", *self.command], stdin=stdin, stdout=stdout or log, stderr=log, env=self.environment, umask=0o022,
                start_new_session=True)

    @property
    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def child(self):
        text = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return int(text[0]) if text else None

    def end(self, number=signal.SIGTERM, seconds=60):
        """Sends a signal to the program, and waits for strace, which ends with it."""
        if not self.is_running:
            return
        if child := self.child():
            os.kill(child, number)
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            if child := self.child():
                os.kill(child, signal.SIGKILL)
            self.process.wait(seconds)

    def await_ready(self, question, seconds=120):
        def is_ready():
            if not self.is_running:
                raise Failure(f"{self.command[0]} ended with {self.process.returncode}: {self.log.read_text(errors='replace')[-600:]}")
            return question()
        until(seconds, f"{pathlib.Path(self.command[0]).name} is ready", is_ready, 0.02)

    def calls(self):
        return read_calls(self.trace)


class Answers:
    """What was answered, each with the time at which it was asked and at which the answer was there."""

    def __init__(self):
        self.all = []

    def note(self, act, promise):
        """Does something that is answered; `promise` makes of the answer what must hold from then on, or nil."""
        asked = time.time()
        answer = act()
        self.all.append((asked, time.time(), promise(answer)))
        return answer

    def placed(self, calls, port):
        """Each promise with the place of the first bytes of its answer: from there on it must hold."""
        sent = [call for call in calls if call.is_sent_from(port)]
        placed = []
        for asked, answered, promise in self.all:
            during = [call for call in sent if asked <= call.at <= answered]
            if not during:
                raise Failure(f"the recording has no answer to what was asked at {asked}")
            placed.append((during[0].begun, promise))
        return placed
