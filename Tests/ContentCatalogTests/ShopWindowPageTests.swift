import Commerce
import CoreTypes
import DeliveryRecords
import PullboxAPI
import PullboxTesting
import ServiceAPI
import Testing

@testable import ContentCatalog

/// docs/publishing.md, "Publications": pages, their order, and what `next` leads to.
@Suite("Pages of the shop window")
struct ShopWindowPageTests {
  private static let now = Timestamp(millisecondsSinceEpoch: 1_795_249_800_000)

  private func window(
    _ samples: [SampleProduct], publications: [OperatorPublication] = [], maximumLooks: Int? = nil
  ) throws -> ShopWindow {
    var window = ShopWindow(
      catalog: try .of(samples, publications: publications), localizer: ProductLocalizer(), device: nil,
      application: nil, now: Self.now)
    if let maximumLooks { window.maximumLooks = maximumLooks }
    return window
  }

  private func draft(_ name: String, of publication: String? = nil) throws -> SampleProduct {
    var sample = try SampleProduct.issue(name, of: publication)
    sample.sale = .draft
    return sample
  }

  /// The pages from the first to the last, by following `next`.
  private func pages<Item>(
    _ page: (ProductIdentifier?) throws -> (items: [Item], next: String?)
  ) throws -> [[Item]] {
    var pages: [[Item]] = []
    var after: ProductIdentifier?
    repeat {
      let (items, next) = try page(after)
      pages.append(items)
      after = try next.map { try #require(ProductIdentifier($0)) }
      try #require(pages.count < 1000, "the pages have an end")
    } while after != nil
    return pages
  }

  @Test("issues come the newest first, those of one date by name, and those without a date last")
  func issues() throws {
    let window = try window([
      try .issue("c", of: "heroes"), try .issue("b", of: "heroes", on: "2026-01-01"),
      try .issue("a", of: "heroes", on: "2026-01-01"), try .issue("d", of: "heroes", on: "2026-02-01"),
      try .issue("e", of: "villains", on: "2026-03-01"), try draft("f", of: "heroes"),
      try .subscription("g", to: "heroes"), try .issue("B", of: "heroes"),
    ])
    let page = try window.issues(of: SampleProduct.name("heroes"), after: nil, limit: 10)
    #expect(page.issues.map { $0.id.description.split(separator: ".").last } == ["d", "a", "b", "B", "c"])
    #expect(page.next == nil)
  }

  @Test("publications come by their place in lists, those without one last, and by name")
  func order() throws {
    let names = ["a", "b", "c", "d", "e"]
    let samples = try names.map { try SampleProduct.issue("issue-\($0)", of: $0) }
    let described = try [("d", 1), ("b", 2), ("e", nil), ("c", 2)].map { name, order in
      OperatorPublication(
        id: try SampleProduct.name(name), localizations: [:], cover: nil, order: order, created: Self.now,
        changed: Self.now)
    }
    let window = try window(
      samples + [try .issue("single2"), try .issue("single1")], publications: described)
    let index = PublicationIndex(window.catalog)
    #expect(index.publications.map { $0.description.suffix(1) } == ["d", "b", "c", "a", "e"])
    #expect(index.singles.map(\.description) == ["com.example.single1", "com.example.single2"])
    let page = try window.publications(index.publications, after: nil, limit: 10)
    #expect(page.publications.map(\.id) == index.publications && page.next == nil)
  }

  @Test("a page that ends with the last product for sale names no next one")
  func lastPage() throws {
    let window = try window([try .issue("a"), try .issue("b"), try draft("c")])
    let names = try ["a", "b", "c"].map(SampleProduct.name)
    let first = try window.page(of: names, after: nil, limit: 1)
    #expect(first.issues.map(\.id) == [names[0]] && first.next == "com.example.a")
    let second = try window.page(of: names, after: names[0], limit: 1)
    #expect(second.issues.map(\.id) == [names[1]] && second.next == nil)
    #expect(try window.page(of: names, after: nil, limit: 2).next == nil)
    #expect(try window.page(of: [], after: nil, limit: 2).issues.isEmpty)
  }

  @Test("a cursor that is none of the names is refused, also one of a product that is for sale")
  func cursors() throws {
    let samples = [try SampleProduct.issue("a", of: "heroes"), try .issue("b", of: "villains")]
    let window = try window(samples)
    let (heroes, other) = (try SampleProduct.name("heroes"), try SampleProduct.name("b"))
    for ask in [
      { _ = try window.page(of: [try SampleProduct.name("a")], after: other, limit: 1) },
      { _ = try window.issues(of: heroes, after: other, limit: 1) },
      { _ = try window.publications([heroes], after: other, limit: 1) },
    ] as [() throws -> Void] {
      let problem = #expect(throws: Problem.self, performing: ask)
      #expect(problem?.code == .requestMalformed)
    }
    // The cursor of a product that has gone off sale meanwhile leads on.
    let left = try self.window([try draft("a", of: "heroes"), try .issue("c", of: "heroes")])
    let page = try left.issues(of: heroes, after: try SampleProduct.name("a"), limit: 1)
    #expect(page.issues.map(\.id) == [try SampleProduct.name("c")])
  }

  @Test(
    "the pages have everything for sale once and in order, however long they are and however few products are looked at"
  )
  func allPages() throws {
    var generator = SplitMix(seed: 3)
    for _ in 0..<40 {
      var samples: [SampleProduct] = []
      for number in 0..<Int.random(in: 0...12, using: &generator) {
        let publication = Bool.random(using: &generator) ? "series\(number % 4)" : nil
        let name = "p\(number)"
        samples.append(
          Bool.random(using: &generator)
            ? try .issue(name, of: publication) : try draft(name, of: publication))
      }
      let everything = try window(samples)
      let index = PublicationIndex(everything.catalog)
      let singles = try everything.page(of: index.singles, after: nil, limit: 100).issues.map(\.id)
      let publications = try everything.publications(index.publications, after: nil, limit: 100)
        .publications.map(\.id)
      #expect(
        Set(singles)
          == Set(samples.filter { $0.sale == .cleared && $0.product.publication == nil }.map(\.product.id)))
      for limit in 1...4 {
        for looks in 1...5 {
          let window = try window(samples, maximumLooks: looks)
          let single = try pages { after in
            let page = try window.page(of: index.singles, after: after, limit: limit)
            return (page.issues.map(\.id), page.next)
          }
          #expect(single.flatMap { $0 } == singles && single.allSatisfy { $0.count <= limit })
          let listed = try pages { after in
            let page = try window.publications(index.publications, after: after, limit: limit)
            return (page.publications.map(\.id), page.next)
          }
          #expect(listed.flatMap { $0 } == publications && listed.allSatisfy { $0.count <= limit })
        }
      }
    }
  }

  @Test(
    "a page looks at a bounded number of products, and goes on behind them, though nothing of them is for sale"
  )
  func boundedLooks() throws {
    let samples = try (0..<5).flatMap { number in
      [
        try SampleProduct.issue("single\(number)", releases: []),
        try .issue("heroes\(number)", of: "heroes\(number / 2)", releases: []),
      ]
    }
    let window = try window(samples, maximumLooks: 2)
    let index = PublicationIndex(window.catalog)
    var (after, next): (ProductIdentifier?, [String?]) = (nil, [])
    repeat {
      let page = try window.page(of: index.singles, after: after, limit: 10)
      #expect(page.issues.isEmpty)
      next.append(page.next)
      after = page.next.flatMap { ProductIdentifier($0) }
    } while after != nil
    #expect(next == ["com.example.single1", "com.example.single3", nil])
    next = []
    repeat {
      let page = try window.publications(index.publications, after: after, limit: 10)
      #expect(page.publications.isEmpty)
      next.append(page.next)
      after = page.next.flatMap { ProductIdentifier($0) }
    } while after != nil
    #expect(next == ["com.example.heroes0", "com.example.heroes1", nil])
  }
}
