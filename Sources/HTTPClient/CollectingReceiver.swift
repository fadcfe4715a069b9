import Synchronization

/// Keeps a whole body in memory; the transfer's own bound limits it.
final class CollectingReceiver: TransferReceiver {
  private let body = Mutex<[UInt8]>([])

  func receive(head: ResponseHead) -> HeadDecision { .accept }

  func receive(_ bytes: Span<UInt8>) -> BodyDecision {
    body.withLock { body in
      unsafe bytes.withUnsafeBufferPointer { unsafe body.append(contentsOf: $0) }
    }
    return .consumed
  }

  func take() -> [UInt8] {
    body.withLock { body in
      defer { body = [] }
      return body
    }
  }
}
