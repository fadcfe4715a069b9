import CatalogFiles
import Commerce
import CoreTypes
import Files
import PullboxAPI
import PullboxAPIClient
import PullboxKit
import PullboxOperatorKit
import ServiceAPI
import ServiceRuntime
import SystemCalls

/// `import FILE`: reads a file of the catalog and hands all of it to the server in one request, which takes
/// all or none.
///
/// Faults that are found here and those that the server finds are told alike, with file, line and column, and
/// both are exit code 1.
enum ImportCommand: Command {
  static let peer = CommandPeer.server
  static let description = CommandDescription(
    "import", summary: "Make products, publications and price tiers as a file describes them, all or none",
    discussion: """
      FILE ends with .csv or .json: comma-separated values with a header, or one JSON \
      object on each line, as 'export' writes them. Products that are not in the file \
      stay as they are, and so do members without a column in a .csv file; an empty cell \
      removes the member. A line of JSON describes its product whole. If a line is faulty, \
      nothing is changed, and every faulty line is named. The same file a second time \
      changes nothing.
      """,
    operands: [.init("FILE", completion: .file)])

  /// The file is read whole, up to ``CatalogFile/maximumLength`` bytes. The request waits for a server that
  /// is away, and repeating it changes nothing more.
  static func run(_ context: CommandContext) async throws {
    let path = try context.operand(0)
    let format = try CatalogFilePath.format(of: path)
    let client = try context.patientClient()
    let bytes = try await BlockingPool.shared.run { () throws(SystemError) in
      try FileSystem.read(path, upTo: CatalogFile.maximumLength)
    }
    let file: CatalogFile
    do {
      file = try CatalogFile(bytes, as: format)
    } catch {
      throw CommandFailure(
        .failed, "\(path): nothing was changed:", details: error.faults.map { $0.fault(in: path).description }
      )
    }
    let report: CatalogImportReport
    do {
      report = try await client.importCatalog(file.catalog)
    } catch {
      throw failure(error, of: file, in: path)
    }
    if context.console.printsJSON {
      try context.console.print(json: report)
    } else {
      context.console.print(
        "\(report.created) created, \(report.changed) changed, \(report.unchanged) unchanged")
    }
    if report.created > 0 {
      context.console.note("next: pullbox publish DIR|FILE, the content of each product")
    }
  }

  /// The faulty lines, where the server refuses what they say; any other error as it is.
  private static func failure(
    _ error: APICallError, of file: CatalogFile, in path: String
  ) -> any Error {
    guard case .problem(let problem) = error, problem.code == .catalogInvalid else { return error }
    return CommandFailure(
      .failed, "\(path): nothing was changed:",
      details: (problem.faults ?? []).map { fault in line(of: fault, in: file, at: path) })
  }

  /// `catalog.csv:7:1: prices.XXX: not an ISO 3166 code`: the server numbers the items of each list from 0,
  /// and an item begins its line. A path that names no line of the file is shown as it is.
  static func line(of fault: Problem.Fault, in file: CatalogFile, at path: String) -> String {
    let detail = fault.detail
    let parts = (fault.path ?? "").split(separator: ".", maxSplits: 2)
    guard parts.count == 3, let index = Int(parts[1]), index >= 0,
      let line = file.line(of: String(parts[0]), index)
    else {
      return "\(fault.path ?? ""): \(detail)"
    }
    return ConfigurationFault(
      subject: String(parts[2]), message: detail, origin: .file(path: path, line: line, column: 1)
    ).description
  }
}

/// `export FILE`: writes tiers, publications and products, in that order.
///
/// The file is replaced durably once everything is there, and has mode 0644. The tier 0 is left out, which
/// every server has. More products than one import may hold are exit code 1.
enum ExportCommand: Command {
  static let peer = CommandPeer.server
  static let description = CommandDescription(
    "export", summary: "Write all products, publications and price tiers to a file",
    discussion: """
      FILE ends with .csv or .json. 'import' takes what was exported: unchanged, it \
      changes nothing. In the first form, cells that a spreadsheet would run begin \
      with an apostrophe. Publisher keys are not exported.
      """,
    operands: [.init("FILE", completion: .file)])

  /// Asks for everything before it writes, so that a request that fails leaves the file as it was. More products than one
  /// import takes are a failure. The format follows from the file's name.
  static func run(_ context: CommandContext) async throws {
    let path = try context.operand(0)
    let format = try CatalogFilePath.format(of: path)
    let client = try context.operatorClient()
    var products: [ProductDescription] = []
    let tiers = try await client.priceTiers().filter { $0.name != .free }
    let publications = try await client.publications()
    let ending = try await Paging.forEachPage(limit: CatalogImport.maximumItems) {
      try await client.products(after: $0)
    } body: { page in
      products += page.map(exported)
      return true
    }
    guard ending == .complete else {
      throw CommandFailure(.failed, "there are more than \(CatalogImport.maximumItems) products")
    }
    let text = try CatalogFile.text(
      of: tiers.map { .priceTier(PriceTierDescription(name: $0.name, prices: $0.prices)) }
        + publications.map { .publication(PublicationDescription(of: $0)) } + products.map { .product($0) },
      as: format)
    try await BlockingPool.shared.run { () throws(SystemError) in
      try DurableFile.write(Array(text.utf8).span, to: path, permissions: 0o644, ifPresent: .replace)
    }
    context.console.note(
      "\(CountText.of(products.count, "product")), \(CountText.of(publications.count, "publication")) and "
        + "\(CountText.of(tiers.count, "price tier")) in \(path)")
  }

  /// Returns the description of the product for a file that `import` reads.
  private static func exported(_ entry: OperatorProduct) -> ProductDescription {
    ProductDescription(of: entry.product, onSale: entry.onSale)
  }
}

/// The format of a catalog file by its path.
private enum CatalogFilePath {
  /// Throws for a name that ends with neither `.csv` nor `.json`.
  static func format(of path: String) throws(UsageError) -> CatalogFile.Format {
    guard let format = CatalogFile.Format(path: path) else {
      throw UsageError("the file's name ends with .csv or .json, and '\(path)' does not")
    }
    return format
  }
}
