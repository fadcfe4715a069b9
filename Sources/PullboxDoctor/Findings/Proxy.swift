/// A reverse proxy whose configuration is known here.
public enum Proxy: String, CaseIterable, Sendable {
  /// nginx, and what is made of it.
  case nginx
  /// Apache httpd with mod_proxy_http.
  case apache
  /// HAProxy.
  case haproxy
  /// Caddy 2.
  case caddy

  /// The name as its makers write it.
  public var name: String {
    switch self {
    case .nginx: "nginx"
    case .apache: "Apache"
    case .haproxy: "HAProxy"
    case .caddy: "Caddy"
    }
  }

  /// The proxy that names itself in the `Server` or `Via` field of a response; nil for those that do not, HAProxy among
  /// them. Where several names are in the text, the first of nginx, Apache, Caddy and HAProxy counts.
  public init?(server: String?, via: String? = nil) {
    let text = "\(server ?? "") \(via ?? "")".lowercased()
    if text.contains("nginx") || text.contains("openresty") {
      self = .nginx
    } else if text.contains("apache") {
      self = .apache
    } else if text.contains("caddy") {
      self = .caddy
    } else if text.contains("haproxy") {
      self = .haproxy
    } else {
      return nil
    }
  }
}
