internal import Foundation

/// A document in the part of YAML that docs/openapi.yaml is written in: maps and lists by indentation of two
/// spaces, maps and lists in braces and brackets on one line, strings in quotation marks as JSON has them, plain
/// ones, and folded ones (`>-`). Anything else is refused with its line, so that no reader of YAML takes the
/// document for something else.
public indirect enum YAMLDocument: Hashable, Sendable {
  /// A string, or a number or truth value as it is written.
  case scalar(String)
  /// In the order of the document.
  case list([YAMLDocument])
  /// In the order of the document; no key twice.
  case map([Member])

  /// A key with its value.
  public struct Member: Hashable, Sendable {
    /// The key without its quotation marks.
    public var key: String
    /// The value of the key.
    public var value: YAMLDocument
  }

  /// A line that is not understood.
  public struct Failure: Error, CustomStringConvertible {
    /// Counted from 1.
    public var line: Int
    /// A sentence without a full stop.
    public var reason: String
    /// The line and the reason.
    public var description: String { "line \(line): \(reason)" }
  }

  /// Throws ``Failure``.
  public init(_ text: String) throws {
    var reader = YAMLReader(text)
    self = try reader.block(indentation: 0)
    try reader.requireEnd()
  }

  /// The value of a key; nil for what is no map, or has no such key.
  public subscript(key: String) -> YAMLDocument? {
    members.first { $0.key == key }?.value
  }

  /// Empty for what is no map.
  public var members: [Member] {
    if case .map(let members) = self { return members }
    return []
  }

  /// Empty for what is no list.
  public var items: [YAMLDocument] {
    if case .list(let items) = self { return items }
    return []
  }

  /// Nil for what is no scalar.
  public var text: String? {
    if case .scalar(let text) = self { return text }
    return nil
  }

  /// The scalars of a list.
  public var texts: [String] { items.compactMap(\.text) }
}

/// Reads line by line.
private struct YAMLReader {
  /// A line that is neither blank nor a comment.
  private struct Line {
    /// The place of the line in the text, counted from 1.
    var number: Int
    /// The number of spaces before the text.
    var indentation: Int
    /// The text behind the indentation.
    var text: Substring
  }

  /// The lines that count.
  private let lines: [Line]
  /// The index of the next line.
  private var position = 0

  /// Divides the text into lines. Comments count only where they begin a line.
  init(_ text: String) {
    lines = text.split(separator: "\n", omittingEmptySubsequences: false).enumerated().compactMap {
      number, line in
      let content = line.drop { $0 == " " }
      guard !content.isEmpty, !content.hasPrefix("#") else { return nil }
      return Line(number: number + 1, indentation: line.count - content.count, text: content)
    }
  }

  /// The error for the line at ``position``, or for the last one behind the end.
  private func failure(_ reason: String) -> YAMLDocument.Failure {
    let line = lines.indices.contains(position) ? lines[position].number : (lines.last?.number ?? 0)
    return YAMLDocument.Failure(line: line, reason: reason)
  }

  /// Throws where a line is left that belongs to nothing.
  func requireEnd() throws {
    guard position == lines.count else { throw failure("an indentation that nothing begins with") }
  }

  /// A list or a map whose lines begin at that indentation, up to the first line with less.
  mutating func block(indentation: Int) throws -> YAMLDocument {
    guard lines.indices.contains(position), lines[position].indentation == indentation else {
      throw failure("\(indentation) spaces are expected")
    }
    return lines[position].text.hasPrefix("- ")
      ? try list(indentation: indentation) : try map(indentation: indentation)
  }

  /// The entries behind dashes. An entry that begins with a key is a map, whose other lines stand two spaces further.
  private mutating func list(indentation: Int) throws -> YAMLDocument {
    var items: [YAMLDocument] = []
    while lines.indices.contains(position), lines[position].indentation == indentation {
      guard lines[position].text.hasPrefix("- ") else { throw failure("an entry of the list is expected") }
      let content = lines[position].text.dropFirst(2)
      if let key = try? key(in: content), key.rest.isEmpty || key.rest.hasPrefix(" ") {
        items.append(try map(indentation: indentation + 2, first: content))
      } else {
        items.append(try inline(content))
        position += 1
      }
    }
    return .list(items)
  }

  /// `first` is the first line's text where a dash stands before it.
  private mutating func map(indentation: Int, first: Substring? = nil) throws -> YAMLDocument {
    var members: [YAMLDocument.Member] = []
    var content = first
    while lines.indices.contains(position), content != nil || lines[position].indentation == indentation {
      let (key, rest) = try key(in: content ?? lines[position].text)
      content = nil
      guard !members.contains(where: { $0.key == key }) else { throw failure("\(key) is there twice") }
      let text = rest.drop { $0 == " " }
      position += 1
      members.append(YAMLDocument.Member(key: key, value: try value(text, indentation: indentation)))
    }
    return .map(members)
  }

