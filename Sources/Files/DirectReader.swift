internal import CLinux
public import CoreTypes
internal import Glibc
public import SystemCalls

/// Reads long files from the device itself, past the page cache (`O_DIRECT`): what comes is what the device holds, the kernel
/// neither finds pages for it nor copies it, and what others use stays in memory. Where the file system has no such reads, and
/// for what is short, the bytes come the usual way. Blocks.
@safe
public struct DirectReader: ~Copyable {
  /// A shorter file is read the usual way, and may be in memory already.
  public static let shortestFile = ByteCount.kibibytes(128)
  /// How much is read at once; a whole number of blocks of any device that has such reads.
  public static let chunkLength = 1 << 20
  private static let alignment = 4096

  /// Owned here alone, and used by one call at a time.
  private nonisolated(unsafe) let buffer: UnsafeMutableRawBufferPointer

  /// Takes 1 MiB of memory.
  public init() {
    unsafe buffer = .allocate(byteCount: Self.chunkLength, alignment: Self.alignment)
  }

  deinit {
    unsafe buffer.deallocate()
  }

  /// Calls `body` with the first `length` bytes of `file`, piece by piece; false when the file ends before.
  public mutating func forEachChunk(
    of file: borrowing FileDescriptor, length: ByteCount, _ body: (Span<UInt8>) throws -> Void
  ) throws -> Bool {
    var isDirect = length >= Self.shortestFile && file.setDirect(true)
    defer { if isDirect { _ = file.setDirect(false) } }
    var position = ByteCount.zero
    while position < length {
      let count: Int
      do throws(SystemError) {
        count = try read(file, at: position)
      } catch {
        // It refuses such reads, or the one before ended within a block.
        guard isDirect, error.number == EINVAL else { throw error }
        isDirect = false
        _ = file.setDirect(false)
        continue
      }
      let chunk = min(count, Int((length - position).rawValue))
      guard chunk > 0 else { return false }
      let bytes = unsafe UnsafeRawBufferPointer(buffer).assumingMemoryBound(to: UInt8.self)
      try body(unsafe bytes.span.extracting(first: chunk))
      position += ByteCount(chunk)
    }
    return true
  }

  /// One pread(2), as long as the buffer: past the page cache, a length that is no whole number of blocks would be refused.
  private mutating func read(
    _ file: borrowing FileDescriptor, at offset: ByteCount
  ) throws(SystemError) -> Int {
    try SystemCall.run("pread") {
      unsafe pread(file.number, buffer.baseAddress, buffer.count, off_t(offset.rawValue))
    }
  }
}
