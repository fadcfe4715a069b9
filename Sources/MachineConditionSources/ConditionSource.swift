package import AgentRecords

/// Someone who tells conditions of the machine.
package protocol ConditionSource: Sendable {
  /// The name that people read, and by which it ranks among the others.
  var name: ConditionSourceName { get }

  /// Tells all that it knows at the beginning, and again whenever that changes, until the task is cancelled. Each word takes the
  /// place of the one before. Returns, or throws ``ConditionSourceError``, when it can tell no more: it is run again after a while,
  /// unless this machine has none of it.
  ///
  /// - Parameter report: returns once the agent has taken the word in; what the word stops has come to rest then.
  func run(_ report: @escaping @Sendable (MachineObservation) async -> Void) async throws
}

/// Why a source tells nothing.
package struct ConditionSourceError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kind of a failure.
  package struct Code: Hashable, Sendable {
    private enum Name: Hashable, Sendable {
      case absent
      case away
      case nonsense
    }

    private let name: Name

    /// This machine has none of it, and will have none while this process runs.
    package static let absent = Code(name: .absent)
    /// It does not answer now.
    package static let away = Code(name: .away)
    /// Its answer means nothing.
    package static let nonsense = Code(name: .nonsense)
  }

  /// The kind, for code.
  package let code: Code
  /// A clause for people, without a full stop.
  package let message: String

  package init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  package var description: String { message }
}
