package import CoreTypes
import Synchronization
package import SystemCalls

/// The bytes that a running transfer has moved so far; written by its threads, read by the manager.
package final class TransferProgress: Sendable {
  private let received: Atomic<Int64>
  private let verified: Atomic<Int64>
  /// Less than zero until it is known.
  private let reused: Atomic<Int64>
  /// Its part of the rate and of the budget; nil where nothing bounds it.
  package let pace: TransferPace?
  /// The turn of what is written.
  private let turn = Mutex(ThreadPriority.ofProcess)
  private let yields = Atomic(false)
  private let connectionCount = Atomic(1)

  /// The counts go on from those of the job's record; `reused` is nil where the library was not looked at
  /// yet.
  package init(
    received: ByteCount, verified: ByteCount, reused: ByteCount? = nil, pace: TransferPace? = nil
  ) {
    self.pace = pace
    self.received = Atomic(received.rawValue)
    self.reused = Atomic(reused?.rawValue ?? -1)
    self.verified = Atomic(verified.rawValue)
  }

  /// The turn at the disk and at the processors of what is written, unpacked and placed.
  package var priority: ThreadPriority { turn.locked { $0 } }

  /// Whether that is another one than before; ``StagingSession`` takes it over when it is told.
  package func setPriority(_ priority: ThreadPriority) -> Bool {
    turn.locked { turn in
      defer { turn = priority }
      return turn != priority
    }
  }

  /// Whether the machine has other work, for which the transfer stands back: it goes over half of its connections, and leaves the disk to
  /// others for most of the time (``DiskRest``).
  package var isYielding: Bool { yields.load(ordering: .relaxed) }

  /// From now on.
  package func setYielding(_ isYielding: Bool) { yields.store(isYielding, ordering: .relaxed) }

  /// The connections that the transfer goes over, 1 at its beginning.
  package var connections: Int { connectionCount.load(ordering: .relaxed) }

  /// From now on.
  func setConnections(_ count: Int) { connectionCount.store(count, ordering: .relaxed) }

  /// Received over the network; a byte that was received twice counts twice.
  package var bytesReceived: ByteCount { ByteCount(received.load(ordering: .relaxed)) }
  /// The bytes of the pieces that are verified and written.
  package var bytesVerified: ByteCount { ByteCount(verified.load(ordering: .relaxed)) }

  /// Bytes of the package that the library had; nil until that was looked at.
  package var bytesReused: ByteCount? {
    let count = reused.load(ordering: .relaxed)
    return count < 0 ? nil : ByteCount(count)
  }

  /// Takes the place of the count before; from then on it is known.
  package func setReused(_ count: ByteCount) {
    reused.store(count.rawValue, ordering: .relaxed)
  }

  func addReceived(_ count: Int) {
    received.add(Int64(count), ordering: .relaxed)
  }

  /// Takes the place of the count before.
  package func setVerified(_ count: ByteCount) {
    verified.store(count.rawValue, ordering: .relaxed)
  }
}
