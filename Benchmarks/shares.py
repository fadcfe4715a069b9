"""Holds processes to a share of a processor, by a control group of version 1 or 2."""
import contextlib
import os
from pathlib import Path

# Microseconds. Short, so that what is held does not stand still for longer than an answer takes.
PERIOD = 20_000


class NoShares(RuntimeError):
    """Processes cannot be held here, and why."""


def controller():
    """Where groups of processes that are held can be made, and whether by version 2."""
    mounts = [line.split()[1:4] for line in Path("/proc/mounts").read_text().splitlines()]
    for place, kind, options in mounts:
        if kind == "cgroup" and "cpu" in options.split(","):
            return Path(place), False
    for place, kind, _ in mounts:
        if kind == "cgroup2" and "cpu" in (Path(place) / "cgroup.controllers").read_text().split():
            return Path(place), True
    raise NoShares("no control groups for processors are mounted")


class Share:
    """A group of processes that together get `percent` of a processor at most."""

    def __init__(self, name, percent):
        place, is_second = controller()
        self.directory = place / f"pullbox-bench-{os.getpid()}-{name}"
        quota = round(PERIOD * percent / 100)
        if quota < 1000:
            raise NoShares(f"{percent} % of a processor is less than the kernel holds processes to: "
                           f"{100_000 / PERIOD:g} % is the least")
        try:
            if is_second:
                with contextlib.suppress(OSError):
                    (place / "cgroup.subtree_control").write_text("+cpu")
            self.directory.mkdir()
            if is_second:
                (self.directory / "cpu.max").write_text(f"{quota} {PERIOD}")
            else:
                (self.directory / "cpu.cfs_period_us").write_text(str(PERIOD))
                (self.directory / "cpu.cfs_quota_us").write_text(str(quota))
        except OSError as error:
            self.remove()
            raise NoShares(f"a control group cannot be made in {place}: {error.strerror}; root may") from error

    def hold(self, pid):
        (self.directory / "cgroup.procs").write_text(str(pid))

    def remove(self):
        """Once its processes have ended."""
        with contextlib.suppress(OSError):
            self.directory.rmdir()
