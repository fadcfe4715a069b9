#!/usr/bin/env python3
"""Breaks the product on purpose, one patch of scripts/mutations after the other, and runs scripts/torture on each until that finds it.

    torture_broken.py --root DIR --port-base N --transcript FILE --mutation NAME|all [--rounds N] [--seed N] [--nodes N] [--only KIND,KIND]

What is broken is a copy of the sources below .build/broken, with a debug build of its own: the first one takes minutes, the next ones what a
change of a file takes. Ends with 1 unless each is found, by a promise that its patch names.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

PRODUCTS = ("pullbox", "pullbox-agent", "pullbox-sandbox", "pullbox-server")
NOT_HELD = re.compile(r"^NOT HELD  seed (\d+), round (\d+), event \d+: (.*)$", re.MULTILINE)
HELD = re.compile(r"^held  \d+ rounds", re.MULTILINE)


class NotRun(Exception):
    """Nothing was looked at; its text is what was said."""


class Mutation:
    """A patch, with a sentence about what it breaks, and the promises by which it may be found."""

    def __init__(self, path):
        self.path, self.name = path, path.stem
        text = path.read_text()
        head = text.partition("\n--- ")[0]
        self.says = " ".join(head.partition("\nPromise:")[0].split())
        self.promises = set(re.findall(r"\d", re.search(r"^Promise: ([\d, ]+)$", head, re.MULTILINE)[1]))

    def check(self, root):
        """What git says where it does not fit the sources any more; nil where it does."""
        done = apply_patch(self.path, root, "--check")
        return None if done.returncode == 0 else done.stderr.strip()


def all_mutations(root):
    return [Mutation(path) for path in sorted((root / "scripts/mutations").glob("*.patch"))]


def apply_patch(path, directory, *words):
    # Whether or not the directory belongs to a repository: names are those of the directory itself.
    environment = os.environ | {"GIT_CEILING_DIRECTORIES": str(directory.parent), "GIT_DIR": str(directory / ".no-repository")}
    return subprocess.run(["git", "apply", *words, str(path)], cwd=directory, env=environment, capture_output=True, text=True)


def copy_sources(root, place):
    """Makes `place` what the sources are now. Files that are the same stay as they are, so that they are not compiled again."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=root, capture_output=True, check=True)
    names = {name for name in os.fsdecode(listed.stdout).split("\0") if name and (root / name).is_file()}
    for name in names:
        source, target = root / name, place / name
        if not target.is_file() or target.read_bytes() != source.read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
        shutil.copymode(source, target)
    for path in place.rglob("*"):
        if path.is_file() and str(path.relative_to(place)) not in names:
            path.unlink()


def build(place):
    """What the compiler says where it fails; nil where it does not. Nothing of the tests is built."""
    environment = os.environ | {"PULLBOX_COMMIT": "", "PULLBOX_ONLY_TESTS": ""}
    for product in PRODUCTS:
        done = subprocess.run(
            ["swift", "build", "--package-path", place / "source", "--scratch-path", place / "build", "--disable-index-store", "--product", product],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            return "\n".join(line for line in done.stdout.splitlines() if "error:" in line)[-2000:] or done.stdout[-2000:]
    return None


def torture(options, place):
    """Seed, round and words of what was not held; nil where all was."""
    command = [sys.executable, "-B", str(pathlib.Path(__file__).with_name("torture_main.py")), "--bin", str(place / "build/debug"), "--no-halving",
               "--port-base", str(options.port_base), "--transcript", str(options.transcript), "--rounds", str(options.rounds),
               "--seed", str(options.seed), "--nodes", str(options.nodes), *(["--only", options.only] if options.only else [])]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode and (found := NOT_HELD.search(done.stdout)):
        return int(found[1]), int(found[2]), found[3]
    if done.returncode or not HELD.search(done.stdout):
        # It was ended, or was skipped.
        raise NotRun(done.stdout[-2000:])
    return None


def try_one(options, place, mutation):
    """Whether it is found."""
    copy_sources(options.root, place / "source")
    done = apply_patch(mutation.path, place / "source")
    if done.returncode:
        print(f"NOT APPLIED  {mutation.name}: {done.stderr.strip()}", flush=True)
        return False
    begun = time.monotonic()
    if words := build(place):
        print(f"NOT BUILT  {mutation.name}: {words}", flush=True)
        return False
    built = time.monotonic()
    try:
        found = torture(options, place)
    except NotRun as words:
        print(f"NOT RUN  {mutation.name}: {words}", flush=True)
        return False
    times = f"{built - begun:.0f} s to build, {time.monotonic() - built:.0f} s to run"
    if found is None:
        print(f"NOT FOUND  {mutation.name} in {options.rounds} rounds of seed {options.seed} ({times}): {mutation.says}", flush=True)
        return False
    seed, number, words = found
    number += 100 * (seed - options.seed)
    promise = words.partition(":")[0]
    if promise not in mutation.promises:
        print(f"NOT FOUND  {mutation.name}: in round {number} something else was not held ({times}): {words}", flush=True)
        return False
    print(f"found  {mutation.name} in round {number}, by promise {promise} ({times}): {words}", flush=True)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], allow_abbrev=False)
    for name in ("--root", "--transcript"):
        parser.add_argument(name, required=True, type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--port-base", required=True, type=int)
    parser.add_argument("--mutation", required=True)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--only")
    options = parser.parse_args()
    mutations = all_mutations(options.root)
    chosen = [one for one in mutations if options.mutation in ("all", one.name)]
    if not chosen:
        parser.error(f"there is no mutation '{options.mutation}': {', '.join(one.name for one in mutations)}")
    place = options.root / ".build/broken"
    try:
        missed = [one.name for one in chosen if not try_one(options, place, one)]
    finally:
        copy_sources(options.root, place / "source")
    if missed:
        sys.exit(f"not found: {', '.join(missed)}")


if __name__ == "__main__":
    main()
