import CoreTypes
import Database
import PullboxAPI
import SandboxRecords

/// The history of notifications that the App Store Server API tells.
struct NotificationHistory: Sendable {
  /// A notification as it was sent, and what became of each attempt.
  struct Record: Encodable, Sendable {
    var signedPayload: String
    var sendAttempts: [NotificationAttempt]
  }

  /// At most ``PaymentStore/pageLength`` records, the earliest first.
  struct Page: Encodable, Sendable {
    /// Left out on the last page.
    var paginationToken: String?
    var hasMore: Bool
    var notificationHistory: [Record]
  }

  /// The filter of a request. Its transaction is still to be looked up.
  struct Request: Hashable, Sendable {
    var filter: NotificationTable.Filter
    /// A transaction of the customer whose notifications are requested; nil for those of all customers.
    var transaction: String?

    /// Documented types that this store never sends, so that there are no notifications of them.
    private static let neverSent: Set = [
      "EXTERNAL_PURCHASE_TOKEN", "RESCIND_CONSENT", "METADATA_UPDATE", "MIGRATION", "PRICE_CHANGE",
    ]

    /// Nil where nothing can match. Throws the error of the first member that cannot be. Both dates are
    /// required, in milliseconds since the epoch. A subtype needs a type beside it, and a type no
    /// transaction.
    ///
    /// - Parameter reach: how long before `now` the start may be at the earliest.
    init?(_ body: [UInt8], now: Timestamp, reach: Duration) throws(ServerAPIError) {
      guard let members = try? APIJSON.decode([String: JSONScalar].self, from: body) else {
        throw .badRequest
      }
      guard let start = members["startDate"]?.integer, start >= 0 else { throw .invalidStartDate }
      guard let end = members["endDate"]?.integer, end >= 0 else { throw .invalidEndDate }
      guard end > start else { throw .startAfterEnd }
      let first = Timestamp(millisecondsSinceEpoch: start)
      guard first >= now - reach else { throw .startTooFarInPast }
      filter = NotificationTable.Filter(range: first..<Timestamp(millisecondsSinceEpoch: end))
      transaction = members["transactionId"]?.text
      if let member = members["notificationType"] {
        guard transaction == nil else { throw .multipleFilters }
        guard let name = member.text else { throw .invalidNotificationType }
        if Self.neverSent.contains(name) { return nil }
        guard let type = NotificationType(rawValue: name) else { throw .invalidNotificationType }
        filter.type = type
      }
      if let member = members["notificationSubtype"] {
        guard let subtype = member.text.flatMap(NotificationSubtype.init), filter.type != nil else {
          throw .invalidNotificationType
        }
        filter.subtype = subtype
      }
      filter.onlyFailures = members["onlyFailures"] == .boolean(true)
    }
  }
}

extension PaymentStore {
  /// A page of what the filter lets pass. Throws 4000014 for a token that is none of this list. Only those
  /// that are dated are listed, and each is signed anew with its own date.
  ///
  /// - Parameter token: where the page begins; nil for the first. It counts for the same account, or for all.
  func notifications(
    _ filter: NotificationTable.Filter, token: String?, signedBy issuer: PayloadIssuer
  ) async throws -> NotificationHistory.Page {
    let list = "notifications"
    let account = filter.account ?? 0
    var position: Int64 = 0
    if let token {
      guard let begin = PageToken(token, list: list, account: account) else {
        throw ServerAPIError.invalidPaginationToken
      }
      position = begin.position
    }
    let found = try await database.read { [position] connection in
      try NotificationTable.history(filter, after: position, limit: Self.pageLength + 1, in: connection)
    }
    let shown = found.prefix(Self.pageLength)
    let hasMore = found.count > shown.count
    return NotificationHistory.Page(
      paginationToken: hasMore
        ? shown.last.map { PageToken(list: list, account: account, position: $0.id).text } : nil,
      hasMore: hasMore,
      notificationHistory: try shown.map {
        NotificationHistory.Record(signedPayload: try issuer.sign($0), sendAttempts: $0.attempts)
      })
  }

  /// Writes a test notification down and returns the token that asks what became of it. The token is the
  /// notification's UUID, an underscore and the time in milliseconds.
  func requestTestNotification() async throws -> String {
    let uuid = try await database.write(locking: [.everything]) { connection in
      try NotificationTable.insert(NotificationTable.Draft(type: .test), in: connection)
    }
    return "\(uuid)_\(clock.now().millisecondsSinceEpoch)"
  }

  /// Throws 4000020 for what is no token, 4040008 for one that is unknown or whose notification was not sent
  /// yet. It answers once the first attempt was made, whatever came of it.
  func testNotification(
    token: String, signedBy issuer: PayloadIssuer
  ) async throws -> NotificationHistory.Record {
    let parts = token.split(separator: "_", omittingEmptySubsequences: false)
    guard parts.count == 2, let uuid = ApplicationAccountToken(String(parts[0]))?.text,
      Int64(parts[1]) != nil
    else { throw ServerAPIError.invalidTestToken }
    let found = try await database.read { try NotificationTable.find(uuid: uuid, in: $0) }
    guard let found, found.type == .test, !found.attempts.isEmpty else {
      throw ServerAPIError.testNotificationUnknown
    }
    return NotificationHistory.Record(
      signedPayload: try issuer.sign(found), sendAttempts: found.attempts)
  }
}
