import CoreTypes
import Files
import Synchronization
import SystemCalls

/// The bytes of a stored file that one piece brings.
struct StoredPart: Sendable {
  private static let pageLength: Int64 = 4096

  private let write: UnpackPlan.Write
  private let piece: VerifiedPiece
  /// The length of the whole file.
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

  /// The file's number in the manifest.
  var fileIndex: Int { write.file }

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

/// Writes that run beside others.
typealias PendingWrite = PendingResult<Void, SystemError>

/// Writes parts of files on threads of its own, while the owner of the files prepares the next ones. What belongs to one file is
/// written in the order in which it was given, so that no two threads use its descriptor; the files take turns with the lanes.
final class WriteLanes: Sendable {
  private static let count = 2

  private let lanes = (0..<WriteLanes.count).map { _ in Lane() }

  /// Begins to write the parts. Those that a result stands for are written, or not, once it is there, and nothing here holds on
  /// to their piece any more: its buffer is used again, and would be copied if it had another owner.
  func start(_ parts: [StoredPart]) -> [PendingWrite] {
    var shares: [[StoredPart]] = Array(repeating: [], count: Self.count)
    for part in parts { shares[part.fileIndex % Self.count].append(part) }
    return zip(lanes, shares).filter { !$1.isEmpty }.map { $0.start($1) }
  }

  private final class Lane: Sendable {
    private let thread = BlockingPool(name: "pullbox-write", threads: 1)
    private let writer = Mutex(DirectWriter())
    /// The parts that were given to the lane and not begun.
    private let waiting = Mutex<[[StoredPart]]>([])

    func start(_ parts: [StoredPart]) -> PendingWrite {
      waiting.locked { $0.append(parts) }
      return thread.start { [self] () throws(SystemError) in
        let parts = waiting.locked { $0.removeFirst() }
        try writer.locked { writer throws(SystemError) in
          for part in parts { try part.put(by: &writer) }
        }
      }
    }
  }
}
