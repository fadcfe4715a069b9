import BlobStore
import CoreTypes
import Crypto
import Database
import DeliveryModel
import DeliveryRecords
import PackageStorage
import PullboxAPI

extension UploadService {
  /// The complete upload's bytes, moved to their digest in the blob store. Can be repeated after a crash at
  /// any point, until the upload's row is removed; while that is there, the blob is not collected. The digest
  /// is written down before the file is moved, so that a repetition finds the package on the shelf. Throws
  /// `upload-unknown`, `upload-expired`, `upload-locked`, `upload-incomplete` while bytes or the end are
  /// missing, and `unavailable` where another process removes a package of the same bytes and is not done soon.
  func takeOver(_ id: String) async throws -> (upload: Upload, received: BlobDescription) {
    try await withPublication(of: id) { () in
      var upload = try await self.find(id)
      if let digest = upload.digest, let received = try await self.rehash(digest) {
        return (upload, received)
      }
      defer { if self.parts != nil { self.quota.release(id) } }
      try await self.reserveRest(of: upload)
      let blob = try await self.blob(of: upload)
      let received = await blob.received
      guard let length = upload.length, received.length == length, !upload.awaitsEnd else {
        throw Problem(.uploadIncomplete, "\(received.length.rawValue) bytes have arrived")
      }
      let shelf = self.shelf
      // A package of the same bytes that is being removed is gone by then, and one that is there may have been damaged since:
      // this one takes its place.
      try await self.packageLocks.withLock(received.digest) {
        var waited = Duration.zero
        while try await !self.claim(received.digest, for: id) {
          guard waited < PackageRemoval.wait else {
            throw Problem(
              .unavailable, "a package of the same bytes is being removed", retryAfterSeconds: 1)
          }
          try await self.clock.timer.sleep(for: PackageRemoval.pause)
          waited += PackageRemoval.pause
        }
        try await Self.asProblem { _ = try await shelf.put(blob, as: received.digest) }
      }
      try await self.removeParts(of: id)
      upload.digest = received.digest
      self.forget(id)
      self.quota.release(id)
      return (upload, received)
    }
  }

  /// Lets the upload need a package of that digest, unless another process removes one now: false then.
  private func claim(_ digest: SHA256Digest, for id: String) async throws -> Bool {
    let now = clock.now()
    return try await database.write(locking: [.upload(id), .content(digest)]) { connection in
      guard try !PackageRemoval.isRunning(of: digest, at: now, in: connection) else { return false }
      try UploadTable.setDigest(digest, of: id, at: now, in: connection)
      try GarbageCollectionTable.unmark(digest, in: connection)
      return true
    }
  }

  /// Reads a blob once and returns its description; nil when it is not in the store, or has other bytes.
  private func rehash(_ digest: SHA256Digest) async throws -> BlobDescription? {
    do {
      let found = try await shelf.describe(digest)
      return found.digest == digest ? found : nil
    } catch {
      guard error.code == .notFound else { throw error }
      return nil
    }
  }
}
