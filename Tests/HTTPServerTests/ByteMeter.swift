import CoreTypes
import HTTPServer
import Synchronization

/// A ``BodyMeter`` that adds up.
final class ByteMeter: BodyMeter {
  private let sent = Atomic<Int64>(0)

  init() {}

  var total: ByteCount { ByteCount(sent.load(ordering: .relaxed)) }

  func didSend(_ count: Int) {
    sent.add(Int64(count), ordering: .relaxed)
  }
}
