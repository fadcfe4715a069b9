import FoundationEssentials

/// Addresses of services in a configuration.
public enum ConfigurationURL {
  /// Whether what is sent to the address can be read on the way: plain `http` to another host than this one.
  public static func isReadable(_ text: String) -> Bool {
    guard let parts = URLComponents(string: text), parts.scheme?.lowercased() == "http" else { return false }
    let host = (parts.host ?? "").lowercased().filter { $0 != "[" && $0 != "]" }
    let octets = host.split(separator: ".", omittingEmptySubsequences: false)
    let isLoopback4 = octets.count == 4 && octets[0] == "127" && octets.allSatisfy { UInt8($0) != nil }
    return !(host == "localhost" || host == "::1" || isLoopback4)
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
