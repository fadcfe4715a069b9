import Commerce
import PullboxAPI
import PullboxKit
import ServiceRuntime

/// `rollback ID [VERSION]`: goes back to an earlier version that is still on this device, or on to a later one.
enum RollbackCommand: Command {
  static let peer = CommandPeer.agent
  static let description = CommandDescription(
    "rollback", summary: "Read an earlier version of a product that is still on this device",
    discussion: """
      Without VERSION it is the one before the version that is read. The agent keeps an \
      earlier version for some days (keepPrevious) after a later one has replaced it. \
      'rollback ID VERSION' with the later one goes on to it again, and a correction that \
      comes is read at once.
      """,
    operands: [.inLibrary(), .init("VERSION", isRequired: false)])

  /// Makes one request. The agent refuses where there is no such version.
  static func run(_ context: CommandContext) async throws {
    let product = try context.product(0)
    var version: ContentVersion?
    if let text = context.arguments.operands.dropFirst().first {
      guard let named = ContentVersion(text) else { throw UsageError("'\(text)' is no version") }
      version = named
    }
    let items = try await context.agent().goBack(product, to: version)
    guard !context.console.printsJSON else {
      for item in items { try context.console.print(json: item) }
      return
    }
    if let item = items.current(of: product) {
      context.console.note("\(item.version) is read from now on: \(item.path)")
    }
  }
}
