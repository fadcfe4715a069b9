/// Oddities of names and their order.
extension OddPublication {
  /// A word with an accent as a character of its own (NFD), as macOS spells it.
  private static let decomposed = "cafe\u{301}"
  /// The same word with one character for both (NFC).
  private static let composed = "caf\u{E9}"

  /// Names in other encodings, scripts and habits.
  static let ofNames: [OddPublication] = [
    comic(
      "names in code page 437",
      ZipMaker([
        .init(bytes: [0x82, 0x2D, 0x81, 0x2D, 0x31, 0x21] + Array(".png".utf8), PageBytes.png(1)),
        .init(bytes: [0x82, 0x2D, 0x81, 0x2D, 0x32, 0x21] + Array(".png".utf8), PageBytes.png(2)),
      ])
    ) {
      $0.pages = 2
      $0.order = ["é-ü-1!.png", "é-ü-2!.png"]
      $0.cover = "é-ü-1!.png"
      $0.oddities = 1
    },
    comic(
      "names in Shift-JIS, one with a backslash for its second byte",
      ZipMaker([
        .init(bytes: [0x95, 0x5C, 0x8E, 0x86] + Array("2.jpg".utf8), jpeg(2)),
        .init(bytes: [0x95, 0x5C, 0x8E, 0x86] + Array("1.jpg".utf8), jpeg(1)),
      ])
    ) {
      $0.pages = 2
      $0.order = ["表紙1.jpg", "表紙2.jpg"]
      $0.cover = "表紙1.jpg"
      $0.oddities = 1
    },
    comic(
      "Windows: names with backslashes between folders",
      ZipMaker([
        .init("Issue 1\\002.jpg", jpeg(2)), .init("Issue 1\\001.jpg", jpeg(1)),
        .init("__MACOSX\\._001.jpg", PageBytes.appleDouble),
      ])
    ) {
      $0.pages = 2
      $0.order = ["Issue 1/001.jpg", "Issue 1/002.jpg"]
      $0.cover = "Issue 1/001.jpg"
      $0.leftOut = ["__MACOSX resourceFork"]
      $0.oddities = 1
    },
    comic(
      "Windows: a page called like a device",
      ZipMaker([.init("con.jpg", jpeg(1)), .init("nul/2.jpg", jpeg(2))])
    ) {
      $0.pages = 2
      $0.cover = "con.jpg"
    },
    OddPublication(
      name: "Windows: a page of a folder called like a device", source: .folder([("aux.jpg", jpeg(1))]),
      outcome: .refused(["path-unsafe aux.jpg"])),
    comic(
      "dots and spaces at the ends of names",
      ZipMaker([.init("1.jpg ", jpeg(1)), .init("2.jpg.", jpeg(2)), .init("3 .jpg", jpeg(3))])
    ) {
      $0.pages = 3
      $0.order = ["1.jpg ", "2.jpg.", "3 .jpg"]
      $0.cover = "1.jpg "
    },
    comic(
      "macOS: a name that is decomposed beside one that is composed",
      ZipMaker([.init("\(decomposed) 10.jpg", jpeg(10)), .init("\(composed) 9.jpg", jpeg(9))])
    ) {
      $0.pages = 2
      $0.order = ["\(composed) 9.jpg", "\(decomposed) 10.jpg"]
      $0.cover = "\(composed) 9.jpg"
    },
    comic(
      "macOS: two spellings of one name",
      ZipMaker([.init("\(decomposed).jpg", jpeg(1)), .init("\(composed).jpg", jpeg(2))])
    ) {
      $0.pages = 2
      $0.cover = "\(decomposed).jpg"
      $0.oddities = 1
    },
    comic(
      "Linux: names that only case tells apart",
      ZipMaker([.init("p1.jpg", jpeg(1)), .init("P1.JPG", jpeg(2))])
    ) {
      $0.pages = 2
      $0.order = ["P1.JPG", "p1.jpg"]
      $0.cover = "P1.JPG"
      $0.oddities = 1
    },
    folder("phone: emoji", [("🦆 2.jpg", jpeg(2)), ("🦆 1.jpg", jpeg(1))]) {
      $0.pages = 2
      $0.order = ["🦆 1.jpg", "🦆 2.jpg"]
      $0.cover = "🦆 1.jpg"
    },
    folder(
      "a title from right to left",
      [("صفحة ٢.jpg", jpeg(2)), ("صفحة ١.jpg", jpeg(1)), ("صفحة ١٠.jpg", jpeg(3))]
    ) {
      $0.pages = 3
      $0.order = ["صفحة ١.jpg", "صفحة ٢.jpg", "صفحة ١٠.jpg"]
      $0.cover = "صفحة ١.jpg"
    },
    comic("a line break in a name", ZipMaker([.init("page\n1.jpg", jpeg(1))])) {
      $0.pages = 1
      $0.cover = "page\n1.jpg"
    },
    refused(
      "a name that leads out", ZipMaker([ZipMaker.Entry].pages + [.init("a/../../x.jpg", jpeg(4))]),
      "path-unsafe a/../../x.jpg"),
    refused(
      "a name that leads out on Windows", ZipMaker([.init("a\\..\\..\\x.jpg", jpeg(4))]),
      "path-unsafe a\\..\\..\\x.jpg"),
    refused("an absolute name", ZipMaker([.init("/etc/1.jpg", jpeg(4))]), "path-unsafe /etc/1.jpg"),
    refused(
      "an absolute name of Windows", ZipMaker([.init("D:\\scans\\1.jpg", jpeg(4))]),
      "path-unsafe D:\\scans\\1.jpg"),
  ]

