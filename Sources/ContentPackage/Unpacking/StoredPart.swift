import CoreTypes
import Synchronization
import SystemCalls

/// The bytes of a stored file that one piece brings.
struct StoredPart: Sendable {
  private static let pageLength: Int64 = 4096

  private let write: UnpackPlan.Write
  private let piece: VerifiedPiece
  /// Of the whole file.
  private let length: Int64
  private let file: OpenFiles.File
  private let operations: any FileOperations

  init(
    _ write: UnpackPlan.Write, of piece: VerifiedPiece, length: Int64, file: OpenFiles.File,
    operations: any FileOperations
  ) {
    self.write = write
    self.piece = piece
    self.length = length
    self.file = file
    self.operations = operations
  }

  /// Writes the bytes to where they belong, and lets the device begin with those in the page cache.
  func put(by writer: inout DirectWriter) throws(SystemError) {
    try writer.write(
      piece.bytes.span.extracting(write.slice), to: file.descriptor, at: ByteCount(write.offset),
      by: operations)
    let pages = pages
    guard !pages.isEmpty else { return }
    try operations.startWriteback(of: pages, in: file.descriptor)
  }

  /// From the page that the bytes begin in. That in which they end is left to the bytes behind them, where there are any: it
  /// would be written twice.
  private var pages: Range<Int64> {
    let end = write.offset + Int64(write.slice.count)
    let start = write.offset / Self.pageLength * Self.pageLength
    return start..<(end == length ? end : max(start, end / Self.pageLength * Self.pageLength))
  }
}

/// A write that runs beside others.
typealias PendingWrite = PendingResult<Void, SystemError>

/// Writes one part of a file on another thread, while the owner of the files writes the next. One at a time.
final class SecondWriter: Sendable {
  /// Shared by all staging areas. What runs here waits for a device, and for nothing else.
  private static let pool = BlockingPool(name: "pullbox-write", threads: 4)

  private let writer = Mutex(DirectWriter())

  /// The part is written, or not, once the result is there.
  func start(_ part: StoredPart) -> PendingWrite {
    Self.pool.start { [self] () throws(SystemError) in
      try writer.withLock { writer throws(SystemError) in try part.put(by: &writer) }
    }
  }
}
