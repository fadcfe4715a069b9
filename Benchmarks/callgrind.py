"""Instructions of a process without the kernel's, by valgrind: these are the same beside other work."""
import shutil

from measuring import run


class Callgrind:
    """A wrapper for a Daemon, which counts the instructions of what it runs."""

    def __init__(self, arguments):
        self.output = arguments.work / "callgrind"
        shutil.rmtree(self.output, ignore_errors=True)
        self.output.mkdir()
        # Valgrind ends when it meets debugging information of a form that it does not know.
        self.executable = self.output / "pullbox-server"
        run("strip", "--strip-debug", "-o", self.executable, arguments.bin / "pullbox-server")
        self.wrapper = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={self.output}/out.%p", "--quiet"]
        self.counted = 0

    def instructions(self, pid):
        """All so far, of which the last dump has those since the dump before."""
        before = set(self.output.glob("out.*.*"))
        run("callgrind_control", "--dump", pid)
        for dump in set(self.output.glob("out.*.*")) - before:
            self.counted += sum(int(line.split()[1]) for line in dump.read_text().splitlines() if line.startswith("totals:"))
        return self.counted
