import Commerce
import PullboxAPI
import PullboxKit
import ServiceRuntime

enum ProductCommand: Command {
  static let peer = CommandPeer.server
  static let description = CommandDescription(
    "product", summary: "Show a product, change its texts, or take it off sale",
    discussion: """
      Without an option the command shows the product. A product that is off sale is
      in no list; those who bought it keep what they own. 'publish --update' changes
      everything else, from a folder's description.
      """,
    operands: [.product()],
    options: [
      .value("title", "TEXT", environment: .none, help: "New title"),
      .value("description", "TEXT", environment: .none, help: "New description"),
      .value(
        "locale", "TAG", environment: .none,
        help: "Language of the texts, such as fr-FR; may be left out where the product has one language"),
      .flag("on-sale", environment: .none, help: "Put the product on sale"),
      .flag("off-sale", environment: .none, help: "Take the product off sale"),
    ])

  static func run(_ context: CommandContext) async throws {
    let id = try context.product(0)
    let arguments = context.arguments
    let (title, text) = (arguments.value("title"), arguments.value("description"))
    let (puts, takes) = (arguments.isSet("on-sale"), arguments.isSet("off-sale"))
    guard !(puts && takes) else { throw UsageError("--on-sale and --off-sale exclude each other") }
    let client = try context.patientClient()
    guard var entry = try await client.product(id) else {
      throw APICallError.problem(Problem(.productUnknown, "\(id)"))
    }
    if title != nil || text != nil || puts || takes {
      var product = entry.product
      if title != nil || text != nil {
        let locale = try locale(arguments.value("locale"), of: product)
        var texts = product.localizations[locale] ?? Product.Localization(title: "", description: "")
        if let title { texts.title = title }
        if let text { texts.description = text }
        product.localizations[locale] = texts
      }
      entry = try await client.put(
        id,
        ProductDescription(
          type: product.type, localizations: product.localizations, prices: product.prices,
          publication: product.publication, publicationDate: product.publicationDate, period: product.period,
          onSale: puts ? true : takes ? false : nil, samples: product.samples))
    }
    try show(entry, on: context.console)
  }

  private static func locale(_ given: String?, of product: Product) throws(UsageError) -> String {
    if let given { return given }
    let locales = product.localizations.keys.sorted()
    switch locales.count {
    case 0: return "en-US"
    case 1: return locales[0]
    default: throw UsageError("the product has texts in \(locales.joined(separator: ", ")); give --locale")
    }
  }

  private static func show(_ entry: OperatorProduct, on console: Console) throws {
    if console.printsJSON {
      try console.print(json: entry)
      return
    }
    let product = entry.product
    console.print("\(product.id): \(product.type.rawValue), \(entry.onSale ? "on sale" : "off sale")")
    for (locale, texts) in product.localizations.sorted(by: { $0.key < $1.key }) {
      console.print(
        "  \(locale)  \(texts.title)" + (texts.description.isEmpty ? "" : ": \(texts.description)"))
    }
    let prices = product.prices.sorted { $0.key < $1.key }.map {
      "\($0.key) \($0.value.amount) \($0.value.currency)"
    }
    console.print("  price   \(prices.isEmpty ? "free, everywhere" : prices.joined(separator: ", "))")
    if let publication = product.publication { console.print("  of      \(publication)") }
    if let date = product.publicationDate { console.print("  date    \(LocalTime.text(date))") }
    console.print("  changed \(LocalTime.text(entry.changed))")
  }
}
