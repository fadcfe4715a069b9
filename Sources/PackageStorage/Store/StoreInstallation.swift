import CoreTypes
import Crypto
import FoundationEssentials
package import ObjectStore

/// The object `pullbox.json`, by which a bucket, or the part of it below a prefix, belongs to one installation.
///
/// ```swift
/// let installation = StoreInstallation(identifier: "q7zKYJq0Dfs3Zp2X", store: store)
/// try await installation.claim()   // at the start
/// try await installation.check()   // before anything is removed
/// ```
package struct StoreInstallation: Sendable {
  private static let key = ObjectKey("pullbox.json")
  private static let limit: Duration = .seconds(10)

  private struct Document: Codable {
    var installation: String
  }

  /// The name that the installation has given itself.
  package let identifier: String
  private let store: ObjectStore

  package init(identifier: String, store: ObjectStore) {
    self.identifier = identifier
    self.store = store
  }

  /// Takes the bucket where it belongs to no installation and has no packages. Throws ``StoreInstallationError`` for another
  /// installation's, and what the store throws.
  package func claim() async throws {
    if let owner = try await owner() {
      guard owner == identifier else { throw StoreInstallationError.other(owner) }
      return
    }
    guard try await store.list(prefix: ObjectKey.packages, limit: 1, within: Self.limit).objects.isEmpty
    else {
      throw StoreInstallationError.unmarked(identifier)
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    let bytes = Array(try encoder.encode(Document(installation: identifier)))
    try await store.put(Self.key, from: .bytes(bytes), digest: .of(bytes), within: Self.limit)
    // Another installation may have done the same.
    try await check()
  }

  /// Throws ``StoreInstallationError`` unless the bucket is this installation's, and what the store throws.
  package func check() async throws {
    guard let owner = try await owner() else { throw StoreInstallationError.unmarked(identifier) }
    guard owner == identifier else { throw StoreInstallationError.other(owner) }
  }

  /// The installation that the object names; nil where there is none.
  private func owner() async throws -> String? {
    let bytes: [UInt8]
    do throws(ObjectStoreError) {
      bytes = try await store.bytes(of: Self.key, upTo: .kibibytes(4), within: Self.limit)
    } catch {
      guard error.code == .notFound else { throw error }
      return nil
    }
    do {
      return try JSONDecoder().decode(Document.self, from: Data(bytes)).installation
    } catch {
      throw StoreInstallationError.illegible
    }
  }
}

/// The reason why a bucket is not used.
package enum StoreInstallationError: Error, Hashable, Sendable, CustomStringConvertible {
  /// It belongs to the installation of that name.
  case other(String)
  /// It has packages, and no object that names their installation. The value is the name of this one.
  case unmarked(String)
  /// The object is there, and in no form that is known.
  case illegible

  package var description: String {
    switch self {
    case .other(let owner): "it belongs to another installation: its pullbox.json names \(owner)"
    case .unmarked(let identifier):
      "it has packages and no pullbox.json; if they are this installation's, put one there: {\"installation\":\"\(identifier)\"}"
    case .illegible: "its pullbox.json cannot be read"
    }
  }
}
