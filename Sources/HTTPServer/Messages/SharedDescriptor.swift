public import CoreTypes
public import SystemCalls

/// An open file that several responses send from at once; closed when the last of them and the owner let go.
public final class SharedDescriptor: Sendable {
  let descriptor: FileDescriptor
  /// The length when it was opened. Content files never change, so it stays true.
  public let length: ByteCount

  /// Takes the descriptor over. Throws ``SystemError`` when the file's length cannot be read.
  public init(_ descriptor: consuming FileDescriptor) throws(SystemError) {
    let status = try descriptor.status()
    length = status.length
    self.descriptor = descriptor
  }
}
