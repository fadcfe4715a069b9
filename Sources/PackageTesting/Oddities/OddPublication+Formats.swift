/// Oddities of formats other than archives.
extension OddPublication {
  /// The least body of a PDF behind its header.
  private static let pdf = "1 0 obj<</Type/Catalog>>endobj trailer<</Root 1 0 R>>\n%%EOF\n"

  /// Files that are no archives, and files that are no publications.
  static let ofFormats: [OddPublication] = [
    file("a PDF", called: "issue.pdf", Array("%PDF-1.7\n\(pdf)".utf8), type: "application/pdf"),
    file(
      "a PDF behind a few lines of a mailer", called: "issue.pdf",
      Array("X-Mail: 1\r\n\r\n%PDF-1.4\n\(pdf)".utf8), type: "application/pdf"
    ) { $0.oddities = 1 },
    file(
      "a PDF whose header names no version", called: "issue.pdf", Array("%PDF-x.y\n\(pdf)".utf8),
      type: "application/pdf"
    ) { $0.oddities = 1 },
    file(
      "a PDF that is called CBZ", called: "issue.cbz", Array("%PDF-2.0\n\(pdf)".utf8), type: "application/pdf"
    ) { $0.oddities = 1 },
    file("a PDF without an ending", called: "issue", Array("%PDF-2.0\n\(pdf)".utf8), type: "application/pdf")
    { $0.oddities = 1 },
    file(
      "a Kindle book", called: "book.azw3", [UInt8](repeating: 0, count: 60) + Array("BOOKMOBI".utf8),
      type: "application/x-mobipocket-ebook"),
    file("a DjVu document", called: "scan.djvu", Array("AT&TFORM\0\0\0\0DJVM".utf8), type: "image/vnd.djvu"),
    file(
      "a FictionBook", called: "book.fb2",
      Array("<?xml version=\"1.0\" encoding=\"windows-1251\"?><FictionBook>".utf8) + [0xCF, 0xF0],
      type: "application/x-fictionbook+xml"),
    needsWord("a shell script", called: "env.sh", Array("#!/bin/sh\nexec env\n".utf8), "a script"),
    needsWord(
      "a script that is called PDF", called: "issue.pdf", Array("#!/bin/sh\nexec env\n".utf8), "a script"),
    needsWord("a text", called: "notes.txt", Array("Page one.\n".utf8), "plain text"),
    needsWord(
      "an HTML page", called: "index.html", Array("<!DOCTYPE html><html></html>".utf8), "an HTML page"),
    needsWord("a single picture", called: "cover.jpg", jpeg(1), "a single picture (JPEG)"),
    needsWord(
      "an Office document of the older kind", called: "issue.doc",
      [0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1, 0, 0],
      "an Office document of the older kind (.doc, .xls, .ppt)"),
    needsWord(
      "a Word document with a picture", called: "issue.docx",
      ZipMaker([.init("[Content_Types].xml", "<Types/>"), .init("word/media/image1.jpg", jpeg(1))]).bytes,
      "a Word document"),
    needsWord(
      "an OpenDocument text with a picture", called: "issue.odt",
      ZipMaker([
        .init("mimetype", "application/vnd.oasis.opendocument.text"), .init("Pictures/1.jpg", jpeg(1)),
      ]).bytes, "an OpenDocument file"),
    needsWord(
      "InDesign: a document that was not exported", called: "issue.indd",
      [0x06, 0x06, 0xED, 0xF5, 0xD8, 0x1D, 0x46, 0xE5, 0xBD, 0x31],
      "an InDesign document (export it as PDF or EPUB)"),
    needsWord(
      "InDesign: its exchange format", called: "issue.idml",
      ZipMaker([
        .init("mimetype", "application/vnd.adobe.indesign-idml-package"),
        .init("designmap.xml", "<Document/>"),
      ]).bytes, "an InDesign document (export it as PDF or EPUB)"),
    needsWord("a recording", called: "reading.mp3", Array("ID3\u{4}\0".utf8), "an MP3 recording"),
    needsWord("bytes of no kind", called: "issue.bin", noise(300, seed: 77), "of no kind that is known"),
    needsWord(
      "a resource fork alone", called: "issue.pdf", PageBytes.appleDouble, "a resource fork of macOS"),
    needsWord(
      "a ZIP archive that was cut", called: "issue.zip", Array(ZipMaker(.pages).bytes.dropLast(30)),
      "a damaged ZIP archive", type: "application/zip"),
    OddPublication(
      name: "a CBZ that was cut",
      source: .file(name: "issue.cbz", Array(ZipMaker(.pages).bytes.dropLast(30))),
      outcome: .refused(["archive-malformed -"])),
    OddPublication(
      name: "a file without a byte", source: .file(name: "issue.pdf", []),
      outcome: .refused(["package-empty -"])),
    OddPublication(
      name: "a program", source: .file(name: "issue.pdf", [0x7F, 0x45, 0x4C, 0x46, 2, 1]),
      outcome: .refused(["executable issue.pdf"])),
    OddPublication(
      name: "a file called like a device", source: .file(name: "con.pdf", Array("%PDF-1.7\n".utf8)),
      outcome: .refused(["path-unsafe con.pdf"])),
  ]
}
