"""Plays the calls of a recording back on a device whose power may fail, and compares its end with what the program left."""

import os
import re
import stat

from node_engines import Failure
from power_disk import is_kept


class Open:
    """An open file: where its next bytes go."""

    __slots__ = ("node", "position", "appends", "ended")

    def __init__(self, node, appends, ended):
        self.node, self.position, self.appends, self.ended = node, 0, appends, ended


def numbers(text):
    return [int(word, 0) for word in re.findall(rb"-?\d+", text)]


class Player:
    """Gives a device what a program did, call by call."""

    def __init__(self, device):
        self.device, self.open, self.syncs = device, {}, 0

    def node(self, call, place):
        """What a descriptor is open on, nil where that lies elsewhere."""
        path, is_gone = call.file(place)
        node = None if path is None or is_gone else self.device.find(path)
        if node is None and (one := self.open.get(call.number(place))) and path is not None and (is_gone or one.node):
            node = one.node
        return node

    def play(self, call, drops_syncs=()):
        """Whether it has changed anything. `drops_syncs`: parts of paths whose syncs do nothing here."""
        act = getattr(self, "do_" + call.name, None)
        return bool(act and act(call)) if call.name not in ("fsync", "fdatasync", "syncfs", "sync") else self.synchronize(call, drops_syncs)

    def synchronize(self, call, drops):
        self.syncs += 1
        if call.name in ("sync", "syncfs"):
            if not any("syncfs" in part for part in drops):
                self.device.synchronize_all(call.begun)
            return True
        node = self.node(call, 0)
        if node and not any(re.search(part, call.file(0)[0] or "") for part in drops):
            self.device.synchronize(node, call.begun)
        return node is not None

    # Names.

    def opened(self, call, path, flags, mode):
        node, (directory, name) = self.device.find(path), self.device.place(path)
        has_changed = False
        if b"O_TMPFILE" in flags and directory is not None:
            raise Failure(f"a file without a name in {path}: not known here")
        if node is None and directory is not None and b"O_CREAT" in flags:
            node = self.device.make(False, mode & ~0o022)
            self.device.name(call.ended, (directory, name, node))
            has_changed = True
        elif node is not None and b"O_TRUNC" in flags and node.live:
            self.device.resize(call.ended, node, 0)
            has_changed = True
        self.open[call.result] = Open(node, b"O_APPEND" in flags, call.ended)
        return has_changed

    def do_openat(self, call):
        return self.opened(call, call.path(1, 0), call.words[2], call.number(3) if len(call.words) > 3 else 0)

    def do_open(self, call):
        return self.opened(call, call.path(0), call.words[1], call.number(2) if len(call.words) > 2 else 0)

    def do_close(self, call):
        # The number may belong to a later file by the time at which strace tells of it.
        if (one := self.open.get(call.number(0))) and one.ended < call.begun:
            del self.open[call.number(0)]

    def do_lseek(self, call):
        if one := self.open.get(call.number(0)):
            one.position = call.result

    def mkdir(self, call, path, mode):
        directory, name = self.device.place(path)
        if directory is None:
            return False
        self.device.name(call.ended, (directory, name, self.device.make(True, mode & ~0o022)))
        return True

    def do_mkdir(self, call):
        return self.mkdir(call, call.path(0), call.number(1))

    def do_mkdirat(self, call):
        return self.mkdir(call, call.path(1, 0), call.number(2))

    def unlink(self, call, path):
        directory, name = self.device.place(path)
        if directory is None or name not in directory.live:
            return False
        self.device.name(call.ended, (directory, name, None))
        return True

    def do_unlink(self, call):
        return self.unlink(call, call.path(0))

    do_rmdir = do_unlink

    def do_unlinkat(self, call):
        return self.unlink(call, call.path(1, 0))

    def rename(self, call, before, after, swaps=False):
        (source, old), (target, new) = self.device.place(before), self.device.place(after)
        node, other = self.device.find(before), self.device.find(after)
        if source is None and target is None:
            return False
        if node is None or source is None or target is None:
            raise Failure(f"{before} came from elsewhere, or went there: {after}")
        self.device.name(call.ended, (source, old, other if swaps else None), (target, new, node))
        return True

    def do_rename(self, call):
        return self.rename(call, call.path(0), call.path(1))

    def do_renameat(self, call):
        return self.rename(call, call.path(1, 0), call.path(3, 2))

    def do_renameat2(self, call):
        return self.rename(call, call.path(1, 0), call.path(3, 2), b"RENAME_EXCHANGE" in call.words[4])

    def do_linkat(self, call):
        node, (directory, name) = self.device.find(call.path(1, 0)), self.device.place(call.path(3, 2))
        if directory is None:
            return False
        if node is None:
            raise Failure(f"a link to something elsewhere: {call.path(1, 0)}")
        self.device.name(call.ended, (directory, name, node))
        return True

    def do_symlinkat(self, call):
        directory, name = self.device.place(call.path(2, 1))
        if directory is not None:
            node = self.device.make(False, 0o777)
            node.target = os.fsdecode(call.text(0))
            self.device.name(call.ended, (directory, name, node))
        return directory is not None

    def do_fchmod(self, call):
        if node := self.node(call, 0):
            node.mode = stat.S_IMODE(call.number(1))

    def do_fchmodat(self, call):
        if node := self.device.find(call.path(1, 0)):
            node.mode = stat.S_IMODE(call.number(2))

    def do_chmod(self, call):
        if node := self.device.find(call.path(0)):
            node.mode = stat.S_IMODE(call.number(1))

    # Bytes.

    def put(self, call, place, data, start=None):
        node = self.node(call, place)
        if node is None or node.is_directory:
            return False
        one = self.open.get(call.number(place))
        if start is None:
            if one is None:
                raise Failure(f"bytes at an unknown place of {call.file(place)[0]}")
            start = len(node.live) if one.appends else one.position
            one.position = start + len(data)
        self.device.write(call.ended, node, start, data)
        return True

    def do_write(self, call):
        return self.node(call, 0) is not None and self.put(call, 0, call.text(1)[:call.result])

    def do_pwrite64(self, call):
        return self.node(call, 0) is not None and self.put(call, 0, call.text(1)[:call.result], call.number(3))

    def do_writev(self, call, start=None):
        if self.node(call, 0) is None:
            return False
        parts = re.findall(rb'iov_base=("[^"]*")', call.words[1])
        return self.put(call, 0, b"".join(bytes.fromhex(part[1:-1].replace(b"\\x", b"").decode()) for part in parts)[:call.result], start)

    def do_pwritev(self, call):
        return self.do_writev(call, call.number(3))

    do_pwritev2 = do_pwritev

    def resize(self, call, node, length):
        if node is not None:
            self.device.resize(call.ended, node, length)
        return node is not None

    def do_ftruncate(self, call):
        return self.resize(call, self.node(call, 0), call.number(1))

    def do_truncate(self, call):
        return self.resize(call, self.device.find(call.path(0)), call.number(1))

    def do_fallocate(self, call):
        node, mode, start, length = self.node(call, 0), call.words[1], call.number(2), call.number(3)
        if node is None:
            return False
        if b"PUNCH_HOLE" in mode or b"ZERO_RANGE" in mode:
            end = min(start + length, len(node.live))
            self.device.write(call.ended, node, start, bytes(max(0, end - start)))
        elif b"KEEP_SIZE" not in mode and start + length > len(node.live):
            self.device.resize(call.ended, node, start + length)
        return True

    def do_copy_file_range(self, call):
        source, target = self.node(call, 0), self.node(call, 2)
        if target is None:
            return False
        if source is None or not numbers(call.words[1]) or not numbers(call.words[3]):
            raise Failure(f"bytes are copied to {call.file(2)[0]} in a way that is not known here")
        start = numbers(call.words[1])[0]
        return self.put(call, 2, bytes(source.live[start:start + call.result]), numbers(call.words[3])[0])

    def do_ioctl(self, call):
        if b"FICLONE" not in call.words[1] or (node := self.node(call, 0)) is None:
            return False
        if b"RANGE" in call.words[1] or (source := self.node(call, 2)) is None:
            raise Failure(f"bytes are shared with {call.file(0)[0]} in a way that is not known here")
        self.device.resize(call.ended, node, 0)
        self.device.write(call.ended, node, 0, bytes(source.live))
        return True

    def refuse(self, call, place):
        if (node := self.node(call, place)) is not None and not node.is_directory:
            raise Failure(f"{call.name} changes {call.file(place)[0]} in a way that is not known here")

    def do_sendfile(self, call):
        self.refuse(call, 0)

    def do_splice(self, call):
        self.refuse(call, 2)

    def do_mmap(self, call):
        """Writes through a mapping cannot be seen: only SQLite's index of its log may have one."""
        if b"MAP_SHARED" in call.words[3] and b"PROT_WRITE" in call.words[2] and call.file(4)[0] and is_kept(call.file(4)[0]):
            self.refuse(call, 4)


def compare(device, later):
    """What differs between the end of a recording and what the program left, `later` read from the disk."""
    played, real = device.live(), later.live()
    faults = [f"{path} is only {'in the recording' if path in played else 'on the disk'}" for path in sorted(set(played) ^ set(real))]
    for path in sorted(set(played) & set(real)):
        (mode, data, one), (real_mode, real_data, other) = played[path], real[path]
        if (data is None) != (real_data is None) or one.target != other.target:
            faults.append(f"{path} is of another kind")
        elif data is not None and bytes(data) != bytes(real_data):
            at = next((place for place, (left, right) in enumerate(zip(data, real_data)) if left != right), min(len(data), len(real_data)))
            faults.append(f"{path} has {len(data)} and {len(real_data)} bytes, which differ from {at} on")
        elif mode != real_mode and one.target is None:
            faults.append(f"{path} has the permissions {mode:o} and {real_mode:o}")
    return faults
