import ContentPackage
import CoreTypes
import SystemCalls

/// Looks into the bytes between entries: where a version keeps the places of the one before, some belong to nothing. They
/// hide no data: there are only zeros, never in front of the first entry, and no more than a layout may have.
/// It is used entry by entry, in ascending order.
struct PaddingCheck {
  /// Bytes that are read at once.
  private static let windowLength = 64 << 10

  /// So many bytes are left.
  private var allowance: UInt64

  /// `end` is where the central directory starts.
  init(end: UInt64) {
    allowance = end / PackageLayout.paddingDivisor
  }

  /// `name` is the entry behind `gap`. Nil where the gap is allowed, which uses up its part of the allowance.
  mutating func fault(
    in gap: Range<UInt64>, before name: String, of file: borrowing FileDescriptor
  ) throws(SystemError) -> PackageValidationIssue? {
    let count = gap.upperBound - gap.lowerBound
    guard gap.lowerBound > 0, count <= allowance, try isZero(gap, in: file) else {
      return PackageValidationIssue(
        .archiveHiddenData, path: name, "\(count) bytes before the entry belong to nothing")
    }
    allowance -= count
    return nil
  }

  /// Reads the gap through a window of 64 KiB.
  private func isZero(_ gap: Range<UInt64>, in file: borrowing FileDescriptor) throws(SystemError) -> Bool {
    var position = gap.lowerBound
    var window: [UInt8] = []
    while position < gap.upperBound {
      let count = Int(min(UInt64(Self.windowLength), gap.upperBound - position))
      window.removeAll(keepingCapacity: true)
      try file.read(upTo: count, at: ByteCount(position), into: &window)
      guard window.count == count, window.allSatisfy({ $0 == 0 }) else { return false }
      position += UInt64(count)
    }
    return true
  }
}
