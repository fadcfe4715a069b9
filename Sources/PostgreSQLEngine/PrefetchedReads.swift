internal import Database

/// The reads of one body that were sent ahead of their use, and whose rows no statement of the body has changed since.
struct PrefetchedReads {
  /// A read that was sent, and its answer once that has come.
  final class Read {
    /// The statement as its connection prepared it, with its columns once an answer has named them.
    let prepared: ServerSession.Prepared
    /// Nil until the answers before it were read.
    var answer: ServerAnswer?

    /// A read whose answer is still on its way.
    init(prepared: ServerSession.Prepared) { self.prepared = prepared }
  }

  /// A text and its values: two reads that agree in both have the same answer.
  private struct Question: Hashable {
    let sql: String
    let values: [SQLValue]
  }

  /// The reads by their questions. A body that writes takes each out once, and one that reads finds it any number of
  /// times.
  private var reads: [Question: Read] = [:]

  /// The error of a statement that would write among them.
  static func refusal(of sql: String) -> DatabaseError {
    DatabaseError(.misuse, "a statement that writes is not prefetched", sql: sql)
  }

  /// Whether that read was sent already, so that it need not be sent again.
  func contains(_ sql: String, _ values: [SQLValue]) -> Bool {
    reads[Question(sql: sql, values: values)] != nil
  }

  /// Adds a read that was sent.
  mutating func add(_ read: Read, of sql: String, _ values: [SQLValue]) {
    reads[Question(sql: sql, values: values)] = read
  }

  /// The read with that text and those values; nil where there is none.
  func find(_ sql: String, _ values: [SQLValue]) -> Read? {
    reads.isEmpty ? nil : reads[Question(sql: sql, values: values)]
  }

  /// Takes out the read with that text and those values; nil where there is none.
  mutating func take(_ sql: String, _ values: [SQLValue]) -> Read? {
    reads.isEmpty ? nil : reads.removeValue(forKey: Question(sql: sql, values: values))
  }

  /// Drops the reads whose rows may be others after a statement with that effect.
  mutating func drop(whatChangesBy effect: StatementTranslation.Effect) {
    guard !reads.isEmpty, effect != .none else { return }
    for (question, read) in reads where read.prepared.translation.reads(whatChangesBy: effect) {
      reads[question] = nil
    }
  }
}
