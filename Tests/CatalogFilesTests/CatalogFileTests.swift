import Commerce
import CoreTypes
import PullboxAPI
import ServiceAPI
import ServiceRuntime
import Testing

@testable import CatalogFiles

@Suite("Catalogs in files")
struct CatalogFileTests {
  private func items(_ text: String, _ format: CatalogFile.Format = .csv) throws -> [CatalogFile.Item] {
    try CatalogFile(Array(text.utf8), as: format).items
  }

  private func faults(_ bytes: [UInt8], _ format: CatalogFile.Format = .csv) -> [CatalogFileFault] {
    do throws(CatalogFileError) {
      _ = try CatalogFile(bytes, as: format)
      return []
    } catch {
      return error.faults
    }
  }

  private func faults(_ text: String, _ format: CatalogFile.Format = .csv) -> [CatalogFileFault] {
    faults(Array(text.utf8), format)
  }

  private static let policy = SubscriptionPolicy(
    keepsIssuesAfterLapse: false, backIssues: 3, toleranceSeconds: 60, servesInBillingRetry: true)

  private static func products() throws -> [ProductDescription] {
    [
      ProductDescription(
        id: ProductIdentifier("com.example.monthly"), type: .autoRenewableSubscription,
        localizations: [
          "en-US": .init(
            title: "Heroes, monthly", description: "Said \"twelve\"\nissues", terms: "Renews, each month"),
          "fr-FR": .init(title: "=HYPERLINK(\"http://evil\")", description: "'=1+1"),
        ],
        prices: [
          "FRA": try #require(Price(amount: "2.99", currency: "EUR")),
          "JPN": try #require(Price(amount: "300", currency: "JPY")),
        ],
        publication: ProductIdentifier("com.example.heroes"), period: .month, onSale: true,
        priceTier: PriceTierName("3"),
        preservedPrices: [
          PreservedPrices(
            before: try #require(Timestamp(rfc3339: "2026-01-01T00:00:00.000Z")),
            prices: ["FRA": try #require(Price(amount: "1.99", currency: "EUR"))])
        ], availableUntil: Timestamp(rfc3339: "2027-09-01T00:00:00.000Z"),
        application: ApplicationIdentifier("com.example.comics"), privacyURL: "https://comics.example/privacy"
      ),
      ProductDescription(
        id: ProductIdentifier("-1"), type: .nonConsumable,
        localizations: ["en-US": .init(title: "@sum", description: "")], prices: [:],
        publicationDate: Timestamp(rfc3339: "2026-09-01T00:00:00.000Z"), onSale: false,
        ownedIf: .originalVersionBelow(try #require(ApplicationVersion("2.0")))),
      ProductDescription(
        id: ProductIdentifier("com.example.old"), type: .nonConsumable,
        localizations: ["en-US": .init(title: "Old", description: "")], prices: [:],
        ownedIf: .originalPurchaseBefore(try #require(Timestamp(rfc3339: "2026-01-01T00:00:00.000Z")))),
    ]
  }

  /// A price tier, a publication and the products.
  private static func contents() throws -> [CatalogFile.Content] {
    [
      .priceTier(
        PriceTierDescription(
          name: PriceTierName("3"), prices: ["FRA": try #require(Price(amount: "1", currency: "EUR"))])),
      .publication(
        PublicationDescription(
          id: ProductIdentifier("com.example.heroes"),
          localizations: ["en-US": .init(title: "Heroes", description: "")],
          cover: ProductIdentifier("com.example.heroes.issue1"), order: 7, policy: policy)),
    ] + (try products().map { .product($0) })
  }

  @Test("what is written is read back, in both forms", arguments: CatalogFile.Format.allCases)
  func roundTrip(format: CatalogFile.Format) throws {
    let text = try CatalogFile.text(of: try Self.contents(), as: format)
    let file = try CatalogFile(Array(text.utf8), as: format)
    #expect(try CatalogFile.text(of: file.items.map(\.content), as: format) == text)
    let found = file.catalog.products
    #expect(file.catalog.publications?.map(\.order) == [7])
    #expect(file.catalog.publications?.map(\.policy) == [Self.policy])
    let tier = ["FRA": try #require(Price(amount: "1", currency: "EUR"))]
    #expect(file.catalog.priceTiers?.map(\.prices) == [tier])
    #expect(found.first?.preservedPrices == (try Self.products()).first?.preservedPrices)
    #expect(found.first?.availableUntil == Timestamp(rfc3339: "2027-09-01T00:00:00.000Z"))
    #expect(found.first?.privacyURL == "https://comics.example/privacy")
    #expect(found.map(\.localizations) == (try Self.products()).map(\.localizations))
    #expect(found.first?.prices == (try Self.products()).first?.prices)
    #expect(found.map(\.publicationDate) == (try Self.products()).map(\.publicationDate))
    #expect(found.map(\.ownedIf) == (try Self.products()).map(\.ownedIf))
  }

  @Test("samples are written and read back, in both forms", arguments: CatalogFile.Format.allCases)
  func samples(format: CatalogFile.Format) throws {
    var product = try #require(try Self.products().first)
    product.samples = ["pages/001.jpg", "pages/with, comma.jpg", "=1.jpg"]
    let without = try #require(try Self.products().last)
    let text = try CatalogFile.text(of: [.product(product), .product(without)], as: format)
    let found = try CatalogFile(Array(text.utf8), as: format).catalog.products
    #expect(found.map(\.samples) == [product.samples, nil])
  }

  @Test("samples are told apart by the line breaks of any system")
  func samplesOfOthers() throws {
    let sheet = "id,samples\r\ncom.example.a,\"1.jpg\r\n2.jpg\n3.jpg\"\r\n"
    let found = try CatalogFile(Array(sheet.utf8), as: .csv).catalog.products
    #expect(found.map(\.samples) == [["1.jpg", "2.jpg", "3.jpg"]])
  }

  @Test(
    "a title is read back as it was written, whatever marks its signs have",
    arguments: [
      "a\"\u{301}b", "\"\u{20DD}", "=\u{338}1", "'=\u{338}1", "'\u{301}=1", "a,\u{301}b", "\r\n\u{301}",
    ])
  func marks(title: String) throws {
    let product = ProductDescription(
      id: ProductIdentifier("com.example.a"), localizations: ["en-US": .init(title: title, description: "")])
    let text = try CatalogFile.text(of: [.product(product)], as: .csv)
    let found = try CatalogFile(Array(text.utf8), as: .csv).catalog.products.first?.localizations?["en-US"]
    #expect(found?.title.unicodeScalars.elementsEqual(title.unicodeScalars) == true)
  }

  @Test("no cell of an export is a formula to a spreadsheet")
  func formulas() throws {
    let text = try CatalogFile.text(of: try Self.contents(), as: .csv)
    var reader = CSVReader(Array(text.utf8))
    while let row = try reader.next() {
      for cell in row.cells {
        #expect(!["=", "+", "-", "@", "\t", "\r"].contains(cell.prefix(1)), "\(cell)")
      }
    }
    #expect(text.contains("\"'=HYPERLINK(\"\"http://evil\"\")\""))
  }

  @Test("lines are numbered from the beginning, also behind cells with line breaks and empty lines")
  func lines() throws {
    let text = "id,title:en-US\r\ncom.example.a,\"one\ntwo\"\r\n\r\ncom.example.b,B\r\n"
    #expect(try items(text).map(\.line) == [2, 5])
    #expect(try items("\u{FEFF}id\na\n").count == 1)
    #expect(try items("\n{\"id\":\"a\"}\n\n{\"id\":\"b\"}", .json).map(\.line) == [2, 4])
  }

  @Test("a sheet tells what its columns are, and JSON tells everything")
  func members() throws {
    let sheet = try CatalogFile(Array("kind,id,title:en-US,price:FRA\n,a,A,\n".utf8), as: .csv)
    #expect(sheet.catalog.members == [.title(locale: "en-US"), .price(territory: "FRA")])
    #expect(try CatalogFile(Array("{\"id\":\"a\"}\n".utf8), as: .json).catalog.members == nil)
    let all = CatalogColumn.columns(for: try Self.contents())
    #expect(all.map(\.name) == all.compactMap { CatalogColumn($0.name)?.name })
  }

  @Test("a fault says what form is wanted")
  func forms() {
    #expect(
      faults("id,publicationDate,price:FRA\na,2026-12-01,\nb,,2.99\n").map(\.description) == [
        "line 2: publicationDate: cannot be '2026-12-01' of a product: "
          + "it is a date with time and zone, such as 2026-12-01T00:00:00Z",
        "line 3: price:FRA: cannot be '2.99' of a product: it is a price with its currency, such as 2.99 EUR",
      ])
    func places(_ text: String, _ format: CatalogFile.Format) -> [Substring] {
      faults(text, format).map { fault in
        fault.fault(in: "catalog").description.prefix { $0 != " " }
      }
    }
    #expect(
      places("id,title:en-US,price:FRA\na,\"two\nlines, é\",2.99\n\"b\",\"é\"\"\",2.99\n", .csv) == [
        "catalog:3:11:", "catalog:4:11:",
      ])
    #expect(
      places("{\"id\":\"a\"}\n{\"id\":1}\n{\"id\":\"b\",\"prise\":{}}\n{]\n", .json) == [
        "catalog:2:7:", "catalog:3:19:", "catalog:4:2:",
      ])
    #expect(
      faults("{\"id\":1}\n", .json).first?.fault(in: "c.json").description
        == "c.json:1:7: id: is not a text in quotation marks")
    #expect(
      faults("id,preserved:FRA:2026-12-01\n").first?.detail.contains("preserved:FRA:2026-12-01T00:00:00Z")
        == true)
  }

  @Test("every faulty line is named with its number")
  func everyLine() {
    let text =
      "id,type,price:FRA\na,magazine,\nb,consumable,2.99 EUR\nc,consumable,2.99\nd,consumable\n,,1 EUR\n"
    #expect(faults(text).map(\.line) == [2, 4, 5, 6])
    #expect(faults(text).map(\.code) == [.cell, .cell, .columns, .cell])
    let json = "{\"id\":\"a\"}\n{\"id\":1}\n{\"id\":\"b\",\"prise\":{}}\n{}\n[]\n"
    #expect(faults(json, .json).map(\.line) == [2, 3, 4, 5])
  }

  @Test("a row has what its kind has, and lines are found again by list and number")
  func kinds() throws {
    let text =
      "kind,id,type,order,price:FRA\nprice-tier,3,,,1 EUR\nproduct,a,consumable,,\npublication,m,,2,\n,b,,,\n"
    let file = try CatalogFile(Array(text.utf8), as: .csv)
    #expect(file.line(of: "priceTiers", 0) == 2)
    #expect(file.line(of: "products", 1) == 5)
    #expect(file.line(of: "publications", 0) == 4)
    #expect(file.line(of: "publications", 1) == nil)
    let faulty =
      "kind,id,type,order,price:FRA\nprice-tier,3,consumable,,\npublication,m,,,1 EUR\n,a,,2,\nbundle,a,,,\n"
    #expect(faults(faulty).map(\.line) == [2, 3, 4, 5])
  }

  @Test(
    "hostile files are refused by name",
    arguments: [
      ("id,title:en\na,\"open\n", CatalogFileFault.Code.quote), ("id\na\"b\n", .quote),
      ("id\n\"a\"b\n", .quote), ("id\na\u{0}b\n", .nul), ("id\ra\r", .lineBreak), ("", .header),
      ("id,id\na,a\n", .header), ("title:en\nA\n", .header), ("id,color\na,red\n", .header),
      ("id,title:\na,b\n", .header),
    ])
  func hostile(text: String, code: CatalogFileFault.Code) {
    #expect(faults(text).map(\.code) == [code])
  }

  @Test("a million columns, a cell without end and bytes that are no UTF-8 are refused")
  func bounds() {
    #expect(faults(String(repeating: ",", count: 1_000_000)).map(\.code) == [.columns])
    let long = "id,description:en\na," + String(repeating: "x", count: CSVReader.maximumCell + 1) + "\n"
    #expect(faults(long).map(\.code) == [.length])
    #expect(faults(Array("id\n".utf8) + [0xFF, 0x0A]).map(\.code) == [.encoding])
    let many = "id,type\n" + String(repeating: "a,magazine\n", count: 1000)
    #expect(faults(many).count == CatalogFile.maximumFaults)
  }

  @Test(
    "a mark of the byte order with nothing behind it is an empty file, with an empty line a nameless column")
  func markAlone() {
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    #expect(faults(mark).map(\.code) == [.header])
    #expect(faults(mark).first?.detail == "the file is empty")
    #expect(faults(mark + [0x0A]).map(\.code) == [.header])
    #expect(faults(mark + mark).map(\.code) == [.header], "a second one is text")
  }

  @Test(
    "a NUL is refused wherever it stands",
    arguments: ["\u{0}", "\u{FEFF}\u{0}", "i\u{0}d\na\n", "id\n\"a\u{0}\"\n", "id\na\n\u{0}"])
  func nul(text: String) {
    #expect(faults(text).map(\.code) == [.nul])
  }

  @Test(
    "a quotation mark that nothing closes is refused in every row and cell",
    arguments: [
      "\"", "\"id", "id\n\"", "id\n\"a\"\"", "id,type\na,\"consumable\nb,consumable\n", "\u{FEFF}\"id\na\n",
    ])
  func unclosed(text: String) {
    #expect(faults(text).map(\.code) == [.quote])
    #expect(faults(text).first?.detail == "a quotation mark is not closed")
  }

  @Test(
    "cells of a mebibyte and rows of a hundred thousand columns are refused by the line, and not repeated")
  func large() {
    let mebibyte = String(repeating: "x", count: 1 << 20)
    for (text, line) in [
      (mebibyte, 1), ("\"\(mebibyte)\"", 1), ("id\n\(mebibyte)\n", 2), ("id\n\"\(mebibyte)\"\n", 2),
      // It is too long before it is not closed.
      ("id\na\n\"\(mebibyte)", 3),
    ] {
      let found = faults(text)
      #expect(found.map(\.code) == [.length])
      #expect(found.map(\.line) == [line])
      #expect(found.allSatisfy { $0.description.utf8.count < 200 })
    }
    let columns = String(repeating: "id,", count: 100_000)
    for (text, line) in [(columns, 1), ("id\na\n" + columns, 3)] {
      let found = faults(text)
      #expect(found.map(\.code) == [.columns])
      #expect(found.map(\.line) == [line])
      #expect(found.allSatisfy { $0.description.utf8.count < 200 })
    }
  }

  @Test(
    "the name says the form", arguments: [("a.csv", "csv"), ("b.JSON", "json"), ("c.txt", nil), ("csv", nil)])
  func names(path: String, format: String?) {
    #expect(CatalogFile.Format(path: path)?.rawValue == format)
  }
}
