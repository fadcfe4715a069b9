import ContentPacking
import CoreTypes
import Files
import Glibc
import PackageTesting
import PullboxTesting
import SystemCalls
import Testing

@testable import ContentPackage

@Suite("Going on after a kill")
struct StagingResumeTests {
  private static let share = ExhaustiveShare.environment

  @Test("after any piece, in any order, another process finds exactly the pieces that were written (K3, R10)")
  func everyStep() throws {
    let count = 4
    for order in Self.share.elements(of: permutations(Array(0..<count))) {
      for written in 0...count {
        let staging = try Staging()
        let map = try staging.write(Array(order.prefix(written)))
        #expect(map.verifiedCount == written)
        #expect(try staging.open().pieces == map, "\(order) written \(written)")
        #expect(try staging.finish() == [], "\(order) written \(written)")
      }
    }
  }

  @Test(
    "killed before any one of its file calls, it goes on, and no piece that was written is fetched again (D7)"
  )
  func everyCall() async throws {
    for order in [[0, 1, 2, 3], [3, 1, 2, 0]] {
      let calls = try await Self.share.sweep { call in
        var isDone = false
        let staging = try Staging()
        let operations = FaultyFileOperations()
        operations.die(at: call)
        var written: [Int] = []
        do {
          var area = try staging.open(operations)
          for index in order {
            try area.write(try staging.sample.verifiedPiece(index))
            written.append(index)
          }
          _ = try area.finish().placeInNewFolder(at: staging.placePath)
          isDone = true
        } catch let error as SystemError {
          #expect(error.number == ECANCELED)
        } catch let error as UnsyncedContent {
          #expect(error.cause.number == ECANCELED)
        }
        if try FileSystem.status(of: staging.placePath) == nil {
          let found = try staging.open().pieces
          #expect(written.allSatisfy { found.isVerified($0) }, "\(order), call \(call): \(written)")
          #expect(try staging.finish() == [], "\(order), call \(call)")
        }
        #expect(try staging.differences(in: staging.placePath) == [])
        return isDone ? operations.steps.count : nil
      }
      #expect(calls > 56)
    }
  }

  @Test("whatever file call fails, and with whatever error, trying again comes to the right files (D8)")
  func everyFailure() async throws {
    for number in [ENOSPC, EDQUOT, EIO, EROFS, EPERM] {
      let calls = try await Self.share.sweep { call in
        let staging = try Staging()
        let operations = FaultyFileOperations()
        operations.fail(call: call, number: number)
        for _ in 0..<3 where try FileSystem.status(of: staging.placePath) == nil {
          do {
            var area = try staging.open(operations)
            for index in area.pieces.missing { try area.write(try staging.sample.verifiedPiece(index)) }
            _ = try area.finish().placeInNewFolder(at: staging.placePath)
          } catch is SystemError {
          } catch is UnsyncedContent {
          }
        }
        #expect(try staging.differences(in: staging.placePath) == [], "call \(call), errno \(number)")
        return operations.failures > 0 ? nil : operations.steps.count
      }
      #expect(calls > 56)
    }
  }

  @Test("what a failed sync left is void: it is gone, and is written anew (D8)", arguments: [4, 40])
  func failedSync(files: Int) throws {
    let folder = try Folder()
    for index in 0..<files { try folder.write(noise(90_000, seed: UInt64(index + 1)), to: "p\(index).jpg") }
    let manifest = try Sample.builder.pack(folder: folder.path, to: folder.directory.path("package")).manifest
    let package = try contents(of: folder.directory.path("package"))
    let operations = FaultyFileOperations()
    let path = folder.directory.path("staging")
    func write(_ area: inout StagingArea) throws {
      for index in area.pieces.missing {
        var piece = ReceivedPiece(index: index, layout: manifest.layout)
        let range = manifest.layout.range(of: index)
        _ = piece.append(Array(package[Int(range.lowerBound)..<Int(range.upperBound)]).span)
        try area.write(try VerifiedPiece(piece, of: manifest))
      }
    }
    var area = try StagingArea.open(at: path, manifest: manifest, operations: operations)
    try write(&area)
    operations.answer { call, _ in call == .synchronize || call == .synchronizeFileSystem ? EIO : nil }
    var isRemoved = false
    do {
      _ = try area.finish()
    } catch let error as UnsyncedContent {
      isRemoved = error.isRemoved
    }
    #expect(isRemoved)
    operations.answer(nil)
    // No second sync is believed: the same bytes do not count any more.
    var again = try StagingArea.open(at: path, manifest: manifest, operations: operations)
    #expect(again.pieces.verifiedCount == 0)
    try write(&again)
    try again.finish().placeInNewFolder(at: folder.directory.path("placed"))
    #expect(try manifest.faults(at: folder.directory.path("placed")) == [])
  }

