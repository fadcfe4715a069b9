import Measures
import SystemCalls

/// Looks into an archive that somebody else made (a `.cbz`) for its title and its pages. What it cannot read it leaves
/// unsaid: the archive is delivered as it is, whatever is in it.
enum ForeignArchive {
  /// A longer central directory is not read.
  private static let maximumCentralLength: UInt64 = 32 << 20

  static func metadata(
    of file: borrowing FileDescriptor, length: ByteCount, limits: PackageLimits
  ) throws -> PublicationMetadata {
    let records = try records(of: file, length: length, limits: limits)
    let paths = records.compactMap { record -> PackagePath? in
      // Names that are no safe paths are no pages; nothing is unpacked from here.
      String(validating: record.name, as: UTF8.self).flatMap { try? PackagePath($0) }
    }
    let comicInfo = try records.first { $0.name.elementsEqual(ComicInfo.fileName.utf8) }
      .flatMap { try bytes(of: $0, in: file, limits: limits) }
      .flatMap { ComicInfoReader.read($0) }
    return PublicationMetadata(paths: paths, comicInfo: comicInfo)
  }

  private static func records(
    of file: borrowing FileDescriptor, length: ByteCount, limits: PackageLimits
  ) throws(SystemError) -> [ZipCentralRecord] {
    guard let found = try ZipEnd.find(in: file, length: length, allowingComment: true),
      found.end.centralLength <= maximumCentralLength, found.end.centralOffset <= found.offset,
      found.end.centralLength <= found.offset - found.end.centralOffset
    else { return [] }
    let start = found.end.centralOffset
    var reader = ZipCentralReader(range: start..<start + found.end.centralLength)
    var records: [ZipCentralRecord] = []
    while records.count < limits.maximumFiles, case .record(let record) = try reader.next(in: file) {
      records.append(record)
    }
    return records
  }

  /// The bytes of a small file of the archive; nil when it is too long or cannot be read.
  private static func bytes(
    of record: ZipCentralRecord, in file: borrowing FileDescriptor, limits: PackageLimits
  ) throws -> [UInt8]? {
    let limit = UInt64(limits.maximumMetadataLength.rawValue)
    guard record.length <= limit, record.storedLength <= limit, record.headerOffset < UInt64(Int64.max) / 2,
      record.flags & ZipFormat.flagEncrypted == 0, let method = StorageMethod(zipNumber: record.methodNumber)
    else { return nil }
    var header: [UInt8] = []
    try file.read(upTo: ZipFormat.localLength, at: ByteCount(record.headerOffset), into: &header)
    guard header.count == ZipFormat.localLength,
      header.littleEndian(at: 0) == ZipFormat.localSignature
    else { return nil }
    let offset =
      record.headerOffset + UInt64(ZipFormat.localLength)
      + UInt64(header.littleEndian(at: 26, as: UInt16.self))
      + UInt64(header.littleEndian(at: 28, as: UInt16.self))
    var stored: [UInt8] = []
    try file.read(upTo: Int(record.storedLength), at: ByteCount(offset), into: &stored)
    switch method {
    case .stored: return stored
    case .deflated: return try inflated(stored, length: Int(record.length))
    }
  }

  private static func inflated(_ stored: [UInt8], length: Int) throws -> [UInt8]? {
    var stream = try InflateStream()
    var output = [UInt8](repeating: 0, count: length)
    var buffer = output.mutableSpan
    let step: CompressionStep
    do throws(CompressionError) {
      step = try stream.run(stored.span, into: &buffer)
    } catch {
      guard error.reason == .invalidData else { throw error }
      return nil
    }
    return step.produced == length ? output : nil
  }
}
