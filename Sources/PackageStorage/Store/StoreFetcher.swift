package import Crypto
import HTTPClient
package import ObjectStore

/// Brings bytes of packages from an object store.
package struct StoreFetcher: PackageFetcher {
  /// A fetch that takes longer fails; what has come by then stays.
  private static let longestFetch: Duration = .seconds(20)

  private let store: ObjectStore

  package init(_ store: ObjectStore) {
    self.store = store
  }

  package func fetch(
    _ digest: SHA256Digest, range: Range<Int64>, into receiver: any PackageReceiver
  ) async throws(PackageFetchError) {
    do throws(ObjectStoreError) {
      try await store.get(
        .package(digest), range: range, within: Self.longestFetch, to: ReceivingObject(receiver))
    } catch {
      throw PackageFetchError(error)
    }
  }
}

/// Hands on what comes of an object.
private final class ReceivingObject: ObjectReceiver {
  private let receiver: any PackageReceiver

  init(_ receiver: any PackageReceiver) {
    self.receiver = receiver
  }

  func receive(_ bytes: Span<UInt8>) -> BodyDecision {
    receiver.receive(bytes) ? .consumed : .stop
  }
}

extension PackageFetchError {
  /// The error as a cache knows it. Only what the store itself says of the object counts against the package: an answer of another
  /// shape may be that of a proxy which has lost its store.
  init(_ error: ObjectStoreError) {
    let code: Code =
      switch error.code {
      case .notFound: .notFound
      case .outOfRange: .otherBytes
      default: .unavailable
      }
    self.init(code, "\(error)")
  }
}

extension ObjectKey {
  /// The part of the name before the digest of a package.
  static let packages = "packages/"

  /// The object of a package: `packages/ab/cdef…`.
  static func package(_ digest: SHA256Digest) -> ObjectKey {
    let text = digest.hexadecimal
    return ObjectKey("\(packages)\(text.prefix(2))/\(text.dropFirst(2))")
  }

  /// The package whose object has this name; nil for another object.
  var packageDigest: SHA256Digest? {
    guard rawValue.hasPrefix(Self.packages),
      let digest = SHA256Digest(
        hexadecimal: rawValue.dropFirst(Self.packages.count).filter { $0 != "/" }),
      self == .package(digest)
    else { return nil }
    return digest
  }
}
