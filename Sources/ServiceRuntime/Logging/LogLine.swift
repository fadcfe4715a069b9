import CoreTypes

/// One line of a log, not yet bytes.
struct LogLine {
  /// Longer ones are cut, so that a line stays below what a pipe takes in one piece (`PIPE_BUF`, 4096).
  static let maximumLength = 4096
  /// Bytes of a message, at most.
  static let maximumMessage = 1024
  /// Bytes of one value, at most.
  static let maximumValue = 512

  /// The time of the call.
  let time: Timestamp
  /// The level of the line.
  let level: LogLevel
  /// The message as it was given.
  let message: String
  /// The fields in their order; a name may come twice.
  let fields: [(String, LogValue)]

  /// `{"time":…,"level":…,"message":…,…}` and a line feed. Fields that do not fit are left out, and
  /// `"truncated":true` says so.
  var json: [UInt8] {
    var line = Array("{\"time\":\"\(time.rfc3339)\",\"level\":\"\(level.name)\",\"message\":".utf8)
    Self.append(quoted: message, upTo: Self.maximumMessage, to: &line)
    let ending = Array(",\"truncated\":true}\n".utf8)
    for (name, value) in fields {
      var member = [UInt8(ascii: ",")]
      Self.append(quoted: Self.memberName(name), upTo: 64, to: &member)
      member.append(UInt8(ascii: ":"))
      Self.append(value, to: &member)
      guard line.count + member.count + ending.count <= Self.maximumLength else { return line + ending }
      line += member
    }
    return line + Array("}\n".utf8)
  }

  /// `08:30:00.000 warning  message  name=value …` in UTC, and a line feed.
  var plain: [UInt8] {
    let clock = time.rfc3339.dropFirst(11).dropLast()
    let padding = String(repeating: " ", count: 7 - level.name.count)
    var text = "\(clock) \(level.name)\(padding)  \(Self.visible(Self.cut(message, to: Self.maximumMessage)))"
    for (name, value) in fields {
      let member = "  \(name)=\(Self.plain(value))"
      guard text.utf8.count + member.utf8.count + 5 <= Self.maximumLength else {
        text += "  …"
        break
      }
      text += member
    }
    return Array((text + "\n").utf8)
  }

  /// A field never takes the place of the line's own members.
  private static func memberName(_ name: String) -> String {
    ["time", "level", "message", "truncated"].contains(name) ? name + "_" : name
  }

  /// Appends a value in JSON.
  private static func append(_ value: LogValue, to line: inout [UInt8]) {
    switch value {
    case .text(let value): append(quoted: value, upTo: maximumValue, to: &line)
    case .integer(let value): line += Array(String(value).utf8)
    case .number(let value): line += Array((value.isFinite ? String(value) : "null").utf8)
    case .boolean(let value): line += Array((value ? "true" : "false").utf8)
    case .null: line += Array("null".utf8)
    }
  }

  /// Appends a text in quotation marks, cut to so many bytes before it is escaped.
  private static func append(quoted text: String, upTo length: Int, to line: inout [UInt8]) {
    JSONString.append(cut(text, to: length), to: &line, form: .oneLine)
  }

  /// The value for people; null is a dash.
  private static func plain(_ value: LogValue) -> String {
    switch value {
    case .text(let value):
      return quotedWhereNeeded(visible(cut(value, to: maximumValue)))
    case .integer(let value): return String(value)
    case .number(let value): return String(value)
    case .boolean(let value): return String(value)
    case .null: return "-"
    }
  }

  /// Nothing that came from outside may move a terminal's cursor, start a line of its own or turn around what stands beside it.
  private static func visible(_ text: String) -> String {
    String(
      String.UnicodeScalarView(
        text.unicodeScalars.map { $0.properties.generalCategory == .control ? "\u{FFFD}" : $0 })
    ).removingInvisibleFormatting
  }

  /// A value that reads as one: in quotation marks where it has a space, or what begins another field.
  private static func quotedWhereNeeded(_ value: String) -> String {
    let scalars = value.unicodeScalars
    guard value.isEmpty || scalars.contains(where: { $0 == " " || $0 == "\"" || $0 == "=" }) else {
      return value
    }
    var quoted = String.UnicodeScalarView()
    for scalar in scalars {
      if scalar == "\"" || scalar == "\\" { quoted.append("\\") }
      quoted.append(scalar)
    }
    return "\"\(String(quoted))\""
  }

  /// At most `length` bytes of UTF-8, cut between characters.
  private static func cut(_ text: String, to length: Int) -> String {
    guard text.utf8.count > length else { return text }
    var result = ""
    var count = 0
    for character in text {
      count += character.utf8.count
      guard count <= length - 3 else { break }
      result.append(character)
    }
    return result + "…"
  }
}
