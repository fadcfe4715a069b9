import AgentRecords
import Commerce
import ContentPackage
import Files
import ServiceRuntime
import SystemCalls

// What other programs have put among the content, a reader's notes for example, is not the agent's: it stays when the content
// goes, in `PRODUCT/VERSION.others`.
extension Library {
  /// The files of placed content, by which those of other programs are told from them. A folder counts as the
  /// content's own where a file of it lies below.
  struct OwnFiles: Sendable {
    fileprivate let files: Set<String>
    fileprivate let folders: Set<String>

    /// Those that one of the manifests names, of every section.
    init(_ manifests: [Manifest]) {
      let paths = manifests.flatMap { manifest in manifest.unabridged.files.map(\.path) }
      files = Set(paths.map(\.text))
      folders = Set(
        paths.flatMap { path in
          (1..<max(path.segments.count, 1)).map { path.segments.prefix($0).joined(separator: "/") }
        })
    }

    /// The only file of a package of that kind.
    init(name: String) {
      files = [name]
      folders = []
    }
  }

  /// Nil where nothing tells them: of a folder whose manifest cannot be read. Blocks.
  func ownFiles(of record: LibraryRecord) throws(SystemError) -> OwnFiles? {
    if let manifest = try manifest(of: record) { return OwnFiles([manifest]) }
    return record.name.map { OwnFiles(name: $0) }
  }

  /// Moves what is none of the content's own files out of the version's directory, under the same names. All of the directory
  /// is moved where nothing tells which those are, or where not all of it can be read or moved. Blocks.
  func keepForeignFiles(
    of product: ProductIdentifier, _ version: ContentVersion, beside own: OwnFiles?
  ) throws(SystemError) {
    let root = directory(of: product, version: version)
    let others = "\(root).others"
    do throws(SystemError) {
      guard try operations.status(of: root)?.kind == .directory else { return }
    } catch {
      guard error.isUnreadable else { throw error }
      return try keepWhole(root, as: others, "\(error)")
    }
    guard let own else { return try keepWhole(root, as: others, "its manifest cannot be read") }
    do throws(SystemError) {
      try moveForeignFiles(from: root, to: others, beside: own)
    } catch {
      guard error.isUnreadable else { throw error }
      try keepWhole(root, as: others, "\(error)")
    }
  }

  /// Each keeps its path below `others`, with a number behind it where that is taken.
  func moveForeignFiles(
    from root: String, to others: String, beside own: OwnFiles
  ) throws(SystemError) {
    var listing = ForeignFileListing(own)
    try listing.read(root, operations)
    guard !listing.paths.isEmpty else { return }
    for path in listing.paths {
      let target = try freeName(for: "\(others)/\(path)")
      try makeFolders(FileSystem.parent(of: target))
      try operations.rename("\(root)/\(path)", to: target, ifPresent: .refuse)
      try operations.synchronizeDirectory(FileSystem.parent(of: target))
    }
    log.info(
      "files of other programs were moved out of content",
      ["path": LogValue(others), "count": LogValue(listing.paths.count)])
  }

  /// To rename a folder beside itself takes no right to anything in it.
  private func keepWhole(_ root: String, as others: String, _ reason: String) throws(SystemError) {
    let target = try freeName(for: others)
    try operations.rename(root, to: target, ifPresent: .refuse)
    try operations.synchronizeDirectory(FileSystem.parent(of: target))
    log.warning(
      "a folder of content was kept whole, for the files of other programs that may be in it",
      ["path": LogValue(target), "reason": LogValue(reason)])
  }

  /// The path, or with `.2`, `.3` and so on behind it, whichever is free first.
  private func freeName(for path: String) throws(SystemError) -> String {
    var candidate = path
    var number = 1
    while try operations.status(of: candidate) != nil {
      number += 1
      candidate = "\(path).\(number)"
    }
    return candidate
  }
}

/// Finds what lies in a directory and is none of the content's own files.
private struct ForeignFileListing {
  private let own: Library.OwnFiles
  /// Below the directory; a folder of which nothing is named stands for all that is in it.
  private(set) var paths: [String] = []

  init(_ own: Library.OwnFiles) {
    self.own = own
  }

  /// Descends into the content's own folders only.
  mutating func read(
    _ root: String, below folder: String = "", _ operations: any FileOperations
  ) throws(SystemError) {
    for entry in try operations.list(folder.isEmpty ? root : "\(root)/\(folder)") {
      let path = folder.isEmpty ? entry.name : "\(folder)/\(entry.name)"
      if entry.kind == .directory, own.folders.contains(path) {
        try read(root, below: path, operations)
      } else if entry.kind == .directory || !own.files.contains(path) {
        paths.append(path)
      }
    }
  }
}
