import CoreTypes
import Files
import PullboxTesting
import SystemCalls
import Testing

@Suite("Copies of a directory that was made once") struct DirectoryTemplateTests {
  private let directory: TemporaryDirectory
  private let template: DirectoryTemplate

  init() throws {
    directory = try TemporaryDirectory()
    let original = directory.path("original")
    try FileSystem.createDirectories(original + "/keys")
    try Self.write([1, 2, 3], to: original + "/database")
    try Self.write([], to: original + "/lock")
    try Self.write([4], to: original + "/keys/own")
    template = try DirectoryTemplate(reading: original, leavingOut: ["lock"])
    try FileSystem.removeRecursively(original)
  }

  private static func write(_ bytes: [UInt8], to path: String) throws {
    try DurableFile.write(bytes.span, to: path)
  }

  @Test("a copy has all files but those that were left out, and is for its owner alone")
  func whole() throws {
    let copy = directory.path("copy")
    try template.copy(to: copy)
    #expect(try Set(FileSystem.list(copy).map(\.name)) == ["database", "keys"])
    #expect(try FileSystem.read(copy + "/database", upTo: .kibibytes(1)) == [1, 2, 3])
    #expect(try FileSystem.read(copy + "/keys/own", upTo: .kibibytes(1)) == [4])
    for path in ["", "/database", "/keys", "/keys/own"] {
      #expect(try FileSystem.status(of: copy + path).map { $0.permissions & 0o077 } == 0, "\(path)")
    }
  }

  @Test("what one test writes into its copy, another's does not have")
  func apart() throws {
    let copies = ["first", "second"].map(directory.path(_:))
    try template.copy(to: copies[0])
    try Self.write([9], to: copies[0] + "/database")
    try template.copy(to: copies[1])
    #expect(try FileSystem.read(copies[1] + "/database", upTo: .kibibytes(1)) == [1, 2, 3])
  }

  @Test("what lies in the place of a copy is not overwritten")
  func inTheWay() throws {
    let copy = directory.path("copy")
    try FileSystem.createDirectory(copy)
    try Self.write([9], to: copy + "/database")
    #expect(throws: SystemError.self) { try template.copy(to: copy) }
    #expect(try FileSystem.read(copy + "/database", upTo: .kibibytes(1)) == [9])
  }
}
