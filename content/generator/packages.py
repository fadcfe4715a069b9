"""Test material: archives and folders of an exact size, filled with bytes that do not compress."""
import random
import struct
import zlib
from dataclasses import dataclass

from generator.description import Issue, Product

LARGEST_PACKAGE = 2_147_483_648
LARGEST_PAGE = 4 << 20
JPEG_START = bytes.fromhex("ffd8ffe000104a46494600010100000100010000")
LOCAL_HEADER = struct.Struct("<4s5H3I2H")
CENTRAL_HEADER = struct.Struct("<4s6H3I5H2I")
END_OF_DIRECTORY = struct.Struct("<4s4H2IH")
DOS_DATE = (2026 - 1980) << 9 | 9 << 5 | 1


@dataclass(frozen=True)
class Description:
    product: str
    version: str

    def issue(self, page_sizes):
        return Issue(title=f"Test package {self.version}", series=self.product, number=self.version,
                     summary="Incompressible bytes for tests; not meant to be looked at.",
                     date=(2026, 9, 1), page_sizes=page_sizes)

    def product_description(self):
        return Product(identifier=self.product, type="non-consumable", version=self.version, price="0.99",
                       publication_date="2026-09-01T00:00:00.000Z",
                       note="Made by content/generate package.",
                       texts={"en-US": ("Test package", "Incompressible bytes for tests."),
                              "fr-FR": ("Paquet d’essai", "Des octets incompressibles pour les essais.")})


class Noise:
    """Pseudo-random bytes at memory speed.

    Each block is one fixed random block XORed with another window of a longer random pool, because drawing
    every byte from the generator is several times slower. No two blocks of a run are the same.
    """

    BLOCK = 64 << 10
    POOL = 4 << 20
    STRIDE = BLOCK + 4099  # odd, so that every offset in the pool is used before one comes back

    def __init__(self, seed):
        source = random.Random(seed)
        self._fixed = int.from_bytes(source.randbytes(self.BLOCK), "little")
        self._pool = memoryview(source.randbytes(self.POOL + self.BLOCK))
        self._offset = 0

    def fill(self, view):
        for start in range(0, len(view), self.BLOCK):
            self._offset = (self._offset + self.STRIDE) % self.POOL
            window = int.from_bytes(self._pool[self._offset:self._offset + self.BLOCK], "little")
            part = view[start:start + self.BLOCK]
            part[:] = (self._fixed ^ window).to_bytes(self.BLOCK, "little")[:len(part)]


def write_archive(path, size, seed, description):
    """A ZIP archive without compression of exactly `size` bytes."""
    refuse_unreasonable(size)
    count = max(1, -(-size // LARGEST_PAGE))
    names = [page_name(index) for index in range(count)]
    fixed = archive_overhead(["ComicInfo.xml"] + names)
    information = description.issue([]).comic_info().encode()
    room = size - fixed - len(information)
    if room < count * len(JPEG_START):
        raise ValueError(f"an archive needs at least {fixed + len(information) + len(JPEG_START)} bytes")
    noise = Noise(seed)
    with open(path, "wb", buffering=0) as file:
        archive = ArchiveWriter(file)
        archive.add("ComicInfo.xml", information)
        page = memoryview(bytearray(LARGEST_PAGE))
        for name, length in zip(names, shares(room, count)):
            noise.fill(page[:length])
            page[:len(JPEG_START)] = JPEG_START
            archive.add(name, page[:length])
        archive.finish()
    if path.stat().st_size != size:
        raise ValueError(f"{path} is not {size} bytes")


def write_folder(path, size, seed, count, description):
    """A folder that can be published: `count` images of `size` bytes together, and their descriptions."""
    refuse_unreasonable(size)
    if count < 1 or size < count * len(JPEG_START):
        raise ValueError(f"each image needs at least {len(JPEG_START)} bytes")
    path.mkdir(parents=True)
    noise = Noise(seed)
    sizes = shares(size, count)
    stretch = memoryview(bytearray(LARGEST_PAGE))
    for index, length in enumerate(sizes):
        with open(path / page_name(index), "wb", buffering=0) as file:
            for start in range(0, length, LARGEST_PAGE):
                part = stretch[:length - start]
                noise.fill(part)
                if start == 0:
                    part[:len(JPEG_START)] = JPEG_START
                write_all(file, part)
    (path / "ComicInfo.xml").write_text(description.issue(sizes).comic_info(), encoding="utf-8")
    (path / "product.json5").write_text(description.product_description().json5(), encoding="utf-8")


def refuse_unreasonable(size):
    # One byte more than the limit is let through: the refusal of such a package needs testing too.
    if not 1 <= size <= LARGEST_PACKAGE + 1:
        raise ValueError(f"--size is between 1 and {LARGEST_PACKAGE + 1}")


def page_name(index):
    return f"page-{index + 1:04d}.jpg"


def shares(total, count):
    """`total` cut into `count` lengths that differ by at most one."""
    return [total * (index + 1) // count - total * index // count for index in range(count)]


def write_all(file, data):
    view = memoryview(data)
    while view:
        view = view[file.write(view):]


def archive_overhead(names):
    return END_OF_DIRECTORY.size + sum(LOCAL_HEADER.size + CENTRAL_HEADER.size + 2 * len(name) for name in names)


class ArchiveWriter:
    """Just enough of ZIP that the size is known before the first byte is written."""

    def __init__(self, file):
        self._file = file
        self._position = 0
        self._directory = []

    def add(self, name, data):
        encoded = name.encode("ascii")
        checksum = zlib.crc32(data)
        common = (20, 0, 0, 0, DOS_DATE, checksum, len(data), len(data), len(encoded), 0)
        self._directory.append(CENTRAL_HEADER.pack(b"PK\x01\x02", 20, *common, 0, 0, 0, 0, self._position) + encoded)
        self._write(LOCAL_HEADER.pack(b"PK\x03\x04", *common) + encoded)
        self._write(data)

    def finish(self):
        start, directory = self._position, b"".join(self._directory)
        self._write(directory)
        count = len(self._directory)
        self._write(END_OF_DIRECTORY.pack(b"PK\x05\x06", 0, 0, count, count, len(directory), start, 0))

    def _write(self, data):
        write_all(self._file, data)
        self._position += len(data)
