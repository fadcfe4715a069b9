package import SystemCalls

/// A descriptor, which cannot be copied, for closures that can.
package final class SharedFile: Sendable {
  /// Closed with the last reference to this.
  package let file: FileDescriptor

  /// Takes the descriptor over.
  package init(_ file: consuming FileDescriptor) {
    self.file = file
  }
}
