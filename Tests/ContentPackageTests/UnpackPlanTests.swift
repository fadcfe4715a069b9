import CoreTypes
import Crypto
import PackageTesting
import Testing

@testable import ContentPackage

@Suite("Which bytes go where")
struct UnpackPlanTests {
  /// Four pieces; files that end at a border, span one, span two, share a piece, take nothing.
  private static func manifest() throws -> Manifest {
    let mebibyte = 1_048_576
    var draft = try makeDraft()
    draft.files = [
      try makeFile("a", 30, mebibyte - 30), try makeFile("b", mebibyte, 10),
      try makeFile("c", mebibyte + 40, 0),
      try makeFile("d", mebibyte + 40, 2 * mebibyte),
      try makeFile("e", 3 * mebibyte + 80, 500, storedLength: 100, method: .deflated),
    ]
    draft.length = ByteCount(3 * mebibyte + 300)
    draft.pieces = Array(repeating: .of([0]), count: 4)
    draft.unpackedLength = draft.files.reduce(.zero) { $0 + $1.length }
    return try Manifest(draft, limits: .standard)
  }

  @Test("each slice of a piece goes to its file, headers go nowhere")
  func writes() throws {
    let plan = UnpackPlan(try Self.manifest())
    #expect(plan.writes(for: 0) == [.init(file: 0, offset: 0, slice: 30..<1_048_576)])
    #expect(
      plan.writes(for: 1) == [
        .init(file: 1, offset: 0, slice: 0..<10), .init(file: 3, offset: 0, slice: 40..<1_048_576),
      ])
    #expect(plan.writes(for: 2) == [.init(file: 3, offset: 1_048_536, slice: 0..<1_048_576)])
    #expect(
      plan.writes(for: 3) == [
        .init(file: 3, offset: 2_097_112, slice: 0..<40), .init(file: 4, offset: 0, slice: 80..<180),
      ])
  }

  @Test("a file's pieces are those that share a byte with it")
  func pieces() throws {
    let plan = UnpackPlan(try Self.manifest())
    #expect((0..<5).map { plan.pieces(of: $0) } == [0..<1, 1..<2, 0..<0, 1..<4, 3..<4])
    #expect(plan.files(in: 0..<2) == [0, 1, 3])
    #expect(plan.files(in: 3..<4) == [3, 4])
    #expect(plan.files(in: 2..<2).isEmpty)
  }

  @Test("a file is completed by its last missing piece, whichever that is")
  func completed() throws {
    let manifest = try Self.manifest()
    let plan = UnpackPlan(manifest)
    var map = PieceMap(manifest)
    #expect(plan.filesCompleted(by: 1, in: map) == [1])
    map.markVerified(1)
    #expect(plan.filesCompleted(by: 3, in: map) == [4])
    map.markVerified(3)
    #expect(plan.filesCompleted(by: 2, in: map) == [3])
  }

  @Test("the writes of all pieces cover every stored byte exactly once")
  func coverage() throws {
    for manifest in [try Self.manifest(), try Sample.shared.get().manifest] {
      let plan = UnpackPlan(manifest)
      var next = Array(repeating: Int64(0), count: manifest.files.count)
      for piece in 0..<manifest.pieces.count {
        for write in plan.writes(for: piece) {
          #expect(write.offset == next[write.file])
          #expect(!write.slice.isEmpty)
          let start = manifest.layout.range(of: piece).lowerBound + Int64(write.slice.lowerBound)
          #expect(start == manifest.files[write.file].offset.rawValue + write.offset)
          next[write.file] += Int64(write.slice.count)
        }
      }
      #expect(next == manifest.files.map(\.storedLength.rawValue))
    }
  }
}
