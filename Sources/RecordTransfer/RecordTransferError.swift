import Database
package import DeliveryRecords
package import PostgreSQLEngine

/// Why records cannot go from one database to another. Operators read it on the command line.
package struct RecordTransferError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kinds of failures.
  package struct Code: Hashable, Sendable {
    private enum Name { case differs, unstorable, notEmpty, elsewhere }

    private let name: Name

    /// The rows that have come are not those that were sent.
    package static let differs = Code(name: .differs)
    /// A value that the other database cannot hold.
    package static let unstorable = Code(name: .unstorable)
    /// There are records already.
    package static let notEmpty = Code(name: .notEmpty)
    /// The records are not here, or not all of them.
    package static let elsewhere = Code(name: .elsewhere)
  }

  /// The kind of the failure.
  package let code: Code
  /// A sentence without a full stop.
  package let message: String

  package init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  package var description: String { message }
}

extension OpenRecords {
  /// Texts that are named at most.
  private static let maximumTexts = 20

  /// Throws ``RecordTransferError`` `unstorable`, with the table, the column and the key of each, for texts that PostgreSQL cannot hold.
  /// Those of PostgreSQL it can.
  package func refuseUnstorableTexts(of tables: [RecordTable]) throws {
    guard case .file(let path) = self else { return }
    let texts = try Database.inspect(path) { connection in
      var texts: [UnstorableText] = []
      for table in tables where texts.count < Self.maximumTexts {
        texts += try SQLDialect.textsWithZero(
          in: table, limit: Self.maximumTexts - texts.count, in: connection)
      }
      return texts
    }
    guard !texts.isEmpty else { return }
    throw RecordTransferError(
      .unstorable,
      "PostgreSQL holds no text with the character U+0000: \(texts.map(\.description).joined(separator: "; "))"
    )
  }

  /// Throws ``RecordTransferError`` `notEmpty` where a database on PostgreSQL has records. What an empty one has is not counted.
  package static func refuseRecords(of tables: [RecordTable], in transfer: TableTransfer) throws {
    let names = tables.map(\.name).filter { $0 != "catalogue_state" }
    guard let table = try transfer.firstWithRows(of: names) else { return }
    throw RecordTransferError(
      .notEmpty, "\(transfer.name) is not empty: there are rows in the table \(table)")
  }
}
