import HTTPServer
import PullboxAPI

extension HTTPResponse {
  /// The bytes of the body; none for a body that is not in memory.
  var bytes: [UInt8] {
    if case .bytes(let bytes) = body { return bytes }
    return []
  }

  var text: String { String(decoding: bytes, as: UTF8.self) }

  /// The problem document that it is; nil for anything else.
  var problem: Problem? {
    guard headers["Content-Type"] == "application/problem+json" else { return nil }
    return try? APIJSON.decode(Problem.self, from: bytes)
  }
}
