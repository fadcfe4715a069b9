internal import CoreTypes

/// One of the two agents that a desktop follows.
public enum AgentPlace: Int, Hashable, Sendable, Comparable {
  /// The user's own, on the bus of the session.
  case session
  /// The machine's, on the bus of the system.
  case machine

  /// The user's own comes first.
  public static func < (left: AgentPlace, right: AgentPlace) -> Bool { left.rawValue < right.rawValue }
}

/// A download or a transaction by its identifier, which says nothing without the agent that has it.
public struct AgentObject: Hashable, Sendable, Comparable {
  /// The agent.
  public var place: AgentPlace
  /// The identifier there.
  public var id: String

  /// A name from its parts.
  public init(_ id: String, at place: AgentPlace) {
    self.id = id
    self.place = place
  }

  /// Those of the user's own agent come first.
  public static func < (left: AgentObject, right: AgentObject) -> Bool {
    (left.place, left.id) < (right.place, right.id)
  }
}

/// Something that downloads wait for and that a person can change.
public enum Wait: Hashable, Sendable, Comparable {
  /// Room where that agent has its library.
  case room(AgentPlace)
  /// A limit that persons have set: a network that is not metered, a time for downloads, a budget.
  case limits
  /// A battery that is charged, or the mains.
  case power
  /// The network, which wants a log-in.
  case logIn
}

/// One notification, as it is to stand on the desktop.
public struct Notice: Hashable, Sendable {
  /// The subject: a notice replaces the one of the same subject.
  public enum Subject: Hashable, Sendable, Comparable {
    /// A product that came, or whose correction did.
    case product(String)
    /// More than three products that came.
    case products
    /// A download that waits for something that a person can change.
    case download(AgentObject)
    /// More than three downloads that wait for the same kind of thing.
    case downloads(Wait)
    /// A purchase.
    case transaction(AgentObject)
    /// The end of a subscription.
    case subscription(String)
    /// The price that a subscription is to have.
    case price(String)
    /// A link that was opened.
    case link
  }

  /// An answer that a person can give.
  public enum Action: Hashable, Sendable {
    /// Opens the content of the product.
    case read(product: String)
    /// Closes the notice.
    case later
    /// Lets the downloads go past what they wait for.
    case downloadAnyway([AgentObject])
    /// Shows the library of that agent, so that something can go.
    case makeRoom(at: AgentPlace)
    /// Buys at the price that was shown, from the agent that showed it.
    case buy(product: String, shown: String, at: AgentPlace)
    /// Fetches all that is owned.
    case restore
  }

  /// The subject.
  public var subject: Subject
  /// The title: one line of plain text.
  public var summary: String
  /// The sentence below it: plain text.
  public var body: String
  /// The path of a picture; nil for the program's icon.
  public var cover: String?
  /// The answers in their order, the default first.
  public var actions: [Action]
  /// Whether it stays until a person answers it; it is not shown past do-not-disturb in either case.
  public var isQuestion: Bool

  /// A notice from its parts.
  public init(
    _ subject: Subject, _ summary: String, _ body: String, cover: String? = nil, actions: [Action] = [],
    isQuestion: Bool = false
  ) {
    self.subject = subject
    self.summary = summary
    self.body = body
    self.cover = cover
    self.actions = actions
    self.isQuestion = isQuestion
  }

  /// The answer by the key that servers of notifications have for it: its place, or `default` for the first one. Nil for another text.
  func action(byKey key: String) -> Action? {
    if key == "default" { return actions.first }
    return actions.enumerated().first { "\($0.offset)" == key }?.element
  }

  /// Characters of a title in a notice, at most.
  public static let maximumTitle = 200

  /// A title of others as one line of text: control characters and line breaks are spaces, what cannot be seen is left out, and what is longer
  /// than ``maximumTitle`` ends with an ellipsis.
  public static func text(_ title: String) -> String {
    var text = ""
    var count = 0
    // A character may have any number of scalars; more than eight are no writing.
    for character in title {
      guard count < maximumTitle else { return text + "…" }
      count += 1
      for scalar in character.unicodeScalars.prefix(8) {
        let isControl =
          scalar.properties.generalCategory == .control || scalar == "\u{2028}" || scalar == "\u{2029}"
        text.unicodeScalars.append(isControl ? " " : scalar)
      }
    }
    return text.removingInvisibleFormatting
  }

  /// The title within a sentence of ours, kept apart from it where it is written from right to left (U+2068, U+2069).
  public static func quoted(_ title: String) -> String { "\u{2068}\(text(title))\u{2069}" }

  /// The text for a server that reads markup in bodies (Desktop Notifications Specification, "Markup"): what is text stays text.
  public static func escaped(_ text: String) -> String {
    var escaped = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      case "\"": escaped += "&quot;"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }
}
