/// The settings that every daemon's configuration has.
public protocol DaemonConfiguration: Decodable, Sendable {
  /// The name of the ``LogLevel`` of the least severe lines that are logged.
  var logLevel: String { get }

  /// Inspects the values, each of which has its type already. Adds the faults that keep the daemon from
  /// working, and warnings to its operator. Reads the files that the values name, and neither starts nor
  /// writes anything. Blocks.
  func inspect(_ findings: inout ConfigurationFindings)

  /// Asks the services that the values name whether they can be used, for `--check`, where ``inspect(_:)`` has found no fault. Leaves
  /// nothing behind. Throws for the first one that cannot.
  func askServices() async throws(ConfigurationError)
}

extension DaemonConfiguration {
  /// Finds nothing.
  public func inspect(_ findings: inout ConfigurationFindings) {}

  /// Asks none.
  public func askServices() async throws(ConfigurationError) {}

  /// The keys whose values differ from those of `old` and count only at the next start, in the order of `options`, which say
  /// what a reload applies (``CommandOption/reload``).
  public func keysThatNeedRestart(since old: Self, options: [CommandOption]) -> [String] {
    options.filter { $0.reload == .needsRestart }.compactMap(\.key).filter {
      Self.value($0, in: self) != Self.value($0, in: old)
    }
  }

  /// Returns the value of the members that `key` names, its parts separated by dots; nil for a member that is
  /// left out.
  private static func value(_ key: String, in configuration: Self) -> AnyHashable? {
    var value: Any = configuration
    for name in key.split(separator: ".") {
      let members = Mirror(reflecting: value).children
      guard let member = members.first(where: { $0.label.map { $0 == name } ?? false }),
        let held = unwrapped(member.value)
      else { return nil }
      value = held
    }
    return (value as? any Hashable).map { AnyHashable($0) }
  }

  /// The value within an optional; nil for one that is nil.
  private static func unwrapped(_ value: Any) -> Any? {
    let mirror = Mirror(reflecting: value)
    return mirror.displayStyle == .optional ? mirror.children.first?.value : value
  }
}

/// The findings of an inspection of a configuration.
public struct ConfigurationFindings: Sendable {
  /// The variables of the process.
  public let environment: [String: String]
  /// The faults that keep the daemon from working.
  public private(set) var faults: [ConfigurationFault] = []
  /// The settings that work and may not be meant.
  public private(set) var warnings: [ConfigurationFault] = []
  /// Secrets that are nowhere. The service manager may pass them on, so that they are missing only at the start.
  public private(set) var missingSecrets: [ConfigurationFault] = []

  /// Findings of an inspection that has not begun.
  init(environment: [String: String]) {
    self.environment = environment
  }

  /// Keeps the faults that `body` throws. An error of another type is a fault of `key`.
  public mutating func check(_ key: String, _ body: () throws -> Void) {
    do {
      try body()
    } catch let error as ConfigurationError {
      faults += error.faults
    } catch {
      faults.append(ConfigurationFault(subject: key, message: "\(error)"))
    }
  }

  /// Keeps a fault of each address that an earlier key of `addresses` has as well: a second listener cannot have it. Those with port 0
  /// are of different ports.
  public mutating func refuseRepetition(of addresses: [(key: String, address: String)]) {
    var first: [String: String] = [:]
    for (key, address) in addresses where !address.hasSuffix(":0") {
      if let other = first[address] {
        faults.append(ConfigurationFault(subject: key, message: "\(address) stands in \(other) already"))
      } else {
        first[address] = key
      }
    }
  }

  /// Keeps a warning about `key`.
  public mutating func warn(_ key: String, _ message: String) {
    warnings.append(ConfigurationFault(subject: key, message: message))
  }

  /// Keeps that the secret of `key` is nowhere.
  public mutating func miss(_ key: String, _ message: String) {
    missingSecrets.append(ConfigurationFault(subject: key, message: message))
  }
}
