import Commerce
import ContentPackage
import CoreTypes
import Crypto
import Files
import SystemCalls

/// Writes the files of a folder into one archive, laid out by ``PackageLayout``: one pass over the files, local header and
/// data of each behind the other, then the central directory. The archive becomes visible under its name only when it is whole.
///
/// ```swift
/// var packer = try FolderPacker(source: source, output: path, limits: limits, readings: 1, progress: nil)
/// try packer.packAll()
/// let manifest = try packer.publish { packed in try Manifest(draft(of: packed)) }
/// ```
///
/// After an error the packer is dropped, and nothing is left at the path. Its methods throw `SystemError`, or
/// ``PackageValidationError`` when a file changes meanwhile or the package grows too long.
struct FolderPacker: ~Copyable {
  /// Files up to this length are held in memory and read once; longer ones are read twice, first for what their header
  /// must say.
  static let memoryLength = ByteCount.mebibytes(8)

  /// The package as its manifest describes it, files by path.
  struct Packed {
    let length: ByteCount
    let digest: SHA256Digest
    let pieces: [SHA256Digest]
    let files: [ManifestFile]
  }

  private let source: SourceFolder
  /// The sections of the files that belong to one.
  private let sections: [PackagePath: SectionTag]
  private let root: Directory
  private let limits: PackageLimits
  private let progress: PackageBuilder.Progress?
  /// Bytes that will have been read, for the progress: the source once or twice.
  private let total: ByteCount
  private var done = ByteCount.zero
  private var output: PackageOutput
  private var entries: [ZipEntry] = []
  private var files: [ManifestFile] = []
  /// How each file was before it was first read.
  private var stamps: [PackagePath: SourceStamp] = [:]
  /// Bytes of the records that will follow the last entry's data. Kept up to date so that the whole length is
  /// known with each entry.
  private var centralLength: UInt64 = 0

  /// `readings` is how often the source will be read. The output is made here, and is gone unless
  /// ``publish()`` is reached.
  init(
    source: SourceFolder, sections: [PackagePath: SectionTag] = [:], output path: String,
    limits: PackageLimits, readings: Int64,
    progress: PackageBuilder.Progress?
  ) throws(SystemError) {
    let root = try Directory(opening: source.path)
    let output = try PackageOutput(creating: path)
    self.source = source
    self.sections = sections
    self.limits = limits
    self.progress = progress
    total = ByteCount(readings * source.files.reduce(0) { $0 + $1.length.rawValue })
    self.root = root
    self.output = output
  }

  /// One file behind the other, each read as it is written. The order is that of
  /// ``PackageLayout/precedes(_:_:)``.
  mutating func packAll() throws {
    let order = source.files.sorted {
      PackageLayout.precedes(
        ($0.path, UInt64($0.length.rawValue), sections[$0.path]),
        ($1.path, UInt64($1.length.rawValue), sections[$1.path]))
    }
    for file in order { try pack(file) }
  }

  /// Reads every file for what its header must say, then writes each where it belongs. A file whose bytes are
  /// others the second time throws `changed-while-packing`.
  mutating func packAll(following previous: Manifest) throws {
    var items: [LayoutItem] = []
    for file in source.files {
      let descriptor = try open(file)
      items.append(LayoutItem(file, try measure(file, descriptor), section: sections[file.path]))
      advance(by: Int(file.length.rawValue))
    }
    let layout = PackageLayout(of: items, following: previous)
    for placement in layout.placements {
      try pad(to: placement.offset)
      try pack(source.files[placement.item])
      guard files.last.map({ LayoutItem($0, section: sections[$0.path]) }) == items[placement.item] else {
        throw changed(source.files[placement.item])
      }
    }
  }

  /// Opens a file of the source. Its length must be that of the scan, and its stamp that of the first
  /// opening.
  private mutating func open(_ file: SourceFile) throws -> FileDescriptor {
    let descriptor = try root.openFile(at: file.path)
    let status = try descriptor.status()
    let stamp = SourceStamp(status)
    guard status.length == file.length, stamps.updateValue(stamp, forKey: file.path) ?? stamp == stamp else {
      throw changed(file)
    }
    return descriptor
  }

  /// A file that is written to while others are packed is not whole either: all are looked at again at the end.
  private func checkUnchanged() throws {
    for (path, stamp) in stamps { try stamp.check(try root.openFile(at: path), path: path.text) }
  }

  private mutating func pack(_ file: SourceFile) throws {
    let descriptor = try open(file)
    if file.length <= Self.memoryLength {
      try packFromMemory(file, descriptor)
    } else {
      try packInPasses(file, descriptor)
    }
  }

  /// Writes zeros up to the offset of the next entry.
  private mutating func pad(to offset: UInt64) throws {
    let zeros = [UInt8](repeating: 0, count: 64 << 10)
    while UInt64(output.length.rawValue) < offset {
      let count = min(UInt64(zeros.count), offset - UInt64(output.length.rawValue))
      try output.append(zeros.span.extracting(first: Int(count)))
    }
  }

  /// Writes the central directory and makes the package visible once `accept` has made something of it. All files of the source are looked
  /// at once more before that.
  consuming func publish<Value>(accepting accept: (Packed) throws -> Value) throws -> Value {
    try checkUnchanged()
    let centralOffset = UInt64(output.length.rawValue)
    for entry in entries {
      let header = entry.centralHeader
      try output.append(header.span)
    }
    let end = ZipEndOfCentralDirectory(
      entryCount: UInt64(entries.count), centralOffset: centralOffset,
      centralLength: UInt64(output.length.rawValue) - centralOffset
    ).bytes
    try output.append(end.span)
    let length = output.length
    let files = files.sorted { $0.path < $1.path }
    return try output.publish { digest, pieces in
      try accept(Packed(length: length, digest: digest, pieces: pieces, files: files))
    }
  }

