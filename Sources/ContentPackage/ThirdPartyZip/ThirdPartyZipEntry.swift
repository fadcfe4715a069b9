/// An entry of an archive that somebody else made, as its central directory and its local header say it.
struct ThirdPartyZipEntry: Sendable {
  let record: ZipCentralDirectoryHeader
  /// As far as it is text: UTF-8, or else each byte a character.
  let name: String
  /// Where the data lies; nil when the local header does not say so.
  var data: Range<UInt64>?

  init(_ record: ZipCentralDirectoryHeader) {
    self.record = record
    name =
      String(validating: record.name, as: UTF8.self)
      ?? String(String.UnicodeScalarView(record.name.map { Unicode.Scalar($0) }))
  }

  var isFolder: Bool { record.name.last == 0x2F }
  var method: StorageMethod? { StorageMethod(zipNumber: record.methodNumber) }
  var isEncrypted: Bool { record.flags & ZipFormat.flagEncrypted != 0 }
}
