import CoreTypes
import Crypto
import PackageTesting
import PullboxTesting
import SystemCalls
import Testing

@testable import ContentPackage
@testable import ContentPacking

/// Corrected versions of an issue of forty pages: what stays of the package.
@Suite("Packing a version after another")
struct VersionPackingTests {
  private struct Issue {
    private static let block = noise(1 << 20, seed: 50)
    let folder: Folder
    let first: Manifest

    init(pages: Int = 40) throws {
      folder = try Folder()
      for page in 0..<pages {
        try folder.write(Self.page(page, length: 700_000 + page * 1000), to: Self.name(page + 1))
      }
      try folder.write("<ComicInfo><Title>One</Title></ComicInfo>", to: "ComicInfo.xml")
      first = try Sample.builder.pack(folder: folder.path, to: folder.directory.path("first")).manifest
    }

    /// Another for each number.
    static func page(_ number: Int, length: Int) -> [UInt8] {
      [0xFF, 0xD8, 0xFF, UInt8(number)] + block.prefix(length - 4)
    }

    static func name(_ page: Int) -> String { "page-\(page + 100).jpg" }

    /// Packs the folder as it is now; checks the package.
    func next() throws -> Manifest {
      let output = folder.directory.path("next")
      let manifest = try Sample.builder.pack(folder: folder.path, to: output, following: first).manifest
      let bytes = try contents(of: output)
      let file = try FileDescriptor.open(output, .readOnly)
      let faults = try PackageInspector().faults(
        in: file,
        received: ReceivedPackage(
          length: manifest.length, digest: .of(bytes), pieces: manifest.pieces), against: manifest)
      #expect(faults == [])
      return manifest
    }
  }

  @Test("the same files following their own package give the same bytes")
  func same() throws {
    let issue = try Issue(pages: 3)
    #expect(try issue.next().canonicalBytes() == issue.first.canonicalBytes())
  }

  @Test("one page of forty is replaced by a longer one: 25 of 28 pieces stay, and one page travels")
  func replaced() throws {
    let issue = try Issue()
    try issue.folder.write(Issue.page(99, length: 900_000), to: Issue.name(20))
    let next = try issue.next()
    let difference = VersionDifference(from: issue.first, to: next)
    #expect(difference.fetchedFiles.map(\.path.text) == [Issue.name(20)])
    #expect(difference.keptFiles.count == 40)
    #expect(difference.neededPieces.count <= 2)
    #expect(difference.samePieces == issue.first.pieces.count - 3)
  }

  @Test("one page is inserted in front: all pieces but the last stay")
  func inserted() throws {
    let issue = try Issue()
    try issue.folder.write(Issue.page(99, length: 800_000), to: Issue.name(0))
    let next = try issue.next()
    let difference = VersionDifference(from: issue.first, to: next)
    #expect(difference.fetchedFiles.map(\.path.text) == [Issue.name(0)])
    #expect(difference.samePieces == issue.first.pieces.count - 1)
    #expect(next.readingOrder?.first?.text == Issue.name(0))
  }

  @Test("the metadata is changed: all pieces but the last stay")
  func metadata() throws {
    let issue = try Issue()
    try issue.folder.write(
      "<ComicInfo><Title>Another title that is longer</Title></ComicInfo>", to: "ComicInfo.xml")
    let next = try issue.next()
    #expect(next.title == "Another title that is longer")
    let difference = VersionDifference(from: issue.first, to: next)
    #expect(difference.samePieces == issue.first.pieces.count - 1)
    #expect(difference.neededPieces == [next.pieces.count - 1])
    #expect(difference.fetchedLength < ByteCount(PieceLayout.pieceLength.rawValue + 1))
  }

  @Test("ordinary tools open a package with room between its entries")
  func tools() throws {
    let issue = try Issue(pages: 12)
    try issue.folder.write(Issue.page(99, length: 900_000), to: Issue.name(4))
    let next = try issue.next()
    #expect(next.files.map(\.path.text).contains(Issue.name(4)))
    let path = issue.folder.directory.path("next")
    for command in [["unzip", "-t", path], ["python3", "-m", "zipfile", "-t", path]] {
      let run = try Tool.run(command)
      #expect(run.status == 0 && !run.output.contains("warning"), "\(run.output)")
    }
    let target = issue.folder.directory.path("out")
    #expect(try Tool.run("unzip", "-q", path, "-d", target).status == 0)
    #expect(try Tool.run("diff", "-r", issue.folder.path, target).status == 0)
  }

  @Test("a file that changes between the two readings is a fault")
  func changed() throws {
    let issue = try Issue(pages: 3)
    let path = "\(issue.folder.path)/\(Issue.name(2))"
    var isChanged = false
    let codes = try refusalCodes {
      _ = try Sample.builder.pack(
        folder: issue.folder.path, to: issue.folder.directory.path("next"), following: issue.first
      ) { done, total in
        guard done.rawValue * 2 > total.rawValue, !isChanged else { return }
        isChanged = true
        try? FileDescriptor.open(path, .writeOnly).write([1, 2, 3].span, at: ByteCount(5))
      }
    }
    #expect(codes == [.changedWhilePacking])
  }
}

@Suite("The difference of two versions")
struct VersionDifferenceTests {
  @Test("of finished files, pieces are kept")
  func singleFile() throws {
    func describe(_ bytes: [UInt8]) throws -> Manifest {
      let folder = try Folder()
      try folder.write(bytes, to: "issue.pdf")
      return try Sample.builder.describe(file: "\(folder.path)/issue.pdf").manifest
    }
    var bytes = noise(3 << 20, seed: 9)
    let older = try describe(bytes)
    bytes[1 << 20] ^= 1
    let difference = VersionDifference(from: older, to: try describe(bytes))
    #expect(difference.neededPieces == [1])
    #expect(difference.fetchedLength == .mebibytes(1) && difference.keptLength == .mebibytes(2))
    #expect(difference.samePieces == 2)
    #expect(difference.keptFiles.isEmpty && difference.fetchedFiles.count == 1)
  }

  @Test("a file that only changed its name is kept, one that is gone is told")
  func renamed() throws {
    func pack(_ files: [(String, UInt64)]) throws -> Manifest {
      let folder = try Folder()
      for (name, seed) in files { try folder.write(noise(100_000, seed: seed), to: name) }
      return try Sample.builder.pack(folder: folder.path, to: folder.directory.path("package")).manifest
    }
    let difference = VersionDifference(
      from: try pack([("a.jpg", 1), ("b.jpg", 2)]), to: try pack([("c.jpg", 1), ("d.jpg", 3)]))
    #expect(difference.keptFiles.map(\.path.text) == ["c.jpg"])
    #expect(difference.fetchedFiles.map(\.path.text) == ["d.jpg"])
    #expect(difference.removedFiles.map(\.path.text) == ["b.jpg"])
  }
}
