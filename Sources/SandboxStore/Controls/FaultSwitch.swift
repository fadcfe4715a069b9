import CoreTypes
import Database
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import Receipts
import Synchronization

/// The faults that the store shows on purpose, until they are set otherwise. They are kept over a restart.
final class FaultSwitch: Sendable {
  private let faults = Mutex(StoreFaults())

  var current: StoreFaults { faults.withLock { $0 } }

  func set(_ value: StoreFaults) { faults.withLock { $0 = value } }

  /// Returns the time that receipts and answers state.
  func statedTime(_ now: Timestamp) -> Timestamp { now + .seconds(current.skew ?? 0) }
}

extension PaymentStore {
  private static let latencyRange = 0...60_000
  private static let statusRanges = [400...599, 21_000...21_199]
  private static let longestSkew = 31 * 86_400

  /// Throws `request-malformed`.
  func setFaults(_ faults: StoreFaults) async throws -> StoreFaults {
    let status = faults.status
    guard Self.latencyRange.contains(faults.latency ?? 0),
      status == nil || Self.statusRanges.contains(where: { $0.contains(status ?? 0) }),
      (-Self.longestSkew...Self.longestSkew).contains(faults.skew ?? 0)
    else {
      throw Problem(
        .requestMalformed,
        "latency is up to 60000 ms, status 400 to 599 or 21000 to 21199, skew up to 31 days in seconds")
    }
    try await database.write(locking: [.everything]) { [faultSwitch = self.faults] connection in
      try FaultTable.put(faults, in: connection)
      faultSwitch.set(faults)
    }
    return faults
  }

  /// Takes up what an earlier process was set to. To be called at the start.
  func restoreFaults() async throws {
    if let kept = try await database.read({ try FaultTable.current(in: $0) }) { faults.set(kept) }
  }

  /// Returns the status that `verifyReceipt` answers: `status`, or the one that a fault puts in its place.
  func stated(_ status: VerifyReceiptStatus) -> VerifyReceiptStatus {
    let faults = faults.current
    if let wanted = faults.status, Self.statusRanges[1].contains(wanted) {
      return VerifyReceiptStatus(rawValue: wanted)
    }
    return faults.collapse21003 == true && status == .notAuthentic ? .malformed : status
  }
}

extension StoreRoutes {
  /// Puts the faults before each of the routes.
  func addFaults(to routes: inout APIRoutes) {
    routes.wrap { [store] _, _ in
      { request, _, respond in
        let faults = store.faults.current
        if let latency = faults.latency { try await store.timer.sleep(for: .milliseconds(latency)) }
        if faults.outage == true {
          throw Problem(.unavailable, "the store is set to be away", retryAfterSeconds: 1)
        }
        if let status = faults.status, (400...599).contains(status) {
          return HTTPResponse(status: HTTPStatus(rawValue: status))
        }
        return try await respond(request)
      }
    }
  }
}
