/// A command and its subcommands: what it takes, and what `--help` says. Options of a command also count in
/// its subcommands.
///
/// ``ArgumentParser`` reads command lines by it, ``help(parents:columns:hasVersion:)`` is the text of `--help`.
///
/// ```swift
/// let command = CommandDescription(
///   "pullbox", summary: "Publish, buy and read",
///   options: [.flag("json", environment: .none, help: "Print JSON")],
///   subcommands: [
///     CommandDescription(
///       "update-size", aliases: ["costs"], summary: "Show what a device would fetch",
///       operands: [.init("ID"), .init("VERSION", isRequired: false)])
///   ])
/// ```
public struct CommandDescription: Sendable {
  /// An argument without an option's name, known by its position.
  public struct Operand: Sendable {
    /// The word that help shows, in capitals.
    public let name: String
    /// Whether a command line without it is wrong.
    public let isRequired: Bool
    /// Whether it is all remaining operands; only for the last one.
    public let repeats: Bool

    /// Required and not repeated, unless given otherwise.
    public init(_ name: String, isRequired: Bool = true, repeats: Bool = false) {
      self.name = name
      self.isRequired = isRequired
      self.repeats = repeats
    }
  }

  /// The program's name, or the word that chooses the subcommand.
  public let name: String
  /// Earlier words for the subcommand, which keep working; `--help` does not show them.
  public let aliases: [String]
  /// One line, without a full stop.
  public let summary: String
  /// Paragraphs below the summary; empty for none.
  public let discussion: String
  /// The operands, in their order.
  public let operands: [Operand]
  /// Its own options, without those of the commands it belongs to.
  public let options: [CommandOption]
  /// The subcommands. If there are any, one has to be given, and there are no operands.
  public let subcommands: [CommandDescription]

  /// A command without aliases, discussion, operands, options and subcommands unless given.
  public init(
    _ name: String, aliases: [String] = [], summary: String, discussion: String = "",
    operands: [Operand] = [], options: [CommandOption] = [], subcommands: [CommandDescription] = []
  ) {
    self.name = name
    self.aliases = aliases
    self.summary = summary
    self.discussion = discussion
    self.operands = operands
    self.options = options
    self.subcommands = subcommands
  }

  /// The same command with one more paragraph in its help.
  public func adding(paragraph: String) -> CommandDescription {
    CommandDescription(
      name, aliases: aliases, summary: summary,
      discussion: discussion.isEmpty ? paragraph : "\(discussion)\n\n\(paragraph)", operands: operands,
      options: options, subcommands: subcommands)
  }

  func isNamed(_ text: String) -> Bool { name == text || aliases.contains(text) }
}
