/// Which sites' pages may call the public interface from a browser, and what their requests are answered with (the
/// CORS protocol of the Fetch standard). Credentials of the browser are never asked for: tickets and proofs are in the
/// requests themselves.
package struct CrossOriginPolicy: Hashable, Sendable {
  /// How long a browser may keep the answer to a preflight, in seconds.
  static let preflightAge = 7200
  /// The fields that a page may read, beside those that it always may.
  static let exposed =
    "Accept-Ranges, Content-Disposition, Content-Range, Digest, ETag, Link, Location, Repr-Digest, Retry-After, "
    + "WWW-Authenticate, X-Request-Id"

  /// Any site.
  private(set) var allowsAll = false
  /// Sites, as browsers write them: `https://shop.example`.
  package private(set) var origins: Set<String> = []

  /// No site at all.
  package static let none = CrossOriginPolicy()

  private init() {}

  /// Nil if one of the texts is neither `*` nor an origin (RFC 6454 §6.1): scheme, host and, unless it is the
  /// scheme's, the port, in lower case.
  package init?(_ texts: [String]) {
    for text in texts {
      if text == "*" {
        allowsAll = true
      } else if Self.isOrigin(text) {
        origins.insert(text)
      } else {
        return nil
      }
    }
  }

  /// Whether nothing is said about other sites at all.
  var isNone: Bool { !allowsAll && origins.isEmpty }

  package func allows(_ origin: String) -> Bool { allowsAll || origins.contains(origin) }

  /// The fields of an answer to a request with that `Origin`; nil stands for a request without one.
  package func fields(for origin: String?) -> [(name: String, value: String)] {
    guard !isNone else { return [] }
    // An answer that names one site is not one for another: caches must know.
    let vary = allowsAll ? [] : [(name: "Vary", value: "Origin")]
    guard let origin, allows(origin) else { return vary }
    return vary + [
      (name: "Access-Control-Allow-Origin", value: allowsAll ? "*" : origin),
      (name: "Access-Control-Expose-Headers", value: Self.exposed),
    ]
  }

  /// The fields of the answer to a preflight from an allowed site, beside ``fields(for:)``. `asked` is its
  /// `Access-Control-Request-Headers`: every field that it names is allowed, because none but the proof, the ticket or
  /// the signature in a request opens anything.
  package func preflightFields(methods: [String], asked: String?) -> [(name: String, value: String)] {
    var fields = [
      (name: "Access-Control-Allow-Methods", value: methods.joined(separator: ", ")),
      (name: "Access-Control-Max-Age", value: String(Self.preflightAge)),
      (name: "Vary", value: "Access-Control-Request-Method, Access-Control-Request-Headers"),
    ]
    if let asked, Self.isFieldList(asked) {
      fields.append((name: "Access-Control-Allow-Headers", value: asked))
    }
    return fields
  }

  private static func isOrigin(_ text: String) -> Bool {
    let parts = text.split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, ["http", "https"].contains(parts[0]), text.utf8.count <= 255 else { return false }
    return !parts[1].isEmpty
      && parts[1].utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
          UInt8(ascii: "."), UInt8(ascii: ":"), UInt8(ascii: "["), UInt8(ascii: "]"):
          true
        default: false
        }
      }
  }

  /// Names of fields, separated by commas, at most 1 KiB.
  private static func isFieldList(_ text: String) -> Bool {
    (1...1024).contains(text.utf8.count)
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: ","),
          UInt8(ascii: " "):
          true
        default: false
        }
      }
  }
}
