import Commerce
import ContentPackage
import ServiceRuntime
import SystemCalls

// What other programs have put among the content, a reader's notes for example, is not the agent's: it stays when the content
// goes, in `PRODUCT/VERSION.others`.
extension Library {
  func directoryOfOthers(_ product: ProductIdentifier, _ version: ContentVersion) -> String {
    "\(directory(of: product, version: version)).others"
  }

  /// Moves what none of `manifests` names out of the version's directory, under the same names. Blocks.
  func keepForeignFiles(
    of product: ProductIdentifier, _ version: ContentVersion, beside manifests: [Manifest]
  ) throws(SystemError) {
    let root = directory(of: product, version: version)
    guard try operations.status(of: root)?.kind == .directory else { return }
    var listing = ForeignFileListing(manifests)
    try listing.read(root, operations)
    guard !listing.paths.isEmpty else { return }
    let others = directoryOfOthers(product, version)
    for path in listing.paths {
      let target = try freeName(for: "\(others)/\(path)")
      try operations.createDirectories(FileSystem.parent(of: target))
      try operations.rename("\(root)/\(path)", to: target, ifPresent: .refuse)
      try operations.synchronizeDirectory(FileSystem.parent(of: target))
    }
    log.info(
      "files of other programs were moved out of content",
      ["path": LogValue(others), "count": LogValue(listing.paths.count)])
  }

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

/// Finds what lies in a directory and is none of the files that manifests name.
private struct ForeignFileListing {
  private let files: Set<String>
  private let folders: Set<String>
  /// Below the directory; a folder of which nothing is named stands for all that is in it.
  private(set) var paths: [String] = []

  init(_ manifests: [Manifest]) {
    let paths = manifests.flatMap { manifest in manifest.files.map(\.path) }
    files = Set(paths.map(\.text))
    folders = Set(
      paths.flatMap { path in
        (1..<max(path.segments.count, 1)).map { path.segments.prefix($0).joined(separator: "/") }
      })
  }

  mutating func read(
    _ root: String, below folder: String = "", _ operations: any FileOperations
  ) throws(SystemError) {
    for entry in try operations.list(folder.isEmpty ? root : "\(root)/\(folder)") {
      let path = folder.isEmpty ? entry.name : "\(folder)/\(entry.name)"
      if entry.kind == .directory, folders.contains(path) {
        try read(root, below: path, operations)
      } else if entry.kind == .directory || !files.contains(path) {
        paths.append(path)
      }
    }
  }
}
