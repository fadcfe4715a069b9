import CoreTypes
import Crypto
import Dispatch
import Files
import Glibc
import PackageTesting
import PullboxTesting
import SystemCalls
import Testing

@testable import ContentPackage

/// Files of a staging area that are read while it is filled.
@Suite struct StagedFileTests {
  private let staging: Staging
  private let extents: StagedExtents

  init() throws {
    staging = try Staging()
    extents = StagedExtents(staging.sample.manifest)
  }

  private var manifest: Manifest { staging.sample.manifest }

  private func open() throws -> StagingArea {
    try StagingArea.open(
      at: staging.areaPath, manifest: manifest, operations: SystemFileOperations(), publishing: extents)
  }

  private func source(_ file: Int) throws -> [UInt8] {
    try #require(Sample.files.first { $0.path == manifest.files[file].path.text }).bytes
  }

  /// The bytes of the file that can be read now, from its beginning or from each place where others are missing; each compared with what
  /// was packed. Those that there is no telling of are left out.
  private func readable(_ file: Int) throws -> [Range<Int64>] {
    let length = manifest.files[file].length.rawValue
    guard let staged = try? StagedFile(opening: file, of: extents, in: staging.areaPath) else { return [] }
    let bytes = try source(file)
    var ranges: [Range<Int64>] = []
    var position: Int64 = 0
    while position < length {
      guard try staged.check(at: position) == .checked else {
        position += 4096
        continue
      }
      let end = staged.checkedEnd(from: position)
      var found: [UInt8] = []
      try staged.duplicateDescriptor().read(
        upTo: Int(end - position), at: ByteCount(position), into: &found)
      #expect(found == Array(bytes[Int(position)..<Int(end)]), "\(manifest.files[file].path)")
      ranges.append(position..<end)
      position = end
    }
    return ranges
  }

