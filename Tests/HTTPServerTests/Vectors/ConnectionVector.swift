import HTTPParsing
import HTTPServer
import HTTPTesting

/// Bytes of a client and what must come of them. The server under test echoes what it understood; after the
/// bytes the runner sends one more request, so that what was left unread, or read twice, shows.
struct ConnectionVector: Sendable, CustomStringConvertible {
  /// The request that the runner adds, and its answer.
  static let sentinel = "GET /sentinel HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
  static let sentinelBody = "GET /sentinel []"
  static let sentinelAnswer = "200 \(sentinelBody)"

  let name: String
  let bytes: [UInt8]
  /// Each response as its status and, of the echo, method, target and body: `200 POST /a [hello]`.
  let answers: [String]
  /// The last of these ends the connection.
  let closes: Bool

  var description: String { name }

  init(_ name: String, text: String, answers: [String], closes: Bool = false) {
    self.name = name
    bytes = Array(text.utf8)
    self.answers = answers
    self.closes = closes
  }

  init(_ head: RefusedHeads.Vector) {
    name = head.name
    bytes = head.bytes
    answers = ["\(head.status.rawValue)"]
    closes = true
  }

  /// With the answer to the runner's own request.
  var transcript: [String] { closes ? answers : answers + [ConnectionVector.sentinelAnswer] }

  /// Where the bytes may be cut: everywhere; of long ones, which repeat themselves, at both ends and here and
  /// there.
  var cuts: [Int] {
    (1..<max(2, bytes.count)).filter { cut in
      bytes.count < 600 || cut < 60 || cut > bytes.count - 60 || cut % 997 == 0
    }
  }
}
