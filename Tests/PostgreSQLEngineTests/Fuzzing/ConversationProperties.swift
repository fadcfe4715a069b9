import Database
import Foundation

@testable import PostgreSQLEngine

/// The bytes of a server behind its greeting (PostgreSQL 15, "Message Formats"), as libpq and a session read them: whatever they are, a body
/// comes to its end, and the rows that it is given are those of the messages. The first byte chooses the kind of transaction, and whether its
/// beginning has been answered already.
enum ConversationProperties {
  static func check(_ bytes: [UInt8]) -> String? {
    guard let first = bytes.first else { return nil }
    let stream = (first & 1 == 0 ? [] : begun) + bytes.dropFirst()
    let start = ContinuousClock.now
    let rows: [Row]?
    do throws(DatabaseError) {
      rows = try self.rows(of: stream, first & 2 == 0 ? .read : .write)
    } catch {
      return "a session does not begin: \(error)"
    }
    guard ContinuousClock.now - start < .seconds(20) else { return "a body does not come to its end" }
    guard let rows else { return nil }
    let answers: [[[SQLValue?]]]?
    do { answers = try self.answers(in: stream) } catch { return nil }
    guard let answers, answers.count >= 2,
      answers[1].elementsEqual(rows, by: { RowProperties.same($1.values, $0) })
    else {
      return "\(rows.map(\.values)) are read, and the server sent \(answers ?? [])"
    }
    return nil
  }

  /// The rows of one statement in a transaction of that kind, by a server that answers so; nil where the answer is an error.
  static func rows(of stream: [UInt8], _ kind: ServerSession.Kind) throws(DatabaseError) -> [Row]? {
    guard let server = ScriptedServer.shared else {
      throw DatabaseError(.unavailable, "no server can listen", sql: "")
    }
    server.answer(stream, behind: greeting)
    let handle = try ServerHandle(try PostgreSQLAddress(server.url), application: "fuzz")
    return run(on: ServerSession(handle: handle), kind)
  }

  private static func run(on session: ServerSession, _ kind: ServerSession.Kind) -> [Row]? {
    session.begin(kind, locking: [])
    var rows: [Row] = []
    do throws(DatabaseError) {
      _ = try session.run("SELECT a FROM b WHERE c = ?", [.integer(1)]) { row throws(DatabaseError) in
        rows.append(row)
        return .row
      }
    } catch {
      session.rollBack()
      return nil
    }
    switch kind {
    case .read: try? session.endReading()
    case .write: if (try? session.commit(marking: nil)) == nil { session.rollBack() }
    }
    return rows
  }

  /// The rows of each command that is complete, read once more without libpq: a row is `D`, its number of columns and each value behind its
  /// length; their types stand in `T`. Each command
  /// is prepared first, which `1` ends; nil where it is not. Throws where columns are described twice, of which the protocol says nothing.
  private static func answers(in stream: [UInt8]) throws(Unsaid) -> [[[SQLValue?]]]? {
    var answers: [[[SQLValue?]]] = []
    var isPrepared = false
    var (types, rows): ([UInt32], [[SQLValue?]]) = ([], [])
    var rest = stream[...]
    while let kind = rest.popFirst(), let length = number(&rest, 4), length >= 4, rest.count >= length - 4 {
      var body = rest.prefix(length - 4)
      rest = rest.dropFirst(length - 4)
      switch kind {
      case UInt8(ascii: "T"):
        guard types.isEmpty, rows.isEmpty else { throw Unsaid() }
        let count = number(&body, 2) ?? 0
        types = (0..<count).map { _ in
          body = body.drop { $0 != 0 }.dropFirst(1 + 6)
          defer { body = body.dropFirst(8) }
          return UInt32(truncatingIfNeeded: number(&body, 4) ?? 0)
        }
        rows = []
      case UInt8(ascii: "D"):
        let count = number(&body, 2) ?? 0
        rows.append(
          (0..<count).map { index in
            guard let length = number(&body, 4), length < 0x8000_0000 else { return .null }
            defer { body = body.dropFirst(length) }
            return SQLValue(
              binary: Array(body.prefix(length)).span, type: index < types.count ? types[index] : 0)
          })
      case UInt8(ascii: "1"): isPrepared = true
      case UInt8(ascii: "C"), UInt8(ascii: "I"):
        // The two that the rule is about.
        guard isPrepared || answers.count >= 2 else { return nil }
        answers.append(rows)
        (types, rows, isPrepared) = ([], [], false)
      default: continue
      }
    }
    return answers
  }

  private struct Unsaid: Error {}

  private static func number(_ bytes: inout ArraySlice<UInt8>, _ count: Int) -> Int? {
    guard bytes.count >= count else { return nil }
    defer { bytes = bytes.dropFirst(count) }
    return bytes.prefix(count).reduce(0) { $0 << 8 | Int($1) }
  }

  // MARK: messages

  /// The answers to the beginning of a transaction.
  static let begun = message("1") + message("2") + message("n") + message("C", "BEGIN\0")

  private static let greeting =
    message("R", [0, 0, 0, 0])
    + [
      "server_version\0" + "15.0\0", "client_encoding\0UTF8\0", "standard_conforming_strings\0on\0",
      "in_hot_standby\0off\0", "default_transaction_read_only\0off\0",
    ].flatMap { message("S", Array($0.utf8)) } + message("K", [0, 0, 0, 1, 0, 0, 0, 2]) + message("Z", "I")

  static func message(_ kind: Character, _ body: String = "") -> [UInt8] {
    message(kind, Array(body.utf8))
  }

  private static func message(_ kind: Character, _ body: [UInt8]) -> [UInt8] {
    Array(String(kind).utf8) + [0, 0, 0, UInt8(body.count + 4)] + body
  }
}
