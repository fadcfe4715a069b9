public import Synchronization

extension Mutex where Value: ~Copyable {
  /// Runs `body` with the value, which no other thread has meanwhile; throws what it throws. Takes the place of `withLock`.
  ///
  /// That is inlined, and reads the number of the calling thread from the thread's own memory. In an optimized async function Swift 6.3
  /// keeps the address of that memory over a suspension: behind it the mutex would be taken in the name of a thread that the task has
  /// left, and the program would be ended when it is released. A function of its own asks anew
  /// (docs/decisions/0071-a-mutex-is-taken-in-a-function-of-its-own.md).
  @inlinable @inline(never)
  package borrowing func locked<Result: ~Copyable, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    try withLock(body)
  }
}
