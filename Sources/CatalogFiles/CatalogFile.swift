public import CoreTypes
import PullboxAPI
public import ServiceAPI
public import ServiceRuntime

/// Why a line of a catalog's file is refused.
public struct CatalogFileFault: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kind of a fault.
  public struct Code: RawRepresentable, Hashable, Sendable {
    /// The word.
    public let rawValue: String

    /// A code of that word.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// A row has too many cells, or others than the first row.
    public static let columns = Code(rawValue: "columns")
    /// There are too many rows.
    public static let rows = Code(rawValue: "rows")
    /// A cell is too long.
    public static let length = Code(rawValue: "length")
    /// A quotation mark is not where one may be.
    public static let quote = Code(rawValue: "quote")
    /// There is a NUL.
    public static let nul = Code(rawValue: "nul")
    /// The bytes are not UTF-8.
    public static let encoding = Code(rawValue: "encoding")
    /// A line ends neither with LF nor with CRLF.
    public static let lineBreak = Code(rawValue: "line-break")
    /// The first row names a column that is not known, or one twice, or not `id`.
    public static let header = Code(rawValue: "header")
    /// A cell is not what its column has.
    public static let cell = Code(rawValue: "cell")
    /// A line is no JSON object of a product.
    public static let json = Code(rawValue: "json")
  }

  /// From 1.
  public let line: Int
  /// From 1, in characters.
  public let column: Int
  /// The column's name, or the member's with those around it; nil where the line is meant.
  public let member: String?
  /// The kind of the fault.
  public let code: Code
  /// The fault, in words for people.
  public let detail: String

  init(line: Int, column: Int = 1, member: String? = nil, _ code: Code, _ detail: String) {
    self.line = line
    self.column = column
    self.member = member
    self.code = code
    self.detail = detail
  }

  /// The line and what is wrong with it.
  public var description: String { "line \(line): \(member.map { "\($0): " } ?? "")\(detail)" }

  /// The same as a fault of the file at `path`, with line and column.
  public func fault(in path: String) -> ConfigurationFault {
    ConfigurationFault(
      subject: member ?? path, message: detail, origin: .file(path: path, line: line, column: column))
  }
}

/// Why a file is no catalog: every fault that was found.
public struct CatalogFileError: Error, Hashable, Sendable, CustomStringConvertible {
  /// In the order of the lines; never empty.
  public let faults: [CatalogFileFault]

  /// The faults, one on each line.
  public var description: String { faults.map(\.description).joined(separator: "\n") }
}

/// Products, publications and price tiers in a file: comma-separated values with a header, or JSON with one object on each line.
///
/// The columns are `id`, `type`, `publication`, `publicationDate`, `period`, `onSale`, `samples`, `priceTier`, `availableFrom`,
/// `availableUntil`, `application`, `privacyURL`, `ownedIfVersionBelow`, `ownedIfPurchaseBefore`, `keepRevoked`, and as many of `title:LOCALE`,
/// `description:LOCALE`, `terms:LOCALE`, `price:TERRITORY` and `preserved:TERRITORY:DATE` as there are; a price is written `2.99 EUR`. A row whose `kind` is
/// `publication` has `id`, `cover`, `order` and texts, one whose `kind` is `price-tier` has `id` and prices. An empty cell takes away
/// what was there; a column that is not there leaves it as it is. In JSON, a line is a product, or `{"publications":[…]}` or `{"priceTiers":[…]}`.
public struct CatalogFile: Sendable {
  /// How a file is written.
  public enum Format: String, Sendable, CaseIterable {
    case csv
    case json

    /// By the end of the name, `.csv` or `.json`; nil for others.
    public init?(path: String) {
      guard let dot = path.lastIndex(of: ".") else { return nil }
      self.init(rawValue: path[path.index(after: dot)...].lowercased())
    }
  }

  /// The description of one item.
  public enum Content: Sendable {
    /// A product.
    case product(ProductDescription)
    /// A publication.
    case publication(PublicationDescription)
    /// Prices that products share.
    case priceTier(PriceTierDescription)
  }

  /// Longer files are refused.
  public static let maximumLength = ByteCount.mebibytes(32)
  /// Faults that are named, at most.
  public static let maximumFaults = 100

  /// An item and its line.
  public struct Item: Sendable {
    /// The line at which it begins, from 1.
    public let line: Int
    /// Each has its name.
    public let content: Content
  }

  /// In the order of the file.
  public let items: [Item]
  /// The members that the columns of a sheet describe; nil in JSON, where every line describes its item whole.
  private let members: [CatalogMember]?

  /// The import that a server is asked to make of the file.
  public var catalog: CatalogImport {
    var catalog = CatalogImport(products: [], members: members)
    for item in items {
      switch item.content {
      case .product(let product): catalog.products.append(product)
      case .publication(let publication): catalog.publications = (catalog.publications ?? []) + [publication]
      case .priceTier(let tier): catalog.priceTiers = (catalog.priceTiers ?? []) + [tier]
      }
    }
    return catalog
  }

