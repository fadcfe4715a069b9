/// Files and folders that systems, file managers and file servers leave behind, told by their names. They belong to no
/// publication, wherever they lie.
package enum SystemName {
  package struct Found: Hashable, Sendable {
    /// The path up to the file or folder whose name it is.
    package let path: String
    package let reason: SkippedSource.Reason
  }

  /// The first segment of `path` that is such a name; nil when none is. A segment counts as a folder where
  /// another one follows it.
  package static func first(in path: String) -> Found? {
    let scalars = path.unicodeScalars
    var start = scalars.startIndex
    while start < scalars.endIndex {
      let end = scalars[start...].firstIndex(of: "/") ?? scalars.endIndex
      let isFolder = end < scalars.endIndex
      if let reason = reason(for: String(scalars[start..<end]), isFolder: isFolder) {
        return Found(path: String(scalars[..<end]), reason: reason)
      }
      guard isFolder else { break }
      start = scalars.index(after: end)
    }
    return nil
  }

  /// Nil for a name that no system leaves. Names are compared without regard to case, but for those of macOS
  /// resource forks.
  package static func reason(for name: String, isFolder: Bool) -> SkippedSource.Reason? {
    if name.hasPrefix("._") || name == "__MACOSX" || name == ".AppleDouble" { return .resourceFork }
    let name = name.lowercased()
    if files.contains(name) || name.hasSuffix(":zone.identifier") { return .systemFile }
    return isFolder && (folders.contains(name) || name.hasPrefix(".trash-")) ? .systemFolder : nil
  }

  /// Whether the file, or a folder that it lies in, is hidden from those who do not ask for it.
  package static func isHidden(_ path: String) -> Bool {
    path.utf8.split(separator: 0x2F).contains { $0.first == 0x2E && !$0.allSatisfy { $0 == 0x2E } }
  }

  private static let files: Set<String> = [
    // macOS
    ".ds_store", "icon\r", ".localized", ".apdisk", ".volumeicon.icns", ".metadata_never_index",
    // Windows
    "thumbs.db", "thumbs.db:encryptable", "ehthumbs.db", "ehthumbs_vista.db", "desktop.ini",
    // Linux, phones, photo managers
    ".directory", ".nomedia", ".picasa.ini", "picasa.ini", ".bridgesort", ".bridgecache", ".bridgecachet",
    // file servers
    "@synoresource", ".@upload_cache",
  ]

  private static let folders: Set<String> = [
    // macOS
    ".trashes", ".trash", ".spotlight-v100", ".fseventsd", ".temporaryitems", ".documentrevisions-v100",
    ".appledb", ".appledesktop", "network trash folder", "temporary items",
    // Windows
    "$recycle.bin", "system volume information",
    // Synology, QNAP and others
    "@eadir", "#recycle", "#snapshot", "@recycle", "@recently-snapshot", ".@__thumb", "@__thumb", "@tmp",
    ".@__qini",
    // Linux and phones
    ".thumbnails", ".thumb", ".thumbs", "lost+found",
    // histories of sources
    ".git", ".svn", ".hg", ".bzr",
  ]
}
