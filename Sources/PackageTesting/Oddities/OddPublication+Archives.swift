/// Oddities of the archive itself.
extension OddPublication {
  /// ZIP as many tools write it.
  static let ofArchives: [OddPublication] = [
    plain("dates before 1980: none", .init([ZipMaker.Entry].pages.map { $0.with { $0.date = 0 } })),
    plain(
      "dates after 2107: the last there is",
      .init(
        [ZipMaker.Entry].pages.map {
          $0.with {
            $0.date = 0xFF9F
            $0.time = 0xBF7D
          }
        })),
    plain(
      "lengths behind the data", .init([ZipMaker.Entry].pages.map { $0.with { $0.hasDescriptor = true } })),
    plain(
      "64-bit lengths for nothing", .init([ZipMaker.Entry].pages.map { $0.with { $0.hasWideLengths = true } })
    ),
    plain("a 64-bit closing record for nothing", ZipMaker(.pages).with { $0.hasWideEnd = true }),
    plain("deflated pages", .init([ZipMaker.Entry].pages.map { $0.with { $0.method = 8 } })),
    plain(
      "a comment at the end",
      ZipMaker(.pages).with { $0.comment = Array("scanned by PK\u{5}\u{6} and friends".utf8) }),
    plain(
      "a comment and extra fields at each entry",
      .init(
        [ZipMaker.Entry].pages.map {
          $0.with {
            $0.comment = Array("page".utf8)
            $0.extra = [0x55, 0x54, 5, 0, 1, 0, 0, 0, 0]
          }
        })),
    plain("entries for folders", .init([.init("sub/", ""), .init("empty/", "")] + [ZipMaker.Entry].pages)),
    plain("names that begin with a dot and a slash", .init((1...3).map { .init("./\($0).jpg", jpeg($0)) })),
    plain("no rights at all", .init([ZipMaker.Entry].pages.map { $0.with { $0.mode = 0 } })),
    plain("a double ending", called: "issue.cbz.zip", .init(.pages), oddities: 1),
    plain("a plain ZIP of pages", called: "issue.zip", .init(.pages), oddities: 1),
    plain("a CBR that is a ZIP", called: "issue.cbr", .init(.pages), oddities: 1),
    plain("a CB7 that is a ZIP", called: "issue.cb7", .init(.pages), oddities: 1),
    plain("no ending at all", called: "issue", .init(.pages), oddities: 1),
    refused(
      "an encrypted page", .init([ZipMaker.Entry].pages.map { $0.with { $0.flags = 1 } }),
      "archive-encrypted 1.jpg", "archive-encrypted 2.jpg", "archive-encrypted 3.jpg"),
    refused(
      "a method that few readers know", .init([ZipMaker.Entry("1.jpg", jpeg(1)).with { $0.method = 14 }]),
      "archive-feature-unsupported 1.jpg"),
    refused(
      "the same entry twice", .init([ZipMaker.Entry].pages + [.init("2.jpg", jpeg(9))]),
      "path-duplicate 2.jpg"),
    refused(
      "something in front of the first entry", ZipMaker(.pages).with { $0.prefix = Array("MZ-like".utf8) },
      "archive-hidden-data 1.jpg"),
    refused("something behind the end", ZipMaker(.pages).with { $0.suffix = [0x0A] }, "archive-malformed -"),
    refused(
      "a link to somewhere else", .init([ZipMaker.Entry("1.jpg", "/etc/passwd").with { $0.mode = 0o120777 }]),
      "symbolic-link 1.jpg"),
    refused(
      "a program among the pages",
      .init([ZipMaker.Entry].pages + [.init("viewer", [0x7F, 0x45, 0x4C, 0x46, 2])]), "executable viewer"),
  ]

  /// A publication of three pages that is taken as if nothing was odd, but for so many oddities that are told. Its pages
  /// are expected in their usual order.
  private static func plain(
    _ name: String, called file: String = "issue.cbz", _ zip: ZipMaker, oddities: Int = 0
  ) -> OddPublication {
    comic(name, called: file, zip) {
      $0.pages = 3
      $0.order = zip.entries.filter { !$0.content.isEmpty }.indices.map { "\($0 + 1).jpg" }
      $0.cover = "1.jpg"
      $0.oddities = oddities
    }
  }

