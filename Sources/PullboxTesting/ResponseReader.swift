/// A connection to a server under test, seen from the receiving side.
public protocol ResponseReader: Sendable {
  /// The next bytes; none at the end.
  func receive(upTo limit: Int) async throws -> [UInt8]
  /// Makes `bytes` the next ones that are received.
  func putBack(_ bytes: [UInt8])
}

extension ResponseReader {
  /// The next bytes, at most 64 KiB; none at the end.
  public func receive() async throws -> [UInt8] {
    try await receive(upTo: 65_536)
  }

  /// Everything until the peer closes. A reset counts as a failure.
  public func receiveToEnd() async throws -> [UInt8] {
    var all: [UInt8] = []
    while true {
      let bytes = try await receive()
      if bytes.isEmpty { return all }
      all += bytes
    }
  }

  /// Exactly `count` bytes; fails when the peer closes before.
  public func receive(exactly count: Int) async throws -> [UInt8] {
    var all: [UInt8] = []
    while all.count < count {
      let bytes = try await receive(upTo: count - all.count)
      guard !bytes.isEmpty else {
        throw RawConnection.Failure(description: "the end came after \(all.count) of \(count) bytes")
      }
      all += bytes
    }
    return all
  }

  /// The text up to and including `end`; bytes after it are kept for the next call.
  public func receive(through end: String) async throws -> String {
    let pattern = Array(end.utf8)
    var all: [UInt8] = []
    while true {
      if let place = Self.firstPlace(of: pattern, in: all) {
        let rest = Array(all[(place + pattern.count)...])
        putBack(rest)
        return String(decoding: all[..<(place + pattern.count)], as: UTF8.self)
      }
      let bytes = try await receive()
      guard !bytes.isEmpty else {
        throw RawConnection.Failure(
          description: "the end came first: \(String(decoding: all, as: UTF8.self))")
      }
      all += bytes
    }
  }

  /// The next response with its content. Framing follows RFC 9112 §6.3: no content with 204, 304 and for HEAD, then
  /// chunks, then `Content-Length`, else all up to the end of the connection. Trailer fields are not taken. An
  /// interim response (1xx) counts as one.
  ///
  /// - Parameter toHead: whether the request was HEAD.
  public func receiveResponse(toHead: Bool = false) async throws -> RawResponse {
    let head = try RawResponse.Head(try await receive(through: "\r\n\r\n"))
    var response = RawResponse(head: head, body: [])
    if toHead || head.status == 204 || head.status == 304 || head.status < 200 { return response }
    if head["Transfer-Encoding"]?.lowercased() == "chunked" {
      while true {
        let line = try await receive(through: "\r\n")
        let size = String(decoding: line.utf8.dropLast(2), as: UTF8.self)
        guard size.allSatisfy({ $0.isASCII && $0.isHexDigit }), let count = Int(size, radix: 16) else {
          throw RawConnection.Failure(description: "not a chunk size: \(line)")
        }
        response.body += try await receive(exactly: count)
        _ = try await receive(through: "\r\n")
        if count == 0 { return response }
      }
    }
    if let length = head["Content-Length"].flatMap(Int.init) {
      response.body = try await receive(exactly: length)
    } else {
      response.body = try await receiveToEnd()
    }
    return response
  }

  /// The first index at which the pattern stands; nil where it does not.
  private static func firstPlace(of pattern: [UInt8], in bytes: [UInt8]) -> Int? {
    guard bytes.count >= pattern.count else { return nil }
    return (0...(bytes.count - pattern.count)).first { place in
      bytes[place..<place + pattern.count].elementsEqual(pattern)
    }
  }
}

/// A response as it came over a ``RawConnection``.
public struct RawResponse: Sendable {
  /// Status line and fields.
  public struct Head: Sendable {
    /// 100 to 999.
    public let status: Int
    /// The whole head, for exact comparisons.
    public let text: String
    /// The fields in their order, names in small letters.
    private let fields: [(name: String, value: String)]

    /// Reads a head. Throws ``RawConnection/Failure`` for another version than HTTP/1.1, and for a field without a colon.
    init(_ text: String) throws {
      self.text = text
      let lines = text.split(separator: "\r\n")
      let parts = lines.first?.split(separator: " ", maxSplits: 2) ?? []
      guard parts.count >= 2, parts[0] == "HTTP/1.1", let status = Int(parts[1]) else {
        throw RawConnection.Failure(description: "not a status line: \(text)")
      }
      self.status = status
      fields = try lines.dropFirst().map { line in
        guard let colon = line.firstIndex(of: ":") else {
          throw RawConnection.Failure(description: "not a field: \(line)")
        }
        let value = line[line.index(after: colon)...].drop { $0 == " " }
        return (line[..<colon].lowercased(), String(value))
      }
    }

    /// The value of the only field of that name; nil without one, and for several.
    public subscript(name: String) -> String? {
      let found = fields.filter { $0.name == name.lowercased() }
      return found.count == 1 ? found[0].value : nil
    }
  }

  /// Status line and fields.
  public let head: Head
  /// The content, without the framing of a chunked transfer.
  public var body: [UInt8]

  /// The head's status.
  public var status: Int { head.status }
  /// The content as UTF-8.
  public var text: String { String(decoding: body, as: UTF8.self) }
  /// The value of the only field of that name; nil without one, and for several.
  public subscript(name: String) -> String? { head[name] }
}
