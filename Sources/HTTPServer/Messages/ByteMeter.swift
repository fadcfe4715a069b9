public import Measures
internal import Synchronization

/// A ``BodyMeter`` that adds up.
public final class ByteMeter: BodyMeter {
  private let sent = Atomic<Int64>(0)

  public init() {}

  public var total: ByteCount { ByteCount(sent.load(ordering: .relaxed)) }

  public func didSend(_ count: Int) {
    sent.add(Int64(count), ordering: .relaxed)
  }
}
