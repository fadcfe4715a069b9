/// The numbers of the archive format (PKWARE APPNOTE 6.3) that packages use; docs/formats/package.md draws the records.
package enum ZipFormat {
  package static let localSignature: UInt32 = 0x0403_4B50
  package static let centralSignature: UInt32 = 0x0201_4B50
  package static let descriptorSignature: UInt32 = 0x0807_4B50
  package static let endSignature: UInt32 = 0x0605_4B50
  package static let end64Signature: UInt32 = 0x0606_4B50
  package static let locator64Signature: UInt32 = 0x0706_4B50

  /// Lengths of the records without their names, extra fields and comments.
  package static let localLength = 30
  package static let centralLength = 46
  package static let endLength = 22
  package static let end64Length = 56
  package static let locator64Length = 20

  /// Version 2.0; 4.5 for entries and archives that need 64-bit lengths.
  package static let version: UInt16 = 20
  package static let version64: UInt16 = 45
  /// Made on Unix: the upper half of the external attributes is a file mode.
  package static let madeOnUnix: UInt16 = 3 << 8
  /// A regular file, 0644.
  package static let fileAttributes: UInt32 = 0o100644 << 16
  /// Names are UTF-8.
  package static let flagUTF8: UInt16 = 1 << 11
  /// Encryption, strong encryption and a masked header (APPNOTE 4.4.4).
  package static let flagEncrypted: UInt16 = 1 << 0 | 1 << 6 | 1 << 13
  /// Checksum and lengths follow the data.
  package static let flagDataDescriptor: UInt16 = 1 << 3
  /// 1980-01-01 00:00:00, the first time the format knows.
  package static let date: UInt16 = 1 << 5 | 1
  package static let time: UInt16 = 0

  /// The number of the 64-bit extra field.
  package static let extra64: UInt16 = 1
  /// In a 32-bit member: the value is in the 64-bit record instead.
  package static let elsewhere32: UInt32 = .max
  /// The same in a 16-bit member.
  package static let elsewhere16: UInt16 = .max
}

extension StorageMethod {
  /// The number that archives give the method (APPNOTE 4.4.5).
  package var zipNumber: UInt16 {
    switch self {
    case .stored: 0
    case .deflated: 8
    }
  }

  /// Nil for a method that packages do not use.
  package init?(zipNumber: UInt16) {
    guard let method = Self.allCases.first(where: { $0.zipNumber == zipNumber }) else { return nil }
    self = method
  }
}

extension [UInt8] {
  /// The bytes of the value, the lowest first.
  package mutating func append(littleEndian value: some FixedWidthInteger & UnsignedInteger) {
    var rest = UInt64(value)
    for _ in 0..<value.bitWidth / 8 {
      append(UInt8(truncatingIfNeeded: rest))
      rest >>= 8
    }
  }

  /// The unsigned integer at `offset`; its bytes must be there.
  package func littleEndian<Value: FixedWidthInteger & UnsignedInteger>(
    at offset: Int, as type: Value.Type = Value.self
  ) -> Value {
    var value: UInt64 = 0
    for index in stride(from: Value.bitWidth / 8 - 1, through: 0, by: -1) {
      value = value << 8 | UInt64(self[offset + index])
    }
    return Value(truncatingIfNeeded: value)
  }
}
