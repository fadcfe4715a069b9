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
    case bought
    case inReceipt = "in the receipt"
    case onAllDevices = "on all the customer's devices"
    case restored
  }

  /// The word in a cell.
  public enum Word: String, Sendable {
    case once
    case manyTimes = "many times"
    case onceAtATime = "many times, once at a time"
    case always
    case yes
    case no
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
