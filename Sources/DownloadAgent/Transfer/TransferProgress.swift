import CoreTypes
import Synchronization

/// What a running transfer has moved so far; written by its threads, read by whoever shows it.
final class TransferProgress: Sendable {
  private let received: Atomic<Int64>
  private let verified: Atomic<Int64>

  init(received: ByteCount, verified: ByteCount) {
    self.received = Atomic(received.rawValue)
    self.verified = Atomic(verified.rawValue)
  }

  /// As they came over the network, repeated ones counted again.
  var bytesReceived: ByteCount { ByteCount(received.load(ordering: .relaxed)) }
  /// In pieces that are verified and written.
  var bytesVerified: ByteCount { ByteCount(verified.load(ordering: .relaxed)) }

  func addReceived(_ count: Int) {
    received.add(Int64(count), ordering: .relaxed)
  }

  func setVerified(_ count: ByteCount) {
    verified.store(count.rawValue, ordering: .relaxed)
  }
}
