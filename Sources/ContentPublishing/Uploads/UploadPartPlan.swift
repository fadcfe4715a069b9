import CoreTypes
import DeliveryRecords

/// The bytes of the next part of an upload, and the parts that it takes the place of. Pure.
///
/// What a request has sent is put when it ends, be it one byte, and no part but the last ones may be short. A short part is put again only
/// together with as many bytes behind it as it has itself, or when they fill a whole part. So it is at least twice as long each time: of an
/// upload whose parts end at 16 MiB no byte is put more than 25 times, however its requests are cut, and no more than 25 of its parts are short.
struct UploadPartPlan: Hashable, Sendable {
  /// How many of the parts stay as they are; those behind are replaced.
  var kept: Int
  /// The bytes of the part.
  var range: Range<ByteCount>

  /// The part behind `parts`, which follow each other from the first byte on, for an upload that has bytes up to `end`.
  init(behind parts: [UploadPart], upTo end: ByteCount, partLength: ByteCount) {
    let covered = parts.last?.end ?? .zero
    // The short ones at the end, as far as one part may have all their bytes.
    let run = parts.reversed().prefix { $0.length < partLength && covered - $0.start < partLength }
    let isFilled = run.last.map { end - $0.start >= partLength } ?? false
    var start = covered
    var replaced = 0
    for part in run {
      guard isFilled || part.length <= end - start else { break }
      start = part.start
      replaced += 1
    }
    kept = parts.count - replaced
    range = start..<min(end, start + partLength)
  }
}
