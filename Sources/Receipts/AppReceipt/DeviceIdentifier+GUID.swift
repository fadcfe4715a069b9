public import Commerce
import Crypto

extension DeviceIdentifier {
  /// The octets by which receipts know the device: the 16 of a UUID, the text's UTF-8 of any other name.
  public var receiptGUID: [UInt8] {
    let groups = text.split(separator: "-", omittingEmptySubsequences: false)
    guard groups.map(\.utf8.count) == [8, 4, 4, 4, 12],
      let octets = Hexadecimal.decode(groups.joined().lowercased())
    else { return Array(text.utf8) }
    return octets
  }
}
