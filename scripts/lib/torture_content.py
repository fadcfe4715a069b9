"""What is published: folders of files that a seed makes."""

import hashlib

# A section that is fetched when its reader asks for it, and its files.
SECTION, SECTION_FOLDER = "extra", "extra/"


def next_version(version):
    major, minor = version.split(".")
    return f"{major}.{int(minor) + 1}"


def digests_of(folder):
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(folder.rglob("*")) if path.is_file()}


def section_options(folder):
    """For `pullbox publish`: the section of a folder that has one."""
    if not (folder / SECTION_FOLDER).is_dir():
        return []
    return ["--section", f"{SECTION}={SECTION_FOLDER}**", "--section-policy", f"{SECTION}=on-demand"]


def has_section(files):
    return any(path.startswith(SECTION_FOLDER) for path in files)


def make_folder(folder, chance, before, amount):
    """Some files of which one is longer than a piece, now and then; of a correction most are those of the version before."""
    making = folder.with_name(folder.name + ".part")
    making.mkdir(parents=True)
    files = {}
    if before and before.exists():
        files = {str(path.relative_to(before)): path.read_bytes() for path in sorted(before.rglob("*")) if path.is_file()}
        gone = sorted(files)[int(amount * len(files))]
        files[gone] = chance.randbytes(len(files[gone]) + 100)
    else:
        for number in range(chance.randint(2, 6)):
            size = chance.choice((300, 20_000, 70_000, 200_000))
            files[f"chapter{number % 2}/page{number}.bin"] = chance.randbytes(size)
        files["words.txt"] = " ".join(f"{chance.random():.3f}" for _ in range(2000)).encode()
        if amount > 0.6:
            for number, size in enumerate((20_000, 150_000)):
                files[f"{SECTION_FOLDER}scene{number}.bin"] = chance.randbytes(size)
        if amount < 0.3:
            files["sound.mp3"] = chance.randbytes(1_500_000 + int(amount * 4_000_000))
    for name, data in files.items():
        path = making / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    making.rename(folder)
