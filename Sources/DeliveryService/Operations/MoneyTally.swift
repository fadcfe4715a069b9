import Commerce
import DeliveryRecords
import PullboxAPI
import ServiceAPI

/// Sums of what was paid and given back, by territory and currency, without rounding. Sums are whole
/// thousandths of a currency's unit, in 128 bits.
struct MoneyTally: Sendable {
  /// The payments that are added up together: amounts of two currencies never are.
  private struct Group: Hashable {
    /// The code of the territory, or `unknown`.
    var territory: String
    var currency: String
  }

  /// The sums of one group. Amounts are in thousandths of the currency's unit.
  private struct Sums {
    var sales = 0
    var sold: Int128 = 0
    var refunds = 0
    var refunded: Int128 = 0
    /// The most that a price of the group has.
    var decimals = 0
  }

  /// A group is there once a payment or a refund with a price was added.
  private var groups: [Group: Sums] = [:]
  /// Payments whose store told no price.
  private(set) var withoutPrice = 0

  init() {}

  /// Adds payments of one price, or refunds of such payments. Refunds without a price are not counted.
  mutating func add(_ payments: SalesTable.Payments, isRefund: Bool) {
    guard let price = payments.price else {
      if !isRefund { withoutPrice += payments.count }
      return
    }
    let group = Group(territory: payments.territory?.code ?? "unknown", currency: price.currency)
    let sum = Int128(price.thousandths) * Int128(payments.count)
    let decimals = price.amount.split(separator: ".").dropFirst().first?.count ?? 0
    groups[group, default: Sums()].decimals = max(groups[group]?.decimals ?? 0, decimals)
    if isRefund {
      groups[group, default: Sums()].refunds += payments.count
      groups[group, default: Sums()].refunded += sum
    } else {
      groups[group, default: Sums()].sales += payments.count
      groups[group, default: Sums()].sold += sum
    }
  }

  /// By territory, those that are not known last, and currency.
  var rows: [MoneyReport.Row] {
    groups.sorted {
      ($0.key.territory == "unknown" ? 1 : 0, $0.key.territory, $0.key.currency)
        < ($1.key.territory == "unknown" ? 1 : 0, $1.key.territory, $1.key.currency)
    }.map { group, sums in
      MoneyReport.Row(
        territory: group.territory, currency: group.currency, sales: sums.sales,
        sold: Self.text(sums.sold, decimals: sums.decimals), refunds: sums.refunds,
        refunded: Self.text(sums.refunded, decimals: sums.decimals))
    }
  }

  /// With as many decimals as the prices had.
  private static func text(_ thousandths: Int128, decimals: Int) -> String {
    let (whole, rest) = thousandths.quotientAndRemainder(dividingBy: 1000)
    guard decimals > 0 else { return "\(whole)" }
    return "\(whole)." + String("\(rest + 1000)".dropFirst().prefix(decimals))
  }
}
