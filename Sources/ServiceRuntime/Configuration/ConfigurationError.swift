/// A fault of a configuration: which part, and what is wrong with it.
public struct ConfigurationFault: Hashable, Sendable, CustomStringConvertible {
  /// The key, parts separated by dots; the file where the whole file is meant.
  public var subject: String
  /// The fault, in words without a full stop. It tells no secret.
  public var message: String
  /// Where the value stands; nil while that is not known.
  public var origin: ConfigurationOrigin?

  /// A fault of a key or of a file.
  public init(subject: String, message: String, origin: ConfigurationOrigin? = nil) {
    self.subject = subject
    self.message = message
    self.origin = origin
  }

  /// One line: the place, the key and what is wrong.
  public var description: String {
    switch origin {
    case .file(subject, let line, let column): "\(shownSubject):\(line):\(column): \(message)"
    case .file, .variable, .option: "\(origin, default: ""): \(shownSubject): \(message)"
    case .fallback, nil: "configuration: \(shownSubject): \(message)"
    }
  }

  /// The subject as it may be shown: a key of a file may have control characters, which a terminal would obey.
  var shownSubject: String { ConfigurationNotation.escapingControls(in: subject) }
}

extension ConfigurationFault {
  /// The fault of a key that no member has.
  static func unknown(
    _ key: String, meant: String?, origin: ConfigurationOrigin?
  ) -> ConfigurationFault {
    ConfigurationFault(
      subject: key, message: "there is no such key" + (meant.map { "; did you mean '\($0)'?" } ?? ""),
      origin: origin)
  }
}

/// A configuration that cannot be used, with at least one fault.
public struct ConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The faults, in the order in which they were found.
  public let faults: [ConfigurationFault]
  /// Whether the same configuration may do later: a service that it names did not answer.
  public private(set) var mayPass = false

  /// An error of one fault, about a key or a file.
  public init(
    subject: String, message: String, origin: ConfigurationOrigin? = nil, mayPass: Bool = false
  ) {
    faults = [ConfigurationFault(subject: subject, message: message, origin: origin)]
    self.mayPass = mayPass
  }

  /// Nil without a fault.
  public init?(_ faults: [ConfigurationFault]) {
    guard !faults.isEmpty else { return nil }
    self.faults = faults
  }

  /// The key or the file of the first fault.
  public var subject: String { faults.first?.subject ?? "" }
  /// The message of the first fault.
  public var message: String { faults.first?.message ?? "" }

  /// A line for each fault.
  public var description: String { faults.map(\.description).joined(separator: "\n") }
}

extension Array {
  /// Returns the values that `transform` makes of each element and its position. Throws the faults of all
  /// elements together.
  public func mapConfiguration<Value>(
    _ transform: (Int, Element) throws(ConfigurationError) -> Value
  ) throws(ConfigurationError) -> [Value] {
    var values: [Value] = []
    var faults: [ConfigurationFault] = []
    for (index, element) in enumerated() {
      do throws(ConfigurationError) {
        values.append(try transform(index, element))
      } catch {
        faults += error.faults
      }
    }
    if let error = ConfigurationError(faults) { throw error }
    return values
  }
}

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
