import ContentPackage
import CoreTypes
import SystemCalls

/// Reads a central directory from front to back through one bounded window.
struct ZipCentralDirectoryReader: ~Copyable {
  private enum Step {
    case record(ZipCentralDirectoryHeader)
    /// There is no record at that position, or one that does not fit into the directory.
    case malformed(at: UInt64)
    case end
  }

  private static let windowLength = 256 << 10

  private let range: Range<UInt64>
  private var position: UInt64
  private var window: [UInt8] = []
  private var windowStart: UInt64 = 0

  /// `range` is the directory's place in the file.
  init(range: Range<UInt64>) {
    self.range = range
    position = range.lowerBound
  }

  /// Hands over every record in turn, at most `count` of them, which is what the closing record says there are; answers where
  /// the directory itself is not in order.
  mutating func forEachRecord(
    of count: UInt64, in file: borrowing FileDescriptor, _ body: (ZipCentralDirectoryHeader) -> Void
  ) throws(SystemError) -> [PackageValidationIssue] {
    var faults: [PackageValidationIssue] = []
    var found: UInt64 = 0
    reading: while true {
      switch try next(in: file) {
      case .end: break reading
      case .malformed(let position):
        faults.append(
          PackageValidationIssue(.archiveMalformed, "the central directory has no record at byte \(position)")
        )
        break reading
      case .record(let record):
        found += 1
        // More records than were announced are a disagreement, said once.
        guard found <= count else { break reading }
        body(record)
      }
    }
    if found != count {
      faults.append(
        PackageValidationIssue(
          .archiveHeadersDisagree, "the central directory has not the \(count) records it is said to"))
    }
    return faults
  }

  /// The position moves on behind a whole record only.
  private mutating func next(in file: borrowing FileDescriptor) throws(SystemError) -> Step {
    guard position < range.upperBound else { return .end }
    guard let start = try bytes(ZipFormat.centralLength, in: file),
      let length = ZipCentralDirectoryHeader.length(from: start), let whole = try bytes(length, in: file),
      let record = ZipCentralDirectoryHeader(whole)
    else { return .malformed(at: position) }
    position += UInt64(length)
    return .record(record)
  }

  /// `count` bytes from the position on; nil when they reach past the directory or the file.
  private mutating func bytes(_ count: Int, in file: borrowing FileDescriptor) throws(SystemError) -> [UInt8]?
  {
    guard UInt64(count) <= range.upperBound - position else { return nil }
    var index = Int(position - windowStart)
    if position < windowStart || index + count > window.count {
      window.removeAll(keepingCapacity: true)
      let wanted = max(count, Int(min(UInt64(Self.windowLength), range.upperBound - position)))
      try file.read(upTo: wanted, at: ByteCount(position), into: &window)
      windowStart = position
      index = 0
      guard window.count >= count else { return nil }
    }
    return Array(window[index..<index + count])
  }
}
