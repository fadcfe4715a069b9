import CoreTypes
import Files
import Glibc
import PullboxTesting
import SystemCalls
import Testing

@Suite struct DirectReaderTests {
  private let directory: TemporaryDirectory
  private let path: String

  init() throws {
    directory = try TemporaryDirectory()
    path = directory.path("file")
  }

  private static func bytes(_ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
  }

  /// The bytes that the reader hands out of the first `length` bytes, and whether the file had so many.
  private func read(
    _ file: borrowing FileDescriptor, length: Int, chunks: inout [Int]
  ) throws -> (bytes: [UInt8], isWhole: Bool) {
    var reader = DirectReader()
    var bytes: [UInt8] = []
    let isWhole = try reader.forEachChunk(of: file, length: ByteCount(length)) { chunk in
      chunks.append(chunk.count)
      for index in chunk.indices { bytes.append(chunk[index]) }
    }
    return (bytes, isWhole)
  }

  @Test(
    "a file's bytes come whole and in order, whatever its length",
    arguments: [0, 1, 4096, 131_071, 131_072, 131_073, 1 << 20, (1 << 20) + 1, 2_500_000])
  func whole(count: Int) throws {
    let expected = Self.bytes(count)
    let file = try FileDescriptor.open(path, .readWrite, options: .create)
    try file.write(expected.span, at: .zero)
    var chunks: [Int] = []
    let read = try read(file, length: count, chunks: &chunks)
    #expect(read.bytes == expected && read.isWhole)
    #expect(chunks.allSatisfy { $0 <= DirectReader.chunkLength })
  }

  @Test("of a longer file no byte behind the length comes", arguments: [5, 131_072, 1_000_001])
  func beginning(length: Int) throws {
    let expected = Self.bytes(1_300_000)
    let file = try FileDescriptor.open(path, .readWrite, options: .create)
    try file.write(expected.span, at: .zero)
    var chunks: [Int] = []
    let read = try read(file, length: length, chunks: &chunks)
    #expect(read.bytes == Array(expected.prefix(length)) && read.isWhole)
  }

  @Test("a file that ends before is told", arguments: [0, 4096, 131_073, 1 << 20])
  func ended(count: Int) throws {
    let expected = Self.bytes(count)
    let file = try FileDescriptor.open(path, .readWrite, options: .create)
    try file.write(expected.span, at: .zero)
    var chunks: [Int] = []
    let read = try read(file, length: count + 200_000, chunks: &chunks)
    #expect(read.bytes == expected && !read.isWhole)
  }

  @Test("a file that grows while it is read is read on, also where it ended within a block") func growing()
    throws
  {
    let expected = Self.bytes(1_500_000)
    let file = try FileDescriptor.open(path, .readWrite, options: .create)
    try file.write(expected.span.extracting(first: 700_001), at: .zero)
    var reader = DirectReader()
    var bytes: [UInt8] = []
    let isWhole = try reader.forEachChunk(of: file, length: ByteCount(expected.count)) { chunk in
      for index in chunk.indices { bytes.append(chunk[index]) }
      if bytes.count == 700_001 {
        let other = try FileDescriptor.open(path, .readWrite)
        try other.write(expected.span.extracting(droppingFirst: 700_001), at: ByteCount(700_001))
      }
    }
    #expect(isWhole && bytes == expected)
  }

  @Test("the descriptor reads and writes as before, and keeps its other flags", arguments: [100, 1 << 20])
  func leavesFlags(count: Int) throws {
    try FileDescriptor.open(path, .readWrite, options: .create).write(Self.bytes(count).span, at: .zero)
    let file = try FileDescriptor.open(path, .readWrite, options: .keepAccessTime)
    let flags = fcntl(file.number, F_GETFL)
    var chunks: [Int] = []
    _ = try read(file, length: count, chunks: &chunks)
    #expect(fcntl(file.number, F_GETFL) == flags)
    try file.write([9].span, at: ByteCount(1))
  }

  @Test("a reading that is broken off in the middle leaves the descriptor as it was") func brokenOff() throws
  {
    let file = try FileDescriptor.open(path, .readWrite, options: .create)
    try file.write(Self.bytes(3 << 20).span, at: .zero)
    let flags = fcntl(file.number, F_GETFL)
    var reader = DirectReader()
    #expect(throws: CancellationError.self) {
      try reader.forEachChunk(of: file, length: .mebibytes(3)) { _ in throw CancellationError() }
    }
    #expect(fcntl(file.number, F_GETFL) == flags)
  }

  @Test("an error of the device is thrown") func failing() throws {
    // A directory has no bytes.
    let file = try FileDescriptor.open(directory.path, .readOnly)
    var reader = DirectReader()
    let error = #expect(throws: SystemError.self) {
      try reader.forEachChunk(of: file, length: ByteCount(10)) { _ in }
    }
    #expect(error?.number == EISDIR)
  }

  @Test("where the file system has no such reads the bytes come the usual way") func unable() throws {
    // procfs takes none.
    let file = try FileDescriptor.open("/proc/self/status", .readOnly)
    var reader = DirectReader()
    var count = 0
    let isWhole = try reader.forEachChunk(of: file, length: .mebibytes(1)) { count += $0.count }
    #expect(!isWhole && count > 100)
  }
}
