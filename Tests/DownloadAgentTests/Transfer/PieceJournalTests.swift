import ContentPackage
import CoreTypes
import PullboxTesting
import SystemCalls
import Testing

@testable import DownloadAgent

@Suite struct PieceJournalTests {
  private static let boot = "0f3c2d6e-1111-2222-3333-444455556666"

  private func written(_ package: FixturePackage, _ pieces: [Int], in directory: TemporaryDirectory) throws
    -> String
  {
    let path = directory.path("pieces")
    var journal = try PieceJournal(
      creating: path, manifest: package.manifest, pieces: PieceMap(package.manifest), boot: Self.boot)
    for piece in pieces { try journal.record(piece) }
    return path
  }

  @Test("what was recorded is there for the next process") func recording() throws {
    let directory = try TemporaryDirectory()
    let package = try FixturePackage.file(length: 10 << 20)
    let path = try written(package, [0, 8, 3], in: directory)
    let contents = try #require(try PieceJournal.read(path, manifest: package.manifest, boot: Self.boot))
    #expect((0..<10).filter { contents.pieces.isVerified($0) } == [0, 3, 8])
    #expect(contents.resumption == .sameBoot)
  }

  @Test("after another start of the machine it is only a hint") func otherBoot() throws {
    let directory = try TemporaryDirectory()
    let package = try FixturePackage.file(length: 3 << 20)
    let path = try written(package, [1], in: directory)
    let other = "ffffffff-1111-2222-3333-444455556666"
    #expect(try PieceJournal.read(path, manifest: package.manifest, boot: other)?.resumption == .afterRestart)
  }

  @Test("another package's journal, a cut, an empty or a missing one counts for nothing") func unusable()
    throws
  {
    let directory = try TemporaryDirectory()
    let package = try FixturePackage.file(length: 3 << 20)
    let path = try written(package, [1], in: directory)
    let other = try FixturePackage.file(length: 3 << 20, seed: 2)
    #expect(try PieceJournal.read(path, manifest: other.manifest, boot: Self.boot) == nil)
    let bytes = try FileSystem.read(path, upTo: .kibibytes(4))
    for count in [0, 10, bytes.count - 1] {
      try DurableFile.write(Array(bytes.prefix(count)).span, to: path)
      #expect(try PieceJournal.read(path, manifest: package.manifest, boot: Self.boot) == nil)
    }
    try FileSystem.removeFile(path)
    #expect(try PieceJournal.read(path, manifest: package.manifest, boot: Self.boot) == nil)
  }

  @Test("no single damaged byte of its head goes unnoticed") func damagedHead() throws {
    let directory = try TemporaryDirectory()
    let package = try FixturePackage.file(length: 3 << 20)
    let path = try written(package, [1], in: directory)
    let bytes = try FileSystem.read(path, upTo: .kibibytes(4))
    for index in 0..<bytes.count - 1 {
      var damaged = bytes
      damaged[index] ^= 1
      try DurableFile.write(damaged.span, to: path)
      #expect(
        try PieceJournal.read(path, manifest: package.manifest, boot: Self.boot) == nil, "byte \(index)")
    }
  }
}
