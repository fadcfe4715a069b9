import Commerce
import PullboxAPI
import PullboxKit
import PullboxOperatorKit
import ServiceAPI
import ServiceRuntime

/// A command that prints names for the completions of shells, one a line. It prints no errors: a shell has no place for
/// them. An unknown list and a service that does not answer print nothing, with exit code 0.
enum CompleteCommand: Command {
  /// `ValueCompletion.listed` names one of them. The words are part of the completions that packages install,
  /// so that they stay as they are.
  enum List: String, CaseIterable {
    /// Identifiers of downloads.
    case downloads
    /// Products of this device's library.
    case library
    /// Products of the server, for operators.
    case products
    /// Publications that the agent lists.
    case publications
    /// Products that the device's account can buy.
    case sale
    /// Products of the account's subscriptions.
    case subscriptions
  }

  static let peer = CommandPeer.offline
  static let description = CommandDescription(
    "complete", summary: "Print names for the completions of a shell",
    operands: [.init("LIST")])

  /// A shell that waits longer for a Tab is broken to its user.
  private static let patience = Duration.seconds(2)

  /// Prints what comes within two seconds. A list that is unknown, a failure and the end of the time are the same:
  /// nothing is printed, and the code is 0.
  static func run(_ context: CommandContext) async throws {
    guard let list = List(rawValue: try context.operand(0)) else { return }
    let names: [String]
    do {
      names = try await withTimeout(patience) {
        try await Self.names(of: list, context)
      } expired: {
        CancellationError()
      }
    } catch {
      return
    }
    for name in names { context.console.print(name) }
  }

  /// The names of one list. The server lists its first page only, and downloads are the newest hundred.
  private static func names(of list: List, _ context: CommandContext) async throws -> [String] {
    switch list {
    case .downloads:
      try await context.agent().downloads(limit: 100).map(\.id.description)
    case .library:
      Set(try await context.agent().library().map(\.product.description)).sorted()
    case .products:
      try await context.operatorClient().products().items.map(\.product.id.description)
    case .publications:
      try await context.agent().publications().publications.map(\.id.description)
    case .sale:
      try await productsForSale(context.agent())
    case .subscriptions:
      Set(try await context.agent().subscriptions().map(\.product.description)).sorted()
    }
  }

  /// The first page of each publication, and of what belongs to none.
  private static func productsForSale(_ agent: AgentClient) async throws -> [String] {
    var pages = [try await agent.singles()]
    for publication in try await agent.publications().publications {
      pages.append(try await agent.publication(publication.id))
    }
    return pages.flatMap { $0.subscriptions + $0.issues }.map(\.listing.id.description)
  }
}

extension CommandDescription.Operand {
  /// A product of this device's library.
  static func inLibrary(isRequired: Bool = true, repeats: Bool = false) -> Self {
    Self(
      "ID", isRequired: isRequired, repeats: repeats,
      completion: .listed(CompleteCommand.List.library.rawValue))
  }

  /// A product that this device's account can buy.
  static let forSale = Self("ID", completion: .listed(CompleteCommand.List.sale.rawValue))

  /// A publication of the delivery server, as this device's agent lists it.
  static let publication = Self(
    "PUBLICATION", isRequired: false, completion: .listed(CompleteCommand.List.publications.rawValue))

  /// A product that this device's account subscribes to.
  static let subscription = Self(
    "ID", isRequired: false, completion: .listed(CompleteCommand.List.subscriptions.rawValue))

  /// A product of the server.
  static func product(isRequired: Bool = true) -> Self {
    Self("ID", isRequired: isRequired, completion: .listed(CompleteCommand.List.products.rawValue))
  }

  /// A download of this device's agent.
  static func download(isRequired: Bool = true, repeats: Bool = false) -> Self {
    Self(
      "DOWNLOAD", isRequired: isRequired, repeats: repeats,
      completion: .listed(CompleteCommand.List.downloads.rawValue))
  }
}
