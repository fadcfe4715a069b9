import CoreTypes
package import Crypto
import DeliveryModel
import DeliveryRecords
import PullboxAPI
package import Receipts
package import ServiceAPI

/// A completion as it came in. What a signed one says is not known before its signature was checked with the
/// key that its grant names.
package enum ReceivedCompletion: Sendable {
  /// A report without a signature, for a grant whose device gave no key.
  case plain(CompletionReport)
  /// A compact JWS whose signature was not looked at yet.
  case signed(JSONWebSignature)
  /// The same once its signature was checked with `key`; the report is nil where it is not that key's.
  case checked(JSONWebSignature, key: VerificationKey, CompletionReport?)

  /// Reads a compact JWS or a JSON object. Throws `completion-malformed`.
  init(_ body: [UInt8]) throws(Problem) {
    if body.first(where: { !$0.isWhiteSpace }) == UInt8(ascii: "{") {
      self = .plain(try Self.report(body))
      return
    }
    do {
      self = .signed(try JSONWebSignature(text: String(decoding: body, as: UTF8.self)))
    } catch {
      throw Problem(.completionMalformed, "neither a JSON object nor a compact JWS: \(error)")
    }
  }

  /// The same completion with its signature checked, which takes as long as many questions to a database: a write
  /// then has nothing to compute, unless the key is another by then. Throws `completion-malformed` like
  /// ``report(for:)``.
  func checked(with key: VerificationKey?) throws(Problem) -> ReceivedCompletion {
    guard case .signed(let signature) = self, let key else { return self }
    return .checked(signature, key: key, try report(for: key))
  }

  /// Returns the report to a grant whose device gave `key` or gave none. Nil where the signature that is needed is missing
  /// or is not that key's. Throws `completion-malformed` for a genuine signature over something else.
  func report(for key: VerificationKey?) throws(Problem) -> CompletionReport? {
    switch (self, key) {
    case (.plain(let report), nil):
      return report
    case (.checked(_, let checkedKey, let report), let key?) where checkedKey == key:
      return report
    case (.signed(let signature), let key?), (.checked(let signature, _, _), let key?):
      guard let payload = try? signature.payload(verifiedWith: key) else { return nil }
      return try Self.report(payload)
    case (.plain, .some), (.signed, nil), (.checked, nil):
      return nil
    }
  }

  private static func report(_ bytes: [UInt8]) throws(Problem) -> CompletionReport {
    do {
      return try APIJSON.decode(CompletionReport.self, from: bytes)
    } catch {
      throw Problem(.completionMalformed, APIJSON.explain(error))
    }
  }
}

extension UInt8 {
  fileprivate var isWhiteSpace: Bool { self == 0x20 || (0x09...0x0D).contains(self) }
}

/// Compares a completion with what was granted and sent. Pure: the record and the count come from outside.
struct CompletionCheck {
  /// The grant that is to be completed.
  var grant: GrantRecord
  /// Body bytes sent for this content to this device, over all its grants, and what it had of an earlier
  /// version.
  var delivered: ByteCount
  /// A run of the server died that may have taken some of the count with it.
  var mayHaveLostCounts = false

  /// The first link of the chain that is not there; nil when the report is right. Throws
  /// `completion-malformed`.
  func missingStep(in completion: ReceivedCompletion) throws(Problem) -> CompletionStep? {
    if let step = try wrongStep(in: completion) { return step }
    // After a crash of the server its count has a hole of unknown size, which is no fault of the device.
    return lacksBytes && !mayHaveLostCounts ? .delivery : nil
  }

  /// Fewer bytes were sent than the package has.
  var lacksBytes: Bool { delivered < grant.length }

  /// The first link that the report itself lacks, whatever was sent. Throws `completion-malformed`.
  func wrongStep(in completion: ReceivedCompletion) throws(Problem) -> CompletionStep? {
    guard let report = try completion.report(for: grant.publicKey) else { return .deviceSignature }
    // A signed report that named no grant would fit every grant of its device.
    if grant.publicKey != nil, report.grant == nil { return .grant }
    if let named = report.grant, named != grant.id { return .grant }
    if let device = report.device, device != grant.device { return .device }
    if report.version != grant.version { return .version }
    if report.digest != grant.digest { return .digest }
    if report.length != grant.length { return .length }
    return nil
  }
}