  /// The line of an item of ``catalog``: `list` is `products`, `publications` or `priceTiers`, `index` is counted from 0. Nil where
  /// there is none.
  public func line(of list: String, _ index: Int) -> Int? {
    let lines = items.lazy.filter { item in
      switch item.content {
      case .product: list == "products"
      case .publication: list == "publications"
      case .priceTier: list == "priceTiers"
      }
    }.map(\.line)
    return lines.dropFirst(index).first
  }

  /// Reads the bytes of a file. Throws ``CatalogFileError`` with every faulty line, at most ``maximumFaults``.
  public init(_ bytes: [UInt8], as format: Format) throws(CatalogFileError) {
    var faults: [CatalogFileFault] = []
    let (items, columns): ([Item], [CatalogColumn]?) =
      switch format {
      case .csv: Self.csvItems(bytes, &faults)
      case .json: (Self.jsonItems(bytes, &faults), nil)
      }
    guard faults.isEmpty else { throw CatalogFileError(faults: Array(faults.prefix(Self.maximumFaults))) }
    self.items = items
    members = columns?.compactMap(\.member)
  }

  private static func csvItems(
    _ bytes: [UInt8], _ faults: inout [CatalogFileFault]
  ) -> ([Item], [CatalogColumn]) {
    var reader = CSVReader(bytes)
    var items: [Item] = []
    var columns: [CatalogColumn] = []
    do throws(CatalogFileFault) {
      guard let header = try reader.next() else {
        throw CatalogFileFault(line: 1, .header, "the file is empty")
      }
      columns = try CatalogColumn.columns(of: header)
      while faults.count < maximumFaults, let row = try reader.next() {
        // A spreadsheet ends its file with empty lines.
        if row.cells.allSatisfy(\.isEmpty) { continue }
        guard items.count < CatalogImport.maximumItems else {
          throw CatalogFileFault(line: row.line, .rows, "more than \(CatalogImport.maximumItems) products")
        }
        do throws(CatalogFileFault) {
          items.append(Item(line: row.line, content: try CatalogColumn.content(of: row, columns)))
        } catch {
          faults.append(error)
        }
      }
    } catch {
      faults.append(error)
    }
    return (items, columns)
  }

  private static func jsonItems(_ bytes: [UInt8], _ faults: inout [CatalogFileFault]) -> [Item] {
    var items: [Item] = []
    for (index, line) in bytes.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
      guard faults.count < maximumFaults else { break }
      guard line.contains(where: { $0 != 0x20 && $0 != 0x09 && $0 != 0x0D }) else { continue }
      guard items.count < CatalogImport.maximumItems else {
        faults.append(
          CatalogFileFault(line: index + 1, .rows, "more than \(CatalogImport.maximumItems) products"))
        break
      }
      do {
        for content in try contents(ofLine: Array(line)) {
          if !content.isNamed {
            faults.append(CatalogFileFault(line: index + 1, .json, "id or name is missing"))
          }
          items.append(Item(line: index + 1, content: content))
        }
      } catch {
        faults.append(Self.fault(error, ofLine: index + 1, Array(line)))
      }
    }
    return items
  }

  private static func fault(_ error: any Error, ofLine number: Int, _ line: [UInt8]) -> CatalogFileFault {
    var found = ConfigurationFault(subject: "", message: APIJSON.explain(error))
    do throws(ConfigurationError) {
      let places = try DocumentPlaces(line, of: "")
      if let fault = APIJSON.fault(error) { found = places.fault(at: fault.path, fault.message) }
    } catch {
      found = error.faults.first ?? found
    }
    var column = 1
    if case .file(_, _, let place)? = found.origin { column = place }
    return CatalogFileFault(
      line: number, column: column, member: found.subject.isEmpty ? nil : found.subject, .json, found.message)
  }

  /// The publications and price tiers on a line of JSON.
  private struct Others: Codable, OperatorWritten {
    var publications: [PublicationDescription]?
    var priceTiers: [PriceTierDescription]?
  }

  private static func contents(ofLine line: [UInt8]) throws -> [Content] {
    let start = line.drop { $0 != 0x22 }
    // No member of a product is called so.
    guard start.starts(with: "\"publications\"".utf8) || start.starts(with: "\"priceTiers\"".utf8) else {
      return [.product(try APIJSON.decode(ProductDescription.self, from: line))]
    }
    let others = try APIJSON.decode(Others.self, from: line)
    return (others.priceTiers ?? []).map { .priceTier($0) }
      + (others.publications ?? []).map { .publication($0) }
  }

  /// A file that this type reads. Throws what the encoder throws.
  public static func text(of contents: [Content], as format: Format) throws -> String {
    switch format {
    case .json:
      return try contents.map { content in
        let bytes =
          switch content {
          case .product(let product): try APIJSON.encode(product)
          case .publication(let publication): try APIJSON.encode(Others(publications: [publication]))
          case .priceTier(let tier): try APIJSON.encode(Others(priceTiers: [tier]))
          }
        return String(decoding: bytes, as: UTF8.self) + "\n"
      }.joined()
    case .csv:
      let columns = CatalogColumn.columns(for: contents)
      return CSVText.line(columns.map(\.name))
        + contents.map { content in CSVText.line(columns.map { $0.text(of: content) }) }.joined()
    }
  }
}
