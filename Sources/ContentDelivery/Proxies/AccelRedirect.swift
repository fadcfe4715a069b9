package import CoreTypes
package import Crypto

/// Lets the nginx in front send a body, which reads the package from the blobs' directory, or from the object store
/// (`X-Accel-Redirect`). Ticket, limits and conditions are checked here.
package struct AccelRedirect: Sendable {
  /// Where nginx reads packages.
  package enum Origin: Hashable, Sendable {
    /// The blobs' directory of this server.
    case directory
    /// The object store, by a query that counts for ``AccelRedirect/lifetime`` seconds.
    case store
  }

  /// Seconds for which nginx may begin to read from the store, from the answer on. What it has kept goes on to count.
  package static let lifetime = 60

  /// The internal location that nginx maps to the blobs' directory or to the packages of the store; begins and ends with a slash.
  package let prefix: String
  /// Longer bodies are sent by this server, so that a revocation can end them; nil for no bound.
  package let longest: ByteCount?
  package let origin: Origin

  /// Nil unless `prefix` is a path.
  package init?(prefix: String, longest: ByteCount? = nil, origin: Origin = .directory) {
    guard prefix.hasPrefix("/"), prefix.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return nil }
    self.prefix = prefix.hasSuffix("/") ? prefix : prefix + "/"
    self.longest = longest
    self.origin = origin
  }

  /// The path at which nginx finds the package, with the query that the store wants; nil where there is none.
  package func location(of digest: SHA256Digest, query: String? = nil) -> String {
    let name = digest.hexadecimal
    return "\(prefix)\(name.prefix(2))/\(name.dropFirst(2))" + (query.map { "?\($0)" } ?? "")
  }

  /// Whether a body of `length` bytes that is sent at that pace ends in time. nginx reads a store as its client takes the
  /// bytes, and each slice is a request: those after ``lifetime`` would be refused. Half of it is for what delays the client.
  package func bears(pace bytesPerSecond: UInt64?, length: Int64) -> Bool {
    guard origin == .store, let bytesPerSecond else { return true }
    return length / Int64(Self.lifetime / 2) < Int64(clamping: bytesPerSecond)
  }
}
