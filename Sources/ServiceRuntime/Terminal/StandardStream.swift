import Glibc
import Synchronization
public import SystemCalls

/// Standard output or standard error: whole texts, unbuffered.
public final class StandardStream: Sendable {
  /// Both live as long as the process, and so never close what they did not open.
  public static let output = StandardStream(1)
  public static let error = StandardStream(2)

  private let descriptor: FileDescriptor
  private let firstLoss = Mutex<SystemError?>(nil)

  /// Why something that was written did not arrive; nil while everything did, and where only the reader went away, which is
  /// its right.
  public var loss: SystemError? { firstLoss.withLock { $0 } }

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

  /// Blocks while the reader is slow. A stream that nobody reads any more takes the text and loses it, and so does one whose
  /// file has no room: ``loss`` remembers that for ``ExitCode/exitProcess(printing:)``. False then, for those that write on and
  /// on.
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
      if error.number != EPIPE { firstLoss.withLock { $0 = $0 ?? error } }
      return false
    }
  }
}
