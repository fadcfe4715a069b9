import CoreTypes
import Crypto
package import ObjectStore

/// The calls that a store has to answer before it is used: an object is put, read, and deleted again.
package struct StoreTrial: Sendable {
  private static let limit: Duration = .seconds(10)

  private let store: ObjectStore

  package init(_ store: ObjectStore) {
    self.store = store
  }

  /// Throws what the first call throws that fails, and `malformedAnswer` for a store that does not give back what was put.
  package func run() async throws(ObjectStoreError) {
    // A name of its own: other nodes may be at it.
    let name = RandomBytes.token(bits: 128)
    let (key, bytes) = (ObjectKey("trial/\(name)"), Array(name.utf8))
    try await store.put(key, from: .bytes(bytes), digest: .of(bytes), within: Self.limit)
    guard try await store.bytes(of: key, upTo: .kibibytes(4), within: Self.limit) == bytes else {
      throw ObjectStoreError(code: .malformedAnswer, message: "an object has other bytes than were put")
    }
    try await store.delete(key, within: Self.limit)
  }
}
