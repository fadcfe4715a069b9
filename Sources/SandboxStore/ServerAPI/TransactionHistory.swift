import Commerce
import CoreTypes
import Crypto
import Database
import HTTPServer
import SandboxRecords

/// Which of a customer's transactions a history has, and in which order.
struct TransactionHistoryFilter: Hashable, Sendable {
  /// The version of the path.
  enum Version: Hashable, Sendable {
    /// Without consumables that are finished, unless they were revoked.
    case first
    case second
  }

  var version: Version
  /// By revisions, the numbers of the latest changes.
  var isAscending = true
  private var start: Timestamp?
  private var end: Timestamp?
  private var products: Set<String> = []
  private var types: Set<ProductType> = []
  /// Publications, or products that have none.
  private var groups: Set<String> = []
  private var ownership: Ownership?
  /// Nil for both.
  private var isRevoked: Bool?

  /// Reads the query. A parameter may be repeated where several values are wanted, and booleans may be capitalized, as
  /// Python writes them. Throws the error of the first parameter that cannot be. `excludeRevoked` takes
  /// precedence over `revoked`.
  init(_ request: HTTPRequest, version: Version) throws(ServerAPIError) {
    self.version = version
    start = try request.milliseconds("startDate", orThrow: .invalidStartDate)
    end = try request.milliseconds("endDate", orThrow: .invalidEndDate)
    if let start, let end, end <= start { throw .startAfterEnd }
    for product in request.queryValues("productId") {
      guard ProductIdentifier(product) != nil else { throw .invalidProduct }
      products.insert(product)
    }
    for name in request.queryValues("productType") {
      guard let type = Self.types[name] else { throw .invalidProductType }
      types.insert(type)
    }
    for group in request.queryValues("subscriptionGroupIdentifier") {
      guard ProductIdentifier(group) != nil else { throw .invalidGroup }
      groups.insert(group)
    }
    switch request.queryValue("sort") {
    case nil, "ASCENDING": isAscending = true
    case "DESCENDING": isAscending = false
    default: throw .invalidSort
    }
    if let name = request.queryValue("inAppOwnershipType") {
      guard let wanted = Ownership(rawValue: name) else { throw .invalidOwnership }
      ownership = wanted
    }
    isRevoked = try request.boolean("revoked", orThrow: .invalidRevoked)
    if try request.boolean("excludeRevoked", orThrow: .invalidExcludeRevoked) == true { isRevoked = false }
  }

  private static let types: [String: ProductType] = [
    "AUTO_RENEWABLE": .autoRenewableSubscription, "NON_RENEWABLE": .nonRenewingSubscription,
    "CONSUMABLE": .consumable, "NON_CONSUMABLE": .nonConsumable,
  ]

  /// Whether the history has it. Dates are those of purchases, the first included and the last not.
  ///
  /// - Parameter group: the subscription's group; nil for what is no renewing subscription, which no filter
  ///   of groups lets pass.
  func includes(_ transaction: StoredTransaction, group: ProductIdentifier?) -> Bool {
    guard case .purchased(let sale, let finished) = transaction.life.state else { return false }
    if version == .first, sale.type == .consumable, finished != nil, sale.revocation == nil { return false }
    return start.map { sale.date >= $0 } != false && end.map { sale.date < $0 } != false
      && (products.isEmpty || products.contains(transaction.product.description))
      && (types.isEmpty || types.contains(sale.type))
      && (groups.isEmpty || group.map { groups.contains($0.description) } == true)
      && (ownership.map { $0 == transaction.ownership } != false)
      && (isRevoked.map { $0 == (sale.revocation != nil) } != false)
  }
}

/// Where a list of pages goes on: opaque to clients, bound to what it is a list of.
struct PageToken: Hashable, Sendable {
  /// The name of the list, such as `history-ascending`.
  let list: String
  /// The account that the list is of; 0 for all.
  let account: Int64
  let position: Int64

  /// Base 64 in the alphabet of URLs. It is not signed: a client that makes one up sees nothing but its own
  /// list.
  var text: String { Base64.encode(Array("\(list):\(account):\(position)".utf8), .url) }

  init(list: String, account: Int64, position: Int64) {
    self.list = list
    self.account = account
    self.position = position
  }

  /// Nil for a text that is no token of that list. A token of another list or another account is none.
  init?(_ text: String, list: String, account: Int64) {
    guard text.utf8.count <= 256, let bytes = Base64.decode(text, .url) else { return nil }
    let parts = String(decoding: bytes, as: UTF8.self).split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 3, parts[0] == list, Int64(parts[1]) == account, let position = Int64(parts[2])
    else {
      return nil
    }
    self.init(list: list, account: account, position: position)
  }
}

