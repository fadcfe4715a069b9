import CoreTypes
import Crypto
import PackageTesting
import PullboxTesting
import SystemCalls
import Testing

@testable import ContentPackage
@testable import ContentPacking

/// Archives that Python's zipfile made, some with a hand in them.
@Suite("Finished files that are archives")
struct NonZipComicArchiveTests {
  /// Runs a program that writes the archive to its first argument, and looks at what came of it as `name`.
  private func inspect(_ name: String, _ program: String) throws -> SingleFileInspection {
    let folder = try Folder()
    let path = folder.directory.path(name)
    let prelude = """
      import sys, struct, zipfile
      from zipfile import ZipFile, ZipInfo
      path = sys.argv[1]
      def make(entries, method=zipfile.ZIP_STORED):
          with ZipFile(path, 'w', method) as archive:
              for name, data in entries:
                  archive.writestr(name, data)
      def patch(change):
          data = bytearray(open(path, 'rb').read())
          data = change(data) or data
          open(path, 'wb').write(data)

      """
    let run = try Tool.run("python3", "-c", prelude + program, path)
    try #require(run.status == 0, "\(run.output)")
    let file = try FileDescriptor.open(path, .readOnly)
    return try SingleFileInspection(
      file, name: name, length: try file.status().length, limits: .standard)
  }

  /// "code path" of each fault.
  private func found(_ program: String) throws -> [String] {
    try inspect("issue.cbz", program).faults.map { "\($0.code.rawValue) \($0.path ?? "-")" }
  }

  @Test(
    "what ordinary tools write is taken: deflated, with folders, dates, comments, lengths behind the data, 64-bit fields",
    arguments: [
      "make([('1.jpg', b'one'), ('sub/2.jpg', b'two' * 100)], zipfile.ZIP_DEFLATED)",
      "make([('sub/', b''), ('sub/1.jpg', b'one')])",
      "make([('1.jpg', b'one')])\nZipFile(path, 'a').comment = b'a comment'",
      "class Pipe:\n  def __init__(self): self.f = open(path, 'wb')\n  def write(self, b): return self.f.write(b)\n  def flush(self): self.f.flush()\n"
        + "p = Pipe()\nwith ZipFile(p, 'w', zipfile.ZIP_DEFLATED) as z:\n  z.writestr('1.jpg', b'one' * 50)\n  z.writestr('2.jpg', b'')\np.f.close()",
      "with ZipFile(path, 'w') as z:\n  with z.open('1.jpg', 'w', force_zip64=True) as f: f.write(b'one')",
      "make([])",
    ])
  func ordinary(_ program: String) throws {
    #expect(try found(program) == [])
  }