  @Test("what pieces have brought can be read, in whichever order they come, and nothing else") func orders()
    throws
  {
    for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]] {
      try StagingArea.discard(at: staging.areaPath)
      var area = try open()
      for piece in order {
        try area.write(try staging.sample.verifiedPiece(piece))
        for (file, ranges) in extents.ranges().enumerated() {
          let there = try readable(file)
          #expect(there.allSatisfy { part in ranges.contains { $0.contains(part.lowerBound) } })
          guard manifest.files[file].method == .stored else { continue }
          #expect(there.isEmpty == ranges.isEmpty, "\(order) \(piece) \(manifest.files[file].path)")
        }
      }
      for (file, entry) in manifest.files.enumerated() where entry.length > .zero {
        #expect(extents.end(of: file, from: 0) == entry.length.rawValue)
        #expect(try readable(file).last?.upperBound == entry.length.rawValue)
      }
    }
  }

  @Test("a deflated file is readable from its first piece on") func deflated() throws {
    let long = try #require(
      manifest.files.indices.first {
        manifest.files[$0].method == .deflated && extents.plan.pieces(of: $0).count > 1
      })
    var area = try open()
    let pieces = extents.plan.pieces(of: long)
    try area.write(try staging.sample.verifiedPiece(pieces.lowerBound))
    let first = try #require(try readable(long).last?.upperBound)
    #expect(first > 0 && first < manifest.files[long].length.rawValue)
    #expect(extents.end(of: long, from: 0) == first)
  }

  @Test("another process reads on with what the first has left") func restarted() throws {
    do {
      var area = try open()
      for piece in 0..<3 { try area.write(try staging.sample.verifiedPiece(piece)) }
    }
    let before = extents.ranges()
    extents.clear()
    let isClear = extents.ranges().allSatisfy { $0.isEmpty }
    #expect(isClear)
    let area = try open()
    for (file, ranges) in extents.ranges().enumerated() {
      _ = try readable(file)
      guard manifest.files[file].method == .stored else { continue }
      #expect(ranges == before[file])
    }
    let count = area.pieces.verifiedCount
    #expect(count > 0)
  }

  @Test("a byte that was changed on the disk is given to nobody, and its piece is fetched again")
  func damaged() throws {
    for (file, entry) in manifest.files.enumerated() where entry.length > ByteCount(16) {
      try StagingArea.discard(at: staging.areaPath)
      extents.clear()
      var area = try open()
      for piece in 0..<4 { try area.write(try staging.sample.verifiedPiece(piece)) }
      let path = "\(staging.areaPath)/tree/\(entry.path.text)"
      let offset = entry.length.rawValue / 2
      try change(path, at: offset)
      let staged = try StagedFile(opening: file, of: extents, in: staging.areaPath)
      #expect(try staged.check(at: offset) == .damaged)
      #expect(staged.checkedEnd(from: offset) == offset)
      #expect(try staged.check(at: offset) == .missing, "until it was fetched again")
      #expect(extents.isDamaged)
      let isDropped = try area.dropDamaged()
      #expect(isDropped)
      let missing = area.pieces.missing
      #expect(!missing.isEmpty)
      for piece in missing { try area.write(try staging.sample.verifiedPiece(piece)) }
      let isComplete = area.pieces.isComplete
      #expect(isComplete)
      let again = try StagedFile(opening: file, of: extents, in: staging.areaPath)
      #expect(try again.check(at: offset) == .checked, "\(entry.path)")
      #expect(try readable(file) == [0..<entry.length.rawValue])
    }
    #expect(try staging.finish() == [])
  }

  @Test(
    "a piece whose bytes are others three times is told of, once, so that it is not fetched without an end")
  func unkept() throws {
    let file = try #require(
      manifest.files.indices.max { manifest.files[$0].length < manifest.files[$1].length })
    let entry = manifest.files[file]
    let offset = entry.length.rawValue / 2
    var area = try open()
    for piece in 0..<4 { try area.write(try staging.sample.verifiedPiece(piece)) }
    for loss in 1...3 {
      try extents.checkLosses()
      try change("\(staging.areaPath)/tree/\(entry.path.text)", at: offset)
      #expect(try StagedFile(opening: file, of: extents, in: staging.areaPath).check(at: offset) == .damaged)
      // Others who read the same piece say so as well.
      for _ in 0..<3 { extents.noteDamaged(.file(file)) }
      let isDropped = try area.dropDamaged()
      #expect(isDropped, "loss \(loss)")
      for piece in area.pieces.missing { try area.write(try staging.sample.verifiedPiece(piece)) }
    }
    let error = #expect(throws: UnkeptPieceError.self) { try extents.checkLosses() }
    let pieces = extents.plan.pieces(of: file)
    #expect(error.map { pieces.contains($0.piece) } == true)
    // Another try is made after a pause.
    try extents.checkLosses()
  }

  @Test("a file that is open stays readable when the content goes to its place") func placed() throws {
    var area = try open()
    for piece in 0..<4 { try area.write(try staging.sample.verifiedPiece(piece)) }
    let file = try #require(
      manifest.files.indices.max { manifest.files[$0].length < manifest.files[$1].length })
    let staged = try StagedFile(opening: file, of: extents, in: staging.areaPath)
    try area.finish().placeInNewFolder(at: staging.placePath)
    var position: Int64 = 0
    while position < manifest.files[file].length.rawValue {
      #expect(try staged.check(at: position) == .checked)
      position = max(position + 1, staged.checkedEnd(from: position))
    }
    #expect(throws: SystemError.self) {
      try StagedFile(opening: file, of: extents, in: staging.areaPath)
    }
  }

  private func change(_ path: String, at offset: Int64) throws {
    var bytes = try FileSystem.read(path, upTo: .gibibytes(1))
    bytes[Int(offset)] ^= 0x40
    try #require(unsafe chmod(path, 0o644) == 0)
    let file = try FileDescriptor.open(path, .readWrite)
    try file.write([bytes[Int(offset)]].span, at: ByteCount(offset))
  }
}
