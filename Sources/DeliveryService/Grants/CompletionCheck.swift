import CoreTypes
import PullboxAPI

/// Compares a completion with what was granted and sent. Pure: the record and the count come from outside.
struct CompletionCheck {
  var grant: GrantRecord
  /// Body bytes sent for this content to this device, over all its grants, and what it had of an earlier version.
  var delivered: ByteCount

  /// The first link of the chain that is not there; nil when the report is right. Throws `completion-malformed`.
  func missingStep(in completion: ReceivedCompletion) throws(Problem) -> CompletionStep? {
    guard let report = try completion.report(for: grant.publicKey) else { return .deviceSignature }
    // A signed report that named no grant would fit every grant of its device.
    if case .signed = completion, report.grant == nil { return .grant }
    if let named = report.grant, named != grant.id { return .grant }
    if let device = report.device, device != grant.device { return .device }
    if report.version != grant.version { return .version }
    if report.digest != grant.digest { return .digest }
    if report.length != grant.length { return .length }
    // After a crash of the server its count has a hole of unknown size, which is no fault of the device.
    if delivered < grant.length && !grant.deliveryCountHasHole { return .delivery }
    return nil
  }
}
