/// Refuses requests that would not mean on the wire what they mean here.
enum RequestValidator {
  static func check(_ request: ClientRequest) throws(HTTPClientError) {
    let url = request.url.utf8
    guard
      ["http://", "https://"].contains(where: { ResponseFields.matches(url.prefix($0.utf8.count), $0.utf8) })
    else { throw invalid("the URL's scheme is neither http nor https") }
    guard url.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
      throw invalid("the URL contains a space or a control character")
    }
    guard !request.authority.contains(UInt8(ascii: "@")) else {
      throw invalid("the URL contains user information")
    }
    // sun_path holds 108 bytes, the last of them zero.
    if let path = request.unixSocketPath, path.utf8.count > 107 || path.utf8.contains(0) {
      throw invalid("the Unix socket's path is too long, or holds a zero byte")
    }
    guard isToken(request.method) else { throw invalid("the method is not a token") }
    for (name, value) in request.headers {
      guard isToken(name) else { throw invalid("a field's name is not a token") }
      guard value.utf8.allSatisfy({ ($0 >= 0x20 && $0 != 0x7F) || $0 == 0x09 }) else {
        throw invalid("the value of \(name) contains a control character")
      }
    }
    if request.method == "GET" || request.method == "HEAD", case .none = request.body {
      return
    }
    if request.method == "GET" || request.method == "HEAD" {
      throw invalid("\(request.method) takes no body")
    }
    if case .file(_, let range, _) = request.body, range.lowerBound < 0 {
      throw invalid("the file's range starts before the file")
    }
  }

  private static func invalid(_ message: String) -> HTTPClientError {
    HTTPClientError(code: .invalidRequest, message: message)
  }

  /// RFC 9110 §5.6.2.
  private static func isToken(_ text: String) -> Bool {
    !text.isEmpty
      && text.utf8.allSatisfy { byte in
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        case 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x5E...0x60, 0x7C, 0x7E: true
        default: false
        }
      }
  }
}