extension PaymentStore {
  /// A page of transactions as they are signed, where the next begins, and whether there is one.
  struct TransactionPage: Sendable {
    var transactions: [TransactionPayload]
    /// A ``PageToken``, also on the last page: what changes later is listed from there.
    var revision: String
    var hasMore: Bool
  }

  /// Transactions in one page.
  static let pageLength = 20

  /// Throws 4000005 for a revision that is none of this list.
  ///
  /// - Parameter revision: where an earlier page ended; nil for the first page.
  func history(
    account: Int64, filter: TransactionHistoryFilter, revision: String?
  ) async throws -> TransactionPage {
    let list = filter.isAscending ? "history-ascending" : "history-descending"
    let begin = try Self.position(
      revision, list: list, account: account, first: filter.isAscending ? 0 : .max)
    return try await database.read { connection in
      let groups = try SubscriptionTable.groups(of: account, in: connection)
      return try Self.page(list: list, account: account, from: begin) { position, limit in
        try TransactionTable.revised(
          in: connection, account: account, beyond: position, isAscending: filter.isAscending, limit: limit)
      } including: {
        filter.includes($0, group: $0.sale.flatMap { groups[$0.originalID] })
      } groups: {
        groups
      }
    }
  }

  /// Returns the refunded transactions, in the order of the refunds. Throws 4000005. Sharing that ended is no
  /// refund.
  func refunds(account: Int64, revision: String?) async throws -> TransactionPage {
    let begin = try Self.position(revision, list: "refunds", account: account, first: 0)
    return try await database.read { connection in
      let groups = try SubscriptionTable.groups(of: account, in: connection)
      return try Self.page(list: "refunds", account: account, from: begin) { position, limit in
        try TransactionTable.refunded(in: connection, account: account, after: position, limit: limit)
      } including: { _ in
        true
      } groups: {
        groups
      }
    }
  }

  /// - Parameter first: the position of the first page.
  private static func position(
    _ revision: String?, list: String, account: Int64, first: Int64
  ) throws(ServerAPIError) -> Int64 {
    guard let revision else { return first }
    guard let token = PageToken(revision, list: list, account: account) else { throw .invalidRevision }
    return token.position
  }

  /// Rows that are read at once for a page that leaves some out.
  private static let readAtOnce = 200

  /// Reads on until the page is full and one more row is found that the filter lets pass, or no rows are
  /// left. The position moves over rows that are left out, too.
  ///
  /// - Parameter rows: the rows beyond a position, in the order of the list.
  private static func page(
    list: String, account: Int64, from begin: Int64,
    rows: (_ position: Int64, _ limit: Int) throws -> [TransactionTable.Revised],
    including isIncluded: (StoredTransaction) -> Bool, groups: () -> [Int64: ProductIdentifier]
  ) throws -> TransactionPage {
    let groups = groups()
    var page = TransactionPage(transactions: [], revision: "", hasMore: false)
    var position = begin
    reading: while true {
      let read = try rows(position, readAtOnce)
      for row in read {
        if isIncluded(row.transaction) {
          guard page.transactions.count < pageLength else {
            page.hasMore = true
            break reading
          }
          let group = row.transaction.sale.flatMap { groups[$0.originalID] }
          if let payload = TransactionPayload(row.transaction, group: group) {
            page.transactions.append(payload)
          }
        }
        position = row.revision
      }
      if read.count < readAtOnce { break }
    }
    page.revision = PageToken(list: list, account: account, position: position).text
    return page
  }
}

extension HTTPRequest {
  /// A parameter of milliseconds since the epoch; nil without it. Throws `error` for a text that is no number
  /// from 0 on.
  func milliseconds(
    _ name: String, orThrow error: ServerAPIError
  ) throws(ServerAPIError) -> Timestamp? {
    guard let text = queryValue(name) else { return nil }
    guard let number = Int64(text), number >= 0 else { throw error }
    return Timestamp(millisecondsSinceEpoch: number)
  }

  /// A parameter that is true or false, in any case; nil without it.
  func boolean(_ name: String, orThrow error: ServerAPIError) throws(ServerAPIError) -> Bool? {
    switch queryValue(name)?.lowercased() {
    case nil: return nil
    case "true": return true
    case "false": return false
    default: throw error
    }
  }
}
