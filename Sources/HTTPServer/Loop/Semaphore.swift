internal import Glibc

/// A counting semaphore for threads (sem_init(3)); never wait for it on the cooperative pool.
// Unchecked: sem_t is made to be used by several threads at once, and its memory never moves. Safe: it owns that memory.
@safe
final class Semaphore: @unchecked Sendable {
  private let semaphore: UnsafeMutablePointer<sem_t>

  init() {
    unsafe semaphore = .allocate(capacity: 1)
    unsafe sem_init(semaphore, 0, 0)
  }

  deinit {
    unsafe sem_destroy(semaphore)
    unsafe semaphore.deallocate()
  }

  func signal() {
    unsafe sem_post(semaphore)
  }

  func wait() {
    while unsafe sem_wait(semaphore) == -1 {}
  }
}
