/// The elements that pages are made of. No other one can be written, and none whose content is a script or a style.
package enum Tag: String, Sendable {
  case a, article, aside, bdi, body, button, caption, code, dd, details, div, dl, dt, em, fieldset,
    figcaption, figure
  case footer, form, h1, h2, h3, head, header, html, img, input, label, legend, li, link, main, meta, nav, ol,
    option, p, progress
  case script, section, select, small, span, strong, summary, table, tbody, td, textarea, th, thead, time,
    title, tr, ul
  case svg, path, line, rect, circle, g, text

  /// Whether HTML gives it neither content nor an end tag.
  var isVoid: Bool {
    switch self {
    case .img, .input, .link, .meta: true
    default: false
    }
  }
}

/// An attribute of an element. Addresses come from ``Address`` alone, so that none leads elsewhere or runs a script, and there is none for
/// styles and events.
package struct Attribute: Sendable, Hashable {
  let name: String
  /// Nil for one that stands for itself, as `checked`.
  let value: String?

  private init(_ name: String, _ value: String?) {
    self.name = name
    self.value = value
  }

  package static func id(_ name: String) -> Attribute { Attribute("id", name) }
  /// The look, by names of the style sheet.
  package static func look(_ looks: Look...) -> Attribute {
    Attribute("class", looks.map(\.rawValue).joined(separator: " "))
  }
  package static func href(_ address: Address) -> Attribute { Attribute("href", address.text) }
  package static func source(_ address: Address) -> Attribute { Attribute("src", address.text) }
  package static func action(_ address: Address) -> Attribute { Attribute("action", address.text) }
  package static func method(_ method: FormMethod) -> Attribute { Attribute("method", method.rawValue) }
  /// How a form's content is sent; only where it has a file.
  package static let multipart = Attribute("enctype", "multipart/form-data")
  package static func name(_ name: String) -> Attribute { Attribute("name", name) }
  package static func value(_ value: String) -> Attribute { Attribute("value", value) }
  package static func input(_ kind: InputKind) -> Attribute { Attribute("type", kind.rawValue) }
  package static func label(for id: String) -> Attribute { Attribute("for", id) }
  package static func language(_ language: String) -> Attribute { Attribute("lang", language) }
  package static func alternative(_ text: String) -> Attribute { Attribute("alt", text) }
  package static func size(width: Int, height: Int) -> [Attribute] {
    [Attribute("width", "\(width)"), Attribute("height", "\(height)")]
  }
  package static func rows(_ count: Int) -> Attribute { Attribute("rows", "\(count)") }
  package static func maximumLength(_ count: Int) -> Attribute { Attribute("maxlength", "\(count)") }
  package static func range(_ range: ClosedRange<Int>) -> [Attribute] {
    [Attribute("min", "\(range.lowerBound)"), Attribute("max", "\(range.upperBound)")]
  }
  package static func dateTime(_ text: String) -> Attribute { Attribute("datetime", text) }
  package static let required = Attribute("required", nil)
  package static let checked = Attribute("checked", nil)
  package static let selected = Attribute("selected", nil)
  package static let open = Attribute("open", nil)
  /// It is shown by the script alone.
  package static let unseen = Attribute("hidden", nil)
  package static let deferred = Attribute("defer", nil)
  package static let lazy = Attribute("loading", "lazy")
  package static let notTranslated = Attribute("translate", "no")
  package static let directionOfText = Attribute("dir", "auto")
  /// The kind of text that a password manager may put in.
  package static func autocomplete(_ word: Autocomplete) -> Attribute {
    Attribute("autocomplete", word.rawValue)
  }
  package static func columnHeading() -> Attribute { Attribute("scope", "col") }
  package static func rowHeading() -> Attribute { Attribute("scope", "row") }
  /// The heading of a cell's column, which narrow screens show before it.
  package static func heading(_ text: String) -> Attribute { Attribute("data-heading", text) }
  /// The behavior that the script gives the element.
  package static func behavior(_ behavior: Behavior) -> Attribute {
    Attribute("data-behavior", behavior.rawValue)
  }
  /// A sentence that the script says of the element.
  package static func sentence(_ sentence: Sentence, _ text: String) -> Attribute {
    Attribute("data-say-\(sentence.rawValue)", text)
  }
  /// The key that leads to the element, with the script.
  package static func shortcut(_ key: String) -> Attribute { Attribute("data-shortcut", key) }
  package static func role(_ role: Role) -> Attribute { Attribute("role", role.rawValue) }
  package static func labeled(_ text: String) -> Attribute { Attribute("aria-label", text) }
  package static func labeled(by id: String) -> Attribute { Attribute("aria-labelledby", id) }
  package static func described(by id: String) -> Attribute { Attribute("aria-describedby", id) }
  package static let current = Attribute("aria-current", "page")
  package static let invalid = Attribute("aria-invalid", "true")
  package static let hidden = Attribute("aria-hidden", "true")
  package static let focusable = Attribute("tabindex", "0")
  package static let focusableByScript = Attribute("tabindex", "-1")
  package static let characters = Attribute("charset", "utf-8")
  package static let viewport = [
    Attribute("name", "viewport"), Attribute("content", "width=device-width, initial-scale=1"),
  ]
  package static let colorScheme = [Attribute("name", "color-scheme"), Attribute("content", "light dark")]
  package static let styleSheet = Attribute("rel", "stylesheet")
  package static let icon = Attribute("rel", "icon")
  package static let next = Attribute("rel", "next")
  package static let previous = Attribute("rel", "prev")
  package static func viewBox(width: Int, height: Int) -> Attribute {
    Attribute("viewBox", "0 0 \(width) \(height)")
  }
  package static func path(_ points: [(x: Int, y: Int)]) -> Attribute {
    Attribute(
      "d",
      points.enumerated().map { "\($0.offset == 0 ? "M" : "L")\($0.element.x) \($0.element.y)" }.joined(
        separator: " "))
  }
  package static func position(x: Int, y: Int) -> [Attribute] {
    [Attribute("x", "\(x)"), Attribute("y", "\(y)")]
  }
  package static func end(fromX x1: Int, y y1: Int, toX x2: Int, y y2: Int) -> [Attribute] {
    [Attribute("x1", "\(x1)"), Attribute("y1", "\(y1)"), Attribute("x2", "\(x2)"), Attribute("y2", "\(y2)")]
  }
  package static func anchor(_ anchor: TextAnchor) -> Attribute { Attribute("text-anchor", anchor.rawValue) }
}

