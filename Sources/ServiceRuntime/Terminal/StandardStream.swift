import CLinux
import CoreTypes
import Glibc
import Synchronization
public import SystemCalls

/// Standard output or standard error: whole texts, unbuffered.
public final class StandardStream: Sendable {
  /// Standard output, descriptor 1. Neither stream is ever closed.
  public static let output = StandardStream(1)
  /// Standard error, descriptor 2.
  public static let error = StandardStream(2)

  /// The descriptor, which stays open to the end of the process.
  private let descriptor: FileDescriptor
  /// The first write that failed for another reason than a reader that is gone.
  private let firstLoss = Mutex<SystemError?>(nil)
  /// Whether the stream was closed when the process began. Its writes go to /dev/null, and are lost.
  private let wasClosed = Atomic(false)

  /// Why text was lost; nil if none was. A reader that closes the stream is not an error.
  public var loss: SystemError? { firstLoss.locked { $0 } }

  /// The stream of that descriptor.
  private init(_ number: Int32) {
    descriptor = FileDescriptor(takingOwnershipOf: number)
  }

  /// Opens /dev/null for each standard stream that this process was started without: else the next file or socket would get
  /// its number, and what the program prints. Call it first in `main`. What is written to an output that was closed is lost
  /// like what a full disk does not take: ``loss`` says so.
  public static func reserve() {
    for number: Int32 in 0...2 where fcntl(number, F_GETFD) == -1 {
      // The lowest free number is taken, which is this one. Without /dev/null there is nothing better to do.
      _ = unsafe open("/dev/null", O_RDWR)
      if number == output.descriptor.number { output.wasClosed.store(true, ordering: .relaxed) }
    }
  }

  /// Blocks while the reader is slow. False once the reader has closed the stream, and when its file has no room: the text
  /// is lost. ``loss`` remembers the latter for ``ExitCode/exitProcess(printing:)``.
  @discardableResult
  public func write(_ text: String) -> Bool {
    write(Array(text.utf8))
  }

  /// Writes bytes; see ``write(_:)-(String)``.
  @discardableResult
  public func write(_ bytes: [UInt8]) -> Bool {
    do throws(SystemError) {
      if wasClosed.load(ordering: .relaxed) { throw SystemError(number: EBADF, call: "write") }
      try descriptor.write(bytes.span)
      return true
    } catch {
      if error.number != EPIPE { firstLoss.locked { $0 = $0 ?? error } }
      return false
    }
  }
}
