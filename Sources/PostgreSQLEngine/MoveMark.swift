public import CoreTypes
internal import Database

/// The mark that a move of all records leaves at the place that they come to, and at the one that they leave: so that one of the two is
/// the good one at every moment, and no server starts at the other.
public struct MoveMark: Hashable, Sendable, Codable {
  /// The part that a place has in a move.
  public enum State: String, Hashable, Sendable, Codable {
    /// Records are on their way to the place, or there, and the other place is still the good one.
    case arriving
    /// Records have come, and this place is the good one.
    case arrived
    /// Records were taken away, and the other place is the good one.
    case left
  }

  /// The name of the move, which no other one has.
  public var move: String
  /// The part of the marked place.
  public var state: State
  /// The other place, for people.
  public var other: String
  /// The moment of the mark.
  public var at: Timestamp

  /// A mark of all members.
  public init(move: String, state: State, other: String, at: Timestamp) {
    self.move = move
    self.state = state
    self.other = other
    self.at = at
  }

  /// The sentence with which a server refuses to start at the place; nil where it may start.
  public var refusal: String? {
    switch state {
    case .arriving:
      "records are on their way to here from \(other), and not all have come; give the same command again"
    case .arrived: nil
    case .left: "its records were moved to \(other) at \(at), and a server of theirs starts there"
    }
  }

  /// The same mark with another part of the place.
  public func with(_ state: State, other: String, at: Timestamp) -> MoveMark {
    MoveMark(move: move, state: state, other: other, at: at)
  }
}

/// The table and the statements by which a schema keeps its mark.
extension MoveMark {
  /// The table of the one row that is the mark of a schema.
  static let table = """
    CREATE TABLE IF NOT EXISTS move_marks (
      id BIGINT PRIMARY KEY CHECK (id = 1), move TEXT COLLATE "C" NOT NULL, state TEXT COLLATE "C" NOT NULL,
      other TEXT COLLATE "C" NOT NULL, at BIGINT NOT NULL);
    """

  /// Writes the mark in place of one that is there.
  static let statement = """
    INSERT INTO move_marks (id, move, state, other, at) VALUES (1, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET move = excluded.move, state = excluded.state, other = excluded.other, at = excluded.at
    """

  /// The four values of ``statement``, in the order of its places.
  var values: [SQLValue] { [.text(move), .text(state.rawValue), .text(other), .timestamp(at)] }
}

extension ServerHandle {
  /// The mark of the schema; nil where there is none. Throws ``DatabaseError`` `unexpectedValue` for one that a later program has made.
  func moveMark() throws(DatabaseError) -> MoveMark? {
    guard try isTable("move_marks"),
      let row = try executeAlone("SELECT move, state, other, at FROM move_marks").first
    else { return nil }
    guard row.count == 4, let move = row[0], let state = row[1].flatMap(MoveMark.State.init(rawValue:)),
      let other = row[2], let at = row[3].flatMap({ Int64($0) })
    else { throw DatabaseError(.unexpectedValue, "the mark of a move is of a later program", sql: "") }
    return MoveMark(
      move: move, state: state, other: other, at: Timestamp(millisecondsSinceEpoch: at))
  }

  /// Throws ``DatabaseError`` `cannotOpen` where the records are not all here, or not here any more.
  func refuseMark() throws(DatabaseError) {
    if let refusal = try moveMark()?.refusal { throw DatabaseError(.cannotOpen, refusal, sql: "") }
  }
}
