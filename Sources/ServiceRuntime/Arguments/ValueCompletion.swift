/// The completions that a shell offers for a value on the command line.
public enum ValueCompletion: Hashable, Sendable {
  /// Nothing: only its user knows it.
  case nothing
  /// A file, or a directory on the way to one.
  case file
  /// A directory.
  case directory
  /// One of these words.
  case words([String])
  /// One of the lines that the program prints when it is called with `complete` and this word.
  case listed(String)

  /// By the name that help gives to the value.
  init(_ kind: CommandOption.Kind) {
    switch kind {
    case .flag: self = .nothing
    case .value(let metavariable), .list(let metavariable):
      switch metavariable {
      case "FILE", "PATH": self = .file
      case "DIR": self = .directory
      default: self = .nothing
      }
    }
  }
}

/// A format in which `--help=FORMAT` describes a whole program, for the manual and for shells.
public enum HelpFormat: String, CaseIterable, Sendable {
  /// A page of man(7).
  case man
  /// Completions of bash(1).
  case bash
  /// Completions of zsh(1).
  case zsh
  /// Completions of fish(1).
  case fish

  /// The text in that format. The manual bears the day of `SOURCE_DATE_EPOCH` (reproducible-builds.org), where that is
  /// set.
  func text(of command: CommandDescription, version: String?, environment: [String: String]) -> String {
    switch self {
    case .man:
      ManualPage(command, version: version, date: environment["SOURCE_DATE_EPOCH"].flatMap(Int64.init)).text
    case .bash: BashCompletion(command).text
    case .zsh: ZshCompletion(command).text
    case .fish: FishCompletion(command).text
    }
  }
}
