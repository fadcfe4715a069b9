import FoundationEssentials

@testable import Receipts

/// The answer of `verifyReceipt`: what is read from it, in whichever of the spellings that stores have used, means the same once it
/// is written in ours and read again.
enum VerifyReceiptProperties {
  static func check(_ bytes: [UInt8]) -> String? {
    guard let read = try? VerifyReceiptResponse(json: bytes) else { return nil }
    guard let written = try? encoded(read) else { return "what was read cannot be written" }
    guard let again = try? VerifyReceiptResponse(json: written) else {
      return "what was written cannot be read"
    }
    guard let twice = try? encoded(again), twice == written else {
      return "what was written is read otherwise"
    }
    guard again.latestReceiptInfo == read.latestReceiptInfo,
      again.pendingRenewalInfo == read.pendingRenewalInfo,
      again.receipt?.purchases == read.receipt?.purchases, again.status == read.status
    else { return "another answer was written than was read" }
    return nil
  }

  private static func encoded(_ response: VerifyReceiptResponse) throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return Array(try encoder.encode(response))
  }
}
