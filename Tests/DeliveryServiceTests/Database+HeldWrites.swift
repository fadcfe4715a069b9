import Database
import Dispatch

extension Database {
  /// Runs `body` while the thread that writes is held: what is to be written meanwhile waits in its order.
  func holdingWrites(_ body: () async throws -> Void) async throws {
    let (held, continuation) = AsyncStream.makeStream(of: Never.self)
    let leave = DispatchSemaphore(value: 0)
    defer { leave.signal() }
    let holder = Task {
      try await write(locking: []) { _ in
      } then: { _ in
        continuation.finish()
        leave.wait()
      }
    }
    for await _ in held {}
    try await body()
    leave.signal()
    try await holder.value
  }
}
