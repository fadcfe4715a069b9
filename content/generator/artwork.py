"""Redraws the publications under content/, with the descriptions that go with them."""
import io
import shutil

from generator import publications


def draw(folder, only=None, page=None):
    chosen = [publication for publication in publications.ALL if only in (None, publication.slug)]
    if not chosen:
        names = ", ".join(publication.slug for publication in publications.ALL)
        raise ValueError(f"--only is one of: {names}")
    for publication in chosen:
        target = folder / publication.slug
        if page is None:
            shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True, exist_ok=True)
        sizes = []
        for number, drawing in enumerate(publication.drawings(), start=1):
            if page in (None, number):
                data = encoded(drawing(), publication.extension)
                (target / f"page-{number:03d}.{publication.extension}").write_bytes(data)
                sizes.append(len(data))
        if page is None:
            (target / "product.json5").write_text(publication.product.json5(), encoding="utf-8")
            if publication.issue:
                described = publication.issue(sizes).comic_info()
                (target / "ComicInfo.xml").write_text(described, encoding="utf-8")
            print(f"{publication.slug}: {len(sizes)} pages, {sum(sizes)} bytes")


def encoded(image, extension):
    data = io.BytesIO()
    if extension == "png":
        image.save(data, "PNG", optimize=True)
    else:
        image.save(data, "JPEG", quality=78, optimize=True, progressive=True)
    return data.getvalue()
