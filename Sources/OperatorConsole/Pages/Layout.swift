import HTTPServer
import PullboxAPI
import RouteAccess

/// The frame of every page: banner, navigation and foot.
enum Layout {
  /// The document of a page for an operator who is signed in.
  static func document(_ page: Page, for visit: Visit, notice: Notice?) -> [UInt8] {
    let words = visit.words
    return document(
      title: page.title, words: words,
      banner: banner(visit, current: page.section),
      footer: footer(page, visit)
    ) {
      if let notice { element(.div, .look(.notice), .role(.status)) { element(.p) { words(notice.phrase) } } }
      page.body
    }
  }

  /// The document of a page for who is not signed in.
  static func document(
    _ title: String, _ words: Words, @MarkupBuilder _ body: () -> Markup
  ) -> [UInt8] {
    document(
      title: title, words: words,
      banner: element(.header, .look(.banner)) { element(.p, .look(.brand)) { "Pullbox" } },
      footer: .nothing, body)
  }

  private static func document(
    title: String, words: Words, banner: Markup, footer: Markup, @MarkupBuilder _ body: () -> Markup
  ) -> [UInt8] {
    let content = body()
    return Markup.document(
      element(.html, .language(words.language.rawValue)) {
        element(.head) {
          element(.meta, .characters)
          element(.meta, with: Attribute.viewport)
          element(.meta, with: Attribute.colorScheme)
          element(.title) { "\(title) – Pullbox" }
          element(.link, .styleSheet, .href(ConsoleAsset.style.address))
          element(.link, .icon, .href(ConsoleAsset.icon.address))
          element(.script, .source(ConsoleAsset.script.address), .deferred)
        }
        element(.body) {
          element(.a, .look(.skip), .href(.place("main"))) { words(.skipToContent) }
          banner
          element(.main, .id("main"), .focusableByScript) {
            element(.h1) { Markup.foreign(title) }
            content
          }
          footer
        }
      })
  }

  private static func banner(_ visit: Visit, current: Section?) -> Markup {
    let words = visit.words
    return element(.header, .look(.banner)) {
      element(.p, .look(.brand)) { "Pullbox" }
      element(.nav, .labeled(words(.navigation))) {
        element(.ul) {
          for section in Section.allCases {
            element(.li) {
              let link: [Attribute] = [.href(section.address), .shortcut(section.shortcut)]
              element(.a, with: section == current ? link + [.current] : link) { words(section.title) }
            }
          }
        }
      }
      element(.div, .look(.tools)) {
        element(.span) { words(.signedInAs, visit.visitor.holder.name) }
        form(.console("sign-out"), visit, look: .inline) {
          element(.button, .look(.quiet)) { words(.signOut) }
        }
      }
    }
  }

  private static func footer(_ page: Page, _ visit: Visit) -> Markup {
    let words = visit.words
    let other: Language = visit.visitor.language == .english ? .german : .english
    return element(.footer, .look(.page)) {
      if let reading = page.reading {
        element(.p) { element(.a, .href(json(reading))) { words(.asJSON) } }
      }
      if let command = page.command {
        element(.p) {
          words(.sameByCommand) + " "
          element(.code, .notTranslated) { command }
        }
      }
      form(.console("language"), visit, look: .inline) {
        element(.input, .input(.hidden), .name("language"), .value(other.rawValue))
        element(
          .input, .input(.hidden), .name("page"),
          .value(visit.request.method == .get ? visit.request.rawTarget : ""))
        element(.button, .look(.quiet), .language(other.rawValue)) { other.name }
      }
    }
  }

  /// Where the console shows what the interface answers at that address.
  static func json(_ reading: Address) -> Address {
    Address(["console", "json"] + reading.segments, query: reading.query.map { ($0.name, $0.value) })
  }

  /// A form that changes something: it carries the session's token.
  static func form(
    _ action: Address, _ visit: Visit, look: Look = .fields, @MarkupBuilder _ content: () -> Markup
  ) -> Markup {
    element(.form, .method(.post), .action(action), .look(look)) {
      element(.input, .input(.hidden), .name("token"), .value(visit.visitor.formToken))
      content()
    }
  }
}
