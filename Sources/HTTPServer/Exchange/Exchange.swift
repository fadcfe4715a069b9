/// One request on its way between a loop and the task of its handler.
final class Exchange: Sendable {
  func nextBodyBytes() async throws(RequestBodyError) -> [UInt8]? { nil }
  func write(_ bytes: [UInt8]) async throws(ResponseWriterError) {}
}
