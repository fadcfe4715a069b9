import Commerce
import PullboxAPI
import PullboxKit
import ServiceRuntime

enum ProductsCommand: Command {
  static let peer = CommandPeer.server
  static let description = CommandDescription("products", summary: "Show the server's products")

  static func run(_ context: CommandContext) async throws {
    let client = try context.operatorClient()
    let products = try await Paging.all { try await client.products(after: $0) }
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
        entry.product.id.text, entry.product.type.rawValue, entry.clearedForSale ? "yes" : "no",
        entry.versions.first { $0.state == .released }?.version.text ?? "", String(entry.versions.count),
        entry.product.localizations.min { $0.key < $1.key }?.value.title ?? "",
      ]
    }
  }
}
