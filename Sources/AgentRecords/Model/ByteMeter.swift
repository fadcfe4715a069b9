package import CoreTypes

/// Counts the bytes that come over the network, so that the count on the device is never less than what came, and no more than a piece
/// above it: a count that is ahead is saved before bytes come that it covers. Pure.
///
/// ```swift
/// var meter = ByteMeter(counted: .zero)
/// meter.limit = .gibibytes(20)
/// meter.answer(to: 16_384, passesLimit: false)  // .unsaved: meter.boundToSave is saved first
/// meter.noteSaved(.mebibytes(1))
/// meter.answer(to: 16_384, passesLimit: false)  // .open
/// meter.count(16_384)
/// ```
package struct ByteMeter: Hashable, Sendable {
  /// Whether bytes may come.
  package enum Answer: Hashable, Sendable {
    case open
    /// The limit is reached.
    case spent
    /// ``boundToSave`` has to be on the device first.
    case unsaved
  }

  /// The count on the device is ahead by so much at most: a piece.
  package static let step: ByteCount = .mebibytes(1)

  /// All bytes that ever came.
  package private(set) var counted: ByteCount
  /// The count on the device.
  package private(set) var saved: ByteCount
  /// The count at which no more may come, but for those that pass it; nil is no limit.
  package var limit: ByteCount?

  /// `counted` is the count on the device.
  package init(counted: ByteCount, limit: ByteCount? = nil) {
    self.counted = counted
    saved = counted
    self.limit = limit
  }

  package var isSpent: Bool { limit.map { counted >= $0 } ?? false }

  package func answer(to count: Int, passesLimit: Bool) -> Answer {
    if isSpent, !passesLimit { return .spent }
    return counted + ByteCount(count) > saved ? .unsaved : .open
  }

  package mutating func count(_ count: Int) {
    counted += ByteCount(count)
  }

  /// The count to be saved now; nil while half a step is left of what was saved.
  package var boundToSave: ByteCount? {
    saved - counted >= ByteCount(Self.step.rawValue / 2) ? nil : counted + Self.step
  }

  /// That count is on the device. What came meanwhile beyond it is not, and ``boundToSave`` covers it next.
  package mutating func noteSaved(_ bound: ByteCount) {
    saved = max(saved, bound)
  }
}
