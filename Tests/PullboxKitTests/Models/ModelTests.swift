import Commerce
import CoreTypes
import Crypto
import PullboxAPI
import Testing

@testable import PullboxKit

@Suite("What screens show, as values")
struct ModelTests {
  private static let name = "com.example.heroes.issue42"

  private static func item(_ version: String = "1.0", state: LibraryItem.State = .present) throws
    -> LibraryItem
  {
    LibraryItem(
      product: try #require(ProductIdentifier(name)), version: try #require(ContentVersion(version)),
      path: "/library/x", digest: SHA256Digest.of([]), length: ByteCount(1),
      placedAt: Timestamp(millisecondsSinceEpoch: 1_795_249_800_000), title: "Heroes 42", state: state)
  }

  private static func product(owned: Bool = false) throws -> PullboxKit.Product {
    let listing = ProductListing(
      id: try #require(ProductIdentifier(name)), type: .nonConsumable, title: "Heroes 42", description: "",
      price: .init(amount: "2.99", currency: "USD", formatted: "$2.99"))
    return PullboxKit.Product(
      AgentProduct(listing: listing, owned: owned),
      account: StoreAccount(territory: "USA", currency: "USD", environment: "Sandbox", canMakePayments: true),
      agent: try AgentClient(socketPath: "/nonexistent/agent.sock"))
  }

  @Test("a product goes from its price over the purchase and its progress to the shelf")
  func course() throws {
    let product = try Self.product()
    var shop = ShopState()
    shop.apply(.products([product]))
    #expect(shop.rows[0].statusText == "$2.99")
    shop.apply(.buying(product.id))
    #expect(shop.rows[0].standing == .buying)
    let bought = try Sample.transaction(step: "planning", downloads: [])
    shop.apply(.agent(.event(.transaction(bought))))
    shop.apply(.bought(product.id, .delivering(Transaction(bought, agent: product.agent))))
    #expect(shop.rows[0].standing == .delivering(nil))
    shop.apply(.agent(.event(.download(try Sample.download(verified: 4 << 20)))))
    #expect(shop.rows[0].statusText == "40 %")
    shop.apply(.agent(.event(.library(LibraryEvent(change: .placed, item: try Self.item())))))
    shop.apply(.agent(.event(.download(try Sample.download(.finished, "placed", verified: 10 << 20)))))
    shop.apply(.agent(.event(.transaction(try Sample.transaction(step: "finished")))))
    #expect(shop.rows[0].standing == .here(try Self.item()))
    shop.apply(.agent(.event(.library(LibraryEvent(change: .removed, item: try Self.item())))))
    #expect(shop.rows[0].standing == .held)
  }

  @Test("what was declined says why until it is tried again; a buyer who said no leaves the price")
  func declined() throws {
    let product = try Self.product()
    var shop = ShopState()
    shop.apply(.products([product]))
    shop.apply(.bought(product.id, .declined(.init(.paymentFailed, "the payment failed"))))
    #expect(shop.rows[0].statusText == "not bought: the payment failed")
    shop.apply(.buying(product.id))
    shop.apply(.bought(product.id, .declined(.init(.cancelledByBuyer, "nothing was bought"))))
    #expect(shop.rows[0].standing == .forSale)
    let waiting = try Sample.transaction(state: "deferred", step: "observed", reason: "awaiting-approval")
    shop.apply(.agent(.event(.transaction(waiting))))
    #expect(shop.rows[0].statusText == "waits for another person's approval")
  }

  @Test("a download that failed stays, with its reason, until another one fetches the same")
  func failed() throws {
    var shop = ShopState()
    shop.apply(.products([try Self.product(owned: true)]))
    shop.apply(.agent(.event(.download(try Sample.download(.failed, "integrity")))))
    shop.apply(.agent(.snapshot(transactions: [], downloads: [])))
    #expect(shop.rows[0].statusText.hasPrefix("failed: "))
    shop.apply(.agent(.event(.download(try Sample.download(id: "d2", .active, verified: 1 << 20)))))
    #expect(shop.rows[0].statusText == "10 %")
  }

