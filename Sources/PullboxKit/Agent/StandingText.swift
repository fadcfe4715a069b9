package import CoreTypes
package import PullboxAPI
import SystemCalls

/// Says in words how a download or a transaction stands: what it waits for, what would help, when the next try is. A reason of
/// a newer agent is shown as it is. Pure.
package enum StandingText {
  /// Words for the reasons of docs/agent.md. A reason that is not here is shown as the agent says it.
  private static let waits = [
    "outside-window": "waits for its window", "budget-spent": "waits: the budget of this month is spent",
    "metered": "waits for a way that is not metered", "network-portal": "waits for the network's log-in",
    "no-network": "waits for a network", "battery-low": "waits for the battery to be charged",
    "on-battery": "waits for mains power", "power-saver": "waits for the end of power saving",
    "machine-sleeps": "waits for the machine to wake up",
    "machine-busy": "waits for other work of this machine to end",
    "queued": "waits for its turn", "preempted": "waits for a download that is wanted now",
    "waiting-for-content": "waits for its content",
    "server-unreachable": "the server cannot be reached",
    "server-unavailable": "the server cannot answer now",
    "store-unreachable": "the store cannot be reached", "store-unavailable": "the store cannot answer now",
    "verification-undetermined": "the store could not confirm the purchase yet",
    "connection-lost": "the connection was lost", "too-many-requests": "the server asks for patience",
    "insufficient-space": "waits for room", "storage-failure": "the disk does not take it",
    "library-offline": "waits for the library's volume to be connected",
    "network-not-open": "the network does not let it through; it may want a log-in in a browser",
    "protocol-violation": "the server's answer cannot be understood",
    "awaiting-payment": "waits for the payment", "awaiting-approval": "waits for another person's approval",
    "content-not-released": "waits for the content to be released",
    "store-not-answered": "waits for the store's confirmation",
    "download-failed": "a download failed", "download-cancelled": "a download was cancelled",
    "grant-revoked": "the purchase was refunded or revoked", "payment-failed": "the payment failed",
    "finished-elsewhere": "another device has finished it",
    "certificate-not-trusted": "no authority that counts here signed the service's certificate",
    "certificate-out-of-date": "the service's certificate has ended, or this device's clock is wrong",
    "certificate-for-another-name": "the service's certificate is of another name",
    "certificate-not-pinned": "the service's key is none of those that were named",
  ]
  /// Words for the reasons of downloads that failed.
  private static let failures = [
    "integrity": "the bytes that came are not those that were promised", "given-up": "too many tries failed",
    "wasteful": "too many bytes came in vain",
    "publisher-signature": "no publisher who counts here has signed it",
    "protocol-violation": "the server's answers cannot be understood",
  ]

  /// The agent's error comes before the words of its reason, and a cause follows unless it is said already.
  ///
  /// - Parameter now: from which the next try is counted.
  package static func of(_ download: DownloadStatus, now: Timestamp = SystemWallClock().now()) -> String {
    switch download.state {
    case .active: return download.reason
    case .finished: return "finished"
    case .paused: return "paused"
    case .cancelled: return "cancelled"
    case .failed:
      let why = download.error?.description ?? failures[download.reason] ?? download.reason
      return "failed: \(why)" + caused(download.cause, unless: why)
    case .waiting:
      var text = waits[download.reason] ?? "waits (\(download.reason))"
      if let condition = download.condition { text += words(condition, of: download) }
      // The cause has the same numbers.
      let cause = download.space == nil ? download.cause : nil
      if let space = download.space { text += ": \(words(space))" }
      return text + next(download.notBefore, now: now) + caused(cause, unless: text)
    }
  }

  /// The step of the transaction, and why it does not go on.
  package static func of(_ transaction: AgentTransaction, now: Timestamp = SystemWallClock().now()) -> String
  {
    guard let why = why(transaction) else { return transaction.step }
    return "\(transaction.step): \(why)" + next(transaction.notBefore, now: now)
      + caused(transaction.cause, unless: why)
  }

  /// Why a transaction waits or failed; nil where it does neither.
  package static func why(_ transaction: AgentTransaction) -> String? {
    transaction.error?.description ?? transaction.reason.map { waits[$0] ?? $0 }
  }

  /// How a download has ended, as a sentence.
  package static func ending(of download: DownloadStatus) -> String {
    let verb =
      switch download.state {
      case .cancelled: "was cancelled"
      case .paused: "is paused"
      default: of(download)
      }
    return "the download of \(download.title ?? download.product.description) \(verb)"
  }

  /// The source of the condition, the command that passes it, and since when it is there.
  private static func words(_ condition: DownloadCondition, of download: DownloadStatus) -> String {
    let origin = [condition.device, "by \(condition.source)"].compactMap { $0 }.joined(separator: ", ")
    var text = " (\(origin))"
    let name = download.id.description.prefix(4)
    let left = download.bytesTotal.map { max(.zero, $0 - download.bytesVerified) }
    switch condition.name {
    case .metered:
      text += ": `pullbox resume --now \(name)` takes \(left.map { "\($0)" } ?? "what there is") of it"
    case .portal:
      text += ": log in with a browser, or `pullbox resume --ignore portal \(name)`"
    case .batteryLow, .onBattery, .powerSaver:
      text += ": `pullbox resume --now \(name)` goes on all the same"
    case .busy:
      text += ": `pullbox resume --now \(name)` goes on beside it"
    case .offline, .sleep: break
    }
    return text + ", since \(LocalTime.clock(condition.since))"
  }

  /// The numbers of a shortage: needed, free or left of the quota, kept free, removable.
  package static func words(_ space: SpaceShortage) -> String {
    var text = "needs \(space.needed), \(space.free) "
    text += space.quota.map { "left of the quota of \($0)" } ?? "free"
    if space.reserve > .zero { text += ", of which \(space.reserve) stay" }
    if space.removable > .zero { text += "; \(space.removable) could be removed and fetched again" }
    return text
  }

  /// Empty where there is no cause, or `said` has it.
  private static func caused(_ cause: String?, unless said: String) -> String {
    guard let cause, !said.contains(cause) else { return "" }
    return " (\(cause))"
  }

  /// Empty for a time that has passed.
  private static func next(_ notBefore: Timestamp?, now: Timestamp) -> String {
    guard let notBefore, notBefore > now else { return "" }
    return ", next try in \(DurationText.short(notBefore - now))"
  }
}
