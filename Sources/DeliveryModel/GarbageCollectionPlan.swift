package import CoreTypes
package import Crypto
import PullboxAPI
package import ServiceAPI

/// All that decides on what may go, as it was at one moment.
package struct GarbageCollectionFacts: Sendable {
  /// The moment of the look, by the wall clock.
  package var now: Timestamp
  /// Every upload that the database has, expired ones among them.
  package var uploads: [Upload]
  /// Incoming files and how many of their bytes count.
  package var incoming: [String: ByteCount]
  /// Packages on the shelf and their lengths.
  package var blobs: [SHA256Digest: ByteCount]
  /// The packages that a version or a live grant refers to.
  package var needed: Set<SHA256Digest>
  /// Since when a blob was found unneeded by earlier collections.
  package var unneededSince: [SHA256Digest: Timestamp]
  /// By which the wall clock was set forward meanwhile.
  package var steps = WallClockSteps()

  /// Gathers what was seen. `incoming` is by the upload's identifier; `unneededSince` is by the wall clock of the collection
  /// that found the blob unneeded first.
  package init(
    now: Timestamp, uploads: [Upload], incoming: [String: ByteCount], blobs: [SHA256Digest: ByteCount],
    needed: Set<SHA256Digest>, unneededSince: [SHA256Digest: Timestamp],
    steps: WallClockSteps = WallClockSteps()
  ) {
    self.now = now
    self.uploads = uploads
    self.incoming = incoming
    self.blobs = blobs
    self.needed = needed
    self.unneededSince = unneededSince
    self.steps = steps
  }
}

/// The uploads, incoming files and packages that may be removed. Pure; the removal asks again about each item, which may be
/// in use by then.
package struct GarbageCollectionPlan: Hashable, Sendable {
  /// Uploads whose time has passed.
  package var expired: [GarbageCollectionReport.UploadItem] = []
  /// Incoming files that belong to no upload.
  package var strays: [GarbageCollectionReport.UploadItem] = []
  /// Unneeded for the whole grace period.
  package var due: [GarbageCollectionReport.BlobItem] = []
  /// Unneeded, not yet for long enough.
  package var waiting: [GarbageCollectionReport.BlobItem] = []
  /// Found unneeded for the first time.
  package var newlyUnneeded: [SHA256Digest] = []
  /// Written down as unneeded before, and needed again or gone.
  package var noLongerUnneeded: [SHA256Digest] = []

  /// Makes the plan, with every list in a fixed order. A lifetime or grace that the wall clock's steps forward
  /// cut short is longer by as much.
  ///
  /// - Parameters:
  ///   - lifetime: how long an upload is kept after the last request that added to it.
  ///   - grace: how long a blob must have been unneeded.
  package init(_ facts: GarbageCollectionFacts, lifetime: Duration, grace: Duration) {
    let expired = facts.uploads.filter {
      facts.steps.end(of: lifetime, since: $0.touched) <= facts.now
    }
    self.expired = expired.map { upload in
      .init(upload: upload.id, bytes: facts.incoming[upload.id] ?? .zero, owner: upload.owner)
    }
    let known = Set(facts.uploads.map(\.id))
    strays = facts.incoming.filter { !known.contains($0.key) }.sorted { $0.key < $1.key }.map { id, bytes in
      .init(upload: id, bytes: bytes, owner: nil)
    }
    // An upload on its way to a version needs its blob for as long as it may be repeated.
    let ending = Set(expired.map(\.id))
    let promised = facts.uploads.filter { !ending.contains($0.id) }.compactMap(\.digest)
    let needed = facts.needed.union(promised)
    for (digest, bytes) in facts.blobs where !needed.contains(digest) {
      let since = facts.unneededSince[digest]
      if since == nil { newlyUnneeded.append(digest) }
      let item = GarbageCollectionReport.BlobItem(digest: digest, bytes: bytes, since: since ?? facts.now)
      if facts.steps.end(of: grace, since: item.since) <= facts.now {
        due.append(item)
      } else {
        waiting.append(item)
      }
    }
    noLongerUnneeded = facts.unneededSince.keys.filter { needed.contains($0) || facts.blobs[$0] == nil }
    due.sort(by: Self.precedes)
    waiting.sort(by: Self.precedes)
    newlyUnneeded.sort { $0.hexadecimal < $1.hexadecimal }
    noLongerUnneeded.sort { $0.hexadecimal < $1.hexadecimal }
  }

  /// The longest unneeded first, then by digest.
  private static func precedes(
    _ left: GarbageCollectionReport.BlobItem, _ right: GarbageCollectionReport.BlobItem
  ) -> Bool {
    (left.since, left.digest.hexadecimal) < (right.since, right.digest.hexadecimal)
  }
}
