/// The table of product types: what a purchase of each does. A cell is asked of every service that has a part in it.
///
/// | | non-consumable | consumable | auto-renewable | non-renewing | free subscription |
/// |---|---|---|---|---|---|
/// | bought | once | many times | once at a time | many times | once |
/// | in the receipt | always | once | always | once | always |
/// | on all the customer's devices | yes | no | yes | by the server | yes |
/// | restored | yes | no | yes | by the server | yes |
public enum ProductTypeTable {
  /// A question about a product type.
  public enum Row: String, Sendable, CaseIterable {
    /// The number of times that a customer may buy it.
    case bought
    /// The time for which a receipt has it.
    case inReceipt = "in the receipt"
    /// Whether every device of the customer gets it.
    case onAllDevices = "on all the customer's devices"
    /// Whether a restore brings it back.
    case restored
  }

  /// The word in a cell.
  public enum Word: String, Sendable {
    /// One time and not again.
    case once
    /// Any number of times.
    case manyTimes = "many times"
    /// Any number of times, each after the end of the one before.
    case onceAtATime = "many times, once at a time"
    /// Always, while it is owned.
    case always
    /// Every time, by the store itself.
    case yes
    /// Neither by the store nor by the server.
    case no
    /// By the server and its own records, and not by the store.
    case byServer = "by the server"
  }

  /// One row of one column.
  public struct Cell: Sendable, CustomStringConvertible {
    /// The name that the interface has for the product type.
    public var type: String
    /// The question about the product type.
    public var row: Row
    /// The answer.
    public var word: Word

    /// `consumable, restored: no`.
    public var description: String { "\(type), \(row.rawValue): \(word.rawValue)" }
  }

  /// The words of each type in the order of ``Row``.
  private static let columns: [(type: String, words: [Word])] = [
    ("non-consumable", [.once, .always, .yes, .yes]),
    ("consumable", [.manyTimes, .once, .no, .no]),
    ("auto-renewable-subscription", [.onceAtATime, .always, .yes, .yes]),
    ("non-renewing-subscription", [.manyTimes, .once, .byServer, .byServer]),
    ("free-subscription", [.once, .always, .yes, .yes]),
  ]

  /// The row's cells, one for each type.
  public static func cells(_ row: Row) -> [Cell] {
    columns.flatMap { column in
      zip(Row.allCases, column.words).filter { $0.0 == row }.map {
        Cell(type: column.type, row: $0.0, word: $0.1)
      }
    }
  }
}
