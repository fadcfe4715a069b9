import ServiceRuntime

/// One command of `pullbox`.
protocol Command: SendableMetatype {
  static var description: CommandDescription { get }
  /// Whom it talks to, for what is said when nobody answers.
  static var peer: CommandPeer { get }
  /// Prints its result on standard output and nothing else there. What it throws is told by ``CommandFailure``.
  static func run(_ context: CommandContext) async throws
}
