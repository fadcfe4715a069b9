// What it costs to read and verify what customers hand in. For each work a line: its name, and microseconds of processor time for one, of
// which `rounds` are measured. Run through scripts/bench receipts.
import Commerce
import CoreTypes
import Glibc
import Receipts

/// Microseconds that this thread has been running.
func processorTime() -> Double {
  var time = timespec()
  unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
  return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
}

/// Prints `rounds` samples, each the mean of `count` runs. What `preparing` makes for each run is not part of it.
func measure<Prepared>(
  _ name: String, rounds: Int, count: Int, preparing: () throws -> Prepared, _ body: (Prepared) throws -> Void
) throws {
  try body(try preparing())
  for _ in 0..<rounds {
    let prepared = try (0..<count).map { _ in try preparing() }
    let start = processorTime()
    for one in prepared { try body(one) }
    print(name, (processorTime() - start) / Double(count))
  }
}

func receipt(purchases: Int, at now: Timestamp) -> AppReceipt {
  AppReceipt(
    environmentName: "ProductionSandbox", bundleIdentifier: "com.example.pullbox", applicationVersion: "1",
    creationDate: now,
    purchases: (0..<purchases).map { number in
      var purchase = InAppPurchase(
        productIdentifier: "com.example.heroes.monthly",
        transactionIdentifier: "\(2_000_000_000_000_000 + number)",
        originalTransactionIdentifier: "2000000000000000", purchaseDate: now, originalPurchaseDate: now)
      purchase.expiresDate = now
      purchase.webOrderLineItemIdentifier = 2_000_000_000_000_000
      purchase.isTrialPeriod = false
      return purchase
    })
}

let rounds = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 7
let now = Timestamp(millisecondsSinceEpoch: SystemWallClock().now().secondsSinceEpoch * 1000)
let authority = try ReceiptAuthority.generate(.init(now: now))
for (purchases, count) in [(200, 100), (2000, 20)] {
  let text = try authority.signer.signBase64(receipt(purchases: purchases, at: now))
  try measure("app-receipt-\(purchases)", rounds: rounds, count: count, preparing: {}) {
    let verified = try UnverifiedAppReceipt(base64: text).verified(trusting: [authority.root], now: now)
    precondition(verified.purchases.count == purchases)
  }
}

let signer = try SignedDataAuthority.generate(.init(responder: "http://127.0.0.1/ocsp", now: now))
let transaction = """
  {"transactionId":"2000000000000002","originalTransactionId":"2000000000000001","bundleId":"com.example.pullbox",\
  "productId":"com.example.heroes.monthly","purchaseDate":\(now.millisecondsSinceEpoch),"environment":"Sandbox",\
  "signedDate":\(now.millisecondsSinceEpoch),"type":"Auto-Renewable Subscription","quantity":1}
  """
let signed = try signer.sign(Array(transaction.utf8))
func makeVerifier() -> SignedDataVerifier {
  SignedDataVerifier(roots: [signer.root], timer: SystemMonotonicClock())
}
// A verifier that has seen nothing knows its roots, and no chain.
try measure("signed-data-nothing-cached", rounds: rounds, count: 100, preparing: makeVerifier) { verifier in
  _ = try verifier.verify(SignedData(text: signed), at: now)
}
let verifier = makeVerifier()
try measure("signed-data-chain-cached", rounds: rounds, count: 2000, preparing: {}) {
  _ = try verifier.verify(SignedData(text: signed), at: now)
}
