import Crypto
import CoreTypes

/// All that decides on what may go, as it was at one moment.
struct GarbageCollectionFacts: Sendable {
  var now: Timestamp
  var uploads: [Upload]
  /// Incoming files and how many of their bytes count.
  var incoming: [String: ByteCount]
  var blobs: [SHA256Digest: ByteCount]
  /// What a version or a live grant refers to.
  var needed: Set<SHA256Digest>
  /// Since when a blob was found unneeded by earlier collections.
  var unneededSince: [SHA256Digest: Timestamp]
}
