"""What is preloaded into a program, so that its clock is wrong, its syncs fail, and its disk is slow, reads wrong or takes no change."""

import errno
import os
import pathlib
import struct
import subprocess

from node_faults import WallClock

SOURCES = pathlib.Path(__file__).resolve().parent.parent.parent / "Tests/Preload"
# How a file system answers that takes no change: it is read-only, full, or its device fails.
REFUSALS = (errno.EROFS, errno.ENOSPC, errno.EIO)


class Preload:
    """All of one program; only where there is a C compiler. the paths of files that may read wrong have one of `parts`."""

    def __init__(self, directory, state, parts):
        self.clock = WallClock(directory)
        self.syncs, self.disk = directory / "syncs", directory / "bad-disk"
        self.libraries, self.variables = [self.clock.library], {"BADDISK_PARTS": ":".join(parts), "BADDISK_STATE": str(state)}
        # The last one's sync waits, and passes on to the one that may fail.
        for name, file in (("baddisk", self.disk), ("failsync", self.syncs)):
            # One for all programs.
            library = directory.parent / f"{name}.so"
            if not library.exists():
                subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", library, SOURCES / f"{name}.c"], check=True)
            self.libraries.append(library)
            self.variables[f"{name.upper()}_FILE"] = str(file)
        self.syncs.write_bytes(bytes(8))
        self.disk.write_bytes(bytes(24))

    def environment(self):
        return os.environ | self.clock.environment() | self.variables | {"LD_PRELOAD": ":".join(str(one) for one in self.libraries)}

    @staticmethod
    def put(path, place, number):
        """The files are mapped: their bytes change in their place, for this process of the program or a later one."""
        with open(path, "r+b", buffering=0) as file:
            file.seek(8 * place)
            file.write(struct.pack("=q", number))

    def fail_syncs(self, count):
        """The next `count` fail."""
        self.put(self.syncs, 0, count)

    def slow(self, seconds):
        """Each read, write and sync takes so much longer."""
        self.put(self.disk, 0, int(seconds * 1e6))

    def misread(self, count):
        """The next `count` reads have a bit that is another one."""
        self.put(self.disk, 1, count)

    def refuse(self, error):
        """Each change below the program's state fails with this errno; 0: none."""
        self.put(self.disk, 2, error)

    def lift(self):
        """All but the reads that are wrong: they wait for a file that is read."""
        self.clock.set(0)
        self.fail_syncs(0)
        self.slow(0)
        self.refuse(0)
