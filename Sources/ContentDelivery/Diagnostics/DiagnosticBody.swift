import CoreTypes
import HTTPServer
import PullboxAPI
import ServiceAPI
import Synchronization

/// The bytes of one diagnostic response, and the pause within them.
struct DiagnosticBody: Sendable {
  private static let chunk: Int64 = 262_144

  package let range: Range<Int64>
  package let pause: Duration
  /// How many bytes are sent before the pause; with as many as there are or more, the pause comes at the end.
  let pauseAfter: Int64
  package let timer: any MonotonicClock

  /// Hands the bytes to `send`, a chunk at a time.
  package func write(to send: ([UInt8]) async throws -> Void) async throws {
    let split = range.lowerBound + min(max(0, pauseAfter), range.upperBound - range.lowerBound)
    try await write(range.lowerBound..<split, to: send)
    if pause > .zero { try await timer.sleep(for: pause) }
    try await write(split..<range.upperBound, to: send)
  }

  private func write(_ range: Range<Int64>, to send: ([UInt8]) async throws -> Void) async throws {
    var offset = range.lowerBound
    while offset < range.upperBound {
      let end = min(range.upperBound, offset + Self.chunk)
      try await send(DiagnosticContent.bytes(in: offset..<end))
      offset = end
    }
  }
}

/// The places of the diagnostic bodies that may be sent at once, of which one client has a few at most.
final class DiagnosticSlots: Sendable {
  /// One place, free again when it is released, at the latest when nothing holds it.
  package final class Slot: Sendable {
    private let slots: DiagnosticSlots
    private let client: PeerNetwork
    private let isReleased = Atomic(false)

    fileprivate init(_ slots: DiagnosticSlots, _ client: PeerNetwork) {
      self.slots = slots
      self.client = client
    }

    /// Frees the place; more calls do nothing.
    package func release() {
      guard !isReleased.exchange(true, ordering: .relaxed) else { return }
      slots.release(client)
    }

    // A response to HEAD is never written.
    deinit { release() }
  }

  private let count: Int
  private let countOfClient: Int
  /// How many each client has; those that have none are not in it.
  private let taken = Mutex<[PeerNetwork: Int]>([:])

  package init(count: Int, ofClient countOfClient: Int) {
    self.count = count
    self.countOfClient = countOfClient
  }

  /// Throws if all are taken, or those that the client may have.
  package func take(for client: PeerAddress) throws(Problem) -> Slot {
    let client = PeerNetwork(limiting: client)
    let refusal: Problem? = taken.locked { taken in
      guard taken[client, default: 0] < countOfClient else {
        return Problem(
          .tooManyRequests, "\(countOfClient) diagnostic bodies are being sent to this address",
          retryAfterSeconds: 2)
      }
      guard taken.values.reduce(0, +) < count else {
        return Problem(.unavailable, "\(count) diagnostic bodies are being sent", retryAfterSeconds: 2)
      }
      taken[client, default: 0] += 1
      return nil
    }
    if let refusal { throw refusal }
    return Slot(self, client)
  }

  private func release(_ client: PeerNetwork) {
    taken.locked { taken in
      let left = taken[client, default: 1] - 1
      taken[client] = left > 0 ? left : nil
    }
  }
}

/// A slot that a file takes is free once the file is sent.
extension DiagnosticSlots.Slot: BodyMeter {
  func didSend(_ count: Int) {}

  package func didEnd() { release() }
}
