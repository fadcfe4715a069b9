package import CoreTypes
package import Crypto

/// Lets the nginx in front send a body, which reads the package from the blobs' directory
/// (`X-Accel-Redirect`). Ticket, limits and conditions are checked here.
package struct AccelRedirect: Sendable {
  /// The internal location that nginx maps to the blobs' directory; begins and ends with a slash.
  package let prefix: String
  /// Longer bodies are sent by this server, so that a revocation can end them; nil for no bound.
  package let longest: ByteCount?

  /// Nil unless `prefix` is a path.
  package init?(prefix: String, longest: ByteCount? = nil) {
    guard prefix.hasPrefix("/"), prefix.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return nil }
    self.prefix = prefix.hasSuffix("/") ? prefix : prefix + "/"
    self.longest = longest
  }

  /// The path at which nginx finds the package.
  package func location(of digest: SHA256Digest) -> String {
    let name = digest.hexadecimal
    return "\(prefix)\(name.prefix(2))/\(name.dropFirst(2))"
  }
}
