import Commerce
package import CoreTypes
import Crypto

/// A purchase as the Google-like interface knows it, by a token.
package struct PurchaseToken: Hashable, Sendable {
  /// The two kinds of tokens: each is asked about by calls of its own, and refused by those of the other.
  package enum Kind: String, Hashable, Sendable {
    case product
    case subscription
  }

  /// The text, which is the key of the row.
  package let token: String
  /// The row of the account.
  package let account: Int64
  /// The transaction of a one-time purchase; the first one of a subscription.
  package let chain: Int64
  /// The transaction with which it begins.
  package let first: Int64
  package let kind: Kind
  /// The token whose place it took.
  package var linked: String?
  /// By when it is to be acknowledged; nil once it was, or was given back.
  package var deadline: Timestamp?
  /// When it was first acknowledged or consumed.
  package var acknowledged: Timestamp?
  /// When it was first consumed; the store allows it for any one-time purchase.
  package var consumed: Timestamp?
  /// Why it was given back, as Google counts reasons.
  package var voidedReason: Int?

  package init(
    token: String, account: Int64, chain: Int64, first: Int64, kind: Kind, linked: String? = nil,
    deadline: Timestamp? = nil, acknowledged: Timestamp? = nil, consumed: Timestamp? = nil,
    voidedReason: Int? = nil
  ) {
    self.token = token
    self.account = account
    self.chain = chain
    self.first = first
    self.kind = kind
    self.linked = linked
    self.deadline = deadline
    self.acknowledged = acknowledged
    self.consumed = consumed
    self.voidedReason = voidedReason
  }

  /// 144 characters that cannot be guessed, in the shape of Google's.
  package static func random() -> String {
    Base64.encode(RandomBytes.make(18), .url) + ".AO-J1O" + Base64.encode(RandomBytes.make(84), .url)
  }
}

extension StoredTransaction {
  /// The transaction that all its tokens share: itself, or the first transaction of a subscription; nil
  /// before it was sold.
  package var chain: Int64? { sale.map { $0.type == .autoRenewableSubscription ? $0.originalID : id } }
}

/// An order as Google numbers them, made of the transaction that a token begins with: `GPA.2000-0000-0000-0001`, and `..0` behind
/// it for the first renewal.
package enum OrderName {
  /// - Parameters:
  ///   - first: the transaction with which the token begins.
  ///   - renewal: 0 for the first renewal; nil for the payment with which the token begins.
  package static func text(first: Int64, renewal: Int?) -> String {
    let digits = String(first)
    let padded = String(repeating: "0", count: max(0, 16 - digits.count)) + digits
    var groups: [Substring] = []
    var rest = padded[...]
    while rest.count > 4 {
      groups.append(rest.prefix(4))
      rest = rest.dropFirst(4)
    }
    groups.append(rest)
    return "GPA." + groups.joined(separator: "-") + (renewal.map { "..\($0)" } ?? "")
  }

  /// Nil for what is no order. Dashes are ignored wherever they stand.
  package static func parse(_ text: String) -> (first: Int64, renewal: Int?)? {
    guard text.hasPrefix("GPA."), text.utf8.count <= 40 else { return nil }
    let body = text.dropFirst(4)
    let parts = body.split(separator: ".", omittingEmptySubsequences: false)
    guard let first = Int64(parts[0].filter { $0 != "-" }) else { return nil }
    switch parts.count {
    case 1: return (first, nil)
    case 3 where parts[1].isEmpty: return Int(parts[2]).map { (first, $0) }
    default: return nil
    }
  }
}
