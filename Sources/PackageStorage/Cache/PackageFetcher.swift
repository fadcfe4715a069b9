package import Crypto

/// Brings bytes of packages from where they lie to the node that sends them: an object store, for example.
package protocol PackageFetcher: Sendable {
  /// Hands the bytes of that range of a package, which is not empty, to `receiver` in their order, and returns once the last one was
  /// handed over. Throws `notFound`, `unavailable`, and `otherBytes` where what comes is not that range; what the receiver was given
  /// before stays with it. Canceling the task ends the call.
  func fetch(
    _ digest: SHA256Digest, range: Range<Int64>, into receiver: any PackageReceiver
  ) async throws(PackageFetchError)
}

/// Receives the bytes of a range of a package, a chunk of any length at a time.
package protocol PackageReceiver: AnyObject, Sendable {
  /// Takes the next bytes; false once no more are wanted, and then the fetch is to end. Called on any thread, by one at a time; does not
  /// block. The span is gone after the call.
  func receive(_ bytes: Span<UInt8>) -> Bool
}

/// The reason why bytes of a package did not come.
package struct PackageFetchError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kind of a failure; new kinds may be added.
  package struct Code: Hashable, Sendable, CustomStringConvertible {
    private enum Name: String {
      case notFound = "not found"
      case unavailable
      case otherBytes = "other bytes"
    }

    private let name: Name
    private init(_ name: Name) { self.name = name }

    /// The package does not lie there.
    package static let notFound = Code(.notFound)
    /// The place cannot be reached, or cannot answer now.
    package static let unavailable = Code(.unavailable)
    /// The answer is another range, ends early, or brings more than was asked for.
    package static let otherBytes = Code(.otherBytes)

    /// The code's name.
    package var description: String { name.rawValue }
  }

  /// The kind of this failure.
  package let code: Code
  /// A sentence for people.
  package let message: String
  /// With `unavailable`: how long the place asks to be left alone; nil where it does not say.
  package let retryAfter: Duration?

  /// An error from its parts.
  package init(_ code: Code, _ message: String, retryAfter: Duration? = nil) {
    self.code = code
    self.message = message
    self.retryAfter = retryAfter
  }

  /// The code and the sentence.
  package var description: String { "\(code): \(message)" }
}
