import ContentPackage
import CoreTypes

/// Writes a ZIP archive byte by byte, as any of many tools would: what is odd about it is said entry by entry.
package struct ZipMaker: Sendable {
  /// One file of the archive. What it claims and what it holds may differ.
  package struct Entry: Sendable {
    /// The name as bytes, in whatever encoding.
    package var name: [UInt8]
    /// The content before it is compressed.
    package var content: [UInt8]
    /// The method: 0 for stored, 8 for deflate, and any other number over stored bytes.
    package var method: UInt16 = 0
    /// The general purpose flags, to which ``hasDescriptor`` adds bit 3. UTF-8 in names (bit 11) is not set by itself.
    package var flags: UInt16 = 0
    /// Time and date of DOS; the first is that of 2026.
    package var time: UInt16 = 0
    /// The first of September 2026: years since 1980, month and day in 7, 4 and 5 bits.
    package var date: UInt16 = (2026 - 1980) << 9 | 9 << 5 | 1
    /// The mode of Unix, in the upper half of the external attributes.
    package var mode: UInt32 = 0o100644
    /// Whether lengths and checksum follow the content, and are zero before it.
    package var hasDescriptor = false
    /// Whether an extra field of 64 bits has the lengths (APPNOTE §4.5.3), though they would fit 32.
    package var hasWideLengths = false
    /// Extra fields of both headers, behind that of 64 bits.
    package var extra: [UInt8] = []
    /// The comment of the entry, in the central directory alone.
    package var comment: [UInt8] = []

    /// An entry whose name is in UTF-8.
    package init(_ name: String, _ content: [UInt8]) {
      self.init(bytes: Array(name.utf8), content)
    }

    /// An entry of a text.
    package init(_ name: String, _ content: String) {
      self.init(name, Array(content.utf8))
    }

    /// An entry whose name is in another encoding.
    package init(bytes name: [UInt8], _ content: [UInt8]) {
      self.name = name
      self.content = content
    }

    /// The same entry, changed.
    package func with(_ change: (inout Entry) -> Void) -> Entry {
      var entry = self
      change(&entry)
      return entry
    }

    /// A deflate stream of blocks that are not compressed (RFC 1951 §3.2.4).
    fileprivate var stored: [UInt8] {
      guard method == 8 else { return content }
      var stream: [UInt8] = []
      var rest = content[...]
      repeat {
        let block = rest.prefix(65_535)
        rest = rest.dropFirst(block.count)
        stream.append(rest.isEmpty ? 1 : 0)
        stream.put(UInt16(block.count))
        stream.put(~UInt16(block.count))
        stream += block
      } while !rest.isEmpty
      return stream
    }
  }

  /// The entries in the order of their content.
  package var entries: [Entry]
  /// The comment of the archive.
  package var comment: [UInt8] = []
  /// Bytes in front of the first entry; offsets count them.
  package var prefix: [UInt8] = []
  /// Bytes behind the end of the archive, which no record counts.
  package var suffix: [UInt8] = []
  /// The records of the central directory stand in the opposite order.
  package var isReversed = false
  /// The closing record of 64 bits is written, though nothing needs it.
  package var hasWideEnd = false

  /// An archive of those entries with nothing odd about it.
  package init(_ entries: [Entry]) {
    self.entries = entries
  }

  /// The same archive, changed.
  package func with(_ change: (inout ZipMaker) -> Void) -> ZipMaker {
    var maker = self
    change(&maker)
    return maker
  }

  /// The bytes of the archive: entries, central directory, closing records (APPNOTE §4.3.6). The values are not checked,
  /// and may contradict each other.
  package var bytes: [UInt8] {
    var bytes = prefix
    var central: [[UInt8]] = []
    for entry in entries {
      let offset = bytes.count
      let stored = entry.stored
      var flags = entry.flags
      if entry.hasDescriptor { flags |= 8 }
      bytes.put(0x0403_4B50 as UInt32)
      bytes.put(entry.hasWideLengths ? 45 : 20 as UInt16)
      append(entry, flags: flags, stored.count, hasLengths: !entry.hasDescriptor, to: &bytes)
      let wide = wideLengths(entry, stored.count)
      bytes.put(UInt16(wide.count + entry.extra.count))
      bytes += entry.name + wide + entry.extra + stored
      if entry.hasDescriptor {
        bytes.put(0x0807_4B50 as UInt32)
        bytes.put(CRC32.of(entry.content))
        bytes.put(UInt32(stored.count))
        bytes.put(UInt32(entry.content.count))
      }
      var record: [UInt8] = []
      record.put(0x0201_4B50 as UInt32)
      record.put(0x0314 as UInt16)
      record.put(entry.hasWideLengths ? 45 : 20 as UInt16)
      append(entry, flags: flags, stored.count, hasLengths: true, to: &record)
      record.put(UInt16(wide.count + entry.extra.count))
      record.put(UInt16(entry.comment.count))
      record += [0, 0, 0, 0]
      record.put(entry.mode << 16)
      record.put(UInt32(offset))
      central.append(record + entry.name + wide + entry.extra + entry.comment)
    }
    let start = bytes.count
    for record in isReversed ? central.reversed() : central { bytes += record }
    return bytes + end(centralOffset: start, centralLength: bytes.count - start) + suffix
  }

  /// Appends the fields from the flags to the length of the name, which both headers of an entry have in the same order.
  /// Checksum and lengths are zero without `hasLengths`.
  private func append(
    _ entry: Entry, flags: UInt16, _ storedLength: Int, hasLengths: Bool, to bytes: inout [UInt8]
  ) {
    for value in [flags, entry.method, entry.time, entry.date] { bytes.put(value) }
    let lengths =
      entry.hasWideLengths
      ? [UInt32.max, UInt32.max] : [UInt32(storedLength), UInt32(entry.content.count)]
    for value in [CRC32.of(entry.content)] + lengths { bytes.put(hasLengths ? value : 0) }
    bytes.put(UInt16(entry.name.count))
  }

  /// The extra field with both lengths in 64 bits, the length of the content first; empty without
  /// ``Entry/hasWideLengths``.
  private func wideLengths(_ entry: Entry, _ storedLength: Int) -> [UInt8] {
    guard entry.hasWideLengths else { return [] }
    var field: [UInt8] = [1, 0, 16, 0]
    field.put(UInt64(entry.content.count))
    field.put(UInt64(storedLength))
    return field
  }

  /// The closing record, and in front of it that of 64 bits with its locator where ``hasWideEnd`` asks for them.
  private func end(centralOffset: Int, centralLength: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    let position = centralOffset + centralLength
    if hasWideEnd {
      bytes.put(0x0606_4B50 as UInt32)
      bytes.put(44 as UInt64)
      bytes += [45, 3, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0]
      for value in [entries.count, entries.count, centralLength, centralOffset] {
        bytes.put(UInt64(value))
      }
      bytes.put(0x0706_4B50 as UInt32)
      bytes.put(0 as UInt32)
      bytes.put(UInt64(position))
      bytes.put(1 as UInt32)
    }
    bytes.put(0x0605_4B50 as UInt32)
    bytes += [0, 0, 0, 0]
    for _ in 0..<2 { bytes.put(UInt16(entries.count)) }
    bytes.put(UInt32(centralLength))
    bytes.put(UInt32(centralOffset))
    bytes.put(UInt16(comment.count))
    return bytes + comment
  }
}
