import ContentPackage
import CoreTypes
import SystemCalls

/// The properties of a file by which a write to it shows. A source with the same stamp before and after it
/// was read was read as a whole. The time of the last change of the inode is a part of it, which programs
/// cannot set back.
struct SourceStamp: Hashable, Sendable {
  /// The number of the device.
  private let device: UInt64
  /// The number of the inode on it.
  private let inode: UInt64
  /// The length in bytes.
  private let length: ByteCount
  /// The time of the last write, which programs can set back.
  private let modified: Timestamp
  /// The time of the last change of the inode, in nanoseconds since the epoch.
  private let changed: Int64

  /// The stamp of a file with that status.
  init(_ status: FileStatus) {
    device = status.device
    inode = status.inode
    length = status.length
    modified = status.modified
    changed = status.changed
  }

  /// Throws ``PackageValidationError`` `changed-while-packing` unless the file is still as it was.
  func check(_ file: borrowing FileDescriptor, path: String) throws {
    guard SourceStamp(try file.status()) == self else { throw Self.changed(path) }
  }

  /// The error for a file that is another by now.
  static func changed(_ path: String) -> PackageValidationError {
    PackageValidationError(.changedWhilePacking, path: path, "the file changed while it was packed")
  }
}
