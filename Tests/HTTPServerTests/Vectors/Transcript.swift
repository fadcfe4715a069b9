/// Everything a server sent on a connection, read as responses. Stricter than a client: what a response must
/// have, it has.
struct Transcript {
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  struct Response {
    let status: Int
    let fields: [(name: String, value: String)]
    let body: [UInt8]

    func values(_ name: String) -> [String] { fields.filter { $0.name == name }.map(\.value) }
  }

  private(set) var responses: [Response] = []

  /// Fails for anything that is not a sequence of well-formed responses, each final one with a date and a
  /// length, the last with `Connection: close` and no other. Interim ones are read and dropped. Not strict,
  /// the last need not say that it is.
  init(_ bytes: [UInt8], isStrict: Bool = true) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      let head = try Transcript.takeHead(&rest)
      if head.status < 200 { continue }
      guard head.values("date").count == 1 else { throw Failure(description: "no date in a \(head.status)") }
      let isBodiless = head.status == 204 || head.status == 304
      let lengths = head.values("content-length")
      guard lengths.count == (isBodiless ? 0 : 1) else {
        throw Failure(description: "\(lengths.count) lengths in a \(head.status)")
      }
      let hasBody = !isBodiless && head.values("x-method") != ["HEAD"]
      let length = hasBody ? Int(lengths[0]) ?? -1 : 0
      guard length >= 0, length <= rest.count else {
        throw Failure(description: "a length of \(lengths) before \(rest.count) bytes")
      }
      let body = Array(rest.prefix(length))
      rest = rest.dropFirst(length)
      let closes = head.values("connection") == ["close"]
      guard rest.isEmpty ? closes || !isStrict : !closes else {
        throw Failure(description: "a \(head.status) says close: \(closes), bytes after it: \(rest.count)")
      }
      responses.append(Response(status: head.status, fields: head.fields, body: body))
    }
  }

  /// Status and body of each.
  var answers: [String] {
    responses.map { response in
      let text =
        response.values("x-method") == ["HEAD"] ? "HEAD" : String(decoding: response.body, as: UTF8.self)
      return text.isEmpty ? "\(response.status)" : "\(response.status) \(text)"
    }
  }

  private static func takeHead(_ rest: inout ArraySlice<UInt8>) throws -> Response {
    let end = Array("\r\n\r\n".utf8)
    var position = rest.startIndex
    while position + 4 <= rest.endIndex, !rest[position..<position + 4].elementsEqual(end) { position += 1 }
    guard position + 4 <= rest.endIndex else {
      throw Failure(description: "no head: \(String(decoding: rest, as: UTF8.self))")
    }
    let text = String(decoding: rest[rest.startIndex..<position], as: UTF8.self)
    rest = rest[(position + 4)...]
    let lines = text.split(separator: "\r\n", omittingEmptySubsequences: false)
    let parts = lines[0].split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3, parts[0] == "HTTP/1.1", parts[1].count == 3, let status = Int(parts[1]) else {
      throw Failure(description: "not a status line: \(lines[0])")
    }
    let fields = try lines.dropFirst().map { line in
      guard let colon = line.range(of: ": ") else { throw Failure(description: "not a field: \(line)") }
      return (line[..<colon.lowerBound].lowercased(), String(line[colon.upperBound...]))
    }
    return Response(status: status, fields: fields, body: [])
  }
}

extension StringProtocol {
  fileprivate func range(of text: String) -> Range<Index>? {
    var start = startIndex
    while start < endIndex {
      if self[start...].hasPrefix(text) { return start..<index(start, offsetBy: text.count) }
      start = index(after: start)
    }
    return nil
  }
}
