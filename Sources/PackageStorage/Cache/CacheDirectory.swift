import ContentPackage
import CoreTypes
import Crypto
import Files
import SystemCalls

/// The files of a cache:
///
///     ab/cdef…         a package, by its digest: as long as the package, with holes where nothing is there
///     ab/cdef….pieces  its description (``PackageDescription``)
///     index            what is verified (``CacheIndex``); only while no process uses the cache
///     lock             locked by the process that uses it
///
/// Nothing is synced: what is lost can be fetched again, and what is half there is found out. Every call blocks.
struct CacheDirectory: Sendable {
  /// The end of the name of a description.
  private static let descriptionSuffix = ".pieces"
  /// The end of the name of a file that is being written; such files are removed at a start.
  private static let partSuffix = ".part"

  /// The path of the directory.
  let path: String
  /// The file operations, through which tests let calls fail.
  let operations: any FileOperations

  /// A package that was found.
  struct Found: Sendable {
    /// The pieces that are there, as far as they can be believed.
    var map: BlockMap
    /// When each block was used last.
    var uses: [UInt32]
    /// The room of the files.
    var room: Room
  }

  /// The room that the files of a package take.
  struct Room: Hashable, Sendable {
    /// The room of the package's file, without its holes.
    var file: ByteCount
    /// The room of what lies beside it.
    var description: ByteCount

    /// The room of both.
    var sum: ByteCount { file + description }
  }

  /// The path of the index.
  private var index: String { "\(path)/index" }

  /// The path of a package: a directory by the first two digits of its digest, a file by the others.
  private func file(_ digest: SHA256Digest) -> String {
    let text = digest.hexadecimal
    return "\(path)/\(text.prefix(2))/\(text.dropFirst(2))"
  }

  /// Makes the directory where it is missing, and keeps other processes away from it until the value is let go. Throws `storage` where
  /// another has it, or the file system cannot give back a part of a file's room; a full one is not tried, since what lies there can be
  /// sent.
  func lock() throws(PackageCacheError) -> LockFile {
    try asCacheError { () throws(SystemError) in
      try operations.createDirectories(path, permissions: 0o700)
    }
    guard
      let lock = try asCacheError({ () throws(SystemError) in try LockFile.acquire("\(path)/lock") })
    else { throw PackageCacheError(.storage, "another process uses the cache in \(path)") }
    do throws(SystemError) {
      let probe = "\(path)/probe\(Self.partSuffix)"
      let file = try operations.open(probe, .readWrite, options: [.create, .truncate], permissions: 0o600)
      try operations.remove(probe)
      try operations.write([1].span, to: file, at: .zero)
      try operations.punchHole(0..<4096, in: file)
    } catch {
      if error.isOutOfSpace { return lock }
      guard error.isUnsupported else { throw PackageCacheError(error) }
      throw PackageCacheError(
        .storage, "the file system of \(path) cannot give back a part of a file's room (\(error))")
    }
    return lock
  }

  // MARK: At a start

  /// The packages that lie there. What the index says counts, and is not there any more afterwards; without it, or for a file that is
  /// another now, each piece that takes room has to be checked.
  func takeStock() throws(PackageCacheError) -> [SHA256Digest: Found] {
    try asCacheError { () throws(SystemError) in
      let index = try takeIndex()
      var found: [SHA256Digest: Found] = [:]
      for directory in try operations.list(path)
      where directory.kind == .directory && directory.name.utf8.count == 2 {
        let names = Set(try operations.list("\(path)/\(directory.name)").map(\.name))
        for name in names {
          if let digest = SHA256Digest(hexadecimal: directory.name + name) {
            found[digest] = try look(digest, index?.packages[digest])
          } else if name.hasSuffix(Self.partSuffix) || Self.isAlone(name, of: names) {
            try operations.remove("\(path)/\(directory.name)/\(name)")
          }
        }
      }
      return found
    }
  }

  /// Whether it is the description of a package that is not there.
  private static func isAlone(_ name: String, of names: Set<String>) -> Bool {
    name.hasSuffix(descriptionSuffix) && !names.contains(String(name.dropLast(descriptionSuffix.count)))
  }

  /// The index, which is removed by that. Nil where there is none that counts: it is damaged, or of an earlier run of the
  /// machine.
  private func takeIndex() throws(SystemError) -> CacheIndex? {
    guard try operations.status(of: index) != nil else { return nil }
    let bytes = try operations.readIfReadable(index, upTo: CacheIndex.maximumFileLength) ?? []
    try operations.remove(index)
    let boot = try FileSystem.bootIdentifier()
    return CacheIndex(decoding: bytes).flatMap { $0.bootIdentifier == boot ? $0 : nil }
  }