  /// The values for a file's header, from memory where it fits.
  private func measure(_ file: SourceFile, _ descriptor: borrowing FileDescriptor) throws -> FileMeasurement {
    guard file.length <= Self.memoryLength else {
      return try FileMeasurement(file, descriptor, limits: limits)
    }
    let content = try content(of: file, descriptor)
    let deflated = file.path.isWorthDeflating ? try deflatedIfSmaller(content, file) : nil
    return FileMeasurement(
      method: deflated == nil ? .stored : .deflated, storedLength: Int64(deflated?.count ?? content.count),
      checksum: CRC32.of(content), digest: .of(content))
  }

  /// All of a file that fits into memory. Throws where it has become longer or shorter.
  private func content(of file: SourceFile, _ descriptor: borrowing FileDescriptor) throws -> [UInt8] {
    var content: [UInt8] = []
    let count = Int(file.length.rawValue)
    // One byte more than it should have tells that it grew.
    try descriptor.read(upTo: count + 1, at: .zero, into: &content)
    guard content.count == count else { throw changed(file) }
    return content
  }

  /// One reading for header and data, so that they agree by construction.
  private mutating func packFromMemory(_ file: SourceFile, _ descriptor: borrowing FileDescriptor) throws {
    let content = try content(of: file, descriptor)
    let count = content.count
    let deflated = file.path.isWorthDeflating ? try deflatedIfSmaller(content, file) : nil
    var hasher = SHA256Hasher()
    hasher.update(content.span)
    let entry = try begin(
      file, method: deflated == nil ? .stored : .deflated, checksum: CRC32.of(content),
      storedLength: deflated?.count ?? count, digest: hasher.finalize())
    let data = deflated ?? content
    try output.append(data.span)
    advance(by: count)
    precondition(UInt64(output.length.rawValue) == entry.dataEnd, "the header promised other bytes")
  }

  /// Nil where deflating gains nothing, or more than ``PackageLimits`` allow of one file.
  private func deflatedIfSmaller(_ content: [UInt8], _ file: SourceFile) throws -> [UInt8]? {
    guard content.count > 1 else { return nil }
    var stream = try DeflateStream()
    // One byte less than the file: what does not fit is no gain.
    var output = [UInt8](repeating: 0, count: content.count - 1)
    var buffer = output.mutableSpan
    let step = try stream.run(content.span, isLast: true, into: &buffer)
    guard case .finished = step.outcome,
      limits.isWithinRatio(length: file.length, storedLength: ByteCount(step.produced))
    else { return nil }
    output.removeLast(output.count - step.produced)
    return output
  }

  /// Two readings: for the header, then for the data. They are compared by digest and length.
  private mutating func packInPasses(_ file: SourceFile, _ descriptor: borrowing FileDescriptor) throws {
    let measured = try FileMeasurement(file, descriptor, limits: limits)
    let entry = try begin(
      file, method: measured.method, checksum: measured.checksum, storedLength: measured.storedLength,
      digest: measured.digest)
    var hasher = SHA256Hasher()
    switch measured.method {
    case .stored:
      let isWhole = try FileDigest.forEachChunk(of: descriptor, in: 0..<file.length.rawValue) { chunk in
        hasher.update(chunk)
        try output.append(chunk)
        advance(by: chunk.count)
      }
      guard isWhole else { throw changed(file) }
    case .deflated:
      let isWhole = try Deflation.run(descriptor, length: file.length.rawValue) { chunk in
        hasher.update(chunk)
        advance(by: chunk.count)
      } output: { chunk in
        try output.append(chunk)
      }
      guard isWhole else { throw changed(file) }
    }
    guard hasher.finalize() == measured.digest, UInt64(output.length.rawValue) == entry.dataEnd else {
      throw changed(file)
    }
  }

  /// Writes the local header; refuses what would make the package too long before its bytes are written.
  private mutating func begin(
    _ file: SourceFile, method: StorageMethod, checksum: UInt32, storedLength: some BinaryInteger,
    digest: SHA256Digest
  ) throws -> ZipEntry {
    let entry = ZipEntry(
      name: Array(file.path.text.utf8), method: method, checksum: checksum,
      storedLength: UInt64(storedLength),
      length: UInt64(file.length.rawValue), headerOffset: UInt64(output.length.rawValue))
    centralLength += UInt64(entry.centralHeader.count)
    let end = ZipEndOfCentralDirectory(
      entryCount: UInt64(entries.count + 1), centralOffset: entry.dataEnd, centralLength: centralLength)
    let length = entry.dataEnd + centralLength + UInt64(end.bytes.count)
    guard length <= UInt64(limits.maximumLength.rawValue) else {
      throw PackageValidationError([SourceFolder.tooLarge(atLeast: ByteCount(length), limits)])
    }
    let header = entry.localHeader
    try output.append(header.span)
    entries.append(entry)
    files.append(
      ManifestFile(
        path: file.path, offset: ByteCount(entry.dataOffset), storedLength: ByteCount(storedLength),
        length: file.length, method: method, digest: digest))
    return entry
  }

  /// Counts bytes of the source that were read.
  private mutating func advance(by count: Int) {
    done += ByteCount(count)
    progress?(done, total)
  }

  private func changed(_ file: SourceFile) -> PackageValidationError {
    SourceStamp.changed(file.path.text)
  }
}
