internal import Database

extension NumberedKey {
  /// The statement that takes the next number: the column is an identity, which has a sequence.
  var nextNumber: String { "SELECT nextval(pg_get_serial_sequence('\(table)', '\(column)')) AS number" }
}

extension ServerSession {
  /// The kind of a transaction, by which it sees what others commit meanwhile.
  enum Kind: Hashable {
    /// Each statement sees what is committed when it begins, and so what others did while a lock was waited for.
    case write
    /// All statements see the same.
    case read

    var begin: String {
      switch self {
      case .write: "BEGIN ISOLATION LEVEL READ COMMITTED"
      case .read: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
      }
    }
  }

  /// A statement that this connection has prepared, or is about to.
  final class Prepared {
    let name: String
    let translation: StatementTranslation
    var columns: [String]?
    var isConfirmed = false
    var lastUse = 0

    init(name: String, translation: StatementTranslation) {
      self.name = name
      self.translation = translation
    }
  }
}

extension ServerAnswer {
  /// Whether a statement can end with it: the end of a pipeline, or a question for rows to copy, is no answer without rows.
  var mayBeLast: Bool {
    switch kind {
    case .rows, .done, .failed, .leftOut: true
    case .copying, .sync: false
    }
  }

  /// Whether it says that a statement is prepared, for which no command is run.
  var isPrepared: Bool { kind == .done && command.isEmpty }
}
