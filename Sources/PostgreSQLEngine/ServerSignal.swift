internal import Database

/// A notification of a committed change: the topic, its revision, and the names of what was changed, as far as there is room for them.
struct ServerSignal: Hashable {
  /// The topic, whose text has no space.
  let topic: ChangeTopic
  /// The revision that the topic has since that commit.
  let revision: Int
  /// Empty where it may be anything.
  let names: Set<String>

  /// PostgreSQL takes payloads of fewer than 8000 bytes.
  private static let maximumLength = 7900

  /// A signal of a change that is about to be committed.
  init(topic: ChangeTopic, revision: Int, names: Set<String>) {
    self.topic = topic
    self.revision = revision
    self.names = names
  }

  /// Nil for what no node of this program sends.
  init?(payload: String) {
    let words = payload.split(separator: " ", omittingEmptySubsequences: true)
    guard words.count >= 2, let revision = Int(words[1]) else { return nil }
    self.init(
      topic: ChangeTopic(String(words[0])), revision: revision, names: Set(words[2...].map(String.init)))
  }

  /// The topic, the revision and the names, one space between them; no names where they are too many.
  var payload: String {
    let head = "\(topic) \(revision)"
    let whole = ([head] + names.sorted()).joined(separator: " ")
    return whole.utf8.count <= Self.maximumLength ? whole : head
  }
}

/// The topics that a body changes, each with the names of the things it changes; no names stand for any.
struct ChangedTopics {
  /// Takes the revision of a topic on.
  static let takeRevisionOn = """
    INSERT INTO signals (topic, revision) VALUES (?, 1)
    ON CONFLICT (topic) DO UPDATE SET revision = signals.revision + 1
    RETURNING revision
    """

  private var names: [ChangeTopic: Set<String>] = [:]

  var isEmpty: Bool { names.isEmpty }

  /// The topics in the order in which all transactions take their rows.
  var inOrder: [(topic: ChangeTopic, names: Set<String>)] {
    names.sorted { $0.key.description < $1.key.description }.map { ($0.key, $0.value) }
  }

  /// Adds a change of that topic.
  mutating func note(_ topic: ChangeTopic, names added: Set<String>) {
    guard let before = names[topic] else {
      names[topic] = added
      return
    }
    names[topic] = before.isEmpty || added.isEmpty ? [] : before.union(added)
  }
}

/// The memory of a listener of each topic: the news for readers at each notification, and where revisions show that one was missed.
struct HeardSignals {
  /// The last revision of each topic that was heard of or seen. A topic that is not here counts as 0.
  private var revisions: [ChangeTopic: Int] = [:]

  /// The news in a notification; nil for one that was heard of before.
  mutating func hear(_ signal: ServerSignal) -> ChangeNews? {
    let last = revisions[signal.topic] ?? 0
    guard signal.revision > last else { return nil }
    revisions[signal.topic] = signal.revision
    guard signal.revision == last + 1, !signal.names.isEmpty else { return .ofAnything }
    return .of(signal.names)
  }

  /// The news in a look at the revision itself.
  enum Sight: Hashable {
    /// Its notification has come.
    case known
    /// A notification was missed.
    case later
    /// The revision went back: another host, which lacks the last commits, has become the primary.
    case earlier
  }

  /// Takes in a look at the revision. It becomes the last one that was seen, whichever way it differs.
  mutating func see(_ revision: Int, of topic: ChangeTopic) -> Sight {
    let last = revisions[topic] ?? 0
    revisions[topic] = revision
    return revision == last ? .known : revision > last ? .later : .earlier
  }
}