  /// Archives that comic tools write.
  static let ofComicTools: [OddPublication] = [
    comic(
      "ComicTagger: title, series and a front cover that is not first",
      ZipMaker(
        [ZipMaker.Entry].pages + [
          .init(
            "ComicInfo.xml",
            PageBytes.comicInfo(
              "The\n   Crossing",
              "<Series>Kestrel</Series><Pages><Page Image=\"0\" Type=\"Advertisement\"/><Page Image=\"2\" Type=\"FrontCover\"/></Pages>"
            ))
        ])
    ) {
      $0.title = "The Crossing"
      $0.pages = 3
      $0.cover = "3.jpg"
    },
    comic(
      "ComicTagger: series and number, no title",
      ZipMaker(
        [ZipMaker.Entry].pages + [
          .init(
            "ComicInfo.xml", "<ComicInfo><Series> Moss &amp; Mallow </Series><Number>3</Number></ComicInfo>")
        ])
    ) {
      $0.title = "Moss & Mallow #3"
      $0.pages = 3
      $0.cover = "1.jpg"
    },
    comic(
      "Metron-Tagger: a MetronInfo.xml alone",
      ZipMaker(
        [ZipMaker.Entry].pages + [
          .init(
            "MetronInfo.xml",
            "<MetronInfo><Publisher><Name>House</Name></Publisher><Series lang=\"en\"><Name>Moss &amp; Mallow</Name></Series><Number>3</Number><Stories><Story>The Crossing</Story></Stories></MetronInfo>"
          )
        ])
    ) {
      $0.title = "Moss & Mallow #3"
      $0.pages = 3
      $0.cover = "1.jpg"
    },
    comic(
      "a MetronInfo.xml and a ComicInfo.xml",
      ZipMaker(
        [ZipMaker.Entry].pages + [
          .init(
            "MetronInfo.xml",
            "<MetronInfo><Series><Name>Metron</Name></Series><Pages><Page Image=\"2\" Type=\"FrontCover\"/></Pages></MetronInfo>"
          ), .init("ComicInfo.xml", PageBytes.comicInfo("Comic")),
        ])
    ) {
      $0.title = "Comic"
      $0.pages = 3
      $0.cover = "1.jpg"
    },
    comic(
      "a ComicInfo.xml that cannot be read beside a MetronInfo.xml",
      ZipMaker(
        [ZipMaker.Entry].pages + [
          .init("ComicInfo.xml", "<ComicInfo><Title>Cut"),
          .init(
            "metroninfo.XML",
            "<MetronInfo><Series><Name>Metron</Name></Series><Pages><Page Image=\"2\" Type=\"FrontCover\"/></Pages></MetronInfo>"
          ),
        ])
    ) {
      $0.title = "Metron"
      $0.pages = 3
      $0.cover = "3.jpg"
    },
    folder(
      "a MetronInfo.xml in the folder around everything",
      [
        ("Issue 3/1.jpg", jpeg(1)),
        (
          "Issue 3/MetronInfo.xml",
          Array("<MetronInfo><Series><Name>Metron</Name></Series><Number>3</Number></MetronInfo>".utf8)
        ),
      ]
    ) {
      $0.title = "Metron #3"
      $0.pages = 1
      $0.cover = "Issue 3/1.jpg"
    },
    file(
      "a CBT with a MetronInfo.xml", called: "issue.cbt",
      TarMaker.bytes([
        ("1.jpg", jpeg(1)),
        ("MetronInfo.xml", Array("<MetronInfo><CollectionTitle>Tar</CollectionTitle></MetronInfo>".utf8)),
      ]), type: "application/x-cbt"
    ) {
      $0.title = "Tar"
      $0.pages = 1
      $0.cover = "1.jpg"
    },
    comic(
      "one folder around everything",
      ZipMaker([
        .init("Issue 3/1.jpg", jpeg(1)), .init("Issue 3/2.jpg", jpeg(2)),
        .init("Issue 3/ComicInfo.xml", PageBytes.comicInfo("Wrapped")),
        .init("__MACOSX/Issue 3/._1.jpg", PageBytes.appleDouble),
      ])
    ) {
      $0.title = "Wrapped"
      $0.pages = 2
      $0.cover = "Issue 3/1.jpg"
      $0.leftOut = ["__MACOSX resourceFork"]
    },
    folder(
      "one folder around everything, not packed yet",
      [
        ("Issue 3/1.jpg", jpeg(1)), ("Issue 3/comicinfo.xml", PageBytes.comicInfo("Wrapped")),
        (".DS_Store", [0]),
      ]
    ) {
      $0.title = "Wrapped"
      $0.pages = 1
      $0.cover = "Issue 3/1.jpg"
      $0.leftOut = [".DS_Store systemFile"]
      $0.packed = ["Issue 3/1.jpg", "Issue 3/comicinfo.xml"]
    },
    comic(
      "a declaration of UTF-16 over UTF-8",
      ZipMaker(
        [ZipMaker.Entry].pages + [
          .init(
            "ComicInfo.xml",
            "<?xml version=\"1.0\" encoding=\"utf-16\"?><ComicInfo><Title>Été</Title></ComicInfo>")
        ])
    ) {
      $0.title = "Été"
      $0.pages = 3
      $0.cover = "1.jpg"
    },
    comic(
      "UTF-16 with its mark",
      ZipMaker(
        [ZipMaker.Entry].pages + [
          .init(
            "ComicInfo.xml",
            [0xFF, 0xFE]
              + "<?xml version=\"1.0\" encoding=\"utf-16\"?><ComicInfo><Title>Été</Title></ComicInfo>".utf16
              .flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] })
        ])
    ) {
      $0.title = "Été"
      $0.pages = 3
      $0.cover = "1.jpg"
    },
    comic(
      "Windows-1252 that calls itself ISO-8859-1",
      ZipMaker(
        [ZipMaker.Entry].pages + [
          .init(
            "ComicInfo.xml",
            Array("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><ComicInfo><Title>".utf8) + [
              0x93, 0xC9, 0x74, 0xE9, 0x94,
            ] + Array("</Title></ComicInfo>".utf8))
        ])
    ) {
      $0.title = "“Été”"
      $0.pages = 3
      $0.cover = "1.jpg"
    },
    comic(
      "a byte order mark, CDATA and entities",
      ZipMaker(
        [ZipMaker.Entry].pages + [
          .init(
            "ComicInfo.xml",
            [0xEF, 0xBB, 0xBF]
              + PageBytes.comicInfo("<![CDATA[A & B ]]>&#8211; &eacute;t&#xE9; &unknown; &lt;3"))
        ])
    ) {
      $0.title = "A & B – été &unknown; <3"
      $0.pages = 3
      $0.cover = "1.jpg"
    },
    comic(
      "a document that multiplies entities",
      ZipMaker(
        [ZipMaker.Entry].pages + [
          .init(
            "ComicInfo.xml",
            "<!DOCTYPE a [<!ENTITY b \"bb\"><!ENTITY c \"&b;&b;\">]><ComicInfo><Title>&c;</Title></ComicInfo>"
          )
        ])
    ) {
      $0.pages = 3
      $0.cover = "1.jpg"
    },
    file(
      "a CBT", called: "issue.cbt",
      TarMaker.bytes([
        ("./2.jpg", jpeg(2)), ("./1.jpg", jpeg(1)), ("./ComicInfo.xml", PageBytes.comicInfo("Tar")),
        ("./._1.jpg", PageBytes.appleDouble),
      ]), type: "application/x-cbt"
    ) {
      $0.title = "Tar"
      $0.pages = 2
      $0.order = ["1.jpg", "2.jpg"]
      $0.cover = "1.jpg"
      $0.leftOut = ["._1.jpg resourceFork"]
    },
    file(
      "a CB7", called: "issue.cb7",
      SevenZipMaker.bytes([
        ("é 2.jpg", jpeg(2)), ("é 1.jpg", jpeg(1)), ("ComicInfo.xml", PageBytes.comicInfo("Seven")),
        ("3.jpg", [1, 2, 3]),
      ]), type: "application/x-cb7"
    ) {
      $0.title = "Seven"
      $0.pages = 2
      $0.order = ["é 1.jpg", "é 2.jpg"]
      $0.cover = "é 1.jpg"
      $0.leftOut = ["3.jpg notAPicture"]
    },
    file(
      "a CBZ that is a tar archive", called: "issue.cbz", TarMaker.bytes([("1.jpg", jpeg(1))]),
      type: "application/x-cbt"
    ) {
      $0.pages = 1
      $0.cover = "1.jpg"
      $0.oddities = 1
    },
    OddPublication(
      name: "a CBT whose names lead out",
      source: .file(name: "issue.cbt", TarMaker.bytes([("1.jpg", jpeg(1)), ("../2.jpg", jpeg(2))])),
      outcome: .refused(["path-unsafe ../2.jpg"])),
    OddPublication(
      name: "a CBT with the same entry twice",
      source: .file(
        name: "issue.cbt",
        TarMaker.bytes([("1.jpg", jpeg(1)), ("2.jpg", jpeg(2)), ("notes.txt", [1]), ("2.jpg", jpeg(9))])),
      outcome: .refused(["path-duplicate 2.jpg"])),
    OddPublication(
      name: "a CB7 with the same entry twice",
      source: .file(
        name: "issue.cb7",
        SevenZipMaker.bytes([("1.jpg", jpeg(1)), ("2.jpg", jpeg(2)), ("1.jpg", jpeg(9))])),
      outcome: .refused(["path-duplicate 1.jpg"])),
    needsWord(
      "a CBR", called: "issue.cbr", Array("Rar!\u{1A}\u{7}\u{1}\0".utf8) + noise(100, seed: 3),
      "a RAR archive", type: "application/vnd.comicbook-rar"),
    needsWord(
      "a CBZ that is a RAR archive", called: "issue.cbz",
      Array("Rar!\u{1A}\u{7}\0".utf8) + noise(100, seed: 3), "a RAR archive",
      type: "application/vnd.comicbook-rar"),
    needsWord(
      "a CBZ without a page", called: "issue.cbz", ZipMaker([.init("readme.txt", "x")]).bytes,
      "a ZIP archive without a page"),
  ]
}
