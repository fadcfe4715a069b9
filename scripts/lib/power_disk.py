"""A device whose power may fail: what is on it for certain, and what may be.

A file's bytes and length are there once fsync(2) or fdatasync(2) of it has returned, a name once fsync(2) of its directory has; syncfs(2) and
sync(2) do it for all. sync_file_range(2) promises nothing, nor does O_DIRECT. A file that is new and synced has no name by that alone, as it
would on ext4. Names of one directory are changed in order, and a rename is made whole or not at all, in both of its directories, as
journals do it. Permissions are there at once, and SQLite's index of its log (-shm), which is memory that is shared, is not there at all."""

import hashlib
import os
import stat

PAGE, SECTOR = 4096, 512


def is_kept(name):
    return not name.endswith("-shm")


class Node:
    """A file, with its bytes, or a directory, with its names. `pending` are the changes that no sync has covered, in their order."""

    def __init__(self, number, is_directory, mode):
        self.number, self.is_directory, self.mode, self.pending, self.target = number, is_directory, mode, [], None
        self.live, self.base = ({}, {}) if is_directory else (bytearray(), b"")
        self.digests = {}

    def digest(self, data):
        """Of the bytes of a state; those of the device alone are hashed once."""
        if data is not self.base:
            return hashlib.blake2b(data, digest_size=16).digest()
        if id(data) not in self.digests:
            self.digests = {id(data): hashlib.blake2b(data, digest_size=16).digest()}
        return self.digests[id(data)]


