import CoreTypes
import Glibc
import PullboxTesting
import SystemCalls
import Testing

@Suite struct DirectWriterTests {
  private let directory: TemporaryDirectory
  private let path: String

  init() throws {
    directory = try TemporaryDirectory()
    path = directory.path("file")
  }

  private static func bytes(_ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
  }

  @Test(
    "what is written is in the file, wherever it begins and ends",
    arguments: [
      (0, 1 << 20), (0, 100), (4096, 3 << 20), (1, 1 << 20), (4095, (1 << 20) + 2), (700_001, 2_500_000),
      (5, 0),
      (0, 131_071), (1, 139_264),
    ])
  func places(offset: Int, count: Int) throws {
    let file = try FileDescriptor.open(path, .readWrite, options: .create)
    let expected = Self.bytes(count)
    var writer = DirectWriter()
    try writer.write(expected.span, to: file, at: ByteCount(offset), by: SystemFileOperations())
    #expect(
      try FileSystem.read(path, upTo: .mebibytes(8))
        == (count == 0 ? [] : [UInt8](repeating: 0, count: offset) + expected))
    // Through the page cache as before.
    try file.write([9].span, at: ByteCount(offset + 1))
    var read: [UInt8] = []
    try file.read(upTo: 1, at: ByteCount(offset + 1), into: &read)
    #expect(read == [9])
  }

  @Test("where the file system refuses, the bytes go the usual way, then and later") func refused() throws {
    let file = try FileDescriptor.open(path, .readWrite, options: .create)
    let operations = FaultyFileOperations()
    operations.fail(call: 0, number: EINVAL)
    let expected = Self.bytes(1 << 20)
    var writer = DirectWriter()
    for offset in [0, 1 << 20] {
      try writer.write(expected.span, to: file, at: ByteCount(offset), by: operations)
    }
    #expect(operations.steps == [.write, .write, .write] && operations.failures == 1)
    #expect(try FileSystem.read(path, upTo: .mebibytes(8)) == expected + expected)
  }

  @Test("any other error is thrown, and the next write is tried again", arguments: [EIO, ENOSPC])
  func failing(number: Int32) throws {
    let file = try FileDescriptor.open(path, .readWrite, options: .create)
    let operations = FaultyFileOperations()
    operations.fail(call: 0, number: number)
    let expected = Self.bytes(1 << 20)
    var writer = DirectWriter()
    let error = #expect(throws: SystemError.self) {
      try writer.write(expected.span, to: file, at: .zero, by: operations)
    }
    #expect(error?.number == number)
    try writer.write(expected.span, to: file, at: .zero, by: operations)
    #expect(try FileSystem.read(path, upTo: .mebibytes(8)) == expected)
  }
}
