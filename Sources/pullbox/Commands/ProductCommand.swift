import Commerce
import Files
import PullboxAPI
import PullboxKit
import PullboxOperatorKit
import ServiceAPI
import ServiceRuntime
import SystemCalls

/// `product ID`: shows a product, changes its texts, takes one step of its review or its sale, or deletes it.
enum ProductCommand: Command {
  static let peer = CommandPeer.server
  static let description = CommandDescription(
    "product", summary: "Show a product, change its texts, review it, take it off sale, or delete it",
    discussion: """
      Without an option the command shows the product. A product that is off sale is
      in no list; those who bought it keep what they own. 'publish --update' changes
      everything else, from a folder's description.

      --submit hands the product in for review, with the picture of --screenshot;
      --approve and --reject need the scope review. If the product cannot be sold,
      the command names every fault.

      --delete removes a product that has only a description. A product that was
      bought or has content stays, and a subscription has to be off sale.
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
      .flag("submit", environment: .none, help: "Hand the product in for review"),
      .value(
        "screenshot", "FILE", environment: .none,
        help: "Picture for the reviewer, PNG or JPEG, at most 1 MiB; with --submit"),
      .value("notes", "TEXT", environment: .none, help: "Notes for the reviewer; with --submit"),
      .flag("approve", environment: .none, help: "Approve the product, so that it is for sale"),
      .flag("reject", environment: .none, help: "Reject the product"),
      .value(
        "reason", "TEXT", environment: .none,
        help: "Reason, kept with the review and in the audit log; with --reject or --off-sale"),
      .flag("delete", environment: .none, help: "Delete the product"), .confirmed,
    ])

  /// Reads the product first; an unknown one is `product-unknown`. A change puts the whole description back,
  /// so that a change that another operator makes in between is undone by it. With `--off-sale` the step
  /// follows the change.
  static func run(_ context: CommandContext) async throws {
    let id = try context.product(0)
    let arguments = context.arguments
    let (title, text) = (arguments.value("title"), arguments.value("description"))
    let (puts, takes) = (arguments.isSet("on-sale"), arguments.isSet("off-sale"))
    guard !(puts && takes) else { throw UsageError("--on-sale and --off-sale exclude each other") }
    let step = try await step(arguments, takes: takes)
    if arguments.isSet("delete") {
      guard step == nil, title == nil, text == nil, !puts else { throw UsageError("--delete goes alone") }
      return try await Deletion.run("the product \(id)", id.description, context) {
        client async throws(APICallError) in
        try await client.remove(id)
      }
    }
    let client = try context.patientClient()
    guard var entry = try await client.product(id) else {
      throw APICallError.problem(Problem(.productUnknown, "\(id)"))
    }
    if title != nil || text != nil || puts {
      guard step == nil || takes else {
        throw UsageError("a step of the review goes without changes of the product")
      }
      var product = entry.product
      if title != nil || text != nil {
        let locale = try locale(arguments.value("locale"), of: product)
        var texts = product.localizations[locale] ?? Commerce.Product.Localization(title: "", description: "")
        if let title { texts.title = title }
        if let text { texts.description = text }
        product.localizations[locale] = texts
      }
      entry = try await client.put(
        id,
        ProductDescription(of: product, onSale: puts ? true : nil))
    }
    if let step { entry = try await client.perform(step, on: id) }
    try show(entry, on: context.console)
  }

  /// Nil without a step. Reads the picture of `--screenshot`, at most 1 MiB. Two steps at once are wrong
  /// usage.
  private static func step(_ arguments: ParsedArguments, takes: Bool) async throws -> ProductStep? {
    let names = ["submit", "approve", "reject"].filter { arguments.isSet($0) } + (takes ? ["off-sale"] : [])
    guard names.count <= 1 else {
      throw UsageError(names.map { "--\($0)" }.joined(separator: " and ") + " exclude each other")
    }
    let reason = arguments.value("reason")
    switch names.first {
    case "submit":
      var screenshot: [UInt8]?
      if let path = arguments.value("screenshot") {
        screenshot = try await BlockingPool.shared.run { () throws(SystemError) in
          try FileSystem.read(path, upTo: .mebibytes(1))
        }
      }
      return .submit(screenshot: screenshot, notes: arguments.value("notes"))
    case "approve": return .approve
    case "reject": return .reject(reason: reason)
    case "off-sale": return .withdraw(reason: reason)
    default: return nil
    }
  }

  /// The language that is given, else the product's only one, else `en-US` for a product without texts.
  private static func locale(_ given: String?, of product: Commerce.Product) throws(UsageError) -> String {
    if let given { return given }
    let locales = product.localizations.keys.sorted()
    switch locales.count {
    case 0: return "en-US"
    case 1: return locales[0]
    default: throw UsageError("the product has texts in \(locales.joined(separator: ", ")); give --locale")
    }
  }

  /// Lines without a value are left out. Prices are sorted by their territory.
  private static func show(_ entry: OperatorProduct, on console: Console) throws {
    if console.printsJSON {
      try console.print(json: entry)
      return
    }
    let product = entry.product
    console.print(
      "\(product.id): \(product.type.rawValue), \(entry.onSale ? "on sale" : entry.sale == .withdrawn ? "off sale" : entry.sale.rawValue)"
    )
    for (locale, texts) in product.localizations.sorted(by: { $0.key < $1.key }) {
      console.print(
        "  \(locale)  \(texts.title)" + (texts.description.isEmpty ? "" : ": \(texts.description)"))
      if let terms = texts.terms { console.print("  terms   \(locale): \(terms)") }
    }
    if let period = product.period { console.print("  period  \(period)") }
    let prices = product.prices.sorted { $0.key < $1.key }.map {
      "\($0.key) \($0.value.amount) \($0.value.currency)"
    }
    console.print(
      "  price   \(prices.isEmpty ? product.priceTier == nil ? "free, everywhere" : "by tier" : prices.joined(separator: ", "))"
    )
    if let tier = product.priceTier { console.print("  tier    \(tier)") }
    for entry in product.preservedPrices ?? [] {
      let prices = entry.prices.sorted { $0.key < $1.key }.map {
        "\($0.key) \($0.value.amount) \($0.value.currency)"
      }
      console.print(
        "  kept    \(prices.joined(separator: ", ")), for subscribers from before \(LocalTime.text(entry.before))"
      )
    }
    if let from = product.availableFrom { console.print("  from    \(LocalTime.text(from))") }
    if let until = product.availableUntil { console.print("  until   \(LocalTime.text(until))") }
    if let application = product.application { console.print("  in      \(application)") }
    if let address = product.privacyURL { console.print("  privacy \(address)") }
    if product.keepRevoked == true { console.print("  kept    by those whose purchase is taken back") }
    if let review = entry.review, entry.sale == .submitted {
      console.print(
        "  review  submitted by \(review.submittedBy), \(LocalTime.text(review.submitted))"
          + (review.notes.map { ": \($0)" } ?? ""))
    }
    if let review = entry.review, entry.sale == .rejected {
      console.print("  review  rejected" + (review.reason.map { ": \($0)" } ?? ""))
    }
    if let publication = product.publication { console.print("  of      \(publication)") }
    if let date = product.publicationDate { console.print("  date    \(LocalTime.text(date))") }
    console.print("  changed \(LocalTime.text(entry.changed))")
  }
}