class Write:
    """Bytes at a place, or zeros in a hole, and the length of the file afterwards."""

    def __init__(self, ended, start, data, length):
        self.ended, self.start, self.data, self.length = ended, start, data, length

    def pages(self):
        return range(self.start // PAGE, -(-(self.start + len(self.data)) // PAGE))


class Naming:
    """Names that come and go in one step: (directory, name, node or nil)."""

    def __init__(self, ended, changes):
        self.ended, self.changes = ended, changes

    def apply(self, directory, names):
        for place, name, node in self.changes:
            if place is directory and node is None:
                names.pop(name, None)
        for place, name, node in self.changes:
            if place is directory and node is not None:
                names[name] = node

    def partners(self):
        return {id(place): place for place, _, _ in self.changes}.values()


def written(data, writes, last):
    """The bytes after some writes; `last` tells for a page which is the last one that counts."""
    length = max([len(data), *(write.start + len(write.data) for write in writes)])
    after = bytearray(data) + bytes(length - len(data))
    for place, write in enumerate(writes):
        end = write.start + len(write.data)
        for page in write.pages():
            if place <= last(page):
                begin, stop = max(write.start, page * PAGE), min(end, (page + 1) * PAGE)
                after[begin:stop] = write.data[begin - write.start:stop - write.start]
    return after


class Device:
    """Directories from `root` on, as they were when all was synced."""

    def __init__(self, roots):
        self.roots, self.nodes = {}, []
        for root in map(os.path.realpath, roots):
            self.roots[root] = self.read(root)

    def make(self, is_directory, mode):
        self.nodes.append(Node(len(self.nodes), is_directory, mode))
        return self.nodes[-1]

    def read(self, path):
        status = os.lstat(path)
        node = self.make(stat.S_ISDIR(status.st_mode), stat.S_IMODE(status.st_mode))
        if stat.S_ISLNK(status.st_mode):
            node.target = os.readlink(path)
        elif node.is_directory:
            for entry in os.scandir(path):
                if is_kept(entry.name) and not stat.S_ISSOCK(entry.stat(follow_symlinks=False).st_mode):
                    node.live[entry.name] = self.read(entry.path)
            node.base = dict(node.live)
        else:
            with open(path, "rb") as file:
                node.base = file.read()
            node.live = bytearray(node.base)
        return node

    def find(self, path):
        """The node that has a path now, nil where none does or where it lies elsewhere."""
        for root, node in self.roots.items():
            if path == root or path.startswith(root + "/"):
                for name in path[len(root):].split("/"):
                    if name:
                        node = node.live.get(name) if node and node.is_directory else None
                return node
        return None

    def place(self, path):
        """The directory and the name of a path."""
        parent, name = os.path.split(path)
        return (self.find(parent), name) if is_kept(name) else (None, name)

    # Changes.

    def name(self, ended, *changes):
        changes = [change for change in changes if change[0] is not None]
        naming = Naming(ended, changes)
        for directory in naming.partners():
            naming.apply(directory, directory.live)
            directory.pending.append(naming)

    def write(self, ended, node, start, data):
        end = start + len(data)
        if end > len(node.live):
            node.live += bytes(end - len(node.live))
        node.live[start:end] = data
        node.pending.append(Write(ended, start, bytes(data), len(node.live)))

    def resize(self, ended, node, length):
        before = len(node.live)
        if length < before:
            del node.live[length:]
            node.pending.append(Write(ended, length, bytes(before - length), length))
        elif length > before:
            node.live += bytes(length - before)
            node.pending.append(Write(ended, before, b"", length))

    def synchronize(self, node, begun):
        """What had ended before the sync began is on the device when it returns."""
        if node.is_directory:
            self.commit(node, max([place for place, one in enumerate(node.pending) if one.ended < begun], default=-1) + 1)
            return
        done = [one for one in node.pending if one.ended < begun]
        if done:
            data = written(node.base, done, lambda page: len(done))
            length = done[-1].length
            node.base = bytes(data[:length]) + bytes(max(0, length - len(data)))
            node.pending = node.pending[len(done):]

    def commit(self, directory, count):
        """The first changes of its names, with what they need in other directories."""
        while count > 0 and directory.pending:
            naming = directory.pending.pop(0)
            count -= 1
            naming.apply(directory, directory.base)
            for partner in naming.partners():
                if partner is not directory and naming in partner.pending:
                    self.commit(partner, partner.pending.index(naming) + 1)

    def synchronize_all(self, begun):
        for node in self.nodes:
            self.synchronize(node, begun)

    # What is there.

    def state(self, names=None, contents=None):
        """Paths with (mode, bytes, node), or (mode, nil, node) for a directory; `names` and `contents` have what a crash left of those nodes
        whose changes no sync has covered, by their identity."""
        names, contents, found = names or {}, contents or {}, {}

        def visit(path, node):
            if node.is_directory:
                found[path] = (node.mode, None, node)
                for name, child in names.get(id(node), node.base).items():
                    visit(f"{path}/{name}", child)
            else:
                found[path] = (node.mode, contents.get(id(node), node.base), node)
        for root, node in self.roots.items():
            visit(root, node)
        return found

    def live(self):
        """As the program sees it."""
        return self.state({id(node): node.live for node in self.nodes if node.is_directory},
                          {id(node): node.live for node in self.nodes if not node.is_directory})


def digest_of_state(state):
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(state):
        mode, data, node = state[path]
        digest.update(f"{path}\0{mode}\0".encode() + (b"directory" if data is None else node.digest(data)))
    return digest.digest()


def lay_out(state, moves):
    """Makes a state on this machine, with each root where `moves` says; zeros at the end of a file take no time."""
    for path in sorted(state):
        mode, data, node = state[path]
        root = next(root for root in moves if path == root or path.startswith(root + "/"))
        here = moves[root] + path[len(root):]
        if data is None:
            os.makedirs(here, exist_ok=True)
        elif node.target is not None:
            os.symlink(node.target, here)
        else:
            with open(here, "wb") as file:
                file.write(bytes(data).rstrip(b"\0"))
                file.truncate(len(data))
            os.chmod(here, mode)
    for path, (mode, data, _) in state.items():
        if data is None:
            root = next(root for root in moves if path == root or path.startswith(root + "/"))
            os.chmod(moves[root] + path[len(root):], mode)

