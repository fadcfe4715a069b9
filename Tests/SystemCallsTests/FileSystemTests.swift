import CoreTypes
import Files
import PullboxTesting
import SystemCalls
import Testing

@Suite struct FileSystemTests {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  private func write(_ text: String, _ name: String) throws {
    let bytes = Array(text.utf8)
    try DurableFile.write(bytes.span, to: directory.path(name))
  }

  private func text(_ name: String) throws -> String {
    String(decoding: try FileSystem.read(directory.path(name), upTo: .kibibytes(1)), as: UTF8.self)
  }

  @Test("directories are made down to the last, and again without complaint") func createDirectories() throws
  {
    let path = directory.path("a/b/c/")
    try FileSystem.createDirectories(path)
    try FileSystem.createDirectories(path)
    #expect(try FileSystem.status(of: directory.path("a/b/c"))?.kind == .directory)
    #expect(try !FileSystem.createDirectory(directory.path("a")))
  }

  @Test("a file in the way of a directory is an error") func fileInTheWay() throws {
    try write("x", "file")
    let error = #expect(throws: SystemError.self) { try FileSystem.createDirectory(directory.path("file")) }
    #expect(error?.isFileInTheWay == true)
    #expect(throws: SystemError.self) { try FileSystem.createDirectories(directory.path("file/below")) }
  }

  @Test("a real path has no link and no dots, and is nothing for what does not exist") func realPath() throws
  {
    let root = try FileSystem.realPath(directory.path(""))
    try FileSystem.createDirectories(directory.path("a/b"))
    try symbolicLink(to: directory.path("a"), at: directory.path("link"))
    #expect(try FileSystem.realPath(directory.path("link/b/../b/.")) == root + "/a/b")
    #expect(try FileSystem.realPath("/") == "/")
    let error = #expect(throws: SystemError.self) { try FileSystem.realPath(directory.path("nothing")) }
    #expect(error?.isFileMissing == true)
  }

  @Test("status says nil for nothing and does not follow a link") func status() throws {
    #expect(try FileSystem.status(of: directory.path("nothing")) == nil)
    try write("12345", "file")
    try symbolicLink(to: "file", at: directory.path("link"))
    #expect(try FileSystem.status(of: directory.path("file"))?.length == ByteCount(5))
    #expect(try FileSystem.status(of: directory.path("link"))?.kind == .symbolicLink)
  }

  @Test("a rename replaces, refuses or exchanges, as asked") func rename() throws {
    try write("one", "1")
    try write("two", "2")
    let first = directory.path("1")
    let second = directory.path("2")
    let error = #expect(throws: SystemError.self) {
      try FileSystem.rename(first, to: second, ifPresent: .refuse)
    }
    #expect(error?.isFileInTheWay == true)
    try FileSystem.rename(first, to: second, ifPresent: .exchange)
    #expect(try [text("1"), text("2")] == ["two", "one"])
    try FileSystem.rename(first, to: second)
    #expect(try text("2") == "two")
    #expect(try FileSystem.list(directory.path).map(\.name) == ["2"])
  }

  @Test("a hard link is the same file under a second name") func link() throws {
    try write("one", "1")
    try FileSystem.link(directory.path("1"), to: directory.path("2"))
    let first = try FileSystem.status(of: directory.path("1"))
    let second = try FileSystem.status(of: directory.path("2"))
    #expect(first?.inode == second?.inode)
    #expect(first?.linkCount == 2)
    #expect(throws: SystemError.self) {
      try FileSystem.link(directory.path("1"), to: directory.path("2"))
    }
  }

  @Test("a recursive removal takes links away and leaves what they lead to") func removeRecursively() throws {
    try FileSystem.createDirectories(directory.path("kept"))
    try write("kept", "kept/file")
    try FileSystem.createDirectories(directory.path("tree/a/b"))
    try write("x", "tree/a/b/file")
    try symbolicLink(to: directory.path("kept"), at: directory.path("tree/a/directory"))
    try symbolicLink(to: directory.path("kept/file"), at: directory.path("tree/file"))
    try symbolicLink(to: "/nowhere", at: directory.path("tree/dangling"))
    #expect(try FileSystem.removeRecursively(directory.path("tree")))
    #expect(try FileSystem.list(directory.path).map(\.name) == ["kept"])
    #expect(try text("kept/file") == "kept")
    #expect(try !FileSystem.removeRecursively(directory.path("tree")))
  }

  @Test("a link given for recursive removal goes itself") func removeLink() throws {
    try FileSystem.createDirectories(directory.path("kept"))
    try symbolicLink(to: "kept", at: directory.path("link"))
    #expect(try FileSystem.removeRecursively(directory.path("link")))
    #expect(try FileSystem.list(directory.path).map(\.name) == ["kept"])
  }

  @Test("removing a file that is not there says false") func removeMissing() throws {
    #expect(try !FileSystem.removeFile(directory.path("nothing")))
  }

  @Test("a file longer than the limit is not read") func readLimit() throws {
    try write("12345", "file")
    let bytes = try FileSystem.read(directory.path("file"), upTo: ByteCount(5))
    #expect(bytes == Array("12345".utf8))
    #expect(throws: SystemError.self) {
      try FileSystem.read(directory.path("file"), upTo: ByteCount(4))
    }
  }

  @Test("the boot identifier is a UUID and stays the same") func bootIdentifier() throws {
    let identifier = try FileSystem.bootIdentifier()
    #expect(identifier.utf8.count == 36)
    #expect(try FileSystem.bootIdentifier() == identifier)
  }

  @Test("the host's name is the kernel's") func hostName() throws {
    let name = try FileSystem.read("/proc/sys/kernel/hostname", upTo: .kibibytes(1)).filter { $0 != 0x0A }
    #expect(try Array(FileSystem.hostName().utf8) == name)
  }

  @Test("free space is known, and the file system can be synced") func space() throws {
    #expect(try FileSystem.freeSpace(at: directory.path) > .mebibytes(1))
    try SystemFileOperations().synchronizeFileSystem(of: FileDescriptor.open(directory.path, .readOnly))
  }

  @Test(
    "paths are cut at the last slash",
    arguments: [
      ("/a/b", "/a", "b"), ("/a", "/", "a"), ("a", ".", "a"), ("a/b/", "a", "b"), ("/", "/", "/"),
      ("a//b", "a", "b"), ("/a/\u{301}b", "/a", "\u{301}b"), ("a/\u{338}", "a", "\u{338}"),
    ])
  func paths(path: String, parent: String, last: String) {
    #expect(FileSystem.parent(of: path) == parent)
    #expect(FileSystem.lastPart(of: path) == last)
  }

  @Test("a locked state directory is refused to a second owner until the first lets go") func lock() throws {
    let path = directory.path("lock")
    func isHeld() throws -> Bool { try LockFile.acquire(path) == nil }
    do {
      guard let lock = try LockFile.acquire(path) else {
        Issue.record("a free lock was refused")
        return
      }
      #expect(try isHeld())
      _ = consume lock
    }
    #expect(try !isHeld())
  }
}
