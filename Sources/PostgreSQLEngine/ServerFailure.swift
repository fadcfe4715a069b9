import Database

/// The meaning of an error of PostgreSQL's server for the body that met it, by its SQLSTATE (appendix A of PostgreSQL 15).
enum ServerFailure {
  /// The step that follows an error.
  enum Remedy: Hashable {
    /// The error is the body's.
    case answer
    /// The body runs again on the same connection.
    case runAgain
    /// Statements that were prepared are prepared anew, and the body runs again.
    case prepareAgain
    /// All connections to that server end, and the body runs again on another.
    case connectAgain
  }

  /// Returns the remedy for an error of that state: `40001` serialization failure, `40P01` deadlock, `0A000` a cached plan's answer has
  /// another type by now, `26000` a prepared statement is not there, `25006` a standby or a primary that became one, `57P01` to
  /// `57P05` the server ends, `08…` the connection, `22012` the mark of the connection was taken away.
  static func remedy(for state: String) -> Remedy {
    switch state {
    case "40001", "40P01", "55P03": .runAgain
    case "0A000", "26000": .prepareAgain
    case "25006", "22012": .connectAgain
    case _ where state.hasPrefix("57P") || state.hasPrefix("08"): .connectAgain
    default: .answer
    }
  }

  /// Returns the error for an answer of the server.
  static func error(state: String, message: String, sql: String) -> DatabaseError {
    DatabaseError(code(for: state), state: state, message, sql: sql)
  }

  /// The code for a SQLSTATE: single states first, then their classes, which are the first two characters.
  private static func code(for state: String) -> DatabaseError.Code {
    switch state {
    case "53100": return .outOfSpace
    case "53200", "53300", "53400": return .overloaded
    case "58030": return .inputOutput
    case "XX001", "XX002": return .corrupt
    case "25006": return .readOnly
    case "40001", "40P01", "55P03": return .busy
    case "57014": return .overloaded
    case "28000", "28P01", "3D000", "3F000", "42501": return .cannotOpen
    default: break
    }
    return switch state.prefix(2) {
    case "23": .constraint
    case "08", "57": .unavailable
    case "42", "22", "26": .misuse
    default: .other
    }
  }
}
