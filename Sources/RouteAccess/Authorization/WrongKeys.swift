package import CoreTypes
package import HTTPServer
import Synchronization

/// Slows a client that offers wrong operator keys, by its address, and counts them for the audit log. The right key is not
/// kept waiting, from whatever address it comes: it is looked for first, and only a wrong one is charged here.
///
/// Memory is bounded: addresses beyond ``maximumAddresses`` share one allowance and one count.
///
///     if let seconds = wrongKeys.charge(client) { throw Problem(.tooManyRequests, retryAfterSeconds: seconds) }
///     let reports = wrongKeys.takeReports()  // at most one a minute for each address
package final class WrongKeys: Sendable {
  /// Wrong keys that one address may offer at once.
  package static let burst: UInt64 = 10
  /// The time after which it may offer one more.
  package static let interval: Duration = .seconds(1)
  private static let allowance = TryAllowance(burst: burst, interval: interval)
  static let maximumAddresses = 256
  /// Between two reports of one address, and, where there are many, of all of them: each is kept for ever.
  static let reportInterval: Duration = .seconds(60)
  /// Reports that there may be at once after a quiet hour; later one every ``reportInterval``, about several addresses.
  static let reportBurst: UInt64 = 60

  /// Wrong keys since the last report of that address.
  package struct Report: Hashable, Sendable {
    /// An address of version 4 or the first 64 bits of version 6; nil for several, and for all beyond
    /// ``WrongKeys/maximumAddresses``.
    var network: PeerNetwork?
    var count: Int
    /// How many addresses are known that it is about.
    var addresses = 1
  }

  private struct Entry {
    /// The keys offered so far are paid for at that time.
    var paidUntil: UInt64 = 0
    /// Not reported yet.
    package var count = 0
    var reportedAt: UInt64?

    package func isDue(_ now: UInt64) -> Bool {
      reportedAt.map { now >= $0 + UInt64(WrongKeys.reportInterval.nanoseconds) } ?? true
    }
  }

  private let timer: any MonotonicClock
  private let isReported: Bool
  private let entries = Mutex<[PeerNetwork?: Entry]>([:])
  /// The reports so far are paid for at that time.
  private let reportsPaidUntil = Mutex<UInt64>(0)

  /// Begins with no address.
  ///
  /// - Parameters:
  ///   - timer: a clock that no operator sets.
  ///   - isReported: whether ``takeReports()`` is called, which forgets addresses that have been quiet; without it they are forgotten
  ///     where another one wants their room.
  package init(timer: any MonotonicClock, isReported: Bool = true) {
    self.timer = timer
    self.isReported = isReported
  }

  /// Addresses that are remembered.
  package var addresses: Int { entries.locked { $0.count } }

  /// Notes a wrong key from that peer. Nil while it may offer more, else the whole seconds to wait.
  package func charge(_ peer: PeerAddress) -> Int? {
    let now = timer.now().nanoseconds
    return entries.locked { entries in
      var network: PeerNetwork? = PeerNetwork(limiting: peer)
      if entries[network] == nil, entries.count >= Self.maximumAddresses {
        if !isReported { entries = entries.filter { $0.value.paidUntil > now } }
        if entries.count >= Self.maximumAddresses { network = nil }
      }
      var entry = entries[network] ?? Entry()
      entry.count += 1
      defer { entries[network] = entry }
      if let seconds = Self.allowance.wait(paidUntil: entry.paidUntil, now: now) { return seconds }
      entry.paidUntil = Self.allowance.charged(paidUntil: entry.paidUntil, now: now)
      return nil
    }
  }

  /// Returns the reports that are due. The addresses with the most wrong keys have a report each, and the others share one.
  /// Where no report may be made now, the counts wait for the next time. Forgets addresses that have been quiet.
  func takeReports() -> [Report] {
    let now = timer.now().nanoseconds
    return entries.locked { entries in
      var due: [(network: PeerNetwork?, count: Int)] = []
      for (network, entry) in entries where entry.isDue(now) {
        if entry.count > 0 {
          due.append((network, entry.count))
        } else if entry.paidUntil <= now {
          entries[network] = nil
        }
      }
      let room = takeRoom(for: due.count, at: now)
      guard room > 0 else { return [] }
      for (network, _) in due {
        entries[network]?.count = 0
        entries[network]?.reportedAt = now
      }
      due.sort { ($0.network == nil ? 0 : $0.count) > ($1.network == nil ? 0 : $1.count) }
      let alone = due.count <= room ? due.count : room - 1
      let others = due.dropFirst(alone)
      var reports = due.prefix(alone).map { Report(network: $0.network, count: $0.count) }
      if !others.isEmpty {
        reports.append(
          Report(network: nil, count: others.reduce(0) { $0 + $1.count }, addresses: others.count))
      }
      return reports
    }
  }

  /// How many of so many reports there may be now; these are paid for.
  private func takeRoom(for count: Int, at now: UInt64) -> Int {
    let interval = UInt64(Self.reportInterval.nanoseconds)
    return reportsPaidUntil.locked { paidUntil in
      let debt = max(paidUntil, now) - now
      let free = (Self.reportBurst * interval - min(debt, Self.reportBurst * interval)) / interval
      let room = min(count, Int(clamping: free))
      paidUntil = now + debt + UInt64(room) * interval
      return room
    }
  }

  /// Takes back what could not be written down; the next ``takeReports()`` has it again.
  func restore(_ reports: [Report]) {
    reportsPaidUntil.locked { paidUntil in
      paidUntil -= min(paidUntil, UInt64(reports.count) * UInt64(Self.reportInterval.nanoseconds))
    }
    entries.locked { entries in
      for report in reports {
        entries[report.network, default: Entry()].count += report.count
        entries[report.network]?.reportedAt = nil
      }
    }
  }
}
