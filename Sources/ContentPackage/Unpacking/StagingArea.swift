import CoreTypes
public import SystemCalls

/// A package on its way: verified bytes go straight into their files. A directory that holds
///
///     manifest   the manifest's canonical bytes: whose staging this is
///     tree/      the files as they will be placed
///     spool/     one file per deflated entry that is not whole yet: its stored bytes, called by its index
///
/// A killed process continues by opening the area again with the map of pieces it had persisted; any prefix of what was
/// written will do. There is one owner at a time. Every call blocks, so none belongs on the cooperative pool. The methods throw
/// `SystemError`, or ``PackageValidationError`` when the bytes that the manifest promised do not unpack to its files.
///
/// ```swift
/// var area = try StagingArea.open(at: path, manifest: manifest, pieces: savedMap)
/// for piece in verifiedPieces { try area.write(piece) }
/// if area.pieces.isComplete { let content = try area.finish() }
/// ```
public struct StagingArea: ~Copyable, Sendable {
  /// The manifest that every piece is verified against.
  public let manifest: Manifest
  /// The folder of the staging area, absolute or relative to the process's.
  public let path: String
  /// What is verified and written. May be less than the map that ``open(at:manifest:pieces:resumption:)`` was given: files can be gone.
  public internal(set) var pieces: PieceMap

  let plan: UnpackPlan
  let tree: Directory
  let spool: Directory
  /// Deflated files that are in the tree already.
  var isUnpacked: [Bool]
  private var openFiles = OpenFiles()

  static let manifestName = "manifest"
  static let treeName = "tree"
  static let spoolName = "spool"

  /// Whether the bytes behind the map's pieces can be taken as written.
  public enum Resumption: Sendable {
    /// The machine has run on since the map was persisted: whatever was written is there.
    case sameBoot
    /// It may have lost what was not synced: pieces are read again, and those that cannot be confirmed count as missing.
    case afterRestart
  }

  /// Opens the area at `path`, making it if it is not there; its parent must exist. An area of another manifest is
  /// cleared first.
  public static func open(
    at path: String, manifest: Manifest, pieces: PieceMap? = nil, resumption: Resumption = .sameBoot
  ) throws -> StagingArea {
    precondition(pieces.map { $0.layout == manifest.layout } ?? true, "the map is another package's")
    let isKnown = try claim(path, for: manifest)
    let root = try Directory(opening: path)
    let tree = try root.subdirectory(creating: treeName)
    let spool = try root.subdirectory(creating: spoolName)
    var area = StagingArea(
      path: path, manifest: manifest, pieces: isKnown ? pieces ?? PieceMap(manifest) : PieceMap(manifest),
      tree: tree, spool: spool)
    try area.reconcile(resumption)
    return area
  }

  private init(
    path: String, manifest: Manifest, pieces: PieceMap, tree: consuming Directory, spool: consuming Directory
  ) {
    self.path = path
    self.manifest = manifest
    self.pieces = pieces
    self.tree = tree
    self.spool = spool
    plan = UnpackPlan(manifest)
    isUnpacked = Array(repeating: false, count: manifest.files.count)
  }

  /// Writes a piece to where its bytes belong and unpacks what it makes whole; then ``pieces`` has it. Writing one again
  /// changes nothing.
  public mutating func write(_ piece: VerifiedPiece) throws {
    precondition(piece.index < pieces.layout.count, "the piece is another package's")
    guard !pieces.isVerified(piece.index) else { return }
    let bytes = piece.bytes.span
    for write in plan.writes(for: piece.index) where !isUnpacked[write.file] {
      try put(bytes.extracting(write.slice), of: write.file, at: write.offset)
    }
    for file in plan.filesCompleted(by: piece.index, in: pieces) {
      openFiles.close(file)
      try unpackIfDeflated(file)
    }
    pieces.markVerified(piece.index)
  }

  private mutating func put(_ bytes: Span<UInt8>, of index: Int, at offset: Int64) throws(SystemError) {
    let entry = manifest.files[index]
    let file: OpenFiles.File
    switch entry.method {
    case .stored:
      file = try openFiles.file(index) { () throws(SystemError) in try tree.openForWriting(at: entry.path) }
    case .deflated:
      file = try openFiles.file(index) { () throws(SystemError) in
        try spool.openForWriting(named: String(index))
      }
    }
    try file.descriptor.write(bytes, at: ByteCount(offset))
    // Spooled bytes are gone soon; the others may as well start on their way to the device now.
    if entry.method == .stored {
      try file.descriptor.startWriteback(of: offset..<offset + Int64(bytes.count))
    }
  }

  mutating func closeFiles() {
    openFiles.closeAll()
  }

  /// True when the directory is there and this manifest's.
  private static func claim(_ path: String, for manifest: Manifest) throws(SystemError) -> Bool {
    let marker = "\(path)/\(manifestName)"
    let bytes = manifest.canonicalBytes()
    if try FileSystem.status(of: path) != nil {
      let status = try FileSystem.status(of: marker)
      if let status, status.kind == .regular, status.length == ByteCount(bytes.count),
        try FileSystem.read(marker, upTo: status.length) == bytes
      {
        return true
      }
      try FileSystem.removeRecursively(path)
    }
    try FileSystem.createDirectory(path)
    try DurableFile.write(bytes.span, to: marker)
    return false
  }

  /// Removes the area at `path`, if there is one.
  public static func discard(at path: String) throws(SystemError) {
    try FileSystem.removeRecursively(path)
  }
}
