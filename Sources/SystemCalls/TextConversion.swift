internal import Glibc

/// Texts in older encodings, by iconv(3) of the C library.
public enum TextConversion {
  /// The descriptor of one conversion to UTF-8, closed at its end.
  @safe private struct Converter: ~Copyable {
    private let handle: iconv_t

    /// Nil where the C library does not have the encoding's table.
    init?(from encoding: String) {
      guard let handle = unsafe iconv_open("UTF-8", encoding), unsafe handle != iconv_t(bitPattern: -1) else {
        return nil
      }
      unsafe self.handle = handle
    }

    deinit { unsafe iconv_close(handle) }

    /// Nil for bytes that are no text in the encoding, whole characters to the end.
    func convert(_ bytes: [UInt8]) -> String? {
      var source = bytes.map { CChar(bitPattern: $0) }
      // No character of these encodings has more than four bytes in UTF-8 for each of its own.
      var target = [CChar](repeating: 0, count: 4 * bytes.count)
      let written = unsafe source.withUnsafeMutableBufferPointer { source -> Int? in
        unsafe target.withUnsafeMutableBufferPointer { target -> Int? in
          var (from, to) = (source.baseAddress, target.baseAddress)
          var (left, room) = (source.count, target.count)
          let result = unsafe iconv(handle, &from, &left, &to, &room)
          // EILSEQ, EINVAL and E2BIG alike: it is no such text.
          return result == -1 || left > 0 ? nil : target.count - room
        }
      }
      guard let written else { return nil }
      return String(validating: target.prefix(written).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
  }

  /// The text of bytes in an encoding, by a name of iconv(3) such as `CP932`. Nil for bytes that are no text in it, and where this machine's C
  /// library lacks its table.
  public static func decode(_ bytes: [UInt8], from encoding: String) -> String? {
    guard !bytes.isEmpty else { return "" }
    return Converter(from: encoding)?.convert(bytes)
  }
}
