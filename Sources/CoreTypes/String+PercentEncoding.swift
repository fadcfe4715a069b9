extension String {
  /// The text as one part of a path, or as one name or value of a query: all but the unreserved characters of RFC 3986 (2.3) is
  /// percent-encoded, in upper case.
  public var percentEncoded: String {
    utf8.reduce(into: "") { text, byte in
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E:
        text.unicodeScalars.append(Unicode.Scalar(byte))
      default:
        text += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
      }
    }
  }
}
