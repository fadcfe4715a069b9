import Commerce
import CoreTypes
import Database
import PullboxAPI
import PullboxTesting
import Testing

@testable import AgentRecords

@Suite("How far products were read")
struct ReadingRecordTests {
  private let product: ProductIdentifier
  private let (version, next): (ContentVersion, ContentVersion)
  private let names = ["a.jpg", "b.jpg", "c.jpg", "d.jpg"]

  init() throws {
    product = try #require(ProductIdentifier("com.example.heroes.1"))
    (version, next) = (try #require(ContentVersion("1.0")), try #require(ContentVersion("1.1")))
  }

  private func record(
    _ page: Int? = 1, at milliseconds: Int64 = 0, by device: String = "a", part: Double? = 0.5,
    name: String? = "b.jpg", of product: ProductIdentifier? = nil
  ) -> ReadingRecord {
    ReadingRecord(
      product: product ?? self.product,
      progress: ReadingProgress(
        modified: Timestamp(millisecondsSinceEpoch: milliseconds), device: .init(id: device), page: page,
        locator: .init(href: "pages/2", type: "image/jpeg"), progression: part), version: version,
      pageName: name)
  }

  @Test("the later word counts, and of one time that of the device whose name comes behind")
  func later() {
    #expect(record(at: 2).counts(beside: record(at: 1)) && !record(at: 1).counts(beside: record(at: 2)))
    #expect(
      record(by: "b").counts(beside: record(by: "a")) && !record(by: "a").counts(beside: record(by: "b")))
    #expect(record().counts(beside: record()))
    // By their bytes, as the server's database compares them.
    #expect(record(by: "a").counts(beside: record(by: "Z")))
  }

  @Test("a page is found by its name in another version, and its place named anew")
  func byName() {
    let found = record().carried(to: next, pages: ["cover.jpg"] + names)
    #expect(found.page == 2 && found.progression == 0.6 && found.locator == nil)
    #expect(
      record().carried(to: version, pages: names) == record().progress, "the same version is as it was told")
    let shifted = record().carried(to: version, pages: ["cover.jpg"] + names)
    #expect(shifted.page == 2, "where a section has come, the page is the one of that name")
    #expect(record().carried(to: next, pages: nil) == record().progress, "what has no pages keeps its place")
    #expect(record(nil).carried(to: next, pages: names) == record(nil).progress)
  }

  @Test(
    "a page whose name is gone is where as much was read",
    arguments: [(0.0, 0), (0.1, 0), (0.5, 1), (0.51, 2), (1.0, 3)])
  func byPart(part: Double, page: Int) {
    #expect(record(part: part, name: "gone.jpg").carried(to: next, pages: names).page == page)
    #expect(record(part: nil, name: nil).carried(to: next, pages: names).page == 0)
  }

  @Test("one record of a product stays, also over a restart, and the records of those that were read last")
  func storage() throws {
    let directory = try TemporaryDirectory()
    let database = try AgentDatabase(path: directory.path("agent.sqlite"))
    #expect(try database.reading(of: product) == nil)
    let first = try database.put(record(at: 5)) { #expect($0 == nil) }
    #expect(first == record(at: 5))
    let earlier = try database.put(record(3, at: 4)) { #expect($0 != nil) }
    #expect(earlier == record(at: 5), "an earlier word")
    #expect(throws: Problem.self) {
      _ = try database.put(record(3, at: 9)) { _ in throw Problem(.preconditionFailed) }
    }
    #expect(try database.reading(of: product) == record(at: 5))
    let other = try #require(ProductIdentifier("com.example.heroes.2"))
    _ = try database.put(record(at: 7, of: other)) { _ in }
    #expect(try database.readings(limit: 5).map(\.product) == [other, product])
    #expect(try database.readings(limit: 1).map(\.product) == [other])
    database.close()
    let again = try AgentDatabase(path: directory.path("agent.sqlite"))
    defer { again.close() }
    #expect(try again.reading(of: product) == record(at: 5))
  }

  @Test("a record that cannot be read is dropped, and the next word takes its place")
  func damaged() throws {
    let directory = try TemporaryDirectory()
    let database = try AgentDatabase(path: directory.path("agent.sqlite"))
    defer { database.close() }
    for name in ["one", "two"] {
      _ = try database.put(record(at: 5)) { _ in }
      try database.database.writeBlocking(locking: [.everything]) { connection in
        _ = try connection.execute("UPDATE reading SET document = ?", [.text(name)])
      }
      if name == "one" { #expect(try database.reading(of: product) == nil) }
      let next = try database.put(record(2, at: 1)) { #expect($0 == nil) }
      #expect(next == record(2, at: 1))
    }
  }
}
