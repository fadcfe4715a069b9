import PullboxKit
import PullboxKitTesting
import Testing

@Suite("Screens over an agent that runs", .timeLimit(.minutes(3)))
struct ModelSessionTests {
  private static let page: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE0] + [UInt8](repeating: 9, count: 30_000)

  @Test(
    "a shop's row goes from its price to here, and a shelf takes a correction and restores what is chosen")
  func course() async throws {
    try await TestSession.with { session in
      let id = try await session.publish(
        "com.example.issue1", title: "Heroes 1", price: "2.99", pages: ["1.jpg": Self.page])
      let other = try await session.publish(
        "com.example.issue2", title: "Heroes 2", price: "2.99", pages: ["1.jpg": Self.page + [1]])
      let (shop, shelf) = (try ShopModel(agent: session.agent), try ShelfModel(agent: session.agent))
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await shop.run() }
        group.addTask { try await shelf.run() }
        await shop.load()
        #expect(Set(shop.state.rows.map(\.statusText)) == ["$2.99"] && shop.state.rows.count == 2)
        for product in [id, other] {
          // A page of a few kilobytes may be here by the time the purchase returns, and a busy store decides a moment later.
          let result = await shop.buy(product, confirm: { _ in true })
          switch result {
          case .delivering?, .delivered?, .pending?: break
          default:
            Issue.record("\(String(describing: result)) \(shop.state.rows.map(\.statusText))")
            group.cancelAll()
            return
          }
        }
        for await state in shop.states where state.rows.allSatisfy({ $0.statusText == "here" }) { break }
        for await state in shelf.states where state.books.map(\.statusText) == ["new", "new"] { break }
        #expect(await shelf.open(id) != nil)
        for await state in shelf.states where state.books.contains(where: { $0.id == id && !$0.isNew }) {
          break
        }
        try await session.correct(other, version: "1.1", pages: ["1.jpg": Self.page + [2]])
        for await state in shelf.states
        where state.books.contains(where: { $0.item?.version.description == "1.1" }) { break }
        // What came by itself is known by now: what is removed stays away until it is asked for.
        await shelf.remove(id)
        await shelf.remove(other)
        await shelf.refreshPlan()
        for await state in shelf.states where state.books.isEmpty && state.missing.count == 2 { break }
        await shelf.restore([other])
        for await state in shelf.states where state.books.map(\.id) == [other] && state.books[0].canBeOpened {
          break
        }
        #expect(shelf.state.missing.map(\.product) == [id])
        group.cancelAll()
      }
    }
  }

  @Test("a cover comes as its bytes")
  func cover() async throws {
    try await TestSession.with { session in
      try await session.publish(
        "com.example.issue1", title: "Heroes 1", pages: ["1.jpg": Self.page, "2.jpg": Self.page + [1]])
      let product = try #require(
        try await Product.products(for: ["com.example.issue1"], from: session.agent).first)
      #expect(try await product.cover() == Self.page)
    }
  }
}