  @Test("an area of another manifest is cleared")
  func otherManifest() throws {
    let staging = try Staging()
    try staging.write([0, 1, 2])
    let marker = try FileDescriptor.open("\(staging.areaPath)/manifest", .writeOnly)
    try marker.write([0x20].span, at: .zero)
    #expect(try staging.open().pieces.verifiedCount == 0)
    #expect(try FileSystem.list("\(staging.areaPath)/tree").isEmpty)
  }

  @Test(
    "files that are gone, cut or damaged are fetched again, the others are not (K3)",
    arguments: ["001.jpg", "002.jpg"], [0, 100, 700_000])
  func fileGone(_ name: String, length: Int) throws {
    let staging = try Staging()
    try staging.write([0, 1, 2, 3])
    let index = try #require(staging.sample.manifest.files.firstIndex { $0.path.text == name })
    let pieces = UnpackPlan(staging.sample.manifest).pieces(of: index)
    let path = "\(staging.areaPath)/tree/\(name)"
    if length == 0 {
      try FileSystem.removeFile(path)
    } else if length == 100 {
      try FileDescriptor.open(path, .writeOnly).truncate(to: ByteCount(100))
    } else {
      try FileDescriptor.open(path, .writeOnly).write([0x55, 0xAA].span, at: ByteCount(600_000))
    }
    let missing = try staging.open().pieces.missing
    #expect(!missing.isEmpty && missing.allSatisfy { pieces.contains($0) })
    #expect(try staging.finish() == [])
  }

  @Test("a file that is longer than the manifest's is not taken for it")
  func longerFile() throws {
    let staging = try Staging()
    try staging.write([0, 1, 2, 3])
    try FileDescriptor.open("\(staging.areaPath)/tree/001.jpg", .writeOnly)
      .write([1].span, at: ByteCount(700_000))
    #expect(try !staging.open().pieces.isComplete)
    #expect(try staging.finish() == [])
  }

  @Test(
    "an inflated file that is gone or damaged is fetched again, and so is what damaged spool there was",
    arguments: ["tree/story.txt", "spool/gaps", "spool/p3"])
  func damaged(_ name: String) throws {
    for isRemoved in [true, false] {
      for written in 1...4 {
        let staging = try Staging()
        try staging.write(Array(0..<written))
        let path = "\(staging.areaPath)/\(name)"
        guard try FileSystem.status(of: path) != nil else { continue }
        if isRemoved {
          try FileSystem.removeFile(path)
        } else {
          try FileDescriptor.open(path, .writeOnly).write([0x55, 0xAA].span, at: .zero)
        }
        #expect(try staging.finish() == [], "\(written) pieces")
      }
    }
  }

  @Test("of half a file, the pieces that are right count, flagged or not (K3, R10)")
  func halfAFile() throws {
    let staging = try HalfFile(seed: 11)
    #expect(try staging.confirmed() == [0, 1])
    try staging.file().write([UInt8](repeating: 0, count: 10).span, at: ByteCount(1_500_000))
    #expect(try staging.confirmed() == [0])
  }

  @Test("a file that lost its end keeps the pieces before it")
  func lostEnd() throws {
    let staging = try HalfFile(seed: 12)
    try staging.file().truncate(to: ByteCount(1_500_000))
    #expect(try staging.confirmed() == [0])
  }

  @Test(
    "an area whose folder was replaced, or opened by another process, is not the one that was opened (R9)")
  func otherArea() throws {
    let staging = try Staging()
    let area = try staging.open()
    let (first, second, third): (Bool, Bool, Bool)
    first = try area.isCurrent()
    let next = try staging.open()
    second = try area.isCurrent()
    try FileSystem.rename(staging.areaPath, to: staging.areaPath + ".away")
    third = try next.isCurrent()
    #expect(first && !second && !third)
  }

  /// A single file of three pieces, of which the first two were written.
  private struct HalfFile {
    let folder: Folder
    let manifest: Manifest

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
    }

    func file() throws -> FileDescriptor {
      try FileDescriptor.open(folder.directory.path("staging") + "/tree/a.pdf", .writeOnly)
    }

    /// The pieces that count for another process.
    func confirmed() throws -> [Int] {
      try StagingArea.open(at: folder.directory.path("staging"), manifest: manifest).pieces.present
    }
  }
}