package enum FormMethod: String, Sendable { case get, post }

package enum InputKind: String, Sendable {
  case text, password, hidden, checkbox, radio, number, date, file, submit, search, button
}

package enum Autocomplete: String, Sendable {
  case off
  case currentPassword = "current-password"
}

package enum Role: String, Sendable {
  case alert, status, table, row, cell, region, rowgroup, img, list
  case columnheader, rowheader
}

package enum TextAnchor: String, Sendable { case start, middle, end }

/// The behavior that the script gives an element that bears its name; without a script it does nothing, and the page is whole.
package enum Behavior: String, Sendable {
  /// A time is shown in the browser's own zone.
  case localTime = "local-time"
  /// The element's part of the page is read again while the page is seen.
  case live
  /// It says when that part was read.
  case readAt = "read-at"
  /// It says that the part can be read no more.
  case outdated
  /// A form with a file is sent in parts that go on after a lost connection.
  case upload
  /// It shows how far an upload is.
  case uploadProgress = "upload-progress"
}

/// The sentences that the script says of an upload.
package enum Sentence: String, Sendable {
  case sending, lost, stopped, ended, unreadable
}

/// The looks of the style sheet.
package enum Look: String, Sendable {
  case skip, banner, brand, current, page, tools, notice, problem, hint, button, danger, quiet, inline,
    fields, stacked, field
  case numeric, state, good, waiting, bad, tasks, task, figures, figure, cover, covers, tree, chart, curve,
    axis, grid
  case paging, bare, wide, label, heard
}
