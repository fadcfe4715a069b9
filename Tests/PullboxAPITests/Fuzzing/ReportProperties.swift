import FoundationEssentials
import PullboxAPI
import ServiceAPI

/// The documents that devices and stores send: a report of placed content, one of damage, requests for grants, for what is owned and for
/// readers' keys, a proof that a request is theirs, a notification. What is read is the same once it is written and read again, and
/// Foundation's reader alone reads the same.
enum ReportProperties {
  static func check(_ bytes: [UInt8]) -> String? {
    check(bytes, as: CompletionReport.self) ?? check(bytes, as: GrantRequest.self)
      ?? check(bytes, as: GrantBatchRequest.self)
      ?? check(bytes, as: EntitlementsRequest.self) ?? check(bytes, as: ReaderKeyRequest.self)
      ?? check(bytes, as: VerificationFailure.self) ?? check(bytes, as: StoreNotification.self)
      ?? check(bytes, as: DeviceProof.self)
  }

  static func check<Document: Codable>(_ bytes: [UInt8], as type: Document.Type) -> String? {
    let read: Document
    do {
      read = try APIJSON.decode(type, from: bytes)
    } catch {
      guard error is DecodingError else { return "\(type) is refused with \(error)" }
      let sentence = APIJSON.explain(error)
      return sentence.isEmpty || sentence.utf8.count > 4096
        ? "a refusal of \(sentence.utf8.count) bytes" : nil
    }
    guard let written = try? APIJSON.encode(read) else { return "\(type) was read and cannot be written" }
    guard let again = try? APIJSON.decode(type, from: written), (try? APIJSON.encode(again)) == written else {
      return "\(type) is read otherwise than it was written: \(String(decoding: written, as: UTF8.self))"
    }
    guard let theirs = try? JSONDecoder().decode(type, from: Data(bytes)),
      (try? APIJSON.encode(theirs)) == written
    else {
      return "\(type) is read otherwise than by Foundation"
    }
    return nil
  }
}
