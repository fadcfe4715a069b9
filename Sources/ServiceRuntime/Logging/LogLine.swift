import CoreTypes

/// One line of a log, not yet bytes.
struct LogLine {
  /// Longer ones are cut, so that a line stays below what a pipe takes in one piece (`PIPE_BUF`, 4096).
  static let maximumLength = 4096
  static let maximumMessage = 1024
  static let maximumValue = 512

  let time: Timestamp
  let level: LogLevel
  let message: String
  let fields: [(String, LogValue)]

  /// `{"time":…,"level":…,"message":…,…}` and a line feed. Fields that do not fit are left out, and
  /// `"truncated":true` says so.
  var json: [UInt8] {
    var text = "{\"time\":\"\(time.rfc3339)\",\"level\":\"\(level.name)\",\"message\":"
    Self.append(quoted: Self.cut(message, to: Self.maximumMessage), to: &text)
    let ending = ",\"truncated\":true}\n"
    for (name, value) in fields {
      var member = ","
      Self.append(quoted: Self.cut(Self.memberName(name), to: 64), to: &member)
      member += ":"
      Self.append(value, to: &member)
      guard text.utf8.count + member.utf8.count + ending.utf8.count <= Self.maximumLength else {
        return Array((text + ending).utf8)
      }
      text += member
    }
    return Array((text + "}\n").utf8)
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

  private static func append(_ value: LogValue, to text: inout String) {
    switch value {
    case .text(let value): append(quoted: cut(value, to: maximumValue), to: &text)
    case .integer(let value): text += String(value)
    case .number(let value): text += value.isFinite ? String(value) : "null"
    case .boolean(let value): text += value ? "true" : "false"
    case .null: text += "null"
    }
  }

  private static func append(quoted value: String, to text: inout String) {
    text += "\""
    for scalar in value.unicodeScalars {
      switch scalar {
      case "\"": text += "\\\""
      case "\\": text += "\\\\"
      case "\n": text += "\\n"
      case "\r": text += "\\r"
      case "\t": text += "\\t"
      case _ where scalar.value < 0x20 || (0x7F..<0xA0).contains(scalar.value):
        let digits = String(scalar.value, radix: 16)
        text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: text.unicodeScalars.append(scalar)
      }
    }
    text += "\""
  }

  private static func plain(_ value: LogValue) -> String {
    switch value {
    case .text(let value):
      let value = visible(cut(value, to: maximumValue))
      return value.contains(" ") || value.isEmpty ? "\"\(value)\"" : value
    case .integer(let value): return String(value)
    case .number(let value): return String(value)
    case .boolean(let value): return String(value)
    case .null: return "-"
    }
  }

  /// Nothing that came from outside may move a terminal's cursor or start a line of its own.
  private static func visible(_ text: String) -> String {
    String(
      String.UnicodeScalarView(
        text.unicodeScalars.map { $0.properties.generalCategory == .control ? "\u{FFFD}" : $0 }))
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
