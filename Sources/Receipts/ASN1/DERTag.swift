/// The identifier octets that receipts use, with the bit for constructed types.
enum DERTag {
  static let integer: UInt8 = 0x02
  static let octetString: UInt8 = 0x04
  static let null: UInt8 = 0x05
  static let objectIdentifier: UInt8 = 0x06
  static let utf8String: UInt8 = 0x0C
  static let ia5String: UInt8 = 0x16
  static let sequence: UInt8 = 0x30
  static let set: UInt8 = 0x31
  /// `[0]`, constructed.
  static let context0: UInt8 = 0xA0
}
