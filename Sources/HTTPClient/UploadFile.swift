public import SystemCalls

/// An open file that requests send from; it may serve several at once, and is closed when the last one lets
/// go.
public final class UploadFile: Sendable {
  let descriptor: FileDescriptor

  public init(takingOwnershipOf descriptor: consuming FileDescriptor) {
    self.descriptor = descriptor
  }

  /// Opens `path` for reading.
  public convenience init(path: String) throws(SystemError) {
    self.init(takingOwnershipOf: try FileDescriptor.open(path, .readOnly))
  }
}
