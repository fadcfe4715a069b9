import CoreTypes
import Crypto
import PackageTesting
import Testing

@testable import ContentPackage

@Suite("How the files of two versions differ")
struct FileChangesTests {
  /// Files by path and what is in them.
  private func manifest(_ files: [(path: String, content: String)]) throws -> Manifest {
    var draft = try makeDraft()
    draft.files = try files.enumerated().map { index, file in
      ManifestFile(
        path: try PackagePath(file.path), offset: ByteCount(40 + index * 200), storedLength: ByteCount(100),
        length: ByteCount(100), method: .stored, digest: .of([UInt8](file.content.utf8)))
    }
    draft.unpackedLength = ByteCount(files.count * 100)
    return try Manifest(draft, limits: .standard)
  }

  @Test("files are told apart by path, and at one path by digest")
  func counts() throws {
    let changes = FileChanges(
      from: try manifest([("a.jpg", "A"), ("b.jpg", "B"), ("c.jpg", "C")]),
      to: try manifest([("a.jpg", "A"), ("b.jpg", "b"), ("d.jpg", "D"), ("e.jpg", "E")]))
    #expect(changes.unchanged == 1)
    #expect(changes.changed == 1)
    #expect(changes.added == 2)
    #expect(changes.removed == 1)
  }

  @Test("a renamed file is one added and one removed")
  func renamed() throws {
    let changes = FileChanges(from: try manifest([("a.jpg", "A")]), to: try manifest([("b.jpg", "A")]))
    #expect(changes.added == 1)
    #expect(changes.removed == 1)
    #expect(changes.unchanged == 0)
  }
}
