import Commerce
import CoreTypes
import Database
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import SandboxRecords

/// Orders, and the purchases that were given back.
extension GoogleRoutes {
  /// Adds the routes of orders, and that of voided purchases.
  func addOrders(to routes: inout APIRoutes) {
    routes.on(
      .get, "\(Self.base)/purchases/voidedpurchases",
      use: answering { [self] request, _ in try await voided(request) })
    routes.on(
      .get, "\(Self.base)/orders/{order}",
      use: answering { [self] _, parameters in
        try Self.answer(try await document(ofOrder: parameters["order"]))
      })
    routes.on(
      .get, "\(Self.base)/orders:batchGet",
      use: answering { [self] request, _ in
        let names = request.queryValues("orderIds")
        guard (1...Self.largestBatch).contains(names.count), Set(names).count == names.count else {
          throw GoogleError.invalid("orderIds")
        }
        var orders: [GoogleDocuments.Order] = []
        for name in names { orders.append(try await document(ofOrder: name)) }
        return try Self.answer(GoogleDocuments.Orders(orders: orders))
      })
    routes.on(
      .post, "\(Self.base)/orders/{order}:refund",
      use: answering { [self] _, parameters in
        let (_, transaction) = try await order(parameters["order"])
        do {
          _ = try await store.refund(String(transaction.id), nil)
        } catch let problem as Problem where problem.code == .transactionUnpaid {
          throw GoogleError.notOwned
        }
        return HTTPResponse(status: .noContent)
      })
  }

  /// Orders that are asked for at once.
  private static let largestBatch = 1000

  /// The order is pending until its payment is made. Throws `orderUnknown`.
  private func document(ofOrder name: String) async throws -> GoogleDocuments.Order {
    let (purchase, transaction) = try await order(name)
    let state =
      transaction.sale == nil ? "PENDING" : transaction.sale?.revocation == nil ? "PROCESSED" : "REFUNDED"
    return GoogleDocuments.Order(
      orderId: name, purchaseToken: purchase.token.token, state: state,
      createTime: transaction.sale?.date ?? transaction.requested,
      total: GoogleDocuments.Money(transaction.sale?.price, times: transaction.quantity))
  }

  /// The purchase of an order, with the transaction of that payment, after all renewals that have fallen due.
  /// Throws `orderUnknown` for what is no order, for a purchase that has no token, and for a renewal that was
  /// not made.
  private func order(_ text: String) async throws -> (GooglePurchase, StoredTransaction) {
    guard let name = OrderName.parse(text),
      let token = try await store.database.read({ try PurchaseTokenTable.find(first: name.first, in: $0) })
    else { throw GoogleError.orderUnknown }
    let purchase = try await store.purchase(withToken: token.token)
    let index = name.renewal.map { $0 + 1 } ?? 0
    guard purchase.transactions.indices.contains(index) else { throw GoogleError.orderUnknown }
    return (purchase, purchase.transactions[index])
  }

  /// The store lists no more than the last thirty days.
  private static let depth: Duration = .seconds(30 * 86_400)

  /// A page of the purchases that were given back from `startTime` to `endTime`. It reads one row more than
  /// `maxResults` to know whether there is another page. `token` is the number of rows before the page.
  private func voided(_ request: HTTPRequest) async throws -> HTTPResponse {
    try await store.catchUpGoogle()
    let now = store.clock.now()
    func date(_ name: String, else fallback: Timestamp) throws -> Timestamp {
      guard let text = request.queryValue(name) else { return fallback }
      guard let milliseconds = Int64(text), milliseconds >= 0 else { throw GoogleError.invalid(name) }
      return Timestamp(millisecondsSinceEpoch: milliseconds)
    }
    func number(_ name: String, in range: ClosedRange<Int>, else fallback: Int) throws -> Int {
      guard let text = request.queryValue(name) else { return fallback }
      guard let number = Int(text), range.contains(number) else { throw GoogleError.invalid(name) }
      return number
    }
    let (start, end) = (try date("startTime", else: now - Self.depth), try date("endTime", else: now))
    guard start >= now - Self.depth - .seconds(1), start <= end else {
      throw GoogleError.invalid("startTime")
    }
    let limit = try number("maxResults", in: 1...1000, else: 1000)
    let offset = try number("token", in: 0...1_000_000, else: 0)
    let isAll = try number("type", in: 0...1, else: 0) == 1
    let page = try await store.database.read { connection in
      try PurchaseTokenTable.voided(
        from: start, to: end, withSubscriptions: isAll, after: offset, limit: limit + 1, in: connection
      ).map { found in
        let index = try PurchaseTokenTable.transactions(of: found.token, in: connection)
          .firstIndex { $0.id == found.transaction.id }
        return (found.transaction, found.token, index)
      }
    }
    let purchases = page.prefix(limit).map { transaction, token, index in
      GoogleDocuments.VoidedPurchase(
        purchaseToken: token.token,
        orderId: OrderName.text(first: token.first, renewal: index.flatMap { $0 == 0 ? nil : $0 - 1 }),
        purchaseTimeMillis: String((transaction.sale?.date ?? transaction.requested).millisecondsSinceEpoch),
        voidedTimeMillis: String((transaction.sale?.revocation?.date ?? now).millisecondsSinceEpoch),
        voidedSource: token.voidedReason == 8 ? 2 : 1, voidedReason: token.voidedReason ?? 0)
    }
    return try Self.answer(
      GoogleDocuments.VoidedPurchases(
        voidedPurchases: purchases,
        tokenPagination: page.count > limit ? .init(nextPageToken: String(offset + limit)) : nil))
  }
}
