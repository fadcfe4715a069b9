// What it costs to judge a customer's history. For each length a line: the number of transactions, and microseconds of processor time for
// one of them, of which `rounds` are measured. Run through scripts/bench commerce.
import Commerce
import CoreTypes
import Entitlements
import Glibc

/// Microseconds that this thread has been running.
func processorTime() -> Double {
  var time = timespec()
  unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
  return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
}

struct Unnamed: Error {}

func named(_ text: String) throws -> ProductIdentifier {
  guard let name = ProductIdentifier(text) else { throw Unnamed() }
  return name
}

let rounds = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 7
let day: Duration = .seconds(86_400)
let now = Timestamp(millisecondsSinceEpoch: 1_795_249_800_000)
let start = now - day * 3000

/// A publication with a subscription and an issue a week.
func publication(_ name: String) throws -> [Product] {
  var monthly = Product(id: try named("\(name).monthly"), type: .autoRenewableSubscription)
  monthly.publication = try named(name)
  monthly.period = .month
  return [monthly]
    + (try (0..<100).map { number in
      var issue = Product(id: try named("\(name).\(number)"), type: .nonConsumable)
      issue.publication = try named(name)
      issue.publicationDate = start + day * (7 * number)
      return issue
    })
}

/// Half of them periods of a subscription, one after the other, the others issues of two publications.
func history(_ count: Int) throws -> [VerifiedTransaction] {
  try (0..<count).map { number in
    let renews = number < count / 2
    let product =
      renews ? "com.example.a.monthly" : "com.example.\(number.isMultiple(of: 2) ? "a" : "b").\(number % 100)"
    let date = start + day * (30 * (renews ? number : 1))
    guard let id = TransactionIdentifier("\(2_000_000_000_000_000 + number)") else { throw Unnamed() }
    return VerifiedTransaction(
      vouchedForBy: .apple, in: .production, id: id, originalID: id, product: try named(product),
      purchaseDate: date, expiresDate: renews ? date + day * 30 : nil, asOf: now)
  }
}

let catalog = try publication("com.example.a") + publication("com.example.b")
for count in [50, 200, 1000] {
  let transactions = try history(count)
  let repetitions = 20_000 / count
  for _ in 0..<rounds {
    let begun = processorTime()
    for _ in 0..<repetitions {
      let report = EntitlementRules().evaluate(transactions, catalog: catalog, now: now)
      precondition(!report.claims.isEmpty)
    }
    print(count, (processorTime() - begun) / Double(repetitions * count))
  }
}
