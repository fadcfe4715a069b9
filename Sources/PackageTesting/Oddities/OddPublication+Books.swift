/// A small EPUB, whose parts are said one by one. Each is put into the documents as it is, so that a test may spoil it.
struct EPUBMaker {
  /// The elements for titles in the package document.
  var title = "<dc:title>Book</dc:title>"
  /// The elements behind the title, such as `meta`.
  var metadata = ""
  /// The items of the manifest beside the documents.
  var items = ""
  /// The attributes of `spine`, with a space in front.
  var spineAttributes = ""
  /// The element `guide` of EPUB 2; empty leaves it out.
  var guide = ""
  /// The documents of the book, in the order of the spine.
  var documents = ["a.xhtml", "b.xhtml"]
  /// Those of ``documents`` that the spine has with `linear="no"`.
  var nonLinear: Set<String> = []
  /// The entries behind all others.
  var extra: [ZipMaker.Entry] = []
  /// The folder around everything, with a slash at its end; empty for none.
  var folder = ""

  /// A book of two documents, changed as the closure says.
  init(_ change: (inout EPUBMaker) -> Void = { _ in }) { change(&self) }

  /// The document that names the package document (EPUB 3.3, OCF, "Container file").
  var container: String {
    "<?xml version=\"1.0\"?><container version=\"1.0\" xmlns=\"urn:oasis:names:tc:opendocument:xmlns:container\"><rootfiles>"
      + "<rootfile full-path=\"OEBPS/book.opf\" media-type=\"application/oebps-package+xml\"/></rootfiles></container>"
  }

  /// The package document, with all documents in manifest and spine.
  var package: String {
    let items = documents.map { "<item id=\"\($0)\" href=\"\($0)\" media-type=\"application/xhtml+xml\"/>" }
      .joined()
    let spine = documents.map {
      "<itemref idref=\"\($0)\"\(nonLinear.contains($0) ? " linear=\"no\"" : "")/>"
    }.joined()
    return
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?><package xmlns=\"http://www.idpf.org/2007/opf\" version=\"3.0\">"
      + "<metadata xmlns:dc=\"http://purl.org/dc/elements/1.1/\">\(title)\(metadata)</metadata>"
      + "<manifest>\(items)\(self.items)</manifest><spine\(spineAttributes)>\(spine)</spine>\(guide)</package>"
  }

  /// The entries of the archive; `mimetype` comes first, as OCF wants it, and none is compressed.
  var entries: [ZipMaker.Entry] {
    [
      .init(folder + "mimetype", "application/epub+zip"), .init(folder + "META-INF/container.xml", container),
      .init(folder + "OEBPS/book.opf", package),
    ]
      + documents.map {
        .init(folder + "OEBPS/" + $0, "<html xmlns=\"http://www.w3.org/1999/xhtml\"><body/></html>")
      }
      + extra
  }

  /// The same book as files of a folder.
  var files: [(path: String, content: [UInt8])] {
    entries.map { (String(decoding: $0.name, as: UTF8.self), $0.content) }
  }
}

/// Oddities of books.
extension OddPublication {
  /// A picture whose name has a space, which addresses write as `%20`.
  private static let picture = ZipMaker.Entry("OEBPS/img/c 1.jpg", jpeg(1))
  /// The manifest's item of ``picture``.
  private static let item = "<item id=\"pic\" href=\"img/c%201.jpg\" media-type=\"image/jpeg\"/>"

  /// A book with the title "Book" and two pages, unless `change` says otherwise. `entries` replaces those of the maker.
  private static func book(
    _ name: String, called file: String = "book.epub", _ maker: EPUBMaker = EPUBMaker(),
    entries: [ZipMaker.Entry]? = nil, _ change: (inout Expected) -> Void = { _ in }
  ) -> OddPublication {
    let zip = ZipMaker(entries ?? maker.entries)
    return OddPublication.file(name, called: file, zip.bytes, type: "application/epub+zip") {
      $0.title = "Book"
      $0.pages = 2
      change(&$0)
    }
  }

