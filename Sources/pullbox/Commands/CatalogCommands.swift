import Commerce
import CoreTypes
import PullboxAPI
import PullboxKit
import PullboxOperatorKit
import ServiceAPI
import ServiceRuntime
import SystemCalls

/// `products`: the products of the server page by page, filtered by the server. With `--json` they are
/// objects of `GET /v1/operator/products`.
enum ProductsCommand: Command {
  static let peer = CommandPeer.server
  static let description = CommandDescription(
    "products", summary: "Show the products of the server, as operators see them",
    options: [
      .value("publication", "ID", environment: .none, help: "Show only products of this publication"),
      .value(
        "type", "TYPE", environment: .none,
        help:
          "Show only products of this type: \(ProductType.allCases.map(\.rawValue).joined(separator: ", "))"
      ),
      .value(
        "state", "STATE", environment: .none,
        help:
          "Show only products with a version in this state: \(VersionState.allCases.map(\.rawValue).joined(separator: ", "))"
      ),
      .value(
        "sale", "STATE", environment: .none,
        help:
          "Show only products whose sale is in this state: \(SaleState.allCases.map(\.rawValue).joined(separator: ", "))"
      ),
      .value(
        "order", "ORDER", environment: .none, fallback: "id",
        help: "id, or changed: the latest change of a description, a sale or what is released first"),
      .limit,
    ])

  /// Checks every filter before the first request: a value that does not exist is wrong usage. Without an
  /// operator's key it names `shop`, which readers look for.
  static func run(_ context: CommandContext) async throws {
    let sale: SaleState? = try choice("sale", of: context)
    let publication = try context.arguments.value("publication").map(CommandContext.product)
    let type: ProductType? = try choice("type", of: context)
    let state: VersionState? = try choice("state", of: context)
    let order: ProductOrder? = try choice("order", of: context)
    guard context.arguments.value("operator-key") != nil else {
      throw UsageError(
        "operators list products, with --operator-key or PULLBOX_OPERATOR_KEY; 'pullbox shop' shows readers what is for sale"
      )
    }
    let client = try context.operatorClient()
    try await context.printList {
      try await client.products(
        in: publication, ofType: type, withVersionsIn: state, sale: sale, order: order ?? .id, after: $0)
    } asTable: {
      try print($0, on: context.console)
    }
  }

  /// The word that an option takes; nil without the option. Throws a usage error for another word, which names all of them.
  private static func choice<Value: RawRepresentable & CaseIterable>(
    _ name: String, of context: CommandContext
  ) throws(UsageError) -> Value? where Value.RawValue == String {
    guard let text = context.arguments.value(name) else { return nil }
    guard let value = Value(rawValue: text) else {
      let words = Value.allCases.map { $0.rawValue }.joined(separator: ", ")
      throw UsageError("--\(name) takes one of \(words), not '\(text)'")
    }
    return value
  }

  /// A product has the title of its first language by the tag.
  static func print(_ products: [OperatorProduct], on console: Console) throws {
    try console.print(
      products,
      columns: [
        .name("PRODUCT"), .text("TYPE"), .text("FOR SALE"), .text("RELEASED"), .number("VERSIONS"),
        .text("TITLE"),
      ], whenEmpty: "no products"
    ) { entry in
      [
        entry.product.id.description, entry.product.type.rawValue, forSale(entry),
        released(entry), String(entry.versionCount),
        entry.product.localizations.min { $0.key < $1.key }?.value.title ?? "",
      ]
    }
  }

  /// `yes`, `no`, or `to 10 %` while a version is rolled out to a part of the devices.
  private static func forSale(_ entry: OperatorProduct) -> String {
    if entry.clearedForSale { return "yes" }
    return entry.versions.lazy.filter { $0.state == .released }.compactMap(\.percentage).first
      .map { "to \($0) %" } ?? "no"
  }

  /// `1.0`, or `1.0, 1.1 to 10 %` while another version is rolled out to a part of the devices.
  private static func released(_ entry: OperatorProduct) -> String {
    entry.versions.filter { $0.state == .released }.sorted { ($0.percentage ?? 0) > ($1.percentage ?? 0) }
      .map { version in
        let percentage = version.percentage ?? 100
        return percentage < 100 ? "\(version.version) to \(percentage) %" : version.version.description
      }.joined(separator: ", ")
  }
}

/// `versions ID [VERSION]`: the versions of a product as a list, or one of them with its history. An unknown
/// version is exit code 1.
enum VersionsCommand: Command {
  static let peer = CommandPeer.server
  static let description = CommandDescription(
    "versions", summary: "Show the content versions of a product, or one version with its history",
    operands: [.product(), .init("VERSION", isRequired: false)],
    options: [.limit])

