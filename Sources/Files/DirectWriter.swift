internal import CLinux
public import CoreTypes
internal import Glibc
public import SystemCalls

/// Writes long runs of bytes to the device itself, past the page cache (`O_DIRECT`): the processor does not copy them into
/// pages that the kernel has to find, account for and write back, and what others use stays in memory. Like any write, it
/// is durable after a sync only.
///
/// The parts of a write that are no whole blocks of the device go the usual way, and so does everything where the file
/// system has no such writes.
@safe
public struct DirectWriter: ~Copyable, Sendable {
  /// Memory, offsets and lengths are multiples of it. No device in use has longer blocks but those that refuse.
  private static let alignment = 4096
  /// A shorter run is written the usual way: two more parts would cost more than they spare.
  private static let shortestRun = 128 << 10
  private static let bufferLength = 1 << 20

  /// Owned here alone, and used by one call at a time.
  private nonisolated(unsafe) let buffer: UnsafeMutableRawBufferPointer
  private var isRefused = false

  /// Whether so many bytes may be worth a write past the page cache, which waits for the device.
  public static func isLong(_ count: Int) -> Bool { count >= shortestRun }

  /// Takes 1 MiB of memory.
  public init() {
    unsafe buffer = .allocate(byteCount: Self.bufferLength, alignment: Self.alignment)
  }

  deinit {
    unsafe buffer.deallocate()
  }

  /// Writes all of `bytes` at `offset`.
  public mutating func write(
    _ bytes: Span<UInt8>, to file: borrowing FileDescriptor, at offset: ByteCount,
    by operations: any FileOperations
  ) throws(SystemError) {
    let start = Int(offset.rawValue)
    let first = (start + Self.alignment - 1) / Self.alignment * Self.alignment
    let end = (start + bytes.count) / Self.alignment * Self.alignment
    guard !isRefused, end - first >= Self.shortestRun, file.setDirect(true) else {
      return try operations.write(bytes, to: file, at: offset)
    }
    do throws(SystemError) {
      try writeRun(bytes.extracting(first - start..<end - start), to: file, at: first, by: operations)
      _ = file.setDirect(false)
    } catch {
      _ = file.setDirect(false)
      guard error.number == EINVAL else { throw error }
      isRefused = true
      return try operations.write(bytes, to: file, at: offset)
    }
    if first > start {
      try operations.write(bytes.extracting(first: first - start), to: file, at: offset)
    }
    if end < start + bytes.count {
      try operations.write(bytes.extracting(droppingFirst: end - start), to: file, at: ByteCount(end))
    }
  }

  private func writeRun(
    _ bytes: Span<UInt8>, to file: borrowing FileDescriptor, at offset: Int, by operations: any FileOperations
  ) throws(SystemError) {
    var position = 0
    while position < bytes.count {
      let count = min(Self.bufferLength, bytes.count - position)
      unsafe bytes.extracting(position..<position + count).withUnsafeBytes {
        unsafe buffer.copyMemory(from: $0)
      }
      let aligned = unsafe UnsafeRawBufferPointer(buffer).assumingMemoryBound(to: UInt8.self)
      try operations.write(
        unsafe aligned.span.extracting(first: count), to: file, at: ByteCount(offset + position))
      position += count
    }
  }
}

extension FileDescriptor {
  /// fcntl(2): from now on reads and writes go past the page cache, or through it again. False where the file system cannot.
  func setDirect(_ isDirect: Bool) -> Bool {
    clinux_set_direct(number, isDirect) != -1
  }
}
