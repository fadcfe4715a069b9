import Foundation
import Synchronization

/// Writes prices for people by the rules of a locale. The formatters are made once for each locale and currency,
/// and kept for the next request, at most ``capacity`` of them.
///
/// A client may name any locale, and Foundation keeps each identifier that it is asked about until the process
/// ends. So what a client writes is first resolved to an identifier of the system's own list.
final class PriceFormatters: Sendable {
  /// Formatters that are kept; one that was not used for longest makes room.
  static let capacity = 64

  private struct Key: Hashable {
    var locale: String
    var currency: String
  }

  private struct Entry {
    var formatter: NumberFormatter
    var lastUse: UInt64
  }

  private struct State {
    var entries: [Key: Entry] = [:]
    var uses: UInt64 = 0
    var made = 0
  }

  private let state = Mutex(State())

  /// Formatters that were made since the beginning.
  var made: Int { state.withLock { $0.made } }
  /// Formatters that are kept.
  var count: Int { state.withLock { $0.entries.count } }

  /// `amount` of a currency (ISO 4217) by the rules of `locale`. Nil when there is no text for it.
  func text(_ amount: Decimal, currency: String, locale: String) -> String? {
    let key = Key(locale: locale, currency: currency)
    return state.withLock { state in
      state.uses += 1
      if state.entries[key] == nil {
        if state.entries.count >= Self.capacity,
          let oldest = state.entries.min(by: { $0.value.lastUse < $1.value.lastUse })
        {
          state.entries[oldest.key] = nil
        }
        let formatter = NumberFormatter()
        formatter.numberStyle = .currency
        formatter.locale = Locale(identifier: locale)
        formatter.currencyCode = currency
        state.entries[key] = Entry(formatter: formatter, lastUse: state.uses)
        state.made += 1
      }
      state.entries[key]?.lastUse = state.uses
      return state.entries[key]?.formatter.string(from: amount as NSDecimalNumber)
    }
  }
}

/// The locales that the system has rules for.
enum KnownLocale {
  /// RFC 5646 §4.4.1: no tag in use is longer.
  static let maximumLength = 35

  /// The system's identifiers by their spelling in lower case, with hyphens.
  private static let identifiers = Dictionary(
    Locale.availableIdentifiers.map { ($0.lowercased().replacing("_", with: "-"), $0) },
    uniquingKeysWith: { first, _ in first })

  /// The system's identifier for a tag such as `fr-FR`, in any case and with hyphens or underscores; without its
  /// last subtags where only the rest is known. Nil for what is no language tag, and for unknown languages.
  static func identifier(for tag: String) -> String? {
    guard tag.utf8.count <= maximumLength else { return nil }
    var subtags = tag.lowercased().replacing("_", with: "-")
      .split(separator: "-", omittingEmptySubsequences: false)
    guard subtags.allSatisfy(isSubtag) else { return nil }
    while !subtags.isEmpty {
      if let identifier = identifiers[subtags.joined(separator: "-")] { return identifier }
      subtags.removeLast()
    }
    return nil
  }

  private static func isSubtag(_ text: Substring) -> Bool {
    (1...8).contains(text.utf8.count) && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }
  }
}
