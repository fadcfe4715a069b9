public import CoreTypes
internal import Synchronization

/// Knows which bytes of a file are there, for a file that comes in parts while it is sent, such as one of a cache.
///
/// A response sends what is there as it sends any file. Where it comes to bytes that are not, it waits without a thread until they were
/// brought, and goes on; where they do not come, the connection ends short of the body's end. Bytes are sent only while they are held.
///
/// What was sent and released may still be on its way, in the pages of the file itself. So what goes is cut out of the file in whole pages
/// (``FileDescriptor/punchHole(_:)``), and never written over.
///
/// ```swift
/// let file = try SharedDescriptor(descriptor, presence: presence)
/// try await file.prepare(0..<file.length.rawValue)  // nothing is answered before the first byte is there
/// return HTTPResponse(status: .ok, body: .file(file, 0..<file.length.rawValue))
/// ```
public protocol FilePresence: AnyObject, Sendable {
  /// Holds as much of the range, which is not empty, as is there without a gap from its beginning, and returns where that ends: its
  /// beginning, and nothing is held, where its first byte is not there. Called on a loop's thread before each part that is sent: returns
  /// at once.
  func hold(_ range: Range<Int64>) -> Int64

  /// Lets go of what ``hold(_:)`` has held: the range from the same beginning to the end that it returned, which may be empty.
  func release(_ range: Range<Int64>)

  /// Has the first byte of the range brought, and what follows while it is sent. `completion` is called once, on any thread, maybe before
  /// this returns: with nil as soon as that byte is there, else with the reason for which it does not come. Returns at once, with a closure
  /// that gives the wait up; what is called then need not be `completion` any more.
  func bring(
    _ range: Range<Int64>, completion: @escaping @Sendable (FilePresenceError?) -> Void
  ) -> @Sendable () -> Void
}

/// The reason why bytes of a file do not come.
public struct FilePresenceError: TemporarilyFailing, Hashable, Sendable, CustomStringConvertible {
  /// The kind of a failure; new kinds may be added.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    private enum Name: String {
      case missing
      case damaged
      case unavailable
    }

    private let name: Name
    private init(_ name: Name) { self.name = name }

    /// The file does not lie where its bytes come from.
    public static let missing = Code(.missing)
    /// Other bytes lie there.
    public static let damaged = Code(.damaged)
    /// They cannot be brought now.
    public static let unavailable = Code(.unavailable)

    /// The code's name.
    public var description: String { name.rawValue }
  }

  /// The kind of this failure.
  public let code: Code
  /// A sentence for people.
  public let message: String
  /// How long to wait before another try; nil where it is not known.
  public let retryAfter: Duration?

  /// An error from its parts.
  public init(_ code: Code, _ message: String, retryAfter: Duration? = nil) {
    self.code = code
    self.message = message
    self.retryAfter = retryAfter
  }

  /// Nil for a file that is missing or damaged.
  public var temporaryFailure: TemporaryFailure? { code == .unavailable ? .unreachable : nil }

  /// The code and the sentence.
  public var description: String { "\(code): \(message)" }
}

extension SharedDescriptor {
  /// Whether a response that begins with this byte need not wait for it.
  public func isThere(_ offset: Int64) -> Bool {
    guard let presence else { return true }
    let end = presence.hold(offset..<offset + 1)
    presence.release(offset..<end)
    return end > offset
  }

  /// Returns once the first byte of the range is there; what follows is brought while it is sent. Throws the reason for which it does not
  /// come; `unavailable` where the task is cancelled.
  public func prepare(_ range: Range<Int64>) async throws(FilePresenceError) {
    guard let presence, !range.isEmpty, !isThere(range.lowerBound) else { return }
    let wait = PreparingWait()
    let error = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        guard wait.begin(continuation) else { return }
        wait.cancels(with: presence.bring(range) { wait.end($0) })
      }
    } onCancel: {
      wait.cancel()
    }
    if let error { throw error }
  }
}

/// A task that waits for a byte: it goes on once, for whichever reason comes first.
private final class PreparingWait: Sendable {
  private struct State {
    var continuation: CheckedContinuation<FilePresenceError?, Never>?
    var giveUp: (@Sendable () -> Void)?
    var isCancelled = false
  }

  private static let cancelled = FilePresenceError(.unavailable, "the wait was given up")

  private let state = Mutex(State())

  /// False, and the task goes on, where it was cancelled before.
  func begin(_ continuation: CheckedContinuation<FilePresenceError?, Never>) -> Bool {
    let isCancelled = state.locked { state in
      if !state.isCancelled { state.continuation = continuation }
      return state.isCancelled
    }
    if isCancelled { continuation.resume(returning: Self.cancelled) }
    return !isCancelled
  }

  func cancels(with giveUp: @escaping @Sendable () -> Void) {
    let isCancelled = state.locked { state in
      state.giveUp = giveUp
      return state.isCancelled
    }
    if isCancelled { giveUp() }
  }

  func end(_ error: FilePresenceError?) {
    state.locked { $0.continuation.take() }?.resume(returning: error)
  }

  func cancel() {
    let giveUp = state.locked { state in
      state.isCancelled = true
      return state.giveUp
    }
    giveUp?()
    end(Self.cancelled)
  }
}
