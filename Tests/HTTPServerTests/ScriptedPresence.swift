import CoreTypes
import HTTPServer
import PullboxTesting
import Synchronization
import SystemCalls

/// A file whose pieces come and go as a test says. Where a piece is not there, the file has a hole: zeros, of which the content has none, so
/// that a response that sends what it must not is found out.
final class ScriptedPresence: FilePresence {
  private struct Wait {
    let number: Int
    let range: Range<Int64>
    let completion: @Sendable (FilePresenceError?) -> Void
  }

  private struct State {
    var present: Set<Int> = []
    /// How many hold a piece.
    var holds: [Int: Int] = [:]
    var waits: [Wait] = []
    var brings: [Range<Int64>] = []
    var givenUp = 0
    var brought = 0
    var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    var providesAtOnce = false
  }

  let content: [UInt8]
  let pieceLength: Int
  private let directory: TemporaryDirectory
  private let file: FileDescriptor
  private let state = Mutex(State())

  /// Nothing is there. A piece is a whole number of pages.
  init(length: Int, pieceLength: Int = 65_536) throws {
    self.pieceLength = pieceLength
    content = (0..<length).map { UInt8(truncatingIfNeeded: 1 + ($0 + $0 / 251) % 199) }
    directory = try TemporaryDirectory()
    file = try FileDescriptor.open(directory.path("content"), .readWrite, options: .create)
    try file.truncate(to: ByteCount(length))
  }

  /// Another descriptor of the file, for responses.
  func makeFile() throws -> SharedDescriptor {
    try SharedDescriptor(try FileDescriptor.open(directory.path("content"), .readOnly), presence: self)
  }

  var pieceCount: Int { (content.count + pieceLength - 1) / pieceLength }
  /// The ranges that were to be brought, in their order.
  var brings: [Range<Int64>] { state.withLock { $0.brings } }
  /// Waits that run.
  var waitCount: Int { state.withLock { $0.waits.count } }
  var givenUpCount: Int { state.withLock { $0.givenUp } }
  /// Pieces that are held now.
  var heldCount: Int { state.withLock { $0.holds.values.filter { $0 > 0 }.count } }

  private func piece(of offset: Int64) -> Int { Int(offset) / pieceLength }

  // MARK: The server's side

  func hold(_ range: Range<Int64>) -> Int64 {
    precondition(!range.isEmpty)
    return state.withLock { state in
      var end = range.lowerBound
      while end < range.upperBound, state.present.contains(piece(of: end)) {
        state.holds[piece(of: end), default: 0] += 1
        end = min(range.upperBound, Int64((piece(of: end) + 1) * pieceLength))
      }
      return end
    }
  }

  func release(_ range: Range<Int64>) {
    guard !range.isEmpty else { return }
    state.withLock { state in
      for piece in piece(of: range.lowerBound)...piece(of: range.upperBound - 1) {
        let count = state.holds[piece] ?? 0
        precondition(count > 0, "what is released was held")
        state.holds[piece] = count - 1
      }
    }
  }

  func bring(
    _ range: Range<Int64>, completion: @escaping @Sendable (FilePresenceError?) -> Void
  ) -> @Sendable () -> Void {
    let (number, providesAtOnce, due) = state.withLock { state in
      state.brings.append(range)
      let number = state.brings.count
      if !state.providesAtOnce {
        state.waits.append(Wait(number: number, range: range, completion: completion))
      }
      let due = state.watchers.filter { $0.count <= state.waits.count }.map(\.continuation)
      state.watchers.removeAll { $0.count <= state.waits.count }
      return (number, state.providesAtOnce, due)
    }
    for watcher in due { watcher.resume() }
    if providesAtOnce {
      provide(piece(of: range.lowerBound))
      completion(nil)
    }
    return { [self] in
      state.withLock { state in
        let count = state.waits.count
        state.waits.removeAll { $0.number == number }
        state.givenUp += count - state.waits.count
      }
    }
  }

  // MARK: The test's side

  /// From now on what is to be brought is there as soon as it is asked for.
  func provideAtOnce() { state.withLock { $0.providesAtOnce = true } }

  /// Returns once so many wait.
  func waitForWaits(_ count: Int = 1) async {
    await withCheckedContinuation { continuation in
      let isThere = state.withLock { state in
        if state.waits.count >= count { return true }
        state.watchers.append((count, continuation))
        return false
      }
      if isThere { continuation.resume() }
    }
  }

  /// Puts pieces there, and lets those go on that wait for one of them.
  func provide(_ pieces: Int...) {
    for piece in pieces {
      let start = piece * pieceLength
      let bytes = Array(content[start..<min(start + pieceLength, content.count)])
      do { try file.write(bytes.span, at: ByteCount(start)) } catch { preconditionFailure("\(error)") }
    }
    let due = state.withLock { state in
      state.present.formUnion(pieces)
      let due = state.waits.filter { state.present.contains(piece(of: $0.range.lowerBound)) }
      state.waits.removeAll { state.present.contains(piece(of: $0.range.lowerBound)) }
      return due
    }
    for wait in due { wait.completion(nil) }
  }

  /// Puts all pieces there.
  func provideAll() {
    for piece in 0..<pieceCount { provide(piece) }
  }

  /// Takes a piece away, unless a response holds it.
  func remove(_ piece: Int) {
    state.withLock { state in
      guard state.holds[piece] ?? 0 == 0, state.present.remove(piece) != nil else { return }
      let start = Int64(piece * pieceLength)
      do { try file.punchHole(start..<start + Int64(pieceLength)) } catch { preconditionFailure("\(error)") }
    }
  }

  /// Lets all who wait go on as if their bytes were there.
  func lie() {
    let waits = state.withLock { state in
      defer { state.waits = [] }
      return state.waits
    }
    for wait in waits { wait.completion(nil) }
  }

  /// Tells all who wait that nothing comes.
  func fail(_ error: FilePresenceError = FilePresenceError(.unavailable, "a test says so")) {
    let waits = state.withLock { state in
      defer { state.waits = [] }
      return state.waits
    }
    for wait in waits { wait.completion(error) }
  }
}
