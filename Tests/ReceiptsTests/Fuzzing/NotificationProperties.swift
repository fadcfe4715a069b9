import FoundationEssentials

@testable import Receipts

/// The notifications of a store, as their payload is read once its signature holds: what is read means the same once it is
/// written and read again, and the signed texts in it are read as those of customers are.
enum NotificationProperties {
  static func check(_ bytes: [UInt8]) -> String? {
    guard let read = try? SignedPayload.decode(SignedNotification.self, from: bytes) else { return nil }
    guard let written = try? encoded(read) else { return "what was read cannot be written" }
    guard let again = try? SignedPayload.decode(SignedNotification.self, from: written) else {
      return "what was written cannot be read"
    }
    // A date has a fraction only where it was not written here.
    guard let twice = try? encoded(again), twice == written else {
      return "what was written is read otherwise"
    }
    guard again == read else { return "another notification was written than was read" }
    let texts = [read.data, read.summary].flatMap {
      [$0?.signedTransactionInfo, $0?.signedRenewalInfo]
    }
    for text in texts.compactMap(\.self) {
      if let broken = SignedDataProperties.check(Array(text.utf8)) { return broken }
    }
    return nil
  }

  private static func encoded(_ notification: SignedNotification) throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return Array(try encoder.encode(notification))
  }
}
