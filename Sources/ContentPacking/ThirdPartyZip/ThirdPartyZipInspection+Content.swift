import ContentPackage
import CoreTypes
import SystemCalls

extension ThirdPartyZipInspection {
  /// The result of reading every entry.
  struct Content {
    /// The entries that do not unpack to their length and checksum, or are executables.
    var faults: [PackageValidationIssue] = []
    /// The format of the picture by its first bytes, for each entry that is called like a page.
    var pictures: [PictureFormat?] = []
  }

  /// Reads every entry whose place is known. One that cannot be read for a reason that is a fault already is
  /// passed over.
  func content(in file: borrowing FileDescriptor) throws -> Content {
    var content = Content()
    content.pictures = Array(repeating: nil, count: entries.count)
    for (index, entry) in entries.enumerated() where !entry.isFolder && !entry.isEncrypted {
      var check = CRC32()
      var prefix: [UInt8] = []
      do {
        let isRead = try read(entry, in: file) { chunk in
          check.update(chunk)
          let missing = chunk.extracting(first: max(0, ExecutableSignature.prefixLength - prefix.count))
          for index in missing.indices { prefix.append(missing[index]) }
        }
        guard isRead else { continue }
      } catch let refusal as PackageValidationError {
        content.faults += refusal.faults
        continue
      }
      if check.value != entry.record.checksum {
        content.faults.append(
          PackageValidationIssue(
            .fileChecksumMismatch, path: entry.name, "its CRC-32 is not the one the archive gives"))
      }
      let mayBeRun = (entry.record.mode ?? 0) & 0o111 != 0
      if let kind = ExecutableSignature.find(in: prefix, hasExecuteBit: mayBeRun) {
        content.faults.append(
          PackageValidationIssue(.executable, path: entry.name, "\(kind) is not published"))
      }
      if FileName.mayBePage(entry.named.path) {
        content.pictures[index] = PictureFormat(startOf: prefix)
      }
    }
    return content
  }

  /// The bytes of an entry; nil when it has more than `limit` bytes, or is damaged. Its checksum is not
  /// compared.
  func bytes(
    of entry: ThirdPartyZipEntry, upTo limit: ByteCount, in file: borrowing FileDescriptor
  ) throws -> [UInt8]? {
    guard entry.record.length <= UInt64(limit.rawValue) else { return nil }
    var bytes: [UInt8] = []
    do {
      let isRead = try read(entry, in: file) { chunk in
        for index in chunk.indices { bytes.append(chunk[index]) }
      }
      return isRead ? bytes : nil
    } catch is PackageValidationError {
      return nil
    }
  }

  /// False for an entry whose bytes cannot be found, or which is bound to unpack to more than a package may have.
  private func read(
    _ entry: ThirdPartyZipEntry, in file: borrowing FileDescriptor, _ body: (Span<UInt8>) throws -> Void
  ) throws -> Bool {
    guard let data = entry.data, let method = entry.method, !entry.isEncrypted,
      entry.record.length <= UInt64(limits.maximumUnpackedLength.rawValue)
    else { return false }
    let range = Int64(data.lowerBound)..<Int64(data.upperBound)
    switch method {
    case .stored: return try FileDigest.forEachChunk(of: file, in: range, body)
    case .deflated:
      // A bomb was named by its ratio; it is not set off.
      let isBounded = limits.allowsRatio(
        length: ByteCount(entry.record.length), storedLength: ByteCount(entry.record.storedLength))
      guard isBounded else { return false }
      try Inflation.run(
        file, range: range, length: Int64(entry.record.length), name: entry.name, body)
      return true
    }
  }
}
