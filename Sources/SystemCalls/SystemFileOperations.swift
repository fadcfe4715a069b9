public import CoreTypes

/// The kernel's.
public struct SystemFileOperations: FileOperations {
  public init() {}

  public func create(_ path: String, permissions: UInt32) throws(SystemError) -> FileDescriptor {
    try FileDescriptor.open(path, .readWrite, options: [.create, .exclusive], permissions: permissions)
  }

  public func write(
    _ bytes: Span<UInt8>, to file: borrowing FileDescriptor, at offset: ByteCount
  ) throws(SystemError) {
    try file.write(bytes, at: offset)
  }

  public func synchronize(_ file: borrowing FileDescriptor) throws(SystemError) {
    try file.synchronize()
  }

  public func rename(
    _ path: String, to newPath: String, ifPresent rule: FileSystem.RenameRule
  ) throws(SystemError) {
    try FileSystem.rename(path, to: newPath, ifPresent: rule)
  }

  public func synchronizeDirectory(_ path: String) throws(SystemError) {
    try FileSystem.synchronizeDirectory(path)
  }

  public func remove(_ path: String) throws(SystemError) {
    try FileSystem.removeFile(path)
  }
}
