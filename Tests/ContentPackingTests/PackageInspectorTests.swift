import CoreTypes
import Crypto
import PackageTesting
import PullboxTesting
import SystemCalls
import Testing

@testable import ContentPackage
@testable import ContentPacking

@Suite("Inspecting packages")
struct PackageInspectorTests {
  /// The faults that the inspector finds in an archive that `plant` spoils.
  private func found(_ plant: (inout PlantedArchive) -> Void) throws -> Set<String> {
    var archive = PlantedArchive()
    plant(&archive)
    return try archive.found()
  }

  @Test("a package that nobody spoiled has no fault")
  func clean() throws {
    #expect(try found { _ in } == [])
    let sample = try Sample.shared.get()
    let folder = try Folder()
    try folder.write(sample.package, to: "package")
    #expect(
      try PackageInspector().faults(
        in: try FileDescriptor.open("\(folder.path)/package", .readOnly),
        received: ReceivedPackage(
          length: sample.manifest.length, digest: .of(sample.package), pieces: sample.manifest.pieces),
        against: sample.manifest) == [])
  }

  @Test("a package of another digest, length or with another piece is named for each")
  func whole() throws {
    let sample = try Sample.shared.get()
    let folder = try Folder()
    var bytes = sample.package
    bytes[1_100_000] ^= 1
    try folder.write(bytes, to: "package")
    let file = try FileDescriptor.open("\(folder.path)/package", .readOnly)
    var pieces = sample.manifest.pieces
    pieces[1] = .of([0])
    var received = ReceivedPackage(length: sample.manifest.length, digest: .of(bytes), pieces: pieces)
    var faults = try PackageInspector().faults(in: file, received: received, against: sample.manifest)
    #expect(
      faults.map(\.code) == [.digestMismatch, .pieceMismatch, .fileDigestMismatch, .fileChecksumMismatch])
    received = ReceivedPackage(length: ByteCount(5), digest: .of(bytes), pieces: [])
    faults = try PackageInspector().faults(in: file, received: received, against: sample.manifest)
    #expect(faults.map(\.code) == [.lengthMismatch, .digestMismatch, .pieceMismatch])
  }

  @Test("a file's bytes are compared with the manifest and with the archive's checksum")
  func content() throws {
    #expect(
      try found { $0.items[0].stored = Array("first pagE".utf8) } == [
        "file-digest-mismatch a.jpg", "file-checksum-mismatch a.jpg",
      ])
    #expect(
      try found { $0.editEntry = { if $0 == 1 { $1.checksum ^= 1 } } } == ["file-checksum-mismatch b.jpg"])
  }

  @Test("a deflate stream takes exactly its bytes and makes exactly its length")
  func deflate() throws {
    let text = PlantedArchive.deflatedText
    #expect(try found { $0.items[2].stored = text + [0] } == ["compressed-data-invalid c.txt"])
    #expect(try found { $0.items[2].stored = Array(text.dropLast(3)) } == ["compressed-data-invalid c.txt"])
    #expect(try found { $0.items[2].stored = [0xFF] + text.dropFirst() } == ["compressed-data-invalid c.txt"])
    #expect(try found { $0.items[2].content.removeLast() } == ["compressed-data-invalid c.txt"])
    #expect(try found { $0.items[2].content.append(0x61) } == ["compressed-data-invalid c.txt"])
  }

  @Test(
    "a local header that is not the central directory's is found",
    arguments: [4, 6, 8, 10, 12, 14, 18, 22, 30])
  func localHeader(_ position: Int) throws {
    #expect(
      try found { $0.editLocal = { if $0 == 1 { $1[position] ^= 2 } } } == ["archive-headers-disagree b.jpg"])
  }

  @Test("data between entries, before the first, behind the last or behind the archive is found")
  func hiddenData() throws {
    #expect(try found { $0.items[1].gap = 3 } == ["archive-hidden-data b.jpg"])
    #expect(try found { $0.items[0].gap = 1 } == ["archive-hidden-data a.jpg"])
    #expect(try found { $0.gapBeforeCentral = 5 } == ["archive-hidden-data -"])
    #expect(
      try found { $0.tail = [1] } == [
        "archive-malformed -", "archive-entry-missing a.jpg", "archive-entry-missing b.jpg",
        "archive-entry-missing c.txt",
      ])
  }

  @Test("zeros between entries are room that a layout leaves, up to an eighth; in front they are not")
  func padding() throws {
    func found(_ gap: Int, before item: Int, last byte: UInt8 = 0) throws -> Set<String> {
      try self.found { archive in
        archive.items[0].content = [UInt8](repeating: 0x61, count: 800)
        archive.items[item].gap = gap
        archive.items[item].gapByte = byte
      }
    }
    // Three headers with names of five bytes, and 800, 6 and 7 bytes of data.
    let rest = 3 * 35 + 813
    let most = (0...rest).last { $0 <= (rest + $0) / 8 } ?? 0
    #expect(try found(most, before: 1) == [])
    #expect(try found(most, before: 2) == [])
    #expect(try found(most + 1, before: 1) == ["archive-hidden-data b.jpg"])
    #expect(try found(1, before: 1, last: 1) == ["archive-hidden-data b.jpg"])
    #expect(try found(1, before: 0) == ["archive-hidden-data a.jpg"])
    let twice = try self.found { archive in
      archive.items[0].content = [UInt8](repeating: 0x61, count: 800)
      for item in 1...2 {
        archive.items[item].gap = most
        archive.items[item].gapByte = 0
      }
    }
    #expect(twice == ["archive-hidden-data c.txt"])
  }

  @Test("entries that share bytes are found")
  func overlap() throws {
    let found = try found { $0.editEntry = { if $0 == 1 { $1.headerOffset = 0 } } }
    #expect(found.contains("archive-entries-overlap b.jpg"))
    #expect(found.contains("archive-disagrees-with-manifest b.jpg"))
  }

  @Test("an entry that reaches into the central directory, or past every file, is found")
  func beyond() throws {
    for length in [100_000, 1 << 40, 1 << 61] as [UInt64] {
      let found = try found { $0.editEntry = { if $0 == 2 { $1.storedLength = length } } }
      #expect(found.contains("archive-entries-overlap c.txt"))
    }
    let malformed = try found { $0.editEntry = { if $0 == 2 { $1.headerOffset = .max } } }
    #expect(malformed.contains("archive-malformed -"))
  }

  @Test("entries that the manifest does not list, and files without an entry, are found")
  func lists() throws {
    #expect(try found { $0.editDraft = { $0.files.removeFirst() } } == ["archive-entry-unlisted a.jpg"])
    #expect(
      try found { $0.editDraft = { $0.files.append(try makeFile("d.jpg", 0, 0)) } }.contains(
        "archive-entry-missing d.jpg"))
  }

  @Test("an offset that does not lead to the entry's data is found")
  func offset() throws {
    let found = try found { archive in
      archive.editDraft = { draft in
        let file = draft.files[1]
        draft.files[1] = ManifestFile(
          path: file.path, offset: file.offset + ByteCount(1), storedLength: file.storedLength,
          length: file.length, method: file.method, digest: file.digest)
      }
    }
    #expect(found.contains("archive-disagrees-with-manifest b.jpg"))
    #expect(found.contains("file-digest-mismatch b.jpg"))
  }

  @Test(
    "what packages do not have is refused by name",
    arguments: [
      (8, 0x01, "archive-encrypted b.jpg"), (8, 0x08, "archive-feature-unsupported b.jpg"),
      (10, 0x0C, "archive-feature-unsupported b.jpg"), (41, 0x20, "symbolic-link b.jpg"),
      (41, 0xE0, "not-a-regular-file b.jpg"), (38, 0x10, "archive-headers-disagree b.jpg"),
      (12, 0x01, "archive-headers-disagree b.jpg"),
    ] as [(Int, UInt8, String)])
  func features(_ position: Int, _ bits: UInt8, _ fault: String) throws {
    #expect(try found { $0.editCentral = { $0[1][position] ^= bits } }.contains(fault))
  }

  @Test("unsafe, doubled and ambiguous names are found in the archive itself")
  func names() throws {
    let item = PlantedArchive.Item(name: "../x", content: [1])
    #expect(
      try found { $0.items.append(item) } == ["path-unsafe ../x", "archive-entry-unlisted ../x"])
    let folder = PlantedArchive.Item(name: "folder/", content: [])
    #expect(
      try found { $0.items.append(folder) } == [
        "archive-feature-unsupported folder/", "archive-entry-unlisted folder/",
      ])
    let found = try found { archive in
      archive.items.append(PlantedArchive.Item(name: "A.JPG", content: [1]))
      archive.editDraft = { $0.files.removeAll { $0.path.text == "A.JPG" } }
    }
    #expect(found == ["path-ambiguous A.JPG", "archive-entry-unlisted A.JPG"])
    let doubled = try self.found { archive in
      archive.editCentral = { $0.append($0[2]) }
    }
    #expect(doubled.contains("path-duplicate c.txt"))
    #expect(doubled.contains("archive-headers-disagree -"))
  }

  @Test("records in another order, a wrong count or a cut directory are found")
  func centralDirectory() throws {
    #expect(try found { $0.editCentral = { $0.swapAt(0, 1) } } == ["archive-headers-disagree -"])
    #expect(try found { $0.editEnd = { $0.entryCount += 1 } } == ["archive-headers-disagree -"])
    #expect(
      try found { $0.editEnd = { $0.entryCount -= 1 } }.isSuperset(of: [
        "archive-headers-disagree -", "archive-entry-missing c.txt",
      ]))
    #expect(try found { $0.editEnd = { $0.centralLength -= 1 } }.contains("archive-hidden-data -"))
    #expect(try found { $0.editEnd = { $0.centralOffset += 1 } }.contains("archive-hidden-data -"))
    #expect(try found { $0.editEnd = { $0.centralOffset = 1 << 40 } }.contains("archive-malformed -"))
    #expect(
      try found { $0.editCentral = { $0[2] = Array($0[2].dropLast()) } }.contains("archive-malformed -"))
  }

  @Test("an executable is found in whatever way it is packed")
  func executable() throws {
    let program: [UInt8] = [0x7F, 0x45, 0x4C, 0x46, 2, 1, 1]
    #expect(try found { $0.items[0].content = program } == ["executable a.jpg"])
  }

  @Test("every fault is listed, not only the first")
  func everyFault() throws {
    let found = try found { archive in
      archive.items[0].gap = 2
      archive.items[0].stored = Array("other page".utf8)
      archive.items[2].stored = [0xFF]
      archive.editLocal = { if $0 == 1 { $1[10] = 7 } }
    }
    #expect(
      found == [
        "archive-hidden-data a.jpg", "file-digest-mismatch a.jpg", "file-checksum-mismatch a.jpg",
        "archive-headers-disagree b.jpg", "compressed-data-invalid c.txt",
      ])
  }

  @Test("any single changed bit of a package is found")
  func everyBit() throws {
    let folder = try Folder()
    try folder.write("page", to: "s/a.jpg")
    try folder.write(String(repeating: "word ", count: 40), to: "s/b.txt")
    let output = folder.directory.path("package")
    let manifest = try Sample.builder.pack(folder: folder.path + "/s", to: output).manifest
    let package = try contents(of: output)
    let file = try FileDescriptor.open(output, .readWrite)
    for index in package.indices {
      let changed = [package[index] ^ UInt8(1 << (index % 8))]
      try file.write(changed.span, at: ByteCount(index))
      // The digests of the whole are told as if they had been those: the archive must give itself away.
      let faults = try PackageInspector().faults(
        in: file,
        received: ReceivedPackage(
          length: manifest.length, digest: manifest.digest, pieces: manifest.pieces), against: manifest)
      #expect(!faults.isEmpty, "byte \(index)")
      try file.write([package[index]].span, at: ByteCount(index))
    }
  }
}
