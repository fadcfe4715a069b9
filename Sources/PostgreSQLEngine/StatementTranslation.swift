/// The text of a statement as PostgreSQL reads it: values are `$1`, `$2` where SQLite has `?`; the hints and the kinds of failure that
/// only SQLite knows (`INDEXED BY name`, `OR FAIL`) are left out. What stands between quotes, or in a comment, stays.
struct StatementTranslation: Hashable {
  /// The statement for PostgreSQL.
  let sql: String
  /// How many values it takes.
  let parameterCount: Int
  /// The effect of the statement on rows.
  let effect: Effect
  /// The words of a statement that changes nothing, those for its tables among them.
  private let words: Set<Substring>

  /// The effect of a statement on the rows of tables, as its first words tell it.
  enum Effect: Hashable {
    /// It reads and changes nothing.
    case none
    /// It adds or changes rows of that table.
    case change(table: String)
    /// It may change rows of any table: it removes some, on which others may hang, or it begins otherwise.
    case any
  }

  /// Translates a text of SQLite's dialect. A text that is not SQL is copied, and the server refuses it.
  init(_ text: String) {
    var reader = Reader(text)
    while reader.step() {}
    sql = String(decoding: reader.output, as: UTF8.self)
    parameterCount = reader.parameters
    effect = Self.effect(of: sql)
    words = effect == .none ? Set(sql.split { !($0.isLetter || $0.isNumber || $0 == "_") }) : []
  }

  /// The effect by the first three words. Only SELECT, INSERT INTO and UPDATE are told apart; WITH and DELETE count as
  /// ``Effect/any``.
  private static func effect(of sql: String) -> Effect {
    let words = sql.prefix(200).split(maxSplits: 3) { !($0.isLetter || $0.isNumber || $0 == "_") }
    switch (words.first, words.dropFirst().first) {
    case ("SELECT", _): return .none
    case ("INSERT", "INTO") where words.count > 2: return .change(table: String(words[2]))
    case ("UPDATE", let table?): return .change(table: String(table))
    default: return .any
    }
  }

  /// Whether the rows that this statement reads may be others after that one. A table's name that occurs anywhere counts.
  func reads(whatChangesBy effect: Effect) -> Bool {
    switch effect {
    case .none: false
    case .change(let table): words.contains(table[...])
    case .any: true
    }
  }

  /// The scan of the text, which goes over each byte once.
  private struct Reader {
    /// The text in UTF-8.
    private let input: [UInt8]
    /// The offset of the next byte to read.
    private var position = 0
    /// The translation of the bytes before ``position``.
    private(set) var output: [UInt8] = []
    /// The number of `?` outside of quotes and comments so far.
    private(set) var parameters = 0

    /// A reader at the beginning of the text.
    init(_ text: String) {
      input = Array(text.utf8)
      output.reserveCapacity(input.count + 16)
    }

    /// Takes one piece on; false at the end.
    mutating func step() -> Bool {
      guard position < input.count else { return false }
      switch input[position] {
      case UInt8(ascii: "'"), UInt8(ascii: "\""): copy(through: quoted())
      case UInt8(ascii: "-") where next == UInt8(ascii: "-"): copy(through: line())
      case UInt8(ascii: "?"):
        parameters += 1
        output += Array("$\(parameters)".utf8)
        position += 1
      case let byte where Self.isWord(byte): copyWord()
      default: copy(through: position + 1)
      }
      return true
    }

    /// The byte behind the one at ``position``; nil at the end.
    private var next: UInt8? { position + 1 < input.count ? input[position + 1] : nil }

    /// Copies the bytes before `end` unchanged and goes on from there.
    private mutating func copy(through end: Int) {
      output += input[position..<end]
      position = end
    }

    /// The end of a text or a quoted name; a quotation mark within is written twice, and so two of them follow each other.
    private func quoted() -> Int {
      let mark = input[position]
      let end = input[(position + 1)...].firstIndex(of: mark)
      return end.map { $0 + 1 } ?? input.count
    }

    /// The end of a comment: the offset of the line's end, or of the text's.
    private func line() -> Int {
      input[position...].firstIndex(of: UInt8(ascii: "\n")) ?? input.count
    }

    /// Copies the word at ``position``, unless it begins `INDEXED BY name` or `OR FAIL`; these are left out.
    private mutating func copyWord() {
      let word = word(at: position)
      if word.text == "INDEXED", let by = following(word.end), by.text == "BY", let name = following(by.end) {
        position = name.end
      } else if word.text == "OR", let fail = following(word.end), fail.text == "FAIL" {
        position = fail.end
      } else {
        copy(through: word.end)
      }
    }

    /// The word that follows `end` behind at least one space; nil where something else follows.
    private func following(_ end: Int) -> (text: String, end: Int)? {
      var start = end
      while start < input.count, Self.isSpace(input[start]) { start += 1 }
      guard start > end, start < input.count, Self.isWord(input[start]) else { return nil }
      return word(at: start)
    }

    /// The word that begins there, and the offset behind it. Its case is kept: hints are in capitals in our statements.
    private func word(at start: Int) -> (text: String, end: Int) {
      var end = start
      while end < input.count, Self.isWord(input[end]) { end += 1 }
      return (String(decoding: input[start..<end], as: UTF8.self), end)
    }

    /// Whether the byte may belong to a word: letters, digits, the underscore, and all bytes outside ASCII.
    private static func isWord(_ byte: UInt8) -> Bool {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), 0x80...:
        true
      default: false
      }
    }

    /// Space, line feed, tab and carriage return.
    private static func isSpace(_ byte: UInt8) -> Bool {
      byte == 0x20 || byte == 0x0A || byte == 0x09 || byte == 0x0D
    }
  }
}
