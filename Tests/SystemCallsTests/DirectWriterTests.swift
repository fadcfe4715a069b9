import CoreTypes
import Files
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

  @Test("runs that meet within a block leave each other's bytes, in any order", arguments: [false, true])
  func neighbors(isReversed: Bool) throws {
    let file = try FileDescriptor.open(path, .readWrite, options: .create)
    let expected = Self.bytes(4 << 20)
    // Blocks that two runs share, one that three share, and one that a run ends exactly at.
    let ends = [0, 700_001, 1_600_003, 1_600_700, 2 << 20, 3_000_000, expected.count]
    var runs = zip(ends, ends.dropFirst()).map { $0..<$1 }
    if isReversed { runs.reverse() }
    var writer = DirectWriter()
    for run in runs {
      try writer.write(
        expected.span.extracting(run), to: file, at: ByteCount(run.lowerBound), by: SystemFileOperations())
    }
    #expect(try FileSystem.read(path, upTo: .mebibytes(8)) == expected)
  }

  /// Writes each run in two calls, as after a pwrite(2) that the kernel cut short.
  private struct ShortWrites: FileOperations {
    let first: Int

    func willMake(_ call: FileCall, of subject: String) {}

    func write(
      _ bytes: Span<UInt8>, to file: borrowing FileDescriptor, at offset: ByteCount
    ) throws(SystemError) {
      let count = min(first, bytes.count)
      try file.write(bytes.extracting(first: count), at: offset)
      try file.write(bytes.extracting(droppingFirst: count), at: offset + ByteCount(count))
    }
  }

  @Test(
    "a direct write that the kernel cuts short is completed, also where it ends within a block",
    arguments: [4096, 512 << 10, 1000, 300_001])
  func short(first: Int) throws {
    let file = try FileDescriptor.open(path, .readWrite, options: .create)
    let expected = Self.bytes((2 << 20) + 5)
    var writer = DirectWriter()
    for _ in 0..<2 {
      try writer.write(expected.span, to: file, at: ByteCount(3), by: ShortWrites(first: first))
    }
    #expect(try FileSystem.read(path, upTo: .mebibytes(8)) == [0, 0, 0] + expected)
  }

  @Test("a refusal in the middle of a run costs no byte, of it or beside it", arguments: [1, 2, 3])
  func refusedInTheMiddle(call: Int) throws {
    let file = try FileDescriptor.open(path, .readWrite, options: .create)
    let (before, expected) = ([UInt8](repeating: 7, count: 5000), Self.bytes((3 << 20) + 200_000))
    try file.write(before.span, at: .zero)
    let operations = FaultyFileOperations()
    operations.fail(call: call, number: EINVAL)
    var writer = DirectWriter()
    try writer.write(expected.span, to: file, at: ByteCount(before.count), by: operations)
    // The run goes in parts of a MiB; then all of it goes once more, the usual way.
    #expect(operations.steps.count == call + 2 && operations.failures == 1)
    #expect(try FileSystem.read(path, upTo: .mebibytes(8)) == before + expected)
  }
}
