import Commerce
import PullboxAPI
import Testing

@testable import CatalogDocuments
@testable import CatalogFeeds

@Suite("Pages of a shelf")
struct ShelfTests {
  private let names: [ProductIdentifier]
  private let shelf: Shelf

  init() throws {
    names = try (0..<10).map { try #require(ProductIdentifier("p\($0)")) }
    shelf = Shelf(names)
  }

  /// A page of those that are shown, which are all without `hidden`.
  private func page(
    after: Int? = nil, length: Int = 3, looks: Int = 100, hidden: Set<Int> = []
  ) throws(Problem) -> Shelf.Page<ProductIdentifier> {
    let isShown = { (name: ProductIdentifier) in !hidden.contains { names[$0] == name } }
    return try shelf.page(
      after: after.map { names[$0] }, length: length, looks: looks, isShown: isShown,
      of: { isShown($0) ? $0 : nil })
  }

  @Test("each page leads to the next until nothing is left")
  func forward() throws {
    #expect(try page().items == Array(names[0..<3]))
    #expect(try page().next == names[2])
    #expect(try page().previous == .none)
    let last = try page(after: 8)
    #expect(last.items == [names[9]])
    #expect(last.next == nil)
    // Nothing is behind the last item of a full page.
    #expect(try page(after: 6).next == nil)
    #expect(try page(after: 9).items.isEmpty)
  }

  @Test("each page leads back to the one that led to it")
  func backward() throws {
    #expect(try page(after: 2).previous == .after(nil))
    #expect(try page(after: 5).previous == .after(names[2]))
    #expect(try page(after: 8).previous == .after(names[5]))
    // A page in between, which no page led to.
    #expect(try page(after: 3).previous == .after(names[0]))
  }

  @Test("what is not shown counts for no page")
  func hidden() throws {
    #expect(try page(hidden: [0, 2, 3]).items == [names[1], names[4], names[5]])
    #expect(try page(hidden: [0, 2, 3]).next == names[5])
    #expect(try page(after: 5, hidden: [0, 2, 3]).previous == .after(nil))
    #expect(try page(after: 8, hidden: [0, 2, 3]).previous == .after(names[5]))
    #expect(try page(hidden: [3, 4, 5, 6, 7, 8, 9]).next == nil)
  }

  @Test("a page ends where enough was looked at, and the next goes on there")
  func looks() throws {
    let first = try page(looks: 4, hidden: [0, 1, 2, 3, 4, 5])
    #expect(first.items.isEmpty)
    #expect(first.next == names[3])
    let second = try page(after: 3, looks: 4, hidden: [0, 1, 2, 3, 4, 5])
    #expect(second.items == [names[6], names[7]])
    #expect(second.next == names[7])
  }

  @Test("the cursor of another shelf is refused")
  func foreign() throws {
    let other = try #require(ProductIdentifier("q1"))
    #expect(throws: Problem.self) {
      try shelf.page(after: other, length: 3, looks: 9, isShown: { _ in true }, of: { $0 })
    }
  }
}
