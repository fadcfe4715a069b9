/// An entry of an archive from any other tool, as its central directory and its local header say it.
package struct ThirdPartyZipEntry: Sendable {
  package let record: ZipCentralDirectoryHeader
  package let named: ArchiveName
  /// Where the data lies; nil when the local header does not say so.
  package var data: Range<UInt64>?

  package init(_ record: ZipCentralDirectoryHeader) {
    self.record = record
    named = ArchiveName(record.name)
  }

  /// The name as people read it.
  package var name: String { named.text }
  /// A backslash at the end is a folder's where it is a separator.
  package var isFolder: Bool {
    record.name.last == 0x2F || record.length == 0 && named.encoding == .utf8 && record.name.last == 0x5C
  }
  /// Nil for a method that packages do not use.
  package var method: StorageMethod? { StorageMethod(zipNumber: record.methodNumber) }
  /// By any of the three bits of APPNOTE 4.4.4 that mean it.
  package var isEncrypted: Bool { record.flags & ZipFormat.flagEncrypted != 0 }
}
