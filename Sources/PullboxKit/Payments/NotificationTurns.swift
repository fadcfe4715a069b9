import Synchronization

/// Runs notifications one after the other, in the order in which they are given.
final class NotificationTurns: Sendable {
  private let last = Mutex<Task<Void, Never>?>(nil)

  /// Runs `body` behind all before it, and returns at once.
  func post(_ body: @escaping @Sendable () async -> Void) {
    _ = append(body)
  }

  /// Returns once `body` has run, behind all before it.
  func run(_ body: @escaping @Sendable () async -> Void) async {
    await append(body).value
  }

  private func append(_ body: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
    last.locked { last in
      let before = last
      let task = Task {
        await before?.value
        await body()
      }
      last = task
      return task
    }
  }
}
