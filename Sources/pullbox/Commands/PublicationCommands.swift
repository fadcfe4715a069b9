import Commerce
import PullboxAPI
import PullboxAPIClient
import PullboxKit
import PullboxOperatorKit
import ServiceAPI
import ServiceRuntime

/// `publications`: the descriptions of publications, all of them. Products may name publications that have
/// none.
enum PublicationsCommand: Command {
  static let peer = CommandPeer.server
  static let description = CommandDescription(
    "publications", summary: "Show the publications that are described, or delete a description",
    discussion: """
      'pullbox import' describes publications. Without a description a publication
      has its identifier for a title, and the default policy; its products stay.
      """,
    options: [
      .value("delete", "ID", environment: .none, help: "Delete the description of this publication"),
      .confirmed,
    ])

  /// Prints all descriptions in one table, or deletes one after a question. An identifier that cannot be one is wrong
  /// usage before the question.
  static func run(_ context: CommandContext) async throws {
    if let text = context.arguments.value("delete") {
      guard let id = ProductIdentifier(text) else {
        throw UsageError(
          "'\(text)' is not a publication's identifier: 1 to 255 of A-Z a-z 0-9 . _ -, not starting with a dot"
        )
      }
      return try await Deletion.run("the description of \(id)", id.description, context) {
        client async throws(APICallError) in
        try await client.removePublication(id)
      }
    }
    let publications = try await context.operatorClient().publications()
    try context.console.print(
      publications,
      columns: [
        .name("PUBLICATION"), .number("ORDER"), .text("COVER"), .text("TITLE"), .sentence("POLICY"),
      ], whenEmpty: "no publication is described"
    ) { publication in
      [
        publication.id.description, publication.order.map(String.init) ?? "",
        publication.cover?.description ?? "",
        publication.localizations.min { $0.key < $1.key }?.value.title ?? "", policy(publication.policy),
      ]
    }
  }

  /// Returns the members that the policy sets, by the names of `pullbox export`.
  static func policy(_ policy: SubscriptionPolicy?) -> String {
    guard let policy else { return "" }
    let members: [(String, String?)] = [
      ("keepsIssuesAfterLapse", policy.keepsIssuesAfterLapse?.description),
      ("latestIssueAtStart", policy.latestIssueAtStart?.description),
      ("backIssues", policy.backIssues?.description),
      ("toleranceSeconds", policy.toleranceSeconds?.description),
      ("servesInGrace", policy.servesInGrace?.description),
      ("servesInBillingRetry", policy.servesInBillingRetry?.description),
      ("keepsIssuesOfUnrecoveredGrace", policy.keepsIssuesOfUnrecoveredGrace?.description),
      ("keepsRevokedIssues", policy.keepsRevokedIssues?.description),
    ]
    return members.compactMap { name, value in value.map { "\(name) \($0)" } }.joined(separator: ", ")
  }
}

/// `price-tiers`: the tiers with their prices by territory, or the deletion of one.
enum PriceTiersCommand: Command {
  static let peer = CommandPeer.server
  static let description = CommandDescription(
    "price-tiers", summary: "Show the price tiers, or delete one",
    discussion: """
      'pullbox import' makes tiers. One that a product names cannot be deleted, and
      the tier 0 is always there: free everywhere.
      """,
    options: [
      .value("delete", "NAME", environment: .none, help: "Delete this tier"), .confirmed,
    ])

  /// Prints all tiers in one table, or deletes one after a question. A tier without a price is free everywhere.
  static func run(_ context: CommandContext) async throws {
    if let text = context.arguments.value("delete") {
      guard let name = PriceTierName(text) else {
        throw UsageError("'\(text)' is not a tier's name: 1 to 64 of A-Z a-z 0-9 . _ -")
      }
      return try await Deletion.run("the price tier \(name)", name.description, context) {
        client async throws(APICallError) in
        try await client.removePriceTier(name)
      }
    }
    let tiers = try await context.operatorClient().priceTiers()
    try context.console.print(
      tiers, columns: [.name("TIER"), .sentence("PRICES")], whenEmpty: "no price tiers"
    ) { tier in
      let prices = tier.prices.sorted { $0.key < $1.key }.map {
        "\($0.key) \($0.value.amount) \($0.value.currency)"
      }
      return [tier.name.description, prices.isEmpty ? "free" : prices.joined(separator: ", ")]
    }
  }
}

/// Deletes something at the server, after a question on a terminal. The question comes after the options are
/// checked and before any request.
enum Deletion {
  /// The JSON document that is printed.
  private struct Document: Encodable {
    /// The identifier of what was deleted.
    var deleted: String
  }

  /// - Parameters:
  ///   - subject: the words for it in the question and the remark, such as `the price tier 3`.
  ///   - name: its identifier in the JSON document.
  ///   - delete: makes the request. Nothing is printed on standard output without `--json`.
  static func run(
    _ subject: String, _ name: String, _ context: CommandContext,
    _ delete: (OperatorClient) async throws(APICallError) -> Void
  ) async throws {
    let client = try context.patientClient()
    if Confirmation.isAsked(context) { try await Confirmation.ask("Delete \(subject)?") }
    try await delete(client)
    if context.console.printsJSON { try context.console.print(json: Document(deleted: name)) }
    context.console.note("\(subject) is deleted")
  }
}
