import SystemCalls

/// Standard output or standard error: whole texts, unbuffered.
public final class StandardStream: Sendable {
  /// Both live as long as the process, and so never close what they did not open.
  public static let output = StandardStream(1)
  public static let error = StandardStream(2)

  private let descriptor: FileDescriptor

  private init(_ number: Int32) {
    descriptor = FileDescriptor(takingOwnershipOf: number)
  }

  /// Blocks while the reader is slow. A stream that nobody reads any more takes the text and loses it: there is nobody
  /// to tell.
  public func write(_ text: String) {
    write(Array(text.utf8))
  }

  public func write(_ bytes: [UInt8]) {
    // See above: the loss is deliberate.
    try? descriptor.write(bytes.span)
  }
}
