import CoreTypes

/// An address to which a browser leads back with a code. No application is registered here, so that an address must be one that only a
/// program of the reader's own device gets (RFC 8252): `opds://authorize/`, which *Authentication for OPDS* names; a scheme with a point
/// in it, as those are that follow from a name of a domain (`com.example.reader:/done`); or `http` to the numbers of the device itself.
/// An address of a site, and `localhost`, which may be another device's, are refused.
struct RedirectAddress: Hashable, Sendable {
  static let maximumLength = 1000
  private static let shared = "opds://authorize/"
  private static let hosts = ["127.0.0.1", "[::1]"]
  /// The characters of an address (RFC 3986), but for `#`.
  private static let characters = Set(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~:/?[]@!$&'()*+,;=%".utf8)

  let text: String
  /// The source of a content security policy to which the address belongs.
  let source: String

  init?(_ text: String) {
    guard (1...Self.maximumLength).contains(text.utf8.count), text.utf8.allSatisfy(Self.characters.contains),
      let colon = text.firstIndex(of: ":")
    else { return nil }
    let (scheme, rest) = (text[..<colon].lowercased(), text[text.index(after: colon)...])
    self.text = text
    if text == Self.shared {
      source = "opds:"
    } else if scheme == "http" {
      guard let authority = Self.authority(of: rest), let host = Self.hosts.first(where: authority.hasPrefix)
      else { return nil }
      let port = authority.dropFirst(host.count)
      guard port.isEmpty || Self.isPort(port) else { return nil }
      // A policy knows no addresses of IPv6.
      source = host == Self.hosts[0] ? "http://\(authority)" : "http:"
    } else {
      guard Self.isPrivate(scheme), !rest.isEmpty else { return nil }
      source = "\(scheme):"
    }
  }

  /// The address with more parameters; its own stay.
  func adding(_ parameters: [(name: String, value: String?)]) -> String {
    let added = parameters.compactMap { name, value in
      value.map { "\(name)=\($0.percentEncoded)" }
    }.joined(separator: "&")
    guard text.contains("?") else { return "\(text)?\(added)" }
    return text.hasSuffix("?") || text.hasSuffix("&") ? text + added : "\(text)&\(added)"
  }

  private static func authority(of rest: Substring) -> Substring? {
    guard rest.hasPrefix("//") else { return nil }
    return rest.dropFirst(2).prefix { $0 != "/" && $0 != "?" }
  }

  private static func isPort(_ text: Substring) -> Bool {
    let digits = text.dropFirst()
    guard text.first == ":", let port = UInt16(digits) else { return false }
    return port > 0 && String(port) == digits
  }

  /// Whether the scheme is a name of a domain, the last part first: letters and digits between points, and a letter at the beginning.
  private static func isPrivate(_ scheme: String) -> Bool {
    let parts = scheme.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count >= 2 && scheme.utf8.first.map { (0x61...0x7A).contains($0) } == true
      && parts.allSatisfy { part in
        !part.isEmpty
          && part.utf8.allSatisfy { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2D }
      }
  }
}
