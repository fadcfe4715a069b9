import HTTPParsing

/// The head of an async handler's response as bytes: its own fields without those that frame the message,
/// then the engine's.
struct EncodedResponseHead {
  private(set) var bytes: [UInt8] = []

  /// `strictTransportSeconds`: what `Strict-Transport-Security` says, where the response leaves over TLS.
  init(
    _ response: HTTPResponse, date: HTTPDateField, closes: Bool, minorVersion: UInt8,
    strictTransportSeconds: Int64? = nil
  ) {
    bytes.reserveCapacity(512)
    put("HTTP/1.1 \(response.status)\r\n")
    for field in response.headers
    where !EncodedResponseHead.isEngines(field.name) && EncodedResponseHead.isValid(field) {
      put(field)
    }
    if !response.status.forbidsContent {
      if let length = response.body.length {
        put("Content-Length: \(length)\r\n")
      } else if minorVersion > 0 {
        put("Transfer-Encoding: chunked\r\n")
      }
    }
    for index in date.line.indices { bytes.append(date.line[index]) }
    if let seconds = strictTransportSeconds { put("Strict-Transport-Security: max-age=\(seconds)\r\n") }
    if closes {
      put("Connection: close\r\n")
    } else if minorVersion == 0 {
      put("Connection: keep-alive\r\n")
    }
    put("\r\n")
  }

  /// A whole interim response.
  static func interim(_ status: HTTPStatus, headers: HTTPFields) -> [UInt8] {
    var head = EncodedResponseHead()
    head.put("HTTP/1.1 \(status)\r\n")
    for field in headers where !isEngines(field.name) && isValid(field) {
      head.put(field)
    }
    head.put("\r\n")
    return head.bytes
  }

  private init() {}

  private mutating func put(_ text: String) {
    bytes.append(contentsOf: text.utf8)
  }

  private mutating func put(_ field: HTTPFields.Field) {
    put(field.name)
    put(": ")
    put(field.value)
    put("\r\n")
  }

  private static let engines = ["content-length", "transfer-encoding", "connection", "date"]

  private static func isEngines(_ name: String) -> Bool {
    engines.contains { HTTPFields.areSame($0, name) }
  }

  /// A field that would break out of its line is left out: it can only be an attempt to inject another.
  private static func isValid(_ field: HTTPFields.Field) -> Bool {
    !field.name.isEmpty && field.name.utf8.allSatisfy(ASCII.isToken)
      && field.value.utf8.allSatisfy(ASCII.isFieldValue)
  }
}

extension HTTPResponse {
  /// Whether the handler wants the connection closed.
  var closesConnection: Bool {
    headers.values(of: "Connection").contains { HTTPFields.areSame($0, "close") }
  }
}

extension ResponseBody {
  /// Nil only for a stream of unknown length.
  var length: Int64? {
    switch self {
    case .none: 0
    case .bytes(let bytes): Int64(bytes.count)
    case .file(_, let range, _): range.upperBound - range.lowerBound
    case .parts(let parts, _): parts.reduce(0) { $0 + $1.length }
    case .stream(let length, _): length
    }
  }
}
