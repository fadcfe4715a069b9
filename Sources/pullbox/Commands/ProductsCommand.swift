import Commerce
import PullboxAPI
import PullboxKit
import ServiceRuntime

enum ProductsCommand: Command {
  static let peer = CommandPeer.server
  static let description = CommandDescription(
    "products", summary: "Show the server's products",
    options: [
      .value("publication", "ID", environment: .some(nil), help: "Only the products of that publication"),
      .value(
        "state", "STATE", environment: .some(nil),
        help:
          "Only products with a version that is \(VersionState.allCases.map(\.rawValue).joined(separator: ", "))"
      ),
      .value("limit", "N", environment: .some(nil), fallback: "200", help: "At most so many"),
    ])

  static func run(_ context: CommandContext) async throws {
    let publication = try context.arguments.value("publication").map(CommandContext.product)
    let state = try context.arguments.value("state").map { text throws(UsageError) in
      guard let state = VersionState(rawValue: text) else {
        throw UsageError(
          "--state takes one of \(VersionState.allCases.map(\.rawValue).joined(separator: ", ")), not '\(text)'"
        )
      }
      return state
    }
    let limit = try context.arguments.integer("limit", in: 1...Paging.maximumItems) ?? 200
    let client = try context.operatorClient()
    let products = try await Paging.all(limit: limit) {
      try await client.products(in: publication, withVersionsIn: state, after: $0)
    }
    try print(products, context.console)
  }

  static func print(_ products: [OperatorProduct], _ console: Console) throws {
    try console.print(
      products,
      columns: [
        .text("PRODUCT"), .text("TYPE"), .text("FOR SALE"), .text("RELEASED"), .number("VERSIONS"),
        .text("TITLE"),
      ], whenEmpty: "no products"
    ) { entry in
      [
        entry.product.id.text, entry.product.type.rawValue, forSale(entry),
        released(entry), String(entry.versionCount),
        entry.product.localizations.min { $0.key < $1.key }?.value.title ?? "",
      ]
    }
  }

  /// `yes`, `no`, or `to 10 %` while only a part of the devices gets a version.
  private static func forSale(_ entry: OperatorProduct) -> String {
    if entry.clearedForSale { return "yes" }
    return entry.versions.lazy.filter { $0.state == .released }.compactMap(\.percentage).first
      .map { "to \($0) %" } ?? "no"
  }

  /// `1.0`, or `1.0, 1.1 to 10 %` while a part of the devices gets another version.
  private static func released(_ entry: OperatorProduct) -> String {
    entry.versions.filter { $0.state == .released }.sorted { ($0.percentage ?? 0) > ($1.percentage ?? 0) }
      .map { version in
        let percentage = version.percentage ?? 100
        return percentage < 100 ? "\(version.version) to \(percentage) %" : version.version.text
      }.joined(separator: ", ")
  }
}
