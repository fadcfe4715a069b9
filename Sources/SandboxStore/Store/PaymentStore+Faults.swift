import Database
import PullboxAPI
import Receipts
import SandboxRecords
import ServiceAPI

extension PaymentStore {
  /// Milliseconds.
  private static let latencyRange = 0...60_000
  /// Statuses of HTTP, then those of `verifyReceipt`.
  private static let statusRanges = [400...599, 21_000...21_199]
  /// Seconds in either direction.
  private static let longestSkew = 31 * 86_400

  /// Sets all faults: a member that is missing is a fault that ends. They count from the write on, also over
  /// a restart. Throws `request-malformed`.
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

  /// Takes up what an earlier process was set to. To be called at the start. Without any the switch stays as
  /// it is.
  func restoreFaults() async throws {
    if let kept = try await database.read({ try FaultTable.current(in: $0) }) { faults.set(kept) }
  }

  /// Returns the status that `verifyReceipt` answers: `status`, or the one that a fault puts in its place.
  /// 21002 in place of 21003 is the fault of `collapse21003`.
  func stated(_ status: VerifyReceiptStatus) -> VerifyReceiptStatus {
    let faults = faults.current
    if let wanted = faults.status, Self.statusRanges[1].contains(wanted) {
      return VerifyReceiptStatus(rawValue: wanted)
    }
    return faults.collapse21003 == true && status == .notAuthentic ? .malformed : status
  }
}
