import Commerce
import CoreTypes
import Crypto
import PullboxAPI

/// The fields of a form in which something is edited, with what they have: the same texts show what is there, and what a form would make
/// of it. Pure.
struct EditedFields: Sendable {
  /// One field.
  struct Field: Sendable {
    /// Its name in the form.
    var name: String
    var label: String
    var value: String
    var hint: String?
    /// Whether it has several lines.
    var isLong = false
    /// The values that may be chosen; empty where anything may be typed.
    var options: [Option] = []

    /// The value as people read it.
    var shown: String { options.first { $0.value == value }?.text ?? value }

    /// The name of the form's field that says what this one showed.
    var shownName: String { "shown.\(name)" }
    /// The digest of what a browser sends where its operator leaves the field alone.
    var shownDigest: String { digest(of: value) }

    /// Browsers break lines in one way, have no line breaks in fields of one line, and are shown no control characters.
    func digest(of text: String) -> String {
      let lines = text.replacing("\r\n", with: "\n")
      var scalars = String.UnicodeScalarView()
      for scalar in lines.unicodeScalars {
        switch scalar {
        case "\n": if isLong { scalars.append(scalar) }
        case "\t": scalars.append(scalar)
        case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}": scalars.append("\u{FFFD}")
        default: scalars.append(scalar)
        }
      }
      return SHA256Digest.of(Array(String(scalars).utf8)).hexadecimal
    }
  }

  /// A value that may be chosen.
  struct Option: Sendable {
    var value: String
    var text: String
  }

  /// A change that a form would make.
  struct Change: Sendable, Hashable {
    var label: String
    var before: String
    var after: String
  }

  var fields: [Field] = []

  mutating func add(
    _ name: String, _ label: String, _ value: String?, hint: String? = nil, isLong: Bool = false
  ) {
    fields.append(Field(name: name, label: label, value: value ?? "", hint: hint, isLong: isLong))
  }

  /// A field in which one says yes or no.
  mutating func add(_ name: String, _ label: String, isTrue: Bool, hint: String? = nil, _ words: Words) {
    fields.append(
      Field(
        name: name, label: label, value: isTrue ? "yes" : "no", hint: hint,
        options: [Option(value: "no", text: words(.no)), Option(value: "yes", text: words(.yes))]))
  }

  /// Whether the operator says yes in a field that ``add(_:_:isTrue:hint:_:)`` made. Throws for anything but a yes and a no.
  static func isTrue(
    _ field: String, _ label: Phrase, of form: FormBody, _ words: Words
  ) throws(Problem) -> Bool {
    try value(field, label, of: form, words) { ["yes": true, "no": false][$0] } == true
  }

  /// The form without what its operator left as it was shown, so that others' changes of these fields stay.
  func touched(in form: FormBody) -> FormBody {
    form.removing(
      Set(
        fields.filter { field in
          guard let shown = form[field.shownName], let value = form[field.name] else { return false }
          return field.digest(of: value) == shown
        }.map(\.name)))
  }

  /// The changes from these fields to `after`, in their order; what is in one of them alone is nothing in the other.
  func changes(to after: EditedFields) -> [Change] {
    let names =
      fields.map(\.name) + after.fields.map(\.name).filter { name in !fields.contains { $0.name == name } }
    return names.compactMap { name in
      let (old, new) = (fields.first { $0.name == name }, after.fields.first { $0.name == name })
      let change = Change(
        label: (new ?? old)?.label ?? name, before: old?.shown ?? "", after: new?.shown ?? "")
      return change.before == change.after ? nil : change
    }
  }
}

extension EditedFields {
  /// The texts of every language, in the order of their tags.
  mutating func add(_ texts: [String: Product.Localization], _ words: Words) {
    for (tag, text) in texts.sorted(by: { $0.key < $1.key }) {
      add("title.\(tag)", words(.titleIn, tag), text.title)
      add("description.\(tag)", words(.descriptionIn, tag), text.description, isLong: true)
    }
  }

  /// The texts that a form gives every language that `before` has, and the language that it adds; a language whose title was emptied is gone.
  /// Throws `request-malformed` for a new language without a title.
  static func texts(
    _ form: FormBody, from before: [String: Product.Localization], _ words: Words
  ) throws(Problem) -> [String: Product.Localization] {
    var texts = before
    for (tag, text) in before {
      let title = form["title.\(tag)"] ?? text.title
      guard !title.isEmpty else {
        texts[tag] = nil
        continue
      }
      var text = text
      text.title = title
      text.description = form["description.\(tag)"] ?? text.description
      texts[tag] = text
    }
    if let tag = form.text("language") {
      guard let title = form.text("newtitle") else {
        throw refusal("newtitle", words(.titleMissing, tag))
      }
      texts[tag] = Product.Localization(title: title, description: form["newdescription"] ?? "")
    }
    return texts
  }

  /// One price a line: the territory, the amount and the currency.
  static func text(of prices: [String: Price]) -> String {
    prices.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value.amount) \($0.value.currency)" }
      .joined(separator: "\n")
  }

  /// Throws `request-malformed` for a line that is none of ``text(of:)``.
  static func prices(
    _ field: String, _ text: String, _ words: Words
  ) throws(Problem) -> [String: Price] {
    var prices: [String: Price] = [:]
    for line in text.split(separator: "\n") {
      let parts = line.split(separator: " ").map(String.init)
      guard !parts.isEmpty else { continue }
      guard parts.count == 3, let price = Price(amount: parts[1], currency: parts[2]), prices[parts[0]] == nil
      else { throw refusal(field, words(.priceLine, String(line))) }
      prices[parts[0]] = price
    }
    return prices
  }

  /// A time as forms have it: the day and the minute in UTC, or, where it has seconds, as programs write it.
  static func text(of time: Timestamp?) -> String? {
    guard let time else { return nil }
    let text = time.rfc3339
    return time.millisecondsSinceEpoch % 60_000 == 0
      ? String(text.prefix(16)).replacing("T", with: " ") : text
  }

  /// Nil for an empty field. Throws `request-malformed` for what is no time.
  static func time(_ field: String, of form: FormBody, _ words: Words) throws(Problem) -> Timestamp? {
    guard let text = form.text(field) else { return nil }
    let candidates = [text, text.replacing(" ", with: "T") + ":00Z", text + "T00:00:00Z"]
    for candidate in candidates {
      if let time = Timestamp(rfc3339: candidate) { return time }
    }
    throw refusal(field, words(.timeUnknown, text))
  }

  /// The value that a field names; nil for an empty one. Throws `request-malformed` for what names none.
  static func value<Value>(
    _ field: String, _ label: Phrase, of form: FormBody, _ words: Words, _ make: (String) -> Value?
  ) throws(Problem) -> Value? {
    guard let text = form.text(field) else { return nil }
    guard let value = make(text) else {
      throw refusal(field, words(.valueUnknown, words(label), text))
    }
    return value
  }

  /// The code of a fault that is shown beside its field.
  static let unreadable = "field-unreadable"

  /// A field that cannot be read: its name stands with the fault, so that the sentence is shown beside it.
  private static func refusal(_ field: String, _ sentence: String) -> Problem {
    Problem(
      .requestMalformed, sentence,
      faults: [Problem.Fault(code: unreadable, path: field, detail: sentence)])
  }
}
