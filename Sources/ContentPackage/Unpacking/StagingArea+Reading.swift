import CoreTypes
import Crypto
package import SystemCalls

/// The area's side of those who read beside its owner: it tells them what is there, and hears from them what is damaged.
extension StagingArea {
  /// Tells what is verified and written by now.
  func publish() {
    extents?.publish(pieces, whole: isUnpacked)
  }

  /// Tells how far an inflation has come.
  func marker(of file: Int) -> @Sendable (Int64, SHA256Hasher) -> Void {
    { [extents] length, hasher in
      extents?.append(StagedExtents.Mark(length: length, hasher: hasher), of: file)
    }
  }

  /// Lets count as missing what readers have found to be other bytes than the manifest's. Returns whether there was any. To be called
  /// while nothing is being written.
  package mutating func dropDamaged() throws(SystemError) -> Bool {
    guard let damaged = extents?.takeDamaged(), !damaged.isEmpty else { return false }
    for damage in damaged {
      switch damage {
      case .piece(let piece):
        // What was made of it by an inflation has digests of its own.
        pieces.markMissing(piece)
        try spool.drop(piece)
      case .file(let file):
        openFiles.close(file)
        isUnpacked[file] = false
        // It may be another version's file as well.
        try removeFromTree(manifest.files[file].path)
        try forget(file)
      }
    }
    publish()
    return true
  }
}
