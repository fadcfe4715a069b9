/// Oddities that systems leave behind.
extension OddPublication {
  /// Publications with files that macOS, Windows, file servers and phones leave beside pages.
  static let ofSystems: [OddPublication] = [
    folder(
      "macOS: resource forks in __MACOSX beside the pages of a folder",
      [
        ("page1.png", PageBytes.png(1)), ("page2.png", PageBytes.png(2)),
        ("__MACOSX/._page1.png", PageBytes.appleDouble), ("__MACOSX/._page2.png", PageBytes.appleDouble),
      ]
    ) {
      $0.pages = 2
      $0.cover = "page1.png"
      $0.leftOut = ["__MACOSX resourceFork"]
      $0.packed = ["page1.png", "page2.png"]
    },
    folder(
      "macOS: a resource fork beside its page, on a disk without forks",
      [
        ("._page1.png", PageBytes.appleDouble), ("page1.png", PageBytes.png(1)),
        ("page2.png", PageBytes.png(2)),
      ]
    ) {
      $0.pages = 2
      $0.cover = "page1.png"
      $0.leftOut = ["._page1.png resourceFork"]
      $0.packed = ["page1.png", "page2.png"]
    },
    comic(
      "macOS: a CBZ made in the Finder, with __MACOSX",
      ZipMaker(
        [ZipMaker.Entry]().finder + [
          .init("__MACOSX/", ""), .init("__MACOSX/._1.jpg", PageBytes.appleDouble),
          .init("__MACOSX/._2.jpg", jpeg(9)),
        ])
    ) {
      $0.pages = 2
      $0.cover = "1.jpg"
      $0.leftOut = ["__MACOSX resourceFork", ".DS_Store systemFile"]
    },
    folder(
      "macOS: .DS_Store in every folder",
      [("1/.DS_Store", [0]), ("1/1.jpg", jpeg(1)), (".DS_Store", [0]), ("2/1.jpg", jpeg(2))]
    ) {
      $0.pages = 2
      $0.cover = "1/1.jpg"
      $0.leftOut = [".DS_Store systemFile", "1/.DS_Store systemFile"]
      $0.packed = ["1/1.jpg", "2/1.jpg"]
    },
    folder(
      "Windows: Thumbs.db and desktop.ini, in any case of their letters",
      [
        ("1.jpg", jpeg(1)), ("THUMBS.DB", [1]), ("sub/Desktop.ini", [1]), ("sub/2.jpg", jpeg(2)),
        ("2.jpg:Zone.Identifier", [1]),
      ]
    ) {
      $0.pages = 2
      $0.cover = "1.jpg"
      $0.leftOut = ["THUMBS.DB systemFile", "sub/Desktop.ini systemFile", "2.jpg:Zone.Identifier systemFile"]
      $0.packed = ["1.jpg", "sub/2.jpg"]
    },
    comic(
      "Windows: a CBZ with Thumbs.db and the recycle bin",
      ZipMaker(
        [ZipMaker.Entry].pages + [
          .init("Thumbs.db", [1]), .init("$RECYCLE.BIN/9.jpg", jpeg(9)),
        ])
    ) {
      $0.pages = 3
      $0.cover = "1.jpg"
      $0.leftOut = ["Thumbs.db systemFile", "$RECYCLE.BIN systemFolder"]
    },
    folder(
      "Synology: thumbnails in @eaDir, and what was thrown away in #recycle",
      [
        ("01.jpg", jpeg(1)), ("@eaDir/01.jpg/SYNOPHOTO_THUMB_XL.jpg", jpeg(7)), ("#recycle/00.jpg", jpeg(8)),
      ]
    ) {
      $0.pages = 1
      $0.cover = "01.jpg"
      $0.leftOut = ["@eaDir systemFolder", "#recycle systemFolder"]
      $0.packed = ["01.jpg"]
    },
    folder("QNAP: thumbnails in .@__thumb", [("1.jpg", jpeg(1)), ("sub/.@__thumb/1.jpg", jpeg(7))]) {
      $0.pages = 1
      $0.cover = "1.jpg"
      $0.leftOut = ["sub/.@__thumb systemFolder"]
      $0.packed = ["1.jpg"]
    },
    folder(
      "phone: .thumbnails and .nomedia of Android",
      [(".nomedia", []), (".thumbnails/1.jpg", jpeg(7)), ("IMG_0001.JPG", jpeg(1))]
    ) {
      $0.pages = 1
      $0.cover = "IMG_0001.JPG"
      $0.leftOut = [".nomedia systemFile", ".thumbnails systemFolder"]
      $0.packed = ["IMG_0001.JPG"]
    },
    folder(
      "hidden pictures are packed, and are no pages",
      [(".draft.jpg", jpeg(7)), (".old/1.jpg", jpeg(8)), ("1.jpg", jpeg(1))]
    ) {
      $0.pages = 1
      $0.cover = "1.jpg"
      $0.leftOut = [".draft.jpg hidden", ".old/1.jpg hidden"]
    },
    folder(
      "a copy that was cut: a page without a byte, and one of other bytes",
      [("1.jpg", []), ("2.jpg", jpeg(2)), ("3.jpg", Array("<html>404</html>".utf8))]
    ) {
      $0.pages = 1
      $0.cover = "2.jpg"
      $0.leftOut = ["1.jpg emptyPicture", "3.jpg notAPicture"]
    },
    comic(
      "the same in a CBZ",
      ZipMaker([.init("1.jpg", ""), .init("2.jpg", jpeg(2)), .init("3.jpg", "<html>404</html>")])
    ) {
      $0.pages = 1
      $0.cover = "2.jpg"
      $0.leftOut = ["1.jpg emptyPicture", "3.jpg notAPicture"]
    },
    folder(
      "web: a PNG that is a JPEG, a JPG that is a WebP",
      [("1.png", jpeg(1)), ("2.jpg", Array("RIFF\0\0\0\0WEBPVP8 ".utf8)), ("3.png", PageBytes.png(3))]
    ) {
      $0.pages = 3
      $0.cover = "1.png"
      $0.oddities = 2
    },
    folder(
      "pages of every format",
      [
        ("01.gif", Array("GIF89a......".utf8)), ("02.avif", PageBytes.box("avif")),
        ("03.heic", PageBytes.box("heic")), ("04.jxl", [0xFF, 0x0A, 1, 2]),
        ("05.jp2", [0, 0, 0, 0x0C, 0x6A, 0x50, 0x20, 0x20, 0x0D, 0x0A, 0x87, 0x0A]),
        ("06.bmp", Array("BM".utf8) + [UInt8](repeating: 0, count: 12) + [40, 0, 0, 0]),
        ("07.tif", [0x49, 0x49, 0x2A, 0, 8]), ("08.svg", Array("<?xml version=\"1.0\"?><svg/>".utf8)),
        ("09.jfif", jpeg(9)), ("10.webp", Array("RIFF\0\0\0\0WEBPVP8 ".utf8)),
      ]
    ) {
      $0.pages = 10
      $0.cover = "01.gif"
    },
    folder(
      "a folder under version control",
      [(".git/objects/1.png", PageBytes.png(7)), ("1.png", PageBytes.png(1))]
    ) {
      $0.pages = 1
      $0.cover = "1.png"
      $0.leftOut = [".git systemFolder"]
      $0.packed = ["1.png"]
    },
  ]
}

extension Array where Element == ZipMaker.Entry {
  /// The entries of an archive as the Finder writes them: lengths behind the data.
  fileprivate var finder: [ZipMaker.Entry] {
    [.init(".DS_Store", [0, 0, 0, 1])]
      + [1, 2].map { number in
        ZipMaker.Entry("\(number).jpg", jpeg(number)).with { entry in
          entry.hasDescriptor = true
          entry.method = 8
        }
      }
  }
}