  @Test("a shelf shows what comes, what is new, a correction of what is here, and what is missing")
  func shelf() throws {
    var shelf = ShelfState()
    shelf.apply(.agent(.snapshot(transactions: [], downloads: [try Sample.download(verified: 2 << 20)])))
    #expect(shelf.books.map(\.statusText) == ["comes: 20 %"])
    #expect(shelf.books[0].canBeOpened == false && shelf.books[0].canBeRead)
    shelf.apply(.library([try Self.item()]))
    #expect(shelf.books.map(\.statusText) == ["correction: 20 %"] && shelf.books[0].canBeOpened)
    shelf.apply(.agent(.event(.download(try Sample.download(.finished, "placed")))))
    #expect(shelf.books.map(\.statusText) == ["new"] && shelf.books[0].title == "Heroes 42")
    let owned = ["com.example.other", Self.name].map { name in
      ProductIdentifier(name).flatMap { product in
        TransactionIdentifier("20").flatMap { transaction in
          ContentVersion("1.0").map {
            EntitledProduct(
              product: product, version: $0, length: ByteCount(5), because: "purchased",
              transaction: transaction,
              state: "not-granted")
          }
        }
      }
    }.compactMap { $0 }
    shelf.apply(.plan(RestorePlan(owned: owned, library: [try Self.item()])))
    #expect(shelf.missing.map(\.product.description) == ["com.example.other"])
    shelf.apply(.agent(.lost(nil, retryIn: .seconds(1))))
    #expect(shelf.device.isConnected == false && shelf.books.count == 1)
    shelf.apply(.library([try Self.item(state: .damaged)]))
    #expect(shelf.books[0].statusText.contains("repair") && !shelf.books[0].canBeOpened)
  }

  @Test("a section that comes is no correction, and does not take the place of content that failed")
  func section() throws {
    var shelf = ShelfState()
    shelf.apply(.library([try Self.item()]))
    let section = try Sample.download(id: "d2", verified: 2 << 20, section: "hires")
    shelf.apply(.agent(.event(.download(section))))
    #expect(shelf.books.map(\.statusText) == ["new"])
    // What a shelf pauses and resumes.
    let product = section.product
    #expect(shelf.device.download(of: product) == nil)
    let failed = try Sample.download(.failed, "integrity")
    shelf.apply(.agent(.event(.download(failed))))
    shelf.apply(.agent(.event(.download(section))))
    shelf.apply(.agent(.snapshot(transactions: [], downloads: [section])))
    #expect(shelf.device.download(of: product)?.id == failed.id)
  }

  @Test("what comes can be read page by page until its download ends, and what was moved away cannot")
  func reading() throws {
    func book(_ item: LibraryItem?, _ state: DownloadStatus.State?) throws -> ShelfState.Book {
      ShelfState.Book(
        product: try #require(ProductIdentifier(Self.name)), title: "", item: item,
        download: try state.map { ContentDownload(try Sample.download($0)) })
    }
    for state in DownloadStatus.State.allCases {
      let canBeRead = try book(nil, state).canBeRead
      #expect(canBeRead == !state.isFinal, "\(state)")
    }
    var withdrawn = try Self.item(state: .offline)
    withdrawn.withdrawn = true
    #expect(try !book(withdrawn, .active).canBeRead)
    #expect(try book(try Self.item(state: .damaged), .active).canBeRead)
    #expect(try !book(try Self.item(state: .damaged), nil).canBeRead)
  }

  @Test("a reader of states gets the present one first, then the latest of those that it did not read")
  func states() async throws {
    var store: ModelStore<Int>? = ModelStore(1)
    var reader = try #require(store).states.makeAsyncIterator()
    #expect(await reader.next() == 1)
    store?.change { $0 = 2 }
    store?.change { $0 = 3 }
    #expect(await reader.next() == 3)
    store = nil
    #expect(await reader.next() == nil)
  }

  @Test("changes of transactions are told once, and those that were over before are none")
  func transactions() throws {
    var changes = TransactionChanges()
    let (old, live) = (try Sample.transaction("19", step: "finished"), try Sample.transaction())
    #expect(changes.apply(.snapshot(transactions: [old, live], downloads: [])).map(\.id) == [live.id])
    #expect(changes.apply(.event(.transaction(live))).isEmpty)
    let over = try Sample.transaction(step: "finished")
    #expect(changes.apply(.event(.transaction(over))) == [over])
    #expect(changes.apply(.snapshot(transactions: [over], downloads: [])).isEmpty)
  }

  @Test("a refusal that decides nothing is no refusal: it is thrown")
  func refusals() {
    #expect(PullboxKit.Product.Refusal(Problem(.storeUnavailable)) == nil)
    #expect(PullboxKit.Product.Refusal(Problem(.priceChanged))?.reason == .priceChanged)
    #expect(PullboxKit.Product.Refusal(Problem(.deviceLimit))?.reason == .deviceLimit)
  }
}
