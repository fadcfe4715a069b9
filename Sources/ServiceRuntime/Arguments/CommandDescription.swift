/// A command and its subcommands: what it takes, and what `--help` says. Options of a command also count in
/// its subcommands.
public struct CommandDescription: Sendable {
  /// What is given by its place.
  public struct Operand: Sendable {
    public let name: String
    public let isRequired: Bool
    /// Takes all that is left; only for the last operand.
    public let repeats: Bool

    public init(_ name: String, isRequired: Bool = true, repeats: Bool = false) {
      self.name = name
      self.isRequired = isRequired
      self.repeats = repeats
    }
  }

  public let name: String
  /// One line, without a full stop.
  public let summary: String
  /// Paragraphs below the summary.
  public let discussion: String
  public let operands: [Operand]
  public let options: [CommandOption]
  public let subcommands: [CommandDescription]

  public init(
    _ name: String, summary: String, discussion: String = "", operands: [Operand] = [],
    options: [CommandOption] = [], subcommands: [CommandDescription] = []
  ) {
    self.name = name
    self.summary = summary
    self.discussion = discussion
    self.operands = operands
    self.options = options
    self.subcommands = subcommands
  }
}
