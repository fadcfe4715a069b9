package import CoreTypes
import SystemCalls

/// The reason why bytes of a package are not in a ``PackageCache``, and do not come there.
package struct PackageCacheError: TemporarilyFailing, Hashable, Sendable, CustomStringConvertible {
  /// The kind of a failure; new kinds may be added.
  package struct Code: Hashable, Sendable, CustomStringConvertible {
    private enum Name: String {
      case notFound = "not found"
      case damaged
      case unavailable
      case outOfSpace = "out of space"
      case storage
    }

    private let name: Name
    private init(_ name: Name) { self.name = name }

    /// The package does not lie where it was to be fetched from, or was removed.
    package static let notFound = Code(.notFound)
    /// Other bytes came than those of the package, twice.
    package static let damaged = Code(.damaged)
    /// The package cannot be fetched now.
    package static let unavailable = Code(.unavailable)
    /// There is no room: the disk of the cache is full, or all that could go is being sent.
    package static let outOfSpace = Code(.outOfSpace)
    /// The disk of the cache does not take bytes, or what lies on it cannot be used.
    package static let storage = Code(.storage)

    /// The code's name.
    package var description: String { name.rawValue }
  }

  /// The kind of this failure.
  package let code: Code
  /// A sentence for people.
  package let message: String
  /// How long to wait before another try; nil where it is not known.
  package let retryAfter: Duration?

  package init(_ code: Code, _ message: String, retryAfter: Duration? = nil) {
    self.code = code
    self.message = message
    self.retryAfter = retryAfter
  }

  /// An error of the cache's own directory.
  init(_ cause: SystemError) {
    self.init(cause.isOutOfSpace ? .outOfSpace : .storage, "\(cause)")
  }

  /// An error of a fetch.
  init(_ cause: PackageFetchError) {
    let code: Code =
      switch cause.code {
      case .notFound: .notFound
      case .otherBytes: .damaged
      default: .unavailable
      }
    self.init(code, cause.message, retryAfter: cause.retryAfter)
  }

  /// Whether it tells something of the package itself, and not of the way to it.
  var isOfPackage: Bool { code == .notFound || code == .damaged }

  /// Nil for a package that is missing or damaged.
  package var temporaryFailure: TemporaryFailure? {
    switch code {
    case .unavailable: .unreachable
    case .outOfSpace: .outOfSpace
    case .storage: .storage
    default: nil
    }
  }

  /// The code and the sentence.
  package var description: String { "\(code): \(message)" }
}

/// Runs `body` with its system errors told as those of the cache.
func asCacheError<Value: ~Copyable>(
  _ body: () throws(SystemError) -> Value
) throws(PackageCacheError) -> Value {
  do {
    return try body()
  } catch {
    throw PackageCacheError(error)
  }
}
