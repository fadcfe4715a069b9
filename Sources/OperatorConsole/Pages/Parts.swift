import Commerce
import CoreTypes
import PullboxAPI

/// The parts that pages have in common.
enum Parts {
  /// A cell of a table.
  struct Cell: Sendable {
    var content: Markup
    var isNumeric = false

    init(_ content: Markup) { self.content = content }
    init(_ text: String) { content = Markup(text) }

    static func numeric(_ text: String) -> Cell {
      var cell = Cell(text)
      cell.isNumeric = true
      return cell
    }
  }

  /// A table whose first cell of each row is its heading. On narrow screens each cell shows its column's heading, and the roles stay.
  static func table(_ caption: String, _ headings: [String], _ rows: [[Cell]]) -> Markup {
    element(.table, .role(.table)) {
      element(.caption) { caption }
      element(.thead, .role(.rowgroup)) {
        element(.tr, .role(.row)) {
          for (index, heading) in headings.enumerated() {
            let isNumeric = rows.first.map { $0.indices.contains(index) && $0[index].isNumeric } ?? false
            element(
              .th, with: [.columnHeading(), .role(.columnheader)] + (isNumeric ? [.look(.numeric)] : [])
            ) { heading }
          }
        }
      }
      element(.tbody, .role(.rowgroup)) {
        for row in rows {
          element(.tr, .role(.row)) {
            for (index, cell) in row.enumerated() {
              let heading = headings.indices.contains(index) ? headings[index] : ""
              let common: [Attribute] = [.heading(heading)] + (cell.isNumeric ? [.look(.numeric)] : [])
              if index == 0 {
                element(.th, with: [.rowHeading(), .role(.rowheader)] + common) { cell.content }
              } else {
                element(.td, with: [.role(.cell)] + common) { cell.content }
              }
            }
          }
        }
      }
    }
  }

  /// Names with their values.
  static func fields(_ pairs: [(String, Markup?)]) -> Markup {
    element(.dl, .look(.fields)) {
      for (name, value) in pairs {
        if let value {
          element(.dt) { name }
          element(.dd) { value }
        }
      }
    }
  }

  /// A part of a page that the script reads again while the page is seen, with the time when it was read. Where it can be read no more, the
  /// script says so, and what was known stays. What is new among its tasks is said once.
  static func live(_ visit: Visit, @MarkupBuilder _ content: () -> Markup) -> Markup {
    let words = visit.words
    return Markup([
      element(.p, .role(.status), .look(.heard)),
      element(.div, .look(.problem), .role(.alert), .behavior(.outdated), .unseen) {
        element(.p) { words(.outdated) }
      },
      element(.div, .behavior(.live)) { content() },
      element(.p, .look(.hint), .behavior(.readAt)) {
        words(.readAt) + " "
        time(visit.now, words)
      },
    ])
  }

  /// A time, which the script shows in the browser's zone.
  static func time(_ time: Timestamp, _ words: Words) -> Markup {
    element(.time, .dateTime(time.rfc3339), .behavior(.localTime)) { words.moment(time) }
  }

  /// How long ago it was, with the time itself.
  static func age(of time: Timestamp, _ visit: Visit) -> Markup {
    element(.span) {
      visit.words(.ago, visit.words.duration(visit.now - time)) + " "
      element(.span, .look(.hint)) {
        "("
        Self.time(time, visit.words)
        ")"
      }
    }
  }

  /// A link with a text.
  static func link(_ address: Address, _ text: String) -> Markup {
    element(.a, .href(address)) { Markup.foreign(text) }
  }

  /// A name of the interface, as programs write it.
  static func name(_ text: String) -> Markup {
    element(.code, .notTranslated) { Markup.foreign(text) }
  }

  /// The sentence of a refusal, in place of what could not be had.
  static func problem(_ problem: Problem, _ words: Words) -> Markup {
    element(.div, .look(.problem)) {
      element(.p) {
        words(.notAvailable) + " "
        refusal(problem, words)
      }
      if let instance = problem.instance { element(.p, .look(.hint)) { instance } }
    }
  }

  /// A refusal as a sentence: in another language than the interface's the kind of refusal in the operator's words, and behind it the
  /// interface's own sentence, marked as English.
  static func refusal(_ problem: Problem, _ words: Words) -> Markup {
    // The console's own refusals, which name no request, are in the operator's language already.
    guard words.language != .english, problem.instance != nil else {
      return .foreign(problem.detail ?? problem.title)
    }
    return Markup([
      Markup(problem.code.flatMap { Words.kinds[$0] }.map { words($0) + " " } ?? ""),
      element(.span, .language("en")) { Markup.foreign(problem.detail ?? problem.title) },
    ])
  }

