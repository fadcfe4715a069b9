import Commerce
import Database
import PullboxAPI

extension AgentDatabase {
  func save(_ record: TransactionRecord) throws {
    try database.writeBlocking(locking: [.everything]) { connection in
      let machine = record.machine
      try connection.execute(
        """
        INSERT INTO transactions (id, product, store_state, step, reason, problem, tries)
        VALUES (?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (id) DO UPDATE SET store_state = excluded.store_state, step = excluded.step,
          reason = excluded.reason, problem = excluded.problem, tries = excluded.tries
        """,
        [
          .text(record.identifier.description), .text(record.product.description),
          .text(record.storeState.rawValue),
          .text(machine.step.rawValue), .optional(machine.reason?.rawValue),
          .optional(try machine.problem.map { try Self.text($0) }), .integer(machine.tries),
        ])
    }
  }

  func transactions() throws -> [TransactionRecord] {
    try database.readBlocking { connection in
      var records: [TransactionRecord] = []
      try connection.forEach("SELECT * FROM transactions ORDER BY id") { row in
        records.append(try Self.transaction(row))
      }
      return records
    }
  }

  private static func transaction(_ row: Row) throws -> TransactionRecord {
    var record = TransactionRecord(
      identifier: try require(TransactionIdentifier(try row.text("id")), "transactions.id"),
      product: try require(ProductIdentifier(try row.text("product")), "transactions.product"),
      storeState: try require(
        StoreTransaction.State(rawValue: try row.text("store_state")), "transactions.store_state"))
    record.machine = TransactionMachine(
      step: try require(TransactionMachine.Step(rawValue: try row.text("step")), "transactions.step"),
      reason: try row.optionalText("reason").map { StatusReason(rawValue: $0) },
      problem: try value(Problem.self, try row.optionalText("problem")),
      tries: Int(try row.integer("tries")))
    return record
  }
}
