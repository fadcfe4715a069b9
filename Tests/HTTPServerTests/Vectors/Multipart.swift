/// A `multipart/byteranges` body (RFC 9110 §14.6, RFC 2046 §5.1), read back strictly: nothing before the
/// first delimiter, nothing behind the last but its line end.
struct Multipart {
  struct Part {
    let range: String
    let body: [UInt8]
  }

  private(set) var parts: [Part] = []

  init(_ bytes: [UInt8], boundary: String) throws {
    var rest = bytes[...]
    try Multipart.take("--\(boundary)\r\n", &rest)
    while true {
      var fields: [String: String] = [:]
      while true {
        guard let end = Multipart.find("\r\n", rest) else {
          throw Transcript.Failure(description: "no line end")
        }
        let line = String(decoding: rest[..<end], as: UTF8.self)
        rest = rest[(end + 2)...]
        if line.isEmpty { break }
        let sides = line.split(separator: ":", maxSplits: 1)
        fields[sides[0].lowercased()] = sides[1].drop { $0 == " " }.description
      }
      guard let range = fields["content-range"], fields["content-type"] == "text/plain" else {
        throw Transcript.Failure(description: "a part of \(fields)")
      }
      guard let end = Multipart.find("\r\n--\(boundary)", rest) else {
        throw Transcript.Failure(description: "no delimiter after \(range)")
      }
      parts.append(Part(range: range, body: Array(rest[..<end])))
      rest = rest[(end + 4 + boundary.utf8.count)...]
      if rest.elementsEqual(Array("--\r\n".utf8)) { return }
      try Multipart.take("\r\n", &rest)
    }
  }

  private static func take(_ text: String, _ rest: inout ArraySlice<UInt8>) throws {
    guard rest.starts(with: Array(text.utf8)) else { throw Transcript.Failure(description: "no \(text)") }
    rest = rest.dropFirst(text.utf8.count)
  }

  private static func find(_ text: String, _ bytes: ArraySlice<UInt8>) -> Int? {
    let pattern = Array(text.utf8)
    guard bytes.count >= pattern.count else { return nil }
    return (bytes.startIndex...bytes.endIndex - pattern.count).first { place in
      bytes[place..<place + pattern.count].elementsEqual(pattern)
    }
  }
}
