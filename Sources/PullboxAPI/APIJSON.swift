import CoreTypes
import FoundationEssentials

/// The one way JSON is written and read on every interface: UTF-8, camelCase, sorted keys, dates by ``Timestamp``.
public enum APIJSON {
  /// The document's UTF-8 bytes: keys ascending, slashes not escaped, no line feed at the end. Throws
  /// `EncodingError` for a number that is not finite.
  public static func encode(_ value: some Encodable) throws -> [UInt8] {
    if let value = value as? any SelfWritten { return try JSONObjectWriter.bytes(of: value) }
    return try JSONDocumentWriter.bytes(of: value)
  }

  /// The value in `bytes`. Members that `type` does not have are ignored, but refused in what is ``OperatorWritten``. Throws `DecodingError`,
  /// which ``explain(_:in:)`` puts into a sentence. `allowsJSON5` is for files that people write.
  public static func decode<Value: Decodable>(
    _ type: Value.Type, from bytes: [UInt8], allowsJSON5: Bool = false
  ) throws -> Value {
    let isOperatorWritten = type is any OperatorWritten.Type
    if !allowsJSON5 {
      if !isOperatorWritten {
        if let value = JSONDocumentReader.value(type, in: bytes) { return value }
      } else if let traced = JSONDocumentReader.value(TracedMembers<Value>.self, in: bytes) {
        return traced.value
      }
    }
    let (decoder, data) = (JSONDecoder(), Data(bytes))
    decoder.allowsJSON5 = allowsJSON5
    guard isOperatorWritten else {
      do {
        return try decoder.decode(type, from: data)
      } catch DecodingError.dataCorrupted(let context) where context.codingPath.isEmpty {
        // Foundation says no JSON where it means a number that its type cannot hold. Read again, that has a place.
        decoder.userInfo[UnknownMembers.key] = UnknownMembers.ignored
        return try decoder.decode(TracedMembers<Value>.self, from: data).value
      }
    }
    return try decoder.decode(TracedMembers<Value>.self, from: data).value
  }

  /// A sentence for people about what a decoder refused, naming the member. `place` is where the decoded value stands in a larger
  /// document, as `products.[7]`.
  public static func explain(_ error: any Error, in place: String? = nil) -> String {
    guard let error = error as? DecodingError else {
      return place.map { "\($0) is not readable as JSON" } ?? "not readable as JSON"
    }
    func name(_ path: [any CodingKey]) -> String {
      let names = path.map { key in key.intValue.map { "[\($0)]" } ?? key.stringValue }
      return path.isEmpty
        ? place ?? "the document" : ((place.map { [$0] } ?? []) + names).joined(separator: ".")
    }
    switch error {
    case .typeMismatch(let type, let context): return "\(name(context.codingPath)) is not a \(type)"
    case .valueNotFound(_, let context): return "\(name(context.codingPath)) is null"
    case .keyNotFound(let key, let context): return "\(name(context.codingPath + [key])) is missing"
    case .dataCorrupted(let context): return "\(name(context.codingPath)): \(context.debugDescription)"
    @unknown default: return "not readable as JSON"
    }
  }
}
