import ContentPackage
import CoreTypes

/// A tar archive (POSIX.1-1988), of regular files only.
package enum TarMaker {
  /// The archive with its entries in that order and two empty blocks at its end. Names are at most 100 bytes long and are
  /// not checked.
  package static func bytes(_ entries: [(name: String, content: [UInt8])]) -> [UInt8] {
    entries.flatMap { entry($0.name, $0.content) } + [UInt8](repeating: 0, count: 1024)
  }

  /// The header of one file, 512 bytes, and its content filled up to whole blocks. The checksum counts its own field as
  /// spaces.
  private static func entry(_ name: String, _ content: [UInt8]) -> [UInt8] {
    var header = [UInt8](repeating: 0, count: 512)
    func put(_ text: String, at offset: Int) {
      for (index, byte) in text.utf8.enumerated() { header[offset + index] = byte }
    }
    func octal(_ value: Int, _ width: Int) -> String {
      let digits = String(value, radix: 8)
      return String(repeating: "0", count: width - digits.count) + digits
    }
    put(name, at: 0)
    put("0000644", at: 100)
    put(octal(content.count, 11), at: 124)
    put("        ", at: 148)
    put("0", at: 156)
    put("ustar", at: 257)
    put("00", at: 263)
    put(octal(header.reduce(0) { $0 + Int($1) }, 6) + "\0", at: 148)
    let padding = (512 - content.count % 512) % 512
    return header + content + [UInt8](repeating: 0, count: padding)
  }
}

/// A 7z archive whose one folder is copied, not compressed (7zFormat.txt of the LZMA SDK).
package enum SevenZipMaker {
  /// The signature, the header of the start, the contents one behind the other, and the header of the end. Numbers have
  /// to fit the two forms of ``number(_:)``.
  package static func bytes(_ entries: [(name: String, content: [UInt8])]) -> [UInt8] {
    let data = entries.flatMap(\.content)
    var streams: [UInt8] = [0x04, 0x06, 0x00, 0x01, 0x09] + number(data.count) + [0x00]
    streams += [0x07, 0x0B, 0x01, 0x00, 0x01, 0x01, 0x00, 0x0C] + number(data.count) + [0x00]
    streams += [0x08, 0x0D] + number(entries.count) + [0x09]
    for entry in entries.dropLast() { streams += number(entry.content.count) }
    streams += [0x0A, 0x01]
    for entry in entries { streams.put(CRC32.of(entry.content)) }
    streams += [0x00, 0x00]
    var names: [UInt8] = [0x00]
    for entry in entries {
      for unit in entry.name.utf16 { names.put(unit) }
      names += [0, 0]
    }
    let files = [0x05] + number(entries.count) + [0x11] + number(names.count) + names + [0x00]
    let header = [0x01] + streams + files + [0x00]
    var start: [UInt8] = []
    start.put(UInt64(data.count))
    start.put(UInt64(header.count))
    start.put(CRC32.of(header))
    var signature: [UInt8] = [0x37, 0x7A, 0xBC, 0xAF, 0x27, 0x1C, 0, 4]
    signature.put(CRC32.of(start))
    return signature + start + data + header
  }

  /// A number in one byte, or in two behind a first byte that says so. The format has longer forms, which no test needs.
  private static func number(_ value: Int) -> [UInt8] {
    value < 0x80 ? [UInt8(value)] : [0x80 | UInt8(value >> 8), UInt8(value & 0xFF)]
  }
}
