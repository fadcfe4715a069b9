import Glibc
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

  /// Where this process was started without one of its standard streams, puts /dev/null in its place: else the next file or
  /// socket that is opened would get its number, and what is printed with it. To be called first thing in `main`.
  public static func reserve() {
    for number: Int32 in 0...2 where fcntl(number, F_GETFD) == -1 {
      // The lowest free number is taken, which is this one. Without /dev/null there is nothing better to do.
      _ = unsafe open("/dev/null", O_RDWR)
    }
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
