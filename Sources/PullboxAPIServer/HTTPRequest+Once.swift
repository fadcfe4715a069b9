public import CoreTypes
public import HTTPServer
public import PullboxAPI

extension HTTPRequest {
  /// Does what ``decode(_:upTo:)`` does for what is kept as it was told: throws `request-malformed` also where a member is there twice, or a
  /// text has half of a character.
  public func decodeOnce<Value: Decodable>(
    _ type: Value.Type, upTo limit: ByteCount
  ) async throws(Problem) -> Value {
    let bytes = try await document(upTo: limit)
    guard !JSONString.hasLoneSurrogate(inDocument: bytes) else {
      throw Problem(.requestMalformed, APIJSON.loneSurrogate)
    }
    guard !APIJSON.hasRepeatedMember(inDocument: bytes) else {
      throw Problem(.requestMalformed, "a member is there twice")
    }
    do {
      return try APIJSON.decode(type, from: bytes)
    } catch {
      throw Problem(.requestMalformed, APIJSON.explain(error))
    }
  }
}
