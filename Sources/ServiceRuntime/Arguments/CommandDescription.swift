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
    /// The completions that a shell offers for it.
    public let completion: ValueCompletion

    /// Required and not repeated, unless given otherwise; a shell offers nothing for it.
    public init(
      _ name: String, isRequired: Bool = true, repeats: Bool = false, completion: ValueCompletion = .nothing
    ) {
      self.name = name
      self.isRequired = isRequired
      self.repeats = repeats
      self.completion = completion
    }
  }

  /// The program's name, or the word that chooses the subcommand.
  public let name: String
  /// Earlier words for the subcommand, which keep working; `--help` does not show them.
  public let aliases: [String]
  /// One line, without a full stop.
  public let summary: String
  /// Paragraphs below the summary; empty for none.
  public private(set) var discussion: String
  /// The program's exit codes with their meanings, in the order in which help and manual tell them.
  public private(set) var exitCodes: [(code: ExitCode, meaning: String)]
  /// The operands, in their order.
  public let operands: [Operand]
  /// Its own options, without those of the commands it belongs to.
  public let options: [CommandOption]
  /// The subcommands. If there are any, there are no operands.
  public private(set) var subcommands: [CommandDescription]
  /// Whether one of the subcommands has to be given. A daemon without one serves.
  public private(set) var needsSubcommand: Bool
  /// Under which title the help of the command it belongs to lists it; nil for the first.
  public private(set) var section: String?
  /// The names of those options of the commands it belongs to that mean something for it; nil for all. Help and completions
  /// show no others, the command line takes all of them.
  public private(set) var usedOptions: Set<String>?
  /// Whether help, manual and completions leave it out.
  public private(set) var isHidden = false

  /// A command without aliases, discussion, exit codes, operands, options and subcommands unless given.
  public init(
    _ name: String, aliases: [String] = [], summary: String, discussion: String = "",
    exitCodes: [(code: ExitCode, meaning: String)] = [], operands: [Operand] = [],
    options: [CommandOption] = [], subcommands: [CommandDescription] = [],
    needsSubcommand: Bool = true
  ) {
    self.name = name
    self.aliases = aliases
    self.summary = summary
    self.discussion = discussion
    self.exitCodes = exitCodes
    self.operands = operands
    self.options = options
    self.subcommands = subcommands
    self.needsSubcommand = needsSubcommand
  }

  /// The same command with one more paragraph in its help.
  public func adding(paragraph: String) -> CommandDescription {
    var command = self
    command.discussion = discussion.isEmpty ? paragraph : "\(discussion)\n\n\(paragraph)"
    return command
  }

  /// The same command with the codes that it ends with.
  func ending(with exitCodes: [(code: ExitCode, meaning: String)]) -> CommandDescription {
    var command = self
    command.exitCodes = exitCodes
    return command
  }

  /// The same command with subcommands that may be left out.
  func adding(optionalSubcommands: [CommandDescription]) -> CommandDescription {
    var command = self
    command.subcommands = optionalSubcommands
    command.needsSubcommand = false
    return command
  }

  /// The same command, listed under a title and with those options of the commands it belongs to.
  public func listed(under section: String, using options: Set<String>) -> CommandDescription {
    var command = self
    command.section = section
    command.usedOptions = options
    return command
  }

  /// The same command, which only the command line knows.
  public func hidden() -> CommandDescription {
    var command = self
    command.isHidden = true
    return command
  }

  /// Returns the options of `parents`, the commands it belongs to, that help shows.
  func shown(of parents: [CommandDescription]) -> [CommandOption] {
    parents.filter(\.needsSubcommand).flatMap(\.options).filter { usedOptions?.contains($0.name) ?? true }
  }

  /// The subcommands that help shows, by title, in the order of the first of each.
  var sections: [(title: String, commands: [CommandDescription])] {
    var sections: [(title: String, commands: [CommandDescription])] = []
    for command in subcommands where !command.isHidden {
      let title = command.section ?? "Commands"
      if let index = sections.firstIndex(where: { $0.title == title }) {
        sections[index].commands.append(command)
      } else {
        sections.append((title, [command]))
      }
    }
    return sections
  }

  /// Whether the text is the command's name or one of its aliases.
  func isNamed(_ text: String) -> Bool { name == text || aliases.contains(text) }
}