  /// The order of pages.
  static let ofOrder: [OddPublication] = [
    folder(
      "names that go on behind their number",
      ["p1 b.png", "p1-2.png", "p1.5.png", "p1.png", "p10.png", "p2.png"].map { ($0, PageBytes.png(1)) }
    ) {
      $0.pages = 6
      $0.order = ["p1.png", "p1 b.png", "p1-2.png", "p1.5.png", "p2.png", "p10.png"]
      $0.cover = "p1.png"
    },
    folder(
      "chapters in folders, and chapters between them",
      ["Chapter 1 Extra/001.jpg", "Chapter 1.5/001.jpg", "Chapter 1/001.jpg", "Chapter 1/002.jpg"].map {
        ($0, jpeg(1))
      }
    ) {
      $0.pages = 4
      $0.order = ["Chapter 1/001.jpg", "Chapter 1/002.jpg", "Chapter 1 Extra/001.jpg", "Chapter 1.5/001.jpg"]
      $0.cover = "Chapter 1/001.jpg"
    },
    folder(
      "numbers longer than any integer, and with leading zeros",
      [
        "100000000000000000000000.jpg", "99999999999999999999999.jpg", "0000000000000000000000000000002.jpg",
        "3.jpg",
      ].map { ($0, jpeg(1)) }
    ) {
      $0.pages = 4
      $0.order = [
        "0000000000000000000000000000002.jpg", "3.jpg", "99999999999999999999999.jpg",
        "100000000000000000000000.jpg",
      ]
      $0.cover = "0000000000000000000000000000002.jpg"
    },
    folder("full-width digits", ["第１０話.jpg", "第２話.jpg", "第1話.jpg"].map { ($0, jpeg(1)) }) {
      $0.pages = 3
      $0.order = ["第1話.jpg", "第２話.jpg", "第１０話.jpg"]
      $0.cover = "第1話.jpg"
    },
    folder(
      "capitals and small letters",
      ["b.jpg", "A.jpg", "C.jpg", "Ärger.jpg", "ärger 2.jpg"].map { ($0, jpeg(1)) }
    ) {
      $0.pages = 5
      $0.order = ["A.jpg", "b.jpg", "C.jpg", "Ärger.jpg", "ärger 2.jpg"]
      $0.cover = "A.jpg"
    },
    folder(
      "two spellings of a chapter's number",
      ["1/b.jpg", "01/a.jpg", "1/a.jpg", "01/b.jpg"].map { ($0, jpeg(1)) }
    ) {
      $0.pages = 4
      $0.order = ["01/a.jpg", "01/b.jpg", "1/a.jpg", "1/b.jpg"]
      $0.cover = "01/a.jpg"
    },
    comic(
      "entries in reverse order", ZipMaker([ZipMaker.Entry].pages.reversed()).with { $0.isReversed = true }
    ) {
      $0.pages = 3
      $0.order = ["1.jpg", "2.jpg", "3.jpg"]
      $0.cover = "1.jpg"
    },
    comic("pages in folders inside folders", ZipMaker((1...3).map { .init("a/b/c/d/\($0).jpg", jpeg($0)) })) {
      $0.pages = 3
      $0.order = ["a/b/c/d/1.jpg", "a/b/c/d/2.jpg", "a/b/c/d/3.jpg"]
      $0.cover = "a/b/c/d/1.jpg"
    },
  ]
}
