import PullboxAPI
import Testing

@testable import pullbox

@Suite("Lists that come page by page")
struct PagingTests {
  /// A list of the numbers below `count` in pages of 200, and the pages that were fetched.
  private func pages(_ count: Int, limit: Int = .max, until stop: Int = .max) async throws -> (
    items: Int, isInOrder: Bool, ending: Paging.Ending, fetched: Int
  ) {
    var (items, isInOrder, fetched, longest) = (0, true, 0, 0)
    let ending = try await Paging.forEachPage(limit: limit) { after in
      fetched += 1
      let first = after.flatMap(Int.init) ?? 0
      let end = min(first + 200, count)
      return Page(items: Array(first..<end), next: end < count ? String(end) : nil)
    } body: { page in
      isInOrder = isInOrder && page.elementsEqual(items..<items + page.count)
      items += page.count
      longest = max(longest, page.count)
      return items < stop
    }
    #expect(longest <= 200)
    return (items, isInOrder, ending, fetched)
  }

  @Test("a list is followed to its end, however long it is", arguments: [0, 1, 200, 201, 10_001, 25_000])
  func toTheEnd(count: Int) async throws {
    let result = try await pages(count)
    #expect(result.items == count)
    #expect(result.isInOrder)
    #expect(result.ending == .complete)
  }

  @Test(
    "a limit is said to have cut exactly when the list has more",
    arguments: [
      (500, 499, Paging.Ending.limited), (500, 500, .complete), (500, 501, .complete), (400, 200, .limited),
      (200, 200, .complete), (0, 1, .complete),
    ])
  func limit(count: Int, limit: Int, ending: Paging.Ending) async throws {
    let result = try await pages(count, limit: limit)
    #expect(result.items == min(count, limit))
    #expect(result.ending == ending)
  }

  @Test("a page without items is passed over, and one that leads to itself ends the list")
  func emptyPages() async throws {
    var items: [Int] = []
    _ = try await Paging.forEachPage { after in
      switch after {
      case nil: Page(items: [1], next: "a")
      case "a": Page(items: [], next: "b")
      case "b": Page(items: [2], next: "c")
      default: Page(items: [], next: "c")
      }
    } body: { page in
      items += page
      return true
    }
    #expect(items == [1, 2])
  }

  @Test("no page is fetched that is not needed")
  func fetches() async throws {
    #expect(try await pages(1000, limit: 200).fetched == 1)
    #expect(try await pages(1000, limit: 201).fetched == 2)
    #expect(try await pages(1000, until: 1).fetched == 1)
  }
}
