import CoreTypes

/// The meaning of a request's parts for libcurl.
extension ClientRequest {
  var followsRedirects: Bool {
    maximumRedirects > 0 && unixSocketPath == nil && (method == "GET" || method == "HEAD")
  }

  /// RFC 9110 §8.6: methods that anticipate a body say `Content-Length: 0` where there is none.
  var carriesBody: Bool {
    if case .none = body { return ["POST", "PUT", "PATCH"].contains(method) }
    return true
  }

  /// The body, where libcurl takes it whole and sends it behind the head with one system call, which it does below 64 KiB.
  var bytesSentAtOnce: [UInt8]? {
    guard carriesBody else { return nil }
    switch body {
    case .none: return []
    case .bytes(let bytes): return bytes.count < 64 << 10 ? bytes : nil
    case .file: return nil
    }
  }

  /// The part of the URL between the scheme and the path.
  var authority: Substring.UTF8View {
    let url = url.utf8
    guard let colon = url.firstIndex(of: UInt8(ascii: ":")) else { return url[url.endIndex...] }
    let behind = url[colon...].dropFirst(3)
    let ends: (UInt8) -> Bool = {
      $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#")
    }
    return behind[..<(behind.firstIndex(where: ends) ?? behind.endIndex)]
  }

  var isForLoopback: Bool {
    let authority = authority
    return ["127.0.0.1", "localhost", "[::1]"].contains { host in
      let rest = authority.dropFirst(host.utf8.count)
      return ResponseFields.matches(authority.prefix(host.utf8.count), host.utf8)
        && rest.first ?? UInt8(ascii: ":") == UInt8(ascii: ":")
    }
  }

  /// In libcurl's notation.
  var fieldLines: [String] {
    var lines = headers.map { name, value in value.isEmpty ? "\(name);" : "\(name): \(value)" }
    func has(_ name: String) -> Bool { headers.contains { ResponseFields.matches($0.0, name) } }
    if !has("Accept-Encoding") { lines.append("Accept-Encoding: identity") }
    // libcurl would call it a form.
    if bytesSentAtOnce != nil, !has("Content-Type") { lines.append("Content-Type:") }
    if carriesBody, body.length <= .mebibytes(1), !has("Expect") { lines.append("Expect:") }
    return lines
  }
}