  /// The value behind a colon: a folded text, a block on the lines below, or what stands on the line itself.
  private mutating func value(_ text: Substring, indentation: Int) throws -> YAMLDocument {
    if text == ">-" {
      var words: [Substring] = []
      while lines.indices.contains(position), lines[position].indentation > indentation {
        words.append(lines[position].text)
        position += 1
      }
      return .scalar(words.joined(separator: " "))
    }
    if text.isEmpty { return try block(indentation: indentation + 2) }
    position -= 1
    defer { position += 1 }
    return try inline(text)
  }

  /// Returns the key before the colon, without its quotation marks, and the text behind the colon.
  private func key(in text: Substring) throws -> (key: String, rest: Substring) {
    if text.hasPrefix("\"") {
      var flow = YAMLFlow(text)
      let key = try flow.quoted()
      guard flow.rest.hasPrefix(":") else { throw failure("a colon is expected behind a key") }
      return (key, flow.rest.dropFirst())
    }
    guard let colon = text.firstIndex(of: ":"), !text.hasPrefix("{"), !text.hasPrefix("[") else {
      throw failure("a key is expected")
    }
    let rest = text[text.index(after: colon)...]
    guard rest.isEmpty || rest.hasPrefix(" ") else { throw failure("a space is expected behind a colon") }
    return (String(text[..<colon]), rest)
  }

  /// The value that is all of the text; errors get the number of the line.
  private func inline(_ text: Substring) throws -> YAMLDocument {
    do {
      var flow = YAMLFlow(text)
      let value = try flow.value(isWithin: false)
      guard flow.rest.isEmpty else { throw failure("nothing is expected behind a value") }
      return value
    } catch let error as YAMLFlow.Failure {
      throw failure(error.reason)
    }
  }
}

/// Reads what stands on one line.
private struct YAMLFlow {
  /// A fault in a line, which does not know its number.
  struct Failure: Error {
    /// A sentence without a full stop.
    var reason: String
  }

  /// The text that is not read yet.
  private(set) var rest: Substring

  /// A reader at the beginning of a text.
  init(_ text: Substring) {
    rest = text
  }

  /// A list in brackets, a map in braces, a string in quotation marks or a plain text.
  mutating func value(isWithin: Bool) throws -> YAMLDocument {
    switch rest.first {
    case "[":
      var items: [YAMLDocument] = []
      try entries(until: "]") { flow in items.append(try flow.value(isWithin: true)) }
      return .list(items)
    case "{":
      var members: [YAMLDocument.Member] = []
      try entries(until: "}") { flow in
        let key = flow.rest.hasPrefix("\"") ? try flow.quoted() : flow.plain(until: ":")
        guard flow.take(":"), flow.take(" ") else {
          throw Failure(reason: "a colon and a space are expected")
        }
        guard !members.contains(where: { $0.key == key }) else {
          throw Failure(reason: "\(key) is there twice")
        }
        members.append(YAMLDocument.Member(key: key, value: try flow.value(isWithin: true)))
      }
      return .map(members)
    case "\"": return .scalar(try quoted())
    case let character?:
      guard !"'|>&*!%@`,".contains(character) else {
        throw Failure(reason: "\(character) begins no value here")
      }
      let text = plain(until: isWithin ? ",]}" : "")
      guard !text.contains(": "), !text.contains(" #"), !text.hasSuffix(":") else {
        throw Failure(reason: "this needs quotation marks")
      }
      return .scalar(text)
    case nil: throw Failure(reason: "a value is expected")
    }
  }

  /// Calls `entry` at the beginning of each entry up to the closing mark, with commas between them.
  private mutating func entries(
    until end: Character, _ entry: (inout YAMLFlow) throws -> Void
  ) throws {
    rest.removeFirst()
    if take(end) { return }
    repeat {
      _ = take(" ")
      try entry(&self)
    } while take(",")
    guard take(end) else { throw Failure(reason: "\(end) is expected") }
  }

  /// Takes the character out where it comes next; false where another one does.
  private mutating func take(_ character: Character) -> Bool {
    guard rest.first == character else { return false }
    rest.removeFirst()
    return true
  }

  /// Takes out the text up to one of the characters, or the end.
  private mutating func plain(until ends: String) -> String {
    let text = rest.prefix { !ends.contains($0) }
    rest = rest[text.endIndex...]
    return String(text)
  }

  /// A string as JSON has it.
  mutating func quoted() throws -> String {
    var end = rest.dropFirst().startIndex
    while end < rest.endIndex, rest[end] != "\"" {
      end = rest.index(end, offsetBy: rest[end] == "\\" ? 2 : 1, limitedBy: rest.endIndex) ?? rest.endIndex
    }
    guard end < rest.endIndex else { throw Failure(reason: "a quotation mark is expected") }
    let literal = rest[...end]
    rest = rest[rest.index(after: end)...]
    let value = try? JSONSerialization.jsonObject(
      with: Data(String(literal).utf8), options: .fragmentsAllowed)
    guard let text = value as? String else { throw Failure(reason: "this is no string of JSON") }
    return text
  }
}
