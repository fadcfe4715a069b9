import CoreTypes
import Crypto
public import Files
public import SystemCalls

/// A package on its way: verified bytes go straight into their files. A directory that holds
///
///     manifest   the manifest's canonical bytes: whose staging this is
///     session    random bytes of the process that has it open
///     tree/      the files as they will be placed
///     spool/     what is needed beside the files to tell which pieces are there, see ``Spool``
///
/// A killed process continues by opening the area again: every piece whose bytes are there is read, compared with its
/// digest, and counts. There is one owner at a time. Every call blocks, so none belongs on the cooperative pool. Long calls
/// throw `CancellationError` soon after the task was cancelled. The methods throw `SystemError`, or
/// ``PackageValidationError`` when the bytes that the manifest promised do not unpack to its files. After any other error
/// than that the area must be opened again.
///
/// ```swift
/// var area = try StagingArea.open(at: path, manifest: manifest)
/// for piece in verifiedPieces { _ = try area.begin(piece) }
/// _ = try area.finishWrites()
/// if area.pieces.isComplete { let content = try area.finish() }
/// ```
public struct StagingArea: ~Copyable, Sendable {
  /// The manifest that every piece is verified against.
  public let manifest: Manifest
  /// The folder of the staging area, absolute or relative to the process's.
  public let path: String
  /// The pieces that are verified and written.
  public internal(set) var pieces: PieceMap

  let plan: UnpackPlan
  /// The bytes that may be read beside the owner; nil where there are no readers.
  let extents: StagedExtents?
  let operations: any FileOperations
  let root: Directory
  let tree: Directory
  var spool: Spool
  /// Files that are in the tree whole and need no more bytes: inflated, or taken over from another version.
  var isUnpacked: [Bool]
  /// Deflated files of which the beginning is in the tree, and not the end.
  var inflating: [Int: InflatingFile] = [:]
  /// How many stored bytes of a deflated file the checkpoint on disk stands for.
  var checkpoints: [Int: Int64] = [:]
  /// Files that have, or had, another name outside of the area: what was read of them may be written to by it.
  var shared: Set<Int> = []
  var openFiles = OpenFiles()
  /// There while files are open for writing.
  var lanes: WriteLanes?
  /// Pieces whose bytes are being written, in the order in which that began.
  var inProgress: [PieceInProgress] = []
  private let identity: MountIdentity
  private let session: [UInt8]

  static let manifestName = "manifest"
  static let sessionName = "session"
  static let treeName = "tree"
  static let spoolName = "spool"

  /// Opens the area at `path`, making it if it is not there; its parent must exist. An area of another manifest is
  /// cleared first. What an earlier process left is read again.
  public static func open(
    at path: String, manifest: Manifest, operations: any FileOperations = SystemFileOperations()
  ) throws -> StagingArea {
    try open(at: path, manifest: manifest, operations: operations, publishing: nil)
  }

  /// The same, with what is verified and written told to `extents`, which are of the same manifest.
  package static func open(
    at path: String, manifest: Manifest, operations: any FileOperations, publishing extents: StagedExtents?
  ) throws -> StagingArea {
    let isKnown = try claim(path, for: manifest, operations)
    let root = try Directory(opening: path, operations: operations)
    let tree = try root.subdirectory(creating: treeName)
    let spool = Spool(try root.subdirectory(creating: spoolName))
    let identity = try MountIdentity(of: root.descriptor)
    let session = (0..<16).map { _ in UInt8.random(in: .min ... .max) }
    try operations.write(session.span, to: try root.openForWriting(named: sessionName), at: .zero)
    var area = StagingArea(
      path: path, manifest: manifest, operations: operations, root: root, tree: tree, spool: spool,
      identity: identity, session: session, extents: extents)
    if isKnown { try area.recover() }
    return area
  }

  private init(
    path: String, manifest: Manifest, operations: any FileOperations, root: consuming Directory,
    tree: consuming Directory, spool: consuming Spool, identity: MountIdentity, session: [UInt8],
    extents: StagedExtents?
  ) {
    self.path = path
    self.manifest = manifest
    self.operations = operations
    self.root = root
    self.tree = tree
    self.spool = spool
    self.identity = identity
    self.session = session
    self.extents = extents
    pieces = PieceMap(manifest)
    plan = UnpackPlan(manifest)
    isUnpacked = Array(repeating: false, count: manifest.files.count)
  }

  /// Whether the area is still the one that was opened: false when the medium was taken away or another one is in its
  /// place, or another process has opened the area. Then it must be opened again.
  public func isCurrent() throws(SystemError) -> Bool {
    do {
      let directory = try Directory(opening: path, operations: operations)
      var bytes: [UInt8] = []
      try operations.read(
        upTo: session.count, of: try directory.open(Self.sessionName, .readOnly), at: .zero, into: &bytes)
      return try MountIdentity(of: directory.descriptor) == identity && bytes == session
    } catch {
      if error.isFileMissing || error.isUnreadable { return false }
      throw error
    }
  }

  /// Whether ``write(_:)`` may be called with that piece now. False while the spool is full and the piece would have to wait
  /// there for one before it: that one is to be fetched first. The first piece that is missing is always accepted.
  public func accepts(_ piece: Int) -> Bool {
    guard spool.pieces.count >= Spool.pieceLimit - Spool.orderedPieces else { return true }
    return plan.files(in: piece..<piece + 1).allSatisfy { file in
      manifest.files[file].method == .stored || isUnpacked[file]
        || pieces.areAllVerified(plan.pieces(of: file).lowerBound..<piece)
    }
  }

  /// True when the directory is there and this manifest's.
  private static func claim(
    _ path: String, for manifest: Manifest, _ operations: any FileOperations
  ) throws(SystemError) -> Bool {
    let marker = "\(path)/\(manifestName)"
    let bytes = manifest.canonicalBytes()
    if try operations.status(of: path) != nil {
      let status = try operations.status(of: marker)
      if let status, status.kind == .regular, status.length == ByteCount(bytes.count),
        try operations.readIfReadable(marker, upTo: status.length) == bytes
      {
        return true
      }
      try operations.removeRecursively(path)
    }
    try operations.createDirectory(path)
    try DurableFile.write(bytes.span, to: marker, operations: operations)
    return false
  }

  /// Removes the area at `path`, if there is one.
  public static func discard(
    at path: String, operations: any FileOperations = SystemFileOperations()
  ) throws(SystemError) {
    try operations.removeRecursively(path)
  }
}
