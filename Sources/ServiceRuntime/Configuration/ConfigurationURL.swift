import FoundationEssentials

/// Addresses of services in a configuration.
public enum ConfigurationURL {
  /// Whether what is sent to the address can be read on the way: plain `http` to another host than this one.
  public static func isReadable(_ text: String) -> Bool {
    guard let parts = URLComponents(string: text), parts.scheme?.lowercased() == "http" else { return false }
    return !isLoopback(host: Self.host(of: parts))
  }

  /// The host of an address, in lower case and without the brackets of IPv6; nil for what is no address, or has none.
  public static func host(of text: String) -> String? {
    URLComponents(string: text).map { host(of: $0) }.flatMap { $0.isEmpty ? nil : $0 }
  }

  private static func host(of parts: URLComponents) -> String {
    (parts.host ?? "").lowercased().filter { $0 != "[" && $0 != "]" }
  }

  /// Whether a host is this machine: an address of 127.0.0.0/8 or ::1 (RFC 6890), or the name that stands for them (RFC 6761 section 6.3).
  /// In lower case, without brackets.
  public static func isLoopback(host: String) -> Bool {
    if host == "::1" || host == "localhost" { return true }
    let octets = host.split(separator: ".", omittingEmptySubsequences: false)
    return octets.count == 4 && octets[0] == "127" && octets.allSatisfy { UInt8($0) != nil }
  }

  /// Throws for what is no `http` or `https` address with a host, and for one with a user, a password, a query or a fragment.
  public static func check(_ text: String, key: String) throws(ConfigurationError) {
    guard let parts = URLComponents(string: text, encodingInvalidCharacters: false),
      let scheme = parts.scheme?.lowercased(), ["http", "https"].contains(scheme),
      let host = parts.host, !host.isEmpty, (1...65_535).contains(parts.port ?? 80)
    else {
      throw ConfigurationError(
        subject: key,
        message: "an address such as https://comics.example is expected here, http or https with a host")
    }
    guard parts.user == nil, parts.password == nil, parts.query == nil, parts.fragment == nil else {
      throw ConfigurationError(
        subject: key, message: "an address without user, password, query and fragment is expected here")
    }
  }
}
