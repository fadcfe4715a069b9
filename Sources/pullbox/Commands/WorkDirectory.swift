import SystemCalls

/// Held by one run, for as long as this object lives.
final class WorkDirectory: Sendable {
  let path: String
  private let lock: LockFile

  init(path: String, lock: consuming LockFile) {
    self.path = path
    self.lock = lock
  }
}
