import CoreTypes
import Files
import Glibc
import PullboxTesting
import SystemCalls
import Testing

@Suite struct FileDescriptorTests {
  private let directory: TemporaryDirectory
  private let path: String

  init() throws {
    directory = try TemporaryDirectory()
    path = directory.path("file")
  }

  private func write(_ text: String) throws -> FileDescriptor {
    let bytes = Array(text.utf8)
    let file = try FileDescriptor.open(path, .readWrite, options: .create)
    try file.write(bytes.span)
    return file
  }

  @Test(
    "reading appends what there is from the offset on: fewer at the end, none past it",
    arguments: [(0, 3, "abc"), (2, 3, "cde"), (3, 9, "def"), (6, 1, ""), (99, 1, ""), (0, 0, "")])
  func read(offset: Int, count: Int, expected: String) throws {
    let file = try write("abcdef")
    var bytes = Array("-".utf8)
    try file.read(upTo: count, at: ByteCount(offset), into: &bytes)
    #expect(bytes == Array("-\(expected)".utf8))
  }

  @Test("filling says whether the file had that many bytes") func fill() throws {
    let file = try write("abcdef")
    var bytes = [UInt8](repeating: 0, count: 4)
    var span = bytes.mutableSpan
    #expect(try file.fill(&span, at: ByteCount(2)))
    #expect(try !file.fill(&span, at: ByteCount(3)))
    #expect(bytes.count == 4)
  }

  @Test("a failed read leaves the buffer as it was") func failedRead() throws {
    let directory = try FileDescriptor.open(directory.path, .readOnly, options: .directory)
    var bytes: [UInt8] = [1, 2]
    #expect(throws: SystemError.self) { try directory.read(upTo: 10, at: .zero, into: &bytes) }
    #expect(bytes == [1, 2])
  }

  @Test("writing past the end leaves a hole of zeroes; truncating shortens") func sparse() throws {
    let file = try write("ab")
    let more: [UInt8] = [7]
    try file.write(more.span, at: ByteCount(4))
    #expect(try FileSystem.read(path, upTo: .kibibytes(1)) == [0x61, 0x62, 0, 0, 7])
    try file.startWriteback(of: 0..<4)
    try file.synchronizeData()
    try file.truncate(to: ByteCount(1))
    #expect(try file.status().length == ByteCount(1))
  }

  @Test("offsets past 2^32 are whole") func largeOffsets() throws {
    let file = try write("")
    let bytes: [UInt8] = [1]
    let offset = ByteCount((1 << 32) + 5)
    try file.write(bytes.span, at: offset)
    #expect(try file.status().length == offset + ByteCount(1))
    var read: [UInt8] = []
    try file.read(upTo: 9, at: offset, into: &read)
    #expect(read == bytes)
  }

  @Test("only a regular file is opened as one; a link, a directory and a pipe are refused, without a wait")
  func regularFiles() throws {
    _ = try write("abc")
    let file = try FileDescriptor.openRegularFile(path)
    #expect(try file.status().length == ByteCount(3))
    try symbolicLink(to: path, at: directory.path("link"))
    try FileSystem.createDirectory(directory.path("folder"))
    let pipe = directory.path("pipe")
    try SystemCall.run("mkfifo", subject: pipe) { unsafe mkfifo(pipe, 0o600) }
    for name in ["link", "folder", "pipe"] {
      let error = #expect(throws: SystemError.self) {
        _ = try FileDescriptor.openRegularFile(directory.path(name))
      }
      #expect(error?.isNoRegularFile == true, "\(name)")
    }
    let missing = #expect(throws: SystemError.self) {
      _ = try FileDescriptor.openRegularFile(directory.path("missing"))
    }
    #expect(missing?.isFileMissing == true)
  }

  @Test("an error names the call and the path, and says what it is") func errors() throws {
    let missing = directory.path("missing")
    let error = #expect(throws: SystemError.self) { _ = try FileDescriptor.open(missing, .readOnly) }
    #expect(error?.isFileMissing == true)
    #expect(error?.isOutOfSpace == false)
    #expect(error?.description == "openat \(missing): No such file or directory")
  }
}
