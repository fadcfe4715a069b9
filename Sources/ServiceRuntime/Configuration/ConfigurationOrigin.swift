/// Where a value of a configuration comes from.
public enum ConfigurationOrigin: Hashable, Sendable, CustomStringConvertible {
  /// Nothing is given, and the default of the option counts.
  case fallback
  /// A file; line and column, which counts characters, begin with 1.
  case file(path: String, line: Int, column: Int)
  /// A variable of the environment, by its name.
  case variable(String)
  /// An option of the command line, by its name with dashes.
  case option(String)

  /// Such as `/etc/pullbox/server.json5:3:7`, which editors understand, or `--listen`.
  public var description: String {
    switch self {
    case .fallback: "default"
    case .file(let path, let line, let column): "\(path):\(line):\(column)"
    case .variable(let name), .option(let name): name
    }
  }
}
