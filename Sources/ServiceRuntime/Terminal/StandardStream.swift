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
  /// to tell. False then, for those that write on and on.
  @discardableResult
  public func write(_ text: String) -> Bool {
    write(Array(text.utf8))
  }

  @discardableResult
  public func write(_ bytes: [UInt8]) -> Bool {
    do throws(SystemError) {
      try descriptor.write(bytes.span)
      return true
    } catch {
      // See above: the loss is deliberate.
      return false
    }
  }
}
