import CoreTypes

/// What the request's parts mean to libcurl.
extension ClientRequest {
  var followsRedirects: Bool {
    maximumRedirects > 0 && unixSocketPath == nil && (method == "GET" || method == "HEAD")
  }

  /// RFC 9110 §8.6: methods that anticipate a body say `Content-Length: 0` where there is none.
  var carriesBody: Bool {
    if case .none = body { return ["POST", "PUT", "PATCH"].contains(method) }
    return true
  }

  /// What stands between the scheme and the path, in lower case.
  var authority: String {
    guard let colon = url.firstIndex(of: ":") else { return "" }
    return url[colon...].dropFirst(3).prefix { $0 != "/" && $0 != "?" && $0 != "#" }.lowercased()
  }

  var isForLoopback: Bool {
    let host = authority
    return ["127.0.0.1", "localhost", "[::1]"].contains { host == $0 || host.hasPrefix($0 + ":") }
  }

  /// In libcurl's notation.
  var fieldLines: [String] {
    var lines = headers.map { name, value in value.isEmpty ? "\(name);" : "\(name): \(value)" }
    func has(_ name: String) -> Bool { headers.contains { ResponseFields.matches($0.0, name) } }
    if !has("Accept-Encoding") { lines.append("Accept-Encoding: identity") }
    if carriesBody, body.length <= .mebibytes(1), !has("Expect") { lines.append("Expect:") }
    return lines
  }
}
