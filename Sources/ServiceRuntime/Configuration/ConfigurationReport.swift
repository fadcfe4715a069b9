/// Everything there is to say of a daemon's configuration, found in one go, without starting or writing anything.
public struct ConfigurationReport<Configuration: DaemonConfiguration>: Sendable {
  /// Nil where it cannot be brought into its form. With faults, some of its values are stand-ins.
  let configuration: Configuration?
  /// The faults that must be fixed before a start: in the order of the file, and then the others.
  public private(set) var faults: [ConfigurationFault]
  /// Secrets that a start needs, and which the service manager may pass on to it.
  public let missingSecrets: [ConfigurationFault]
  /// The settings that work and may not be meant.
  public let warnings: [ConfigurationFault]
  /// The values with their places, for messages and for the listing.
  let tree: ConfigurationTree

  /// Reads the file of `--config` and those that it names. Blocks.
  public init(_ arguments: ParsedArguments) {
    var tree = ConfigurationTree(arguments)
    configuration = tree.decode(Configuration.self)
    var findings = ConfigurationFindings(environment: arguments.environment)
    if let configuration {
      findings.check("logLevel") {
        guard LogLevel(name: configuration.logLevel) != nil else {
          throw ConfigurationError(
            subject: "logLevel", message: "error, warning, info or debug is expected here")
        }
      }
      configuration.inspect(&findings)
    }
    // What is said of a value that stands in for another is of no use.
    func told(_ faults: [ConfigurationFault]) -> [ConfigurationFault] {
      faults.filter { !tree.isReplaced($0.subject) }.map(tree.located)
    }
    faults = Self.inOrder(tree.faults + (tree.exposed.map { [$0] } ?? []) + told(findings.faults))
    missingSecrets = tree.missingSecrets + told(findings.missingSecrets)
    warnings = Self.inOrder(told(findings.warnings))
    self.tree = tree
  }

  /// The configuration for a start. Throws where something is wrong with it or missing.
  public func usable() throws(ConfigurationError) -> Configuration {
    if let error = ConfigurationError(faults + missingSecrets) { throw error }
    guard let configuration else {
      throw ConfigurationError(subject: "the whole", message: "cannot be understood")
    }
    return configuration
  }

  /// The report with what the services say that the configuration names; they are asked only where nothing is wrong or missing.
  func askingServices() async -> ConfigurationReport {
    guard let configuration, faults.isEmpty, missingSecrets.isEmpty else { return self }
    do throws(ConfigurationError) {
      try await configuration.askServices()
      return self
    } catch {
      var report = self
      report.faults = error.faults.map(tree.located)
      return report
    }
  }

  /// The faults by their places in the file, each once. Those without a place follow in the order in which they were
  /// found.
  private static func inOrder(_ faults: [ConfigurationFault]) -> [ConfigurationFault] {
    func place(_ fault: ConfigurationFault) -> (line: Int, column: Int) {
      guard case .file(_, let line, let column) = fault.origin else { return (.max, 0) }
      return (line, column)
    }
    // The same may be found on two ways.
    let first = faults.enumerated().filter { !faults[..<$0.offset].contains($0.element) }
    return first.sorted { left, right in
      let (one, two) = (place(left.element), place(right.element))
      return (one.line, one.column, left.offset) < (two.line, two.column, right.offset)
    }.map(\.element)
  }

  /// The lines that `--check` prints on standard error: one for each fault, each missing secret and each
  /// warning.
  var lines: [String] {
    faults.map(\.description)
      + missingSecrets.map { "\($0): a start fails, unless the service manager passes it on" }
      + warnings.map { "\($0.description(of: "warning"))" }
  }

  /// Each key with its value, and where that comes from.
  public var listing: ConfigurationListing {
    ConfigurationListing(
      tree.options.compactMap { option -> ConfigurationListing.Entry? in
        guard let key = option.key else { return nil }
        guard let value = tree.root.value(at: ConfigurationTree.path(key)), !value.isNull,
          !(tree.missingSecrets.contains { $0.subject == key })
        else { return .init(key: key, isSecret: option.isSecret) }
        return .init(
          key: key, value: value.mayHoldPassword || option.isSecret ? nil : value.json5, origin: value.origin,
          isSecret: option.isSecret, holdsPassword: value.mayHoldPassword && !option.isSecret)
      })
  }
}

extension ConfigurationFault {
  /// The line with a word for what it is.
  fileprivate func description(of kind: String) -> String {
    switch origin {
    case .file, .variable, .option: "\(origin, default: ""): \(kind): \(shownSubject): \(message)"
    case .fallback, nil: "\(kind): \(shownSubject): \(message)"
    }
  }
}
