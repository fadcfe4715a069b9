public import CoreTypes

/// The steps of a durable write, one by one, so that a test can let any of them fail. All of them block.
public protocol FileOperations: Sendable {
  /// A new file, open for reading and writing; throws where one has the name.
  func create(_ path: String, permissions: UInt32) throws(SystemError) -> FileDescriptor
  func write(
    _ bytes: Span<UInt8>, to file: borrowing FileDescriptor, at offset: ByteCount
  ) throws(SystemError)
  func synchronize(_ file: borrowing FileDescriptor) throws(SystemError)
  func rename(_ path: String, to newPath: String, ifPresent: FileSystem.RenameRule) throws(SystemError)
  func synchronizeDirectory(_ path: String) throws(SystemError)
  func remove(_ path: String) throws(SystemError)
}
