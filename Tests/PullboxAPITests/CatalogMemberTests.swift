import Commerce
import CoreTypes
import PullboxAPI
import ServiceAPI
import Testing

/// Columns of a sheet, docs/catalogue.md.
@Suite("Columns of an import")
struct CatalogMemberTests {
  private static let date = "2026-12-01T00:00:00.000Z"

  /// The columns of the page's table, with an example for each part in capitals.
  private static func columns() throws -> [String] {
    try DocumentedTable("catalogue.md", header: "| column |").words.map { name in
      name.replacing("LOCALE", with: "fr-FR").replacing("TERRITORY", with: "FRA").replacing(
        "DATE", with: date)
    }
  }

  @Test(
    "each column of the page is a member and is written as it is called, but for those that name the item")
  func documented() throws {
    let columns = try Self.columns()
    #expect(columns.count > 25 && Set(columns).count == columns.count)
    let named: Set = ["kind", "id"]
    for column in columns {
      #expect(CatalogMember(column)?.description == (named.contains(column) ? nil : column), "\(column)")
    }
    // And no member has a column that the page does not name.
    let plain = CatalogMember.Plain.allCases.map(\.rawValue)
    let policy = SubscriptionPolicy.Member.allCases.map(\.rawValue)
    #expect(columns.filter { !$0.contains(":") && !named.contains($0) }.sorted() == (plain + policy).sorted())
    let kinds = Set(columns.filter { $0.contains(":") }.compactMap { $0.split(separator: ":").first })
    #expect(kinds == ["title", "description", "terms", "price", "preserved"])
  }

  @Test("a column with a part names its locale, its territory or its date")
  func parts() throws {
    #expect(CatalogMember("title:fr-FR") == .title(locale: "fr-FR"))
    #expect(CatalogMember("description:fr") == .text(locale: "fr"))
    #expect(CatalogMember("terms:zh-Hans-CN") == .terms(locale: "zh-Hans-CN"))
    #expect(CatalogMember("price:FRA") == .price(territory: "FRA"))
    let before = try #require(Timestamp(rfc3339: Self.date))
    #expect(
      CatalogMember("preserved:FRA:2026-12-01T00:00:00Z") == .preserved(territory: "FRA", before: before))
  }

  @Test("a date in a column may have another zone; it is written in UTC")
  func zones() {
    let member = CatalogMember("preserved:FRA:2026-12-01T01:00:00+01:00")
    #expect(member == CatalogMember("preserved:FRA:\(Self.date)"))
    #expect(member?.description == "preserved:FRA:\(Self.date)")
  }

  @Test(
    "what no column is called is no member",
    arguments: [
      "", "kind", "id", "Type", "type ", "title", "title:", "price", "price:", "price:FRA:EUR", "title:a:b",
      "type:FRA", "cover:FRA", "preserved", "preserved:FRA", "preserved:FRA:", "preserved:FRA:2026-12-01",
      "preserved::2026-12-01T00:00:00Z", "preserved:FRA:soon", "Price:FRA", "name:fr-FR", ":", "::", ":FRA",
      "publisherKeys", "prices", "localizations",
    ])
  func noColumns(name: String) {
    #expect(CatalogMember(name) == nil)
  }
}