  /// The content that a reading gives, or the reason why there is none.
  static func section<Value>(
    _ title: String, _ reading: Result<Value, Problem>, _ words: Words,
    @MarkupBuilder _ content: (Value) -> Markup
  ) -> Markup {
    element(.section) {
      element(.h2) { title }
      switch reading {
      case .success(let value): content(value)
      case .failure(let problem): Self.problem(problem, words)
      }
    }
  }

  /// Links to the page that follows, and back to the first.
  static func paging(_ visit: Visit, next: String?) -> Markup {
    let here = visit.address.with("notice", nil)
    let isFirst = visit.value("after") == nil
    guard next != nil || !isFirst else { return .nothing }
    return element(.nav, .look(.paging), .labeled(visit.words(.pages))) {
      if !isFirst { element(.a, .href(here.with("after", nil))) { visit.words(.firstPage) } }
      if let next { element(.a, .href(here.with("after", next)), .next) { visit.words(.nextPage) } }
    }
  }

  /// A field of a form with its label, what it is for, and what is wrong with it.
  static func field(
    _ label: String, _ name: String, _ value: String?, _ kind: InputKind = .text, hint: String? = nil,
    problem: String? = nil, isRequired: Bool = false, attributes: [Attribute] = []
  ) -> Markup {
    var all: [Attribute] = [.id(name), .name(name), .input(kind)]
    if let value { all.append(.value(value)) }
    if isRequired { all.append(.required) }
    return element(.div, .look(.field)) {
      element(.label, .label(for: name)) { label }
      element(.input, with: all + described(name, hint, problem) + attributes)
      descriptions(name, hint, problem)
    }
  }

  /// The attributes of a field that is described by a hint, by what is wrong with it, or by both.
  private static func described(_ name: String, _ hint: String?, _ problem: String?) -> [Attribute] {
    let ids = [hint == nil ? nil : "\(name)-hint", problem == nil ? nil : "\(name)-problem"]
      .compactMap { $0 }.joined(separator: " ")
    return (ids.isEmpty ? [] : [.described(by: ids)]) + (problem == nil ? [] : [.invalid])
  }

  /// The texts that ``described(_:_:_:)`` names.
  @MarkupBuilder
  private static func descriptions(_ name: String, _ hint: String?, _ problem: String?) -> Markup {
    if let hint { element(.span, .id("\(name)-hint"), .look(.hint)) { hint } }
    if let problem {
      element(.span, .id("\(name)-problem"), .look(.problem)) { Markup.foreign(problem) }
    }
  }

  /// A choice among words.
  static func choice(
    _ label: String, _ name: String, _ chosen: String?, _ options: [(value: String, text: String)],
    hint: String? = nil, problem: String? = nil
  ) -> Markup {
    element(.div, .look(.field)) {
      element(.label, .label(for: name)) { label }
      element(.select, with: [.id(name), .name(name)] + described(name, hint, problem)) {
        for option in options {
          let value = Attribute.value(option.value)
          element(.option, with: option.value == chosen ?? "" ? [value, .selected] : [value]) { option.text }
        }
      }
      descriptions(name, hint, problem)
    }
  }

  /// A field of several lines.
  static func text(
    _ label: String, _ name: String, _ value: String?, hint: String? = nil, problem: String? = nil,
    limit: Int = 500
  ) -> Markup {
    element(.div, .look(.field, .wide)) {
      element(.label, .label(for: name)) { label }
      let common: [Attribute] = [.id(name), .name(name), .rows(3), .maximumLength(limit)]
      element(.textarea, with: common + described(name, hint, problem)) {
        // Browsers take the first line break for none of the text's.
        "\n" + (value ?? "")
      }
      descriptions(name, hint, problem)
    }
  }

  /// A form of filters, whose choice stands in the address.
  static func filters(_ page: Address, _ words: Words, @MarkupBuilder _ content: () -> Markup) -> Markup {
    element(.form, .method(.get), .action(page), .look(.fields), .labeled(words(.filter))) {
      content()
      element(.button) { words(.show) }
    }
  }

  /// A state as a word in a frame.
  static func state(_ text: String, _ look: Look) -> Markup { element(.span, .look(.state, look)) { text } }
}
