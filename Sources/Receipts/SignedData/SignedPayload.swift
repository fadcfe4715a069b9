public import CoreTypes
import FoundationEssentials

/// A date in signed data: whole milliseconds since 1970 on the wire. What lies outside the years 1970 to 9999 is brought to
/// their nearest moment.
public struct SignedDate: Codable, Hashable, Sendable {
  /// The moment.
  public var timestamp: Timestamp

  /// The moment as a date of signed data.
  public init(_ timestamp: Timestamp) {
    self.timestamp = timestamp
  }

  /// Reads a number, with or without a fraction. Throws `DecodingError`.
  public init(from decoder: any Decoder) throws {
    let milliseconds = try decoder.singleValueContainer().decode(Double.self)
    timestamp = Timestamp(clampingMilliseconds: Int64(clamping: milliseconds))
  }

  /// Writes a whole number.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(timestamp.millisecondsSinceEpoch)
  }
}

extension SignedData {
  private struct Dates: Decodable {
    var signedDate: SignedDate?
    var receiptCreationDate: SignedDate?
  }

  /// When the payload claims to be signed: `signedDate`, or `receiptCreationDate` of an application's transaction. Throws
  /// ``ReceiptError`` `malformed` for a payload that is no object of JSON or has neither.
  public func claimedDate() throws -> Timestamp {
    let dates = try SignedPayload.decode(Dates.self, from: claims)
    guard let date = dates.signedDate ?? dates.receiptCreationDate else {
      throw ReceiptError.malformed("the signed data does not say when it was signed")
    }
    return date.timestamp
  }

  /// Returns the claims of the payload, read as `type`, to find out whose it is before anything is checked.
  /// Throws ``ReceiptError`` `malformed`.
  public func claimed<Payload: Decodable>(as type: Payload.Type) throws -> Payload {
    try SignedPayload.decode(type, from: claims)
  }
}

extension VerifiedSignedData {
  /// The payload read as `type`; members that it does not know are passed over. Throws ``ReceiptError`` `malformed`.
  public func decoded<Payload: Decodable>(as type: Payload.Type) throws -> Payload {
    try SignedPayload.decode(type, from: payload)
  }
}

enum SignedPayload {
  static func decode<Payload: Decodable>(_ type: Payload.Type, from bytes: [UInt8]) throws -> Payload {
    do {
      return try JSONDocumentReader.value(type, in: bytes) ?? JSONDecoder().decode(type, from: Data(bytes))
    } catch {
      throw ReceiptError.malformed("the signed data is not what it should be")
    }
  }
}
