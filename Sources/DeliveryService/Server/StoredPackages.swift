import BlobStore
import ContentDelivery
import Crypto
import Database
import DeliveryModel
import DeliveryRecords
import HTTPServer
import PullboxAPI
import ServiceAPI

/// The packages of the state directory, for those who send them: bytes from their files, manifests from the database.
struct StoredPackages: PackageSource {
  let blobs: BlobStore
  let database: Database

  func open(_ digest: SHA256Digest) async throws -> SharedDescriptor? {
    do {
      return try SharedDescriptor(try await blobs.open(digest))
    } catch let error as BlobStoreError where error.code == .notFound {
      return nil
    }
  }

  func manifest(of digest: SHA256Digest) async throws -> [UInt8]? {
    try await database.read { try VersionTable.manifest(of: digest, in: $0) }
  }

  func manifest(of digest: SHA256Digest, promisedTo grant: DeliveryHandle) async throws -> [UInt8]? {
    try await database.read { connection in
      guard let grant = try GrantTable.find(grant, in: connection), grant.digest == digest else {
        return nil
      }
      return try VersionTable.manifestDocument(grant.manifestDigest, in: connection)
    }
  }
}
