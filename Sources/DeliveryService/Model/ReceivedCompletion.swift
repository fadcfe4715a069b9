import Crypto
import PullboxAPI
import Receipts

/// A completion as it came in. What a signed one says is not known before its signature was checked with the key that
/// its grant names.
enum ReceivedCompletion: Sendable {
  case plain(CompletionReport)
  case signed(JSONWebSignature)

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

  /// What is reported, to a grant whose device gave `key` or gave none; nil where the signature that is needed is not
  /// there or not that key's. Throws `completion-malformed` for a genuine signature over something else.
  func report(for key: VerificationKey?) throws(Problem) -> CompletionReport? {
    switch (self, key) {
    case (.plain(let report), nil):
      return report
    case (.signed(let signature), let key?):
      guard let payload = try? signature.payload(verifiedWith: key) else { return nil }
      return try Self.report(payload)
    case (.plain, .some), (.signed, nil):
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
