import ContentDelivery
import HTTPParsing
import HTTPServer
import PullboxAPI
import PullboxAPIServer

/// How a request came: whether a session may be had that way, under which cookie, and whether a page of this site sent it.
struct Door: Sendable {
  /// The cookie over TLS. Browsers take one of that prefix over TLS alone, for this host and all its paths.
  static let secureCookie = "__Host-pullbox-console"
  /// The cookie over plain HTTP, from loopback alone.
  static let plainCookie = "pullbox-console"

  /// Whether it came over TLS, to this server or to a trusted proxy.
  let isSecure: Bool
  /// Whether a key may be shown this way: over TLS, or from this machine to a name of this machine.
  let isOpen: Bool
  private let host: String?

  init(_ request: HTTPRequest, settings: LiveSettings) {
    let origin = settings.value.proxies.origin(of: request.peer, ForwardingFields(request))
    isSecure = (origin.scheme ?? (request.isSecure ? "https" : "http")) == "https"
    host = origin.host ?? (request.headers.values(of: "Host").count == 1 ? request.headers["Host"] : nil)
    // A page elsewhere whose name leads to this machine calls it by that name.
    isOpen = isSecure || (Self.isLocal(origin.client) && Self.isLocal(host: host ?? ""))
  }

  /// The secret in the request's cookie; nil without one, or with several.
  func secret(of request: HTTPRequest) -> String? {
    guard isOpen else { return nil }
    let name = isSecure ? Self.secureCookie : Self.plainCookie
    // By bytes: a mark that joins a sign to make one character of it ends no pair, and no name.
    let pairs = request.headers.values(of: "Cookie").flatMap { $0.utf8.split(separator: 0x3B) }
    let values = pairs.compactMap { pair -> String? in
      let parts = pair.split(separator: 0x3D, maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, parts[0].drop(while: { $0 == 0x20 }).elementsEqual(name.utf8) else {
        return nil
      }
      return String(Substring(parts[1]))
    }
    guard values.count == 1, let value = values.first, (1...100).contains(value.utf8.count) else {
      return nil
    }
    return value
  }

  /// The `Set-Cookie` that gives the browser a secret; nil takes it away.
  func cookie(_ secret: String?) -> String {
    let name = isSecure ? Self.secureCookie : Self.plainCookie
    // Browsers know no ports: other programs of this machine would be shown a cookie of every path.
    return "\(name)=\(secret ?? ""); Path=\(isSecure ? "/" : "/console"); HttpOnly; SameSite=Strict"
      + (isSecure ? "; Secure" : "") + (secret == nil ? "; Max-Age=0" : "")
  }

  /// Throws `forbidden` for a change that a page of another site sends. Browsers say where a form comes from in `Sec-Fetch-Site`, and
  /// in `Origin`, which is `null` for pages that send no referrer, as these do. What says neither is no browser of today, and is known
  /// by the form's token alone.
  func requireOwnOrigin(_ request: HTTPRequest) throws(Problem) {
    let site = try request.onlyValue(of: "Sec-Fetch-Site")
    let origin = try request.onlyValue(of: "Origin")
    if let site, site != "same-origin" { throw Self.foreignForm }
    guard let origin else { return }
    if origin == "null" {
      guard site != nil else { throw Self.foreignForm }
      return
    }
    guard let host, origin.lowercased() == "\(isSecure ? "https" : "http")://\(host.lowercased())" else {
      throw Self.foreignForm
    }
  }

  private static let foreignForm = Problem(.forbidden, "the form was sent by a page of another site")

  private static func isLocal(_ peer: PeerAddress) -> Bool {
    switch peer.family {
    case .unix: true
    case .version4: peer.low >> 24 == 127
    case .version6: peer.high == 0 && peer.low == 1
    }
  }

  /// Whether it names this machine, with a port or without: `localhost`, `127.0.0.1`, `[::1]`.
  private static func isLocal(host: String) -> Bool {
    let isBracketed = host.hasPrefix("[")
    let name = isBracketed ? host.dropFirst().prefix { $0 != "]" } : host.prefix { $0 != ":" }
    if name.lowercased() == "localhost" { return true }
    return PeerAddress(host: String(name)).map(isLocal) ?? false
  }
}