  @Test(
    "names that lead elsewhere, and doubled ones, are refused, each by its name; others are not placed and may be"
  )
  func names() throws {
    #expect(
      try found(
        """
        make([('../up', b'x'), ('/abs', b'x'), ('a\\\\..\\\\b', b'x'), ('C:\\\\x', b'x'), ('a\\\\b', b'x'), ('..a/b..', b'x'), ('NUL.jpg', b'x'), ('new\\nline', b'x'),
              ('p.jpg', b'x'), ('P.JPG', b'x'), ('\\u00e9.jpg', b'x'), ('e\\u0301.jpg', b'x'), ('d/', b''),
              ('f', b'x'), ('f/g', b'x')])
        """) == [
          "path-unsafe ../up", "path-unsafe /abs", "path-unsafe a\\..\\b", "path-unsafe C:\\x",
        ])
    #expect(
      try found("import warnings\nwarnings.simplefilter('ignore')\nmake([('a', b'x'), ('a', b'y')])") == [
        "path-duplicate a"
      ])
  }

  @Test("links, devices, executables and scripts that may be run are refused")
  func kinds() throws {
    #expect(
      try found(
        """
        def info(name, mode):
            info = ZipInfo(name); info.external_attr = mode << 16; info.create_system = 3; return info
        with ZipFile(path, 'w') as z:
            z.writestr(info('link', 0o120777), '/etc/passwd')
            z.writestr(info('device', 0o020666), '')
            z.writestr(info('run.sh', 0o100755), '#!/bin/sh\\n')
            z.writestr(info('text.sh', 0o100644), '#!/bin/sh\\n')
            z.writestr(info('program', 0o100644), b'\\x7fELF\\x02\\x01')
        """) == [
          "symbolic-link link", "not-a-regular-file device", "executable run.sh", "executable program",
        ])
  }

  @Test("a bomb is named and not set off")
  func bomb() throws {
    let found = try inspect("issue.cbz", "make([('bomb', b'\\0' * (20 << 20))], zipfile.ZIP_DEFLATED)")
    #expect(found.faults.map(\.code) == [.unpackRatioTooHigh])
    #expect(
      try self.found(
        """
        make([('1.jpg', b'x' * 1000)], zipfile.ZIP_DEFLATED)
        def change(d):
            c = d.rindex(b'PK\\1\\2'); l = 9 << 30
            d[22:26] = d[c+24:c+28] = struct.pack('<I', 0xFFFFFF00)
        patch(change)
        """
      ).contains("unpack-ratio-too-high 1.jpg"))
  }

  @Test("lengths whose sum is more than 64 bits hold are too large all the same, beside what else is wrong")
  func saturation() throws {
    // Four entries of 2^62 - 1 bytes and one of 4: their sum is 2^64, which wraps to nothing.
    let found = try found(
      """
      names = ['1.jpg', '2.jpg', '3.jpg', '4.jpg', '../5.jpg']
      make([(name, b'page') for name in names])
      def change(d):
          c = d.index(b'PK\\1\\2'); end = d.rindex(b'PK\\5\\6'); central = bytearray()
          for name in names:
              n = len(name); record = bytearray(d[c:c + 46 + n]); c += 46 + n
              if n == 5:
                  record[24:28] = b'\\xff' * 4
                  record[30:32] = struct.pack('<H', 12)
                  record += struct.pack('<HHQ', 1, 8, 2**62 - 1)
              central += record
          start = d.index(b'PK\\1\\2'); closing = d[end:]
          closing[12:16] = struct.pack('<I', len(central))
          return d[:start] + central + closing
      patch(change)
      """)
    #expect(found.contains("unpacked-too-large -"))
    #expect(found.contains("path-unsafe ../5.jpg"))
    #expect(found.contains("lengths-do-not-add-up 1.jpg"))
  }

  @Test("an encrypted entry, or one in a method that readers do not know, is refused")
  func features() throws {
    #expect(
      try found("make([('1.jpg', b'x' * 100)], zipfile.ZIP_BZIP2)") == ["archive-feature-unsupported 1.jpg"])
    #expect(
      try found(
        """
        make([('1.jpg', b'x')])
        def change(d):
            d[6] |= 1; d[d.rindex(b'PK\\1\\2') + 8] |= 1
        patch(change)
        """) == ["archive-encrypted 1.jpg"])
  }

  @Test("a local header that disagrees with the central directory is refused, for each of its members")
  func disagreement() throws {
    for (offset, member) in [
      (8, "method"), (14, "checksum"), (18, "stored length"), (22, "length"), (30, "name"),
    ] {
      let found = try inspect(
        "issue.cbz",
        """
        make([('1.jpg', b'one'), ('2.jpg', b'two')])
        def change(d): d[\(offset)] ^= 2
        patch(change)
        """)
      #expect(found.faults.map(\.code) == [.archiveHeadersDisagree])
      #expect(found.faults.first?.detail.hasSuffix(member) == true)
    }
  }

  @Test(
    "bytes between entries, in front of the first and behind the last, are refused; so are entries that share bytes"
  )
  func hidden() throws {
    let insert = """
      def insert(d, at, hidden):
          d[at:at] = hidden
          e = d.rindex(b'PK\\5\\6')
          c = struct.unpack('<I', d[e+16:e+20])[0]
          d[e+16:e+20] = struct.pack('<I', c + len(hidden))
          e0 = c + len(hidden)
          while d[e0:e0+4] == b'PK\\1\\2':
              n, x, m = struct.unpack('<HHH', d[e0+28:e0+34])
              o = struct.unpack('<I', d[e0+42:e0+46])[0]
              if o >= at: d[e0+42:e0+46] = struct.pack('<I', o + len(hidden))
              e0 += 46 + n + x + m

      make([('1.jpg', b'one'), ('2.jpg', b'two')])

      """
    #expect(
      try found(insert + "patch(lambda d: insert(d, d.index(b'PK', 4), b'secret'))") == [
        "archive-hidden-data 2.jpg"
      ])
    #expect(try found(insert + "patch(lambda d: insert(d, 0, b'secret'))") == ["archive-hidden-data 1.jpg"])
    #expect(
      try found(insert + "patch(lambda d: insert(d, d.index(b'PK\\1\\2'), b'secret'))") == [
        "archive-hidden-data -"
      ])
    #expect(
      try found("make([('1.jpg', b'one')])\nopen(path, 'ab').write(b'behind')") == ["archive-malformed -"])
    #expect(
      try found(
        insert
          + "def change(d):\n  c = d.rindex(b'PK\\1\\2')\n  d[c+42:c+46] = struct.pack('<I', 0)\npatch(change)"
      ).contains("archive-entries-overlap 2.jpg"))
  }

  @Test("content that is not what the archive says is refused, all of it")
  func content() throws {
    #expect(
      try found(
        """
        make([('1.jpg', b'one'), ('2.jpg', b'two'), ('3.jpg', b'three' * 99)])
        def change(d):
            d[35] ^= 1; d[d.index(b'two')] ^= 1
        patch(change)
        """) == ["file-checksum-mismatch 1.jpg", "file-checksum-mismatch 2.jpg"])
    #expect(
      try found(
        """
        make([('1.jpg', b'one' * 99)], zipfile.ZIP_DEFLATED)
        def change(d): d[35] = 0xFF
        patch(change)
        """) == ["compressed-data-invalid 1.jpg"])
  }

  @Test("the server's check and the publisher's description refuse the same")
  func inspector() throws {
    let folder = try Folder()
    let path = folder.directory.path("issue.epub")
    let program =
      "import sys, zipfile; z = zipfile.ZipFile(sys.argv[1], 'w'); z.writestr('../x', b'x'); z.close()"
    #expect(try Tool.run("python3", "-c", program, path).status == 0)
    #expect(try refusalCodes { _ = try Sample.builder.describe(file: path) } == [.pathUnsafe])
    let bytes = try contents(of: path)
    var draft = try makeDraft()
    draft.kind = .file
    draft.name = "issue.epub"
    draft.length = ByteCount(bytes.count)
    draft.unpackedLength = draft.length
    draft.digest = .of(bytes)
    draft.pieces = [.of(bytes)]
    draft.files = [
      ManifestFile(
        path: try PackagePath("issue.epub"), offset: .zero, storedLength: draft.length, length: draft.length,
        method: .stored, digest: draft.digest)
    ]
    let manifest = try Manifest(draft, limits: .standard)
    let faults = try PackageInspector().faults(
      in: try FileDescriptor.open(path, .readOnly),
      received: ReceivedPackage(length: manifest.length, digest: manifest.digest, pieces: manifest.pieces),
      against: manifest)
    #expect(faults.map(\.code) == [.pathUnsafe])
  }

  @Test(
    "of an EPUB, title and number of documents are told; of a folder that is one, cover and reading order too"
  )
  func publication() throws {
    let files = """
      files = [('mimetype', 'application/epub+zip'),
        ('META-INF/container.xml', '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
          '<rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'),
        ('OEBPS/book.opf', '<opf:package xmlns:opf="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/">'
          '<opf:metadata><dc:title>Kestrel &amp; Co</dc:title><dc:title>Second</dc:title></opf:metadata><opf:manifest>'
          '<opf:item id="c" href="img/cover%20page.jpg" properties="cover-image"/>'
          '<opf:item id="b" href="b.xhtml"/><opf:item id="a" href="../a.xhtml#top"/><opf:item id="x" href="../../../etc/passwd"/>'
          '</opf:manifest><opf:spine><opf:itemref idref="b"/><opf:itemref idref="a"/><opf:itemref idref="b"/>'
          '<opf:itemref idref="x"/><opf:itemref idref="none"/></opf:spine></opf:package>'),
        ('OEBPS/b.xhtml', 'b'), ('a.xhtml', 'a'), ('OEBPS/img/cover page.jpg', 'c')]

      """
    let found = try inspect("book.epub", files + "make(files, zipfile.ZIP_DEFLATED)")
    #expect(found.faults == [])
    #expect(found.metadata.title == "Kestrel & Co")
    #expect(found.metadata.pageCount == 2)
    let folder = try Folder()
    let unpack =
      files + "import os, sys\nfor name, data in files:\n  p = os.path.join(sys.argv[1], name)\n"
      + "  os.makedirs(os.path.dirname(p), exist_ok=True)\n  open(p, 'w').write(data)"
    #expect(try Tool.run("python3", "-c", unpack, folder.path).status == 0)
    let manifest = try Sample.builder.pack(folder: folder.path, to: folder.directory.path("package")).manifest
    #expect(manifest.title == "Kestrel & Co" && manifest.pageCount == 2)
    #expect(manifest.cover?.text == "OEBPS/img/cover page.jpg")
    #expect(manifest.readingOrder?.map(\.text) == ["OEBPS/b.xhtml", "a.xhtml"])
  }

  @Test("an EPUB whose documents cannot be read is delivered all the same, without a title")
  func unreadable() throws {
    let container =
      "make([('META-INF/container.xml', '<!DOCTYPE a [<!ENTITY b \"c\">]><container/>'), ('1.jpg', 'x')])"
    let found = try inspect("book.epub", container)
    #expect(found.faults == [] && found.metadata.title == nil)
  }
}