  /// EPUBs of many tools, and other books.
  static let ofBooks: [OddPublication] = [
    book(
      "a cover by the property of EPUB 3",
      EPUBMaker {
        $0.items = item.replacing("id=\"pic\"", with: "id=\"pic\" properties=\"cover-image\"")
        $0.extra = [picture]
      }
    ) { $0.cover = "OEBPS/img/c 1.jpg" },
    book(
      "Calibre: a cover by the meta of EPUB 2",
      EPUBMaker {
        $0.metadata = "<meta name=\"cover\" content=\"pic\"/><meta name=\"calibre:series\" content=\"x\"/>"
        $0.items = item
        $0.extra = [picture]
      }
    ) { $0.cover = "OEBPS/img/c 1.jpg" },
    book(
      "a meta that names the cover's address instead of its item",
      EPUBMaker {
        $0.metadata = "<meta content=\"img/c%201.jpg\" name=\"cover\"/>"
        $0.items = item
        $0.extra = [picture]
      }
    ) { $0.cover = "OEBPS/img/c 1.jpg" },
    book(
      "InDesign: a cover by the guide, in a page of its own",
      EPUBMaker {
        $0.guide = "<guide><reference type=\"cover\" title=\"Cover\" href=\"cover.xhtml\"/></guide>"
        $0.items = item
        $0.extra = [
          picture,
          .init(
            "OEBPS/cover.xhtml",
            "<html><body><svg><image xlink:href=\"img/c%201.jpg\"/></svg>&nbsp;</body></html>"),
        ]
      }
    ) { $0.cover = "OEBPS/img/c 1.jpg" },
    book(
      "a title over lines, in CDATA, with entities that it does not declare",
      EPUBMaker {
        $0.title =
          "<dc:title xml:space=\"preserve\">\n  Main\n  <![CDATA[<two>]]> &mdash; l&rsquo;&eacute;t&eacute;\t</dc:title>"
      }
    ) { $0.title = "Main <two> — l’été" },
    book(
      "a subtitle in front of the title",
      EPUBMaker {
        $0.title = "<dc:title id=\"s\">Sub</dc:title><dc:title id=\"m\">Main</dc:title>"
        $0.metadata =
          "<meta refines=\"#s\" property=\"title-type\">subtitle</meta><meta refines=\"#m\" property=\"title-type\">main</meta>"
      }
    ) { $0.title = "Main" },
    book(
      "read from right to left, and vertical",
      EPUBMaker {
        $0.title = "<dc:title>縦書きの本</dc:title>"
        $0.metadata = "<meta name=\"primary-writing-mode\" content=\"vertical-rl\"/>"
        $0.spineAttributes = " page-progression-direction=\"rtl\""
      }
    ) { $0.title = "縦書きの本" },
    book(
      "a title from right to left with marks of direction",
      EPUBMaker { $0.title = "<dc:title>\u{202B}ספר\u{202C}</dc:title>" }
    ) { $0.title = "ספר" },
    book(
      "fixed layout",
      EPUBMaker {
        $0.metadata =
          "<meta property=\"rendition:layout\">pre-paginated</meta><meta property=\"rendition:spread\">landscape</meta>"
        $0.documents = (1...12).map { "p\($0).xhtml" }
      }
    ) { $0.pages = 12 },
    book(
      "notes and answers that are not read in their turn",
      EPUBMaker {
        $0.documents = ["cover.xhtml", "a.xhtml", "notes.xhtml", "b.xhtml"]
        $0.nonLinear = ["cover.xhtml", "notes.xhtml"]
      }
    ) { $0.order = ["OEBPS/a.xhtml", "OEBPS/b.xhtml"] },
    book(
      "nothing that is read in its turn",
      EPUBMaker { $0.nonLinear = ["a.xhtml", "b.xhtml"] }
    ) { $0.order = ["OEBPS/a.xhtml", "OEBPS/b.xhtml"] },
    folder(
      "an EPUB as a folder, with notes that are not read in their turn",
      EPUBMaker {
        $0.documents = ["a.xhtml", "notes.xhtml"]
        $0.nonLinear = ["notes.xhtml"]
      }.files
    ) {
      $0.title = "Book"
      $0.pages = 1
      $0.order = ["OEBPS/a.xhtml"]
      $0.packed = [
        "META-INF/container.xml", "OEBPS/a.xhtml", "OEBPS/book.opf", "OEBPS/notes.xhtml", "mimetype",
      ]
    },
    book("mimetype is not the first entry", entries: Array(EPUBMaker().entries.reversed())) {
      $0.oddities = 1
    },
    book(
      "mimetype is compressed, and has a line break",
      entries: [ZipMaker.Entry("mimetype", "application/epub+zip\r\n").with { $0.method = 8 }]
        + EPUBMaker().entries.dropFirst()
    ) { $0.oddities = 1 },
    book("no mimetype", entries: Array(EPUBMaker().entries.dropFirst())) { $0.oddities = 1 },
    book(
      "macOS: an EPUB that was unpacked and packed in the Finder",
      entries: EPUBMaker { $0.folder = "Book/" }.entries + [
        .init("__MACOSX/Book/._mimetype", PageBytes.appleDouble)
      ]
    ) {
      $0.leftOut = ["__MACOSX resourceFork"]
      $0.oddities = 2
    },
    book("a double ending, of an EPUB", called: "book.epub.zip") { $0.oddities = 1 },
    book("an EPUB that is called PDF", called: "book.pdf") { $0.oddities = 1 },
    book(
      "a document type of XHTML in the package document",
      entries: EPUBMaker().entries.map { entry in
        guard entry.name.elementsEqual("OEBPS/book.opf".utf8) else { return entry }
        return entry.with {
          $0.content = Array(
            (String(decoding: entry.content, as: UTF8.self).replacing(
              "<package",
              with:
                "<!DOCTYPE package PUBLIC \"+//ISBN 0-9673008-1-9//DTD OEB 1.2 Package//EN\" \"http://openebook.org/dtds/oeb-1.2/oebpkg12.dtd\"><package"
            )).utf8)
        }
      }),
    book(
      "a package document that is missing",
      entries: EPUBMaker().entries.filter { !$0.name.elementsEqual("OEBPS/book.opf".utf8) }
    ) {
      $0.title = nil
      $0.pages = nil
    },
    folder(
      "an EPUB as a folder, with what the Finder left",
      EPUBMaker {
        $0.items = item.replacing("id=\"pic\"", with: "id=\"pic\" properties=\"cover-image\"")
        $0.extra = [picture]
      }.files + [("OEBPS/.DS_Store", [0]), ("OEBPS/img/._c 1.jpg", PageBytes.appleDouble)]
    ) {
      $0.title = "Book"
      $0.pages = 2
      $0.cover = "OEBPS/img/c 1.jpg"
      $0.order = ["OEBPS/a.xhtml", "OEBPS/b.xhtml"]
      $0.leftOut = ["OEBPS/.DS_Store systemFile", "OEBPS/img/._c 1.jpg resourceFork"]
    },
  ]
}
