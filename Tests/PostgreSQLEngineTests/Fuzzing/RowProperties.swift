import CPostgreSQL
import Database

@testable import PostgreSQLEngine

/// The rows of an answer, as libpq hands them on: a byte for the number of columns, one for the type of each, then the values, each behind a
/// byte for its length, or behind 0xFF for none. Each value is read as it is read by itself, a row of a type that no table has is refused, and
/// whichever kind a column is asked for as, its own is answered.
enum RowProperties {
  private static let types = [
    ServerType.bool, ServerType.bytea, ServerType.int8, ServerType.int4, ServerType.text, ServerType.float8,
    ServerType.numeric, ServerType.void, 114,
  ]

  static func check(_ bytes: [UInt8]) -> String? {
    guard let first = bytes.first else { return nil }
    let count = Int(first % 5)
    let columns = bytes.dropFirst().prefix(count).map { types[Int($0) % types.count] }
    guard columns.count == count, count > 0 else { return nil }
    var cells: [[UInt8]?] = []
    var rest = bytes.dropFirst(1 + count)
    while let length = rest.popFirst(), cells.count < 64 {
      cells.append(length == 0xFF ? nil : Array(rest.prefix(Int(length))))
      if length != 0xFF { rest = rest.dropFirst(Int(length)) }
    }
    let rows = stride(from: 0, to: cells.count - count + 1, by: count).map { Array(cells[$0..<$0 + count]) }
    guard let answer = answer(of: rows, columns) else { return "no memory for an answer" }
    guard answer.columns == columns.indices.map({ ["a", "b", "c", "d"][$0] }) else {
      return "columns are \(answer.columns)"
    }
    guard answer.textRows.map({ $0.map { $0 == nil } }) == rows.map({ $0.map { $0 == nil } }) else {
      return "a value is none, or none is one"
    }
    guard answer.kind == .rows, answer.count == rows.count, answer.error(sql: "") == nil else {
      return "rows are \(answer.kind)"
    }
    for (index, row) in rows.enumerated() {
      if let broken = check(answer, index, row, columns) { return broken }
    }
    return nil
  }

  private static func check(
    _ answer: ServerAnswer, _ index: Int, _ cells: [[UInt8]?], _ columns: [UInt32]
  ) -> String? {
    let expected = zip(cells, columns).map { cell, type in
      cell.map { SQLValue(binary: $0.span, type: type) } ?? .null
    }
    do throws(DatabaseError) {
      let values = try answer.values(ofRow: index, sql: "")
      guard same(values, expected) else { return "\(cells) are read as \(values)" }
      return check(Row(columns: answer.columns, values: values))
    } catch {
      return error.code == .unexpectedValue && expected.contains(nil) ? nil : "\(cells) are refused: \(error)"
    }
  }

  /// A number that is none is not equal to itself.
  static func same(_ left: [SQLValue], _ right: [SQLValue?]) -> Bool {
    left.count == right.count
      && zip(left, right).allSatisfy { left, right in
        if case .real(let one) = left, case .real(let two)? = right, one.isNaN { return two.isNaN }
        return left == right
      }
  }

  private static func check(_ row: Row) -> String? {
    for (index, column) in row.columns.enumerated() {
      let value = row.values[index]
      var answers: [SQLValue] = []
      if let text = try? row.text(column) { answers.append(.text(text)) }
      if let bytes = try? row.blob(column) { answers.append(.blob(bytes)) }
      if let number = try? row.integer(column) { answers.append(.integer(number)) }
      if let flag = try? row.boolean(column) { answers.append(.boolean(flag)) }
      if let date = try? row.timestamp(column) { answers.append(.timestamp(date)) }
      if let count = try? row.byteCount(column) { answers.append(.byteCount(count)) }
      if case .real = value, (try? row.real(column)) == nil { return "a number is refused" }
      guard answers.allSatisfy({ $0 == value }) else { return "\(value) is answered as \(answers)" }
      switch value {
      case .null, .real: if !answers.isEmpty { return "\(value) is answered as \(answers)" }
      case .text, .blob, .integer: if answers.isEmpty { return "\(value) is not answered" }
      }
    }
    guard (try? row.text("none")) == nil else { return "a column is answered that is not there" }
    return nil
  }

  /// An answer of columns `a`, `b` and so on; nil where libpq has no memory.
  private static func answer(of rows: [[[UInt8]?]], _ columns: [UInt32]) -> ServerAnswer? {
    guard let result = unsafe PQmakeEmptyPGresult(nil, PGRES_TUPLES_OK) else { return nil }
    let answer = unsafe ServerAnswer(result)
    var names: [CChar] = columns.indices.flatMap { [97 + CChar($0), 0] }
    let areSet = unsafe names.withUnsafeMutableBufferPointer { names in
      // libpq copies the names.
      var attributes = unsafe columns.enumerated().map { index, type in
        unsafe PGresAttDesc(
          name: names.baseAddress.map { unsafe $0 + 2 * index }, tableid: 0, columnid: 0, format: 1,
          typid: type, typlen: -1, atttypmod: -1)
      }
      return unsafe PQsetResultAttrs(result, Int32(columns.count), &attributes)
    }
    guard areSet == 1 else { return nil }
    for (index, row) in rows.enumerated() {
      for (column, cell) in row.enumerated() {
        var bytes = (cell ?? []).map { CChar(bitPattern: $0) } + [0]
        let length = cell.map { Int32($0.count) } ?? -1
        guard unsafe PQsetvalue(result, Int32(index), Int32(column), &bytes, length) == 1 else { return nil }
      }
    }
    return answer
  }
}
