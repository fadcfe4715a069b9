import CoreTypes
import Files
import PullboxTesting
import SystemCalls
import Testing

@Suite struct DirectoryTests {
  private let temporary: TemporaryDirectory

  init() throws {
    temporary = try TemporaryDirectory()
  }

  @Test("a name that could lead elsewhere is refused", arguments: ["", ".", "..", "a/b", "/etc", "a\0b"])
  func names(name: String) throws {
    let directory = try Directory(opening: temporary.path)
    #expect(throws: SystemError.self) { _ = try directory.open(name, .readOnly) }
    #expect(throws: SystemError.self) { _ = try directory.subdirectory(name) }
    #expect(throws: SystemError.self) { _ = try directory.subdirectory(creating: name) }
    #expect(throws: SystemError.self) { try directory.removeFile(name) }
    #expect(throws: SystemError.self) { try directory.removeRecursively(name) }
  }

  @Test("a symbolic link is followed neither to a file nor to a directory") func links() throws {
    try FileSystem.createDirectory(temporary.path("outside"))
    try symbolicLink(to: "outside", at: temporary.path("directory"))
    try symbolicLink(to: "outside/file", at: temporary.path("file"))
    let directory = try Directory(opening: temporary.path)
    #expect(throws: SystemError.self) { _ = try directory.subdirectory("directory") }
    #expect(throws: SystemError.self) { _ = try directory.subdirectory(creating: "directory") }
    #expect(throws: SystemError.self) {
      _ = try directory.open("file", .writeOnly, options: .create)
    }
    #expect(try FileSystem.list(temporary.path("outside")) == [])
  }

  @Test("files are made, linked and removed in the directory that is open, wherever it moves") func files()
    throws
  {
    let content = Array("page".utf8)
    let parent = try Directory(opening: temporary.path)
    let first = try parent.subdirectory(creating: "first")
    let second = try parent.subdirectory(creating: "second")
    try FileSystem.rename(temporary.path("first"), to: temporary.path("moved"))
    do {
      let file = try first.open("page", .writeOnly, options: [.create, .exclusive])
      try file.write(content.span)
    }
    try second.link("again", to: "page", of: first)
    try first.removeFile("page")
    #expect(try first.entries() == [])
    #expect(try FileSystem.read(temporary.path("second/again"), upTo: .kibibytes(1)) == content)
    #expect(try second.entries() == [DirectoryEntry(name: "again", kind: .regular)])
  }

  @Test("what a name stands for is told without opening it, a link as itself") func status() throws {
    try symbolicLink(to: "page", at: temporary.path("link"))
    let directory = try Directory(opening: temporary.path)
    do {
      let file = try directory.open("page", .writeOnly, options: .create, permissions: 0o000)
      try file.write(Array("page".utf8).span)
    }
    try directory.link("again", to: "page", of: directory)
    let told = try directory.status(of: "page")
    let known = try #require(try FileSystem.status(of: temporary.path("page")))
    #expect(told.kind == .regular && told.length == ByteCount(4) && told.linkCount == 2)
    #expect(told.permissions == known.permissions && told.owner == known.owner)
    #expect(told.device == known.device && told.inode == known.inode && told.changed == known.changed)
    #expect(told.modified == known.modified && told.allocated == known.allocated)
    #expect(try directory.status(of: "link").kind == .symbolicLink)
    let error = #expect(throws: SystemError.self) { _ = try directory.status(of: "nothing") }
    #expect(error?.isFileMissing == true)
    #expect(throws: SystemError.self) { _ = try directory.status(of: "../page") }
  }
}
