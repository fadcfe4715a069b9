"""What is preloaded into a program, so that its clock is set and its syncs fail."""

import os
import pathlib
import struct
import subprocess

from node_faults import WallClock

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent / "Tests/Preload/failsync.c"


class Preload:
    """Both of one program; only where there is a C compiler."""

    def __init__(self, directory):
        self.clock = WallClock(directory)
        self.library, self.file = directory / "failsync.so", directory / "syncs"
        subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", self.library, SOURCE], check=True)
        self.fail_syncs(0)

    def environment(self):
        return os.environ | self.clock.environment() | {
            "LD_PRELOAD": f"{self.clock.library}:{self.library}", "FAILSYNC_FILE": str(self.file)}

    def fail_syncs(self, count):
        """The next `count` fail, in this process of the program or a later one. The file is mapped: its bytes change in their place."""
        if not self.file.exists():
            self.file.write_bytes(bytes(8))
        with open(self.file, "r+b", buffering=0) as file:
            file.write(struct.pack("=q", count))
