import ContentPacking
import CoreTypes
import PackageTesting
import PullboxTesting
import SystemCalls
import Testing

@testable import ContentPackage

@Suite("Going on after a kill")
struct StagingResumeTests {
  @Test("killed after any piece, with the map as it was after any piece before, the files come out whole")
  func everyStep() throws {
    let count = 4
    for order in [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2]] {
      for written in 0...count {
        for noted in 0...written {
          let staging = try Staging()
          var map = PieceMap(staging.sample.manifest)
          for piece in order.prefix(noted) { map.markVerified(piece) }
          _ = try staging.write(Array(order.prefix(written)))
          let resumed = try staging.open(map)
          #expect(resumed.pieces == map, "nothing that was verified is fetched again")
          #expect(try staging.finish(map) == [], "\(order) written \(written) noted \(noted)")
        }
      }
    }
  }

  @Test("a spool that was whole but not unpacked yet is unpacked when the area is opened")
  func killedBeforeUnpacking() throws {
    let staging = try Staging()
    let manifest = staging.sample.manifest
    let index = try #require(manifest.files.firstIndex { $0.path.text == "story.txt" })
    let file = manifest.files[index]
    let complete = try staging.write([0, 1, 2, 3])
    // As a kill between the last write and the end of unpacking leaves it.
    let stored = Array(
      staging.sample.package[Int(file.offset.rawValue)...].prefix(Int(file.storedLength.rawValue)))
    let spool = try FileDescriptor.open("\(staging.areaPath)/spool/\(index)", .writeOnly, options: .create)
    try spool.write(stored.span, at: .zero)
    try FileDescriptor.open("\(staging.areaPath)/tree/story.txt", .writeOnly).truncate(to: ByteCount(7))
    #expect(try staging.open(complete).pieces.isComplete)
    #expect(try contents(of: "\(staging.areaPath)/tree/story.txt").count == file.length.rawValue)
    #expect(try staging.finish(complete) == [])
  }

  @Test("a map without its staging area counts for nothing")
  func areaGone() throws {
    let staging = try Staging()
    let map = try staging.write([0, 1])
    try StagingArea.discard(at: staging.areaPath)
    #expect(try staging.open(map).pieces.verifiedCount == 0)
    #expect(try staging.finish(map) == [])
  }

  @Test("an area of another manifest is cleared")
  func otherManifest() throws {
    let staging = try Staging()
    let map = try staging.write([0, 1, 2])
    let marker = try FileDescriptor.open("\(staging.areaPath)/manifest", .writeOnly)
    try marker.write([0x20].span, at: .zero)
    #expect(try staging.open(map).pieces.verifiedCount == 0)
    #expect(try FileSystem.list("\(staging.areaPath)/tree").isEmpty)
  }

  @Test(
    "files that are gone or cut are fetched again, the others are not", arguments: ["001.jpg", "002.jpg"])
  func fileGone(_ name: String) throws {
    let staging = try Staging()
    let map = try staging.write([0, 1, 2, 3])
    let index = try #require(staging.sample.manifest.files.firstIndex { $0.path.text == name })
    let pieces = UnpackPlan(staging.sample.manifest).pieces(of: index)
    try FileDescriptor.open("\(staging.areaPath)/tree/\(name)", .writeOnly).truncate(to: ByteCount(100))
    let resumed = try staging.open(map).pieces
    #expect((0..<4).filter { !resumed.isVerified($0) } == Array(pieces))
    try FileSystem.removeFile("\(staging.areaPath)/tree/\(name)")
    #expect(try staging.open(map).pieces == resumed)
    #expect(try staging.finish(map) == [])
  }

  @Test("an unpacked file that is gone is fetched again")
  func unpackedFileGone() throws {
    let staging = try Staging()
    let map = try staging.write([0, 1, 2, 3])
    try FileSystem.removeFile("\(staging.areaPath)/tree/story.txt")
    #expect(try !staging.open(map).pieces.isComplete)
    #expect(try staging.finish(map) == [])
  }

  @Test("after a restart of the machine, bytes that were lost are found missing and fetched again")
  func lostBytes() throws {
    let staging = try Staging()
    let map = try staging.write([0, 1, 2, 3])
    let hole = [UInt8](repeating: 0, count: 4096)
    try FileDescriptor.open("\(staging.areaPath)/tree/002.jpg", .writeOnly)
      .write(hole.span, at: ByteCount(600_000))
    #expect(try staging.open(map).pieces == map, "the same boot does not read it again")
    let confirmed = try staging.open(map, resumption: .afterRestart).pieces
    #expect(!confirmed.isComplete)
    #expect(try staging.finish(map, resumption: .afterRestart) == [])
  }

  @Test("after a restart of the machine, what is whole is not fetched again")
  func nothingLost() throws {
    let staging = try Staging()
    let map = try staging.write([0, 1, 2, 3])
    #expect(try staging.open(map, resumption: .afterRestart).pieces == map)
  }

  @Test("after a restart of the machine, half a file is confirmed by the pieces that are its alone")
  func halfAFile() throws {
    let staging = try HalfFile(seed: 11)
    #expect(try staging.confirmed() == staging.written)
    let hole = [UInt8](repeating: 0, count: 10)
    try staging.file().write(hole.span, at: ByteCount(1_500_000))
    let confirmed = try staging.confirmed()
    #expect(confirmed.isVerified(0))
    #expect(!confirmed.isVerified(1))
  }

  @Test("after a restart of the machine, a file that lost its end keeps the pieces before it")
  func lostEnd() throws {
    let staging = try HalfFile(seed: 12)
    try staging.file().truncate(to: ByteCount(1_500_000))
    let confirmed = try staging.confirmed()
    #expect(confirmed.isVerified(0))
    #expect(!confirmed.isVerified(1))
  }

  /// A single file of three pieces, of which the first two were written.
  private struct HalfFile {
    let folder: Folder
    let manifest: Manifest
    let written: PieceMap

    init(seed: UInt64) throws {
      folder = try Folder()
      let bytes = noise(3_000_000, seed: seed)
      try folder.write(bytes, to: "a.pdf")
      manifest = try Sample.builder.describe(file: "\(folder.path)/a.pdf").manifest
      var area = try StagingArea.open(at: folder.directory.path("staging"), manifest: manifest)
      for index in [0, 1] {
        var piece = ReceivedPiece(index: index, layout: manifest.layout)
        let part = Array(bytes[index << 20..<(index + 1) << 20])
        _ = piece.append(part.span)
        try area.write(try VerifiedPiece(piece, of: manifest))
      }
      written = area.pieces
    }

    func file() throws -> FileDescriptor {
      try FileDescriptor.open(folder.directory.path("staging") + "/tree/a.pdf", .writeOnly)
    }

    /// What counts of it after a restart of the machine.
    func confirmed() throws -> PieceMap {
      try StagingArea.open(
        at: folder.directory.path("staging"), manifest: manifest, pieces: written, resumption: .afterRestart
      ).pieces
    }
  }
}
