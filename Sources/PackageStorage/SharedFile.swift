package import SystemCalls

/// A descriptor, which cannot be copied, for closures that can.
package final class SharedFile: Sendable {
  /// Closed with the last reference to this.
  package let file: FileDescriptor
  /// Let go of with the descriptor: what keeps the file's bytes where they are.
  private let hold: (any Sendable)?

  /// Takes the descriptor over, and with it what keeps its bytes; nil where nothing takes them away.
  package init(_ file: consuming FileDescriptor, keeping hold: (any Sendable)? = nil) {
    self.file = file
    self.hold = hold
  }
}