  /// Nil where the file cannot be that of a package.
  private func look(_ digest: SHA256Digest, _ indexed: CacheIndex.Package?) throws(SystemError) -> Found? {
    guard let status = try operations.status(of: file(digest)), status.kind == .regular else { return nil }
    let layout = BlockLayout(packageLength: status.length)
    guard layout.count <= BlockWords.maximumCount else {
      try remove(digest)
      return nil
    }
    var found = Found(
      map: BlockMap(layout), uses: Array(repeating: 0, count: layout.count),
      room: try room(of: digest))
    if let indexed, indexed.length == status.length, indexed.changed == status.changed {
      found.uses = indexed.uses
      for piece in indexed.verified.indices where indexed.verified[piece] { found.map[piece] = .verified }
    } else {
      let file = try operations.open(file(digest), .readOnly)
      for range in try file.allocatedRanges() {
        for piece in layout.pieces.pieces(holding: range.clamped(to: 0..<status.length.rawValue)) {
          found.map[piece] = .unchecked
        }
      }
    }
    return found
  }

  // MARK: Packages

  /// The open files of a package.
  struct Opened: Sendable {
    /// The open file, for reading and writing.
    let file: SharedFile
    /// Nothing that was there before counts.
    let isNew: Bool
    /// The description is another than the one that was there.
    let isDescribedAnew: Bool
    /// The room of the files.
    let room: Room
  }

  /// Opens the file of a package, and writes down what it is. Makes both where they are missing.
  func open(
    _ digest: SHA256Digest, as description: PackageDescription
  ) throws(PackageCacheError) -> Opened {
    try asCacheError { () throws(SystemError) in
      let path = file(digest)
      try operations.createDirectories(FileSystem.parent(of: path), permissions: 0o700)
      let isNew = try operations.status(of: path)?.length != description.length
      let file = try operations.open(path, .readWrite, options: [.create, .doNotFollow], permissions: 0o600)
      if isNew {
        try operations.truncate(file, to: .zero)
        try operations.truncate(file, to: description.length)
      }
      let bytes = description.encoded()
      let isDescribedAnew = try read(digest) != bytes
      if isDescribedAnew { try write(bytes, to: path + Self.descriptionSuffix) }
      return Opened(
        file: SharedFile(file), isNew: isNew, isDescribedAnew: isDescribedAnew,
        room: try room(of: digest))
    }
  }

  /// The description that lies beside a package; nil where there is none that is whole.
  func description(of digest: SHA256Digest) throws(PackageCacheError) -> PackageDescription? {
    try asCacheError { () throws(SystemError) in try read(digest) }.flatMap(PackageDescription.init)
  }

  /// The bytes of the description; nil where there is none, or the device does not give them back.
  private func read(_ digest: SHA256Digest) throws(SystemError) -> [UInt8]? {
    let path = file(digest) + Self.descriptionSuffix
    guard try operations.status(of: path) != nil else { return nil }
    return try operations.readIfReadable(path, upTo: PackageDescription.maximumFileLength)
  }

  /// Gives the room of a part of a package back.
  func punchHole(_ range: Range<Int64>, in digest: SHA256Digest) throws(SystemError) {
    let file = try operations.open(file(digest), .readWrite)
    try operations.punchHole(range, in: file)
  }

  /// Removes the files of a package.
  func remove(_ digest: SHA256Digest) throws(SystemError) {
    try operations.remove(file(digest))
    try operations.remove(file(digest) + Self.descriptionSuffix)
  }

  /// The room that the files of a package take now; zero for those that are not there.
  func room(of digest: SHA256Digest) throws(SystemError) -> Room {
    let path = file(digest)
    return Room(
      file: try operations.status(of: path)?.allocated ?? .zero,
      description: try operations.status(of: path + Self.descriptionSuffix)?.allocated ?? .zero)
  }

  // MARK: At an end

  /// Writes the index; nothing may change a file from here on.
  func close(_ packages: [SHA256Digest: Found]) throws(PackageCacheError) {
    try asCacheError { () throws(SystemError) in
      var indexed: [SHA256Digest: CacheIndex.Package] = [:]
      for (digest, found) in packages {
        guard let status = try operations.status(of: file(digest)) else { continue }
        indexed[digest] = CacheIndex.Package(
          length: status.length, changed: status.changed, uses: found.uses,
          verified: (0..<found.map.layout.pieces.count).map { found.map[$0] == .verified })
      }
      let boot = try FileSystem.bootIdentifier()
      try write(CacheIndex(bootIdentifier: boot, packages: indexed).encoded(), to: index)
    }
  }

  /// Writes a file under another name and renames it. Nothing is synced.
  private func write(_ bytes: [UInt8], to path: String) throws(SystemError) {
    let part = path + Self.partSuffix
    let file = try operations.open(part, .writeOnly, options: [.create, .truncate], permissions: 0o600)
    try operations.write(bytes.span, to: file, at: .zero)
    try operations.rename(part, to: path)
  }
}
