import CoreTypes

@testable import Receipts

/// The payload of an app receipt: what is read from it means the same once it is written and read again, and no purchase is
/// made of less than its attributes take.
enum PayloadProperties {
  static func check(_ bytes: [UInt8]) -> String? {
    guard let read = try? AppReceipt(payload: bytes) else { return nil }
    // A purchase has three texts of two octets at least, in attributes of eleven.
    if read.purchases.count > bytes.count / 33 { return "\(read.purchases.count) purchases" }
    let written = read.encodedPayload
    guard let again = try? AppReceipt(payload: written) else { return "what was read cannot be written" }
    guard again.encodedPayload == written else { return "what was written is read otherwise" }
    guard again == wholeSeconds(of: read) else { return "\(read) is written as \(again)" }
    return nil
  }

  /// Receipts are written with whole seconds.
  private static func wholeSeconds(of receipt: AppReceipt) -> AppReceipt {
    func whole(_ date: Timestamp) -> Timestamp {
      Timestamp(millisecondsSinceEpoch: date.secondsSinceEpoch * 1000)
    }
    var receipt = receipt
    receipt.creationDate = whole(receipt.creationDate)
    receipt.originalPurchaseDate = receipt.originalPurchaseDate.map(whole)
    receipt.expirationDate = receipt.expirationDate.map(whole)
    for index in receipt.purchases.indices {
      let purchase = receipt.purchases[index]
      receipt.purchases[index].purchaseDate = whole(purchase.purchaseDate)
      receipt.purchases[index].originalPurchaseDate = whole(purchase.originalPurchaseDate)
      receipt.purchases[index].expiresDate = purchase.expiresDate.map(whole)
      receipt.purchases[index].cancellationDate = purchase.cancellationDate.map(whole)
    }
    return receipt
  }
}
