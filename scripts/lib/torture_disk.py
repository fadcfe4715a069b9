"""What lies on a device, read by nobody's code but this: files by their SHA-256, manifests as documents of JSON."""

import hashlib
import json
import os
import pathlib

from torture_content import SECTION_FOLDER


def digest_of(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class Hashes:
    """Digests of files, which are read again only where they are others."""

    def __init__(self):
        self.known = {}

    def of(self, path):
        status = os.stat(path)
        key = (status.st_dev, status.st_ino, status.st_size, status.st_ctime_ns)
        if key not in self.known:
            self.known[key] = digest_of(path)
        return self.known[key]


def files_below(folder):
    """Relative paths of the files."""
    found = []
    for place, folders, names in os.walk(folder):
        here = pathlib.Path(place)
        found += [str((here / name).relative_to(folder)) for name in names]
    return found


def faults_of_content(folder, expected, hashes):
    """What differs between a placed version and the files that were published. Those of a section are there, or none of them is."""
    faults = []
    there = set(files_below(folder))
    section = {path for path in expected if path.startswith(SECTION_FOLDER)}
    if section & there and section - there:
        faults.append(f"{len(section & there)} of {len(section)} files of its section are there")
    for path, digest in expected.items():
        if path not in there and path in section:
            continue
        if path not in there:
            faults.append(f"{path} is missing")
        elif hashes.of(folder / path) != digest:
            faults.append(f"{path} has other bytes")
    return faults + [f"{path} was never published" for path in sorted(there - set(expected))]


def fault_of_manifest(path, product, version, expected):
    """What is wrong with the manifest beside placed content, nil where nothing is."""
    try:
        document = json.loads(path.read_bytes())
        named = (document["product"], document["version"])
        listed = {one["path"]: one["digest"] for one in document["files"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        return repr(error)
    if named != (product, version):
        return f"it is of {named[0]} {named[1]}"
    return None if listed == expected else f"it lists {sorted(set(listed.items()) ^ set(expected.items()))[:3]}"


def look_at_library(library, history, hashes):
    """What is wrong with what readers see: every file there is of a version that was published, and right."""
    faults = []
    for product in sorted(entry.name for entry in os.scandir(library) if entry.is_dir() and not entry.name.startswith(".")):
        for version in sorted(entry.name for entry in os.scandir(library / product) if not entry.name.startswith(".")):
            name = f"{product}/{version}"
            known = history.versions.get((product, version))
            if known is None:
                faults.append(f"{name} was never published")
                continue
            faults += [f"{name}: {fault}" for fault in faults_of_content(library / product / version, known["files"], hashes)]
            manifest = library / product / ".pullbox" / version
            if fault := fault_of_manifest(manifest, product, version, known["files"]):
                faults.append(f"{name}: its manifest: {fault}")
    return faults


def left_over(agent):
    """What lies in staging or on its way out though no job is there that owns it."""
    jobs = {row["id"] for row in agent.rows("SELECT id FROM content_jobs")}
    faults = []
    for folder in (".staging", ".trash"):
        place = agent.library / folder
        if place.exists():
            faults += [f"{folder}/{entry.name}" for entry in os.scandir(place) if entry.name.removesuffix(".reserved") not in jobs]
    downloads = agent.state / "downloads"
    if downloads.exists():
        faults += [f"downloads/{entry.name}" for entry in os.scandir(downloads) if entry.name not in jobs]
    return faults


def look_at_shelf(state, rows, hashes):
    """What is wrong with a server's packages: each is what its name says and of a version, and what is incoming is an upload's."""
    faults = []
    known = {row["digest"] for row in rows("SELECT lower(hex(digest)) AS digest FROM versions UNION SELECT lower(hex(digest)) FROM unneeded_blobs "
                                           "UNION SELECT lower(hex(digest)) FROM uploads WHERE digest IS NOT NULL")}
    blobs = state / "blobs"
    for path in files_below(blobs) if blobs.exists() else []:
        name = path.replace("/", "")
        if name not in known:
            faults.append(f"blobs/{path} is of no version")
        elif hashes.of(blobs / path) != name:
            faults.append(f"blobs/{path} has other bytes")
    uploads = {row["id"] for row in rows("SELECT id AS id FROM uploads")}
    incoming = state / "incoming"
    for entry in os.scandir(incoming) if incoming.exists() else []:
        if entry.name.removesuffix(".durable") not in uploads:
            faults.append(f"incoming/{entry.name} is of no upload")
    return faults