  /// Prints one version with ``show(_:on:)``, or all of them page by page. Throws ``CommandFailure`` with code 1 for a
  /// version that the server does not know.
  static func run(_ context: CommandContext) async throws {
    let product = try context.product(0)
    let client = try context.operatorClient()
    if context.arguments.operands.count > 1 {
      let version = try context.version(1)
      guard let record = try await client.version(version, of: product) else {
        throw CommandFailure(.failed, "\(product) has no version \(version)")
      }
      return try show(record, on: context.console)
    }
    try await context.printList {
      try await client.versions(of: product, after: $0)
    } asTable: {
      try print($0, on: context.console)
    }
  }

  /// Prints the version after a step: a line, or JSON.
  static func report(_ version: VersionRecord, on console: Console) throws {
    if console.printsJSON {
      try console.print(json: version)
      return
    }
    var line = "\(version.product) \(version.version): \(state(version))"
    if let scheduled = schedule(version) { line += "; to be released \(scheduled)" }
    if let reason = version.reason { line += " (\(reason))" }
    console.print(line)
    if let next = nextCommand(version) { console.note("next: \(next)") }
    if let late = version.lateRelease, late.laterSubscribers > 0 { console.note(lateRelease(late)) }
  }

  /// Returns the command that brings the version nearer to its readers; nil if there is none left.
  static func nextCommand(_ version: VersionRecord) -> String? {
    let name = "\(version.product) \(version.version)"
    switch version.state {
    case .draft: return "pullbox submit \(name)"
    case .submitted: return "pullbox approve \(name)"
    case .approved: return version.scheduled == nil ? "pullbox release \(name)" : nil
    case .released, .superseded, .rejected, .withdrawn: return nil
    }
  }

  /// Whom an issue reaches that is released behind its date. Times are in the reader's zone.
  static func lateRelease(_ late: LateRelease) -> String {
    let others = CountText.of(late.laterSubscribers, "subscriber")
    return
      "it is dated \(LocalTime.text(late.publicationDate)): it opens to who subscribed then, and to \(others) more whose "
      + "\(late.laterSubscribers == 1 ? "subscription runs" : "subscriptions run") now"
  }

  /// A table of versions in the order of the server. With `--json` each version is an object of its own.
  private static func print(_ versions: [VersionRecord], on console: Console) throws {
    let columns: [(TextTable.Column, (VersionRecord) -> String)] = [
      (.name("VERSION"), { $0.version.description }), (.text("STATE"), state),
      (.number("SIZE"), { $0.length.description }), (.number("FILES"), { String($0.files) }),
      (.text("RELEASED"), { $0.released.map(LocalTime.text) ?? "" }),
      (.text("TO BE RELEASED"), { schedule($0) ?? "" }), (.sentence("REASON"), { $0.reason ?? "" }),
    ]
    // A column that is empty for every version is left out.
    let shown = columns.filter { column in versions.contains { !column.1($0).isEmpty } }
    try console.print(versions, columns: shown.map(\.0), whenEmpty: "no versions") { version in
      shown.map { $0.1(version) }
    }
  }

  /// `released to 10 % of devices`, `withdrawn, downloads stopped`.
  static func state(_ version: VersionRecord) -> String {
    if version.state == .released, let percentage = version.percentage, percentage < 100 {
      return "released to \(percentage) % of devices"
    }
    return version.state.rawValue + (version.downloadsStopped == true ? ", downloads stopped" : "")
  }

  /// Nil for a version whose release waits for no date.
  private static func schedule(_ version: VersionRecord) -> String? {
    version.scheduled.map {
      LocalTime.withZone($0.at) + ($0.percentage < 100 ? " to \($0.percentage) % of devices" : "")
    }
  }

  /// Lines without a value are left out. The history follows as `audit` prints it.
  private static func show(_ version: VersionRecord, on console: Console) throws {
    if console.printsJSON {
      try console.print(json: version)
      return
    }
    console.print("\(version.product) \(version.version): \(state(version))")
    let lines = [
      (
        "size", "\(version.length) (\(version.length.rawValue) bytes), \(CountText.of(version.files, "file"))"
      ),
      ("sha256", "\(version.digest)"), ("submitted by", version.submittedBy),
      ("approved by", version.approvedBy), ("released", version.released.map(LocalTime.text)),
      ("to be released", schedule(version)), ("reason", version.reason),
    ]
    for (name, text) in lines {
      guard let text else { continue }
      console.print("  " + name + String(repeating: " ", count: 16 - name.count) + text)
    }
    try AuditCommand.print(version.history ?? [], on: console)
  }
}
