import Commerce
import CoreTypes
import Database
import PullboxAPI
import PullboxTesting
import ServiceRuntime
import Testing

@testable import ContentGrants
@testable import DeliveryRecords
@testable import DeliveryService

/// A customer whose devices are more than a server looks up at once.
@Suite("Many feeds of one customer")
struct FeedsOfOneCustomerTests {
  private let shop = FeedTests()

  /// Makes feeds of the customer whose is `device`, that many, and answers the number of the last one.
  private func fill(
    _ count: Int, besideThatOf device: DeviceIdentifier, on server: ServerHarness
  ) async throws -> Int64 {
    let now = server.clock.now()
    return try await server.server.components.infrastructure.database.write(locking: [.everything]) {
      connection in
      let feeds = try FeedTable.all(of: device, in: connection)
      let own = try #require(feeds.first)
      var last = own.number
      for number in 0..<count {
        let other = try #require(DeviceIdentifier("other-\(number)"))
        let placed = try FeedTable.put(
          of: other, at: own.store, environment: own.environment, customer: own.customer, epoch: 1, at: now,
          in: connection)
        last = try #require(placed).feed.number
      }
      return last
    }
  }

  @Test(
    "what one device shows or buys wakes all of its customer's, also where they are more than are looked up at once"
  )
  func all() async throws {
    // A clock that stands still: nothing looks for changes of its own accord.
    try await ServerHarness.run(timer: ManualMonotonicClock()) { server in
      let bought = try await shop.subscribe(on: server)
      let singles = (1...2).map { "com.example.single\($0)" }
      for product in singles { try await server.publish(shop.package + Array(product.utf8), as: product) }
      _ = try await shop.show([bought], to: server)
      let last = try await fill(2 * FeedTable.pageLength, besideThatOf: server.device.id, on: server)

      let waiters = server.server.components.feeds.waiters
      let waiter = waiters.add(last)
      defer { waiters.remove(waiter) }
      func isWoken() async -> Bool { await waiter.signal.wait(atMost: .zero, clock: SystemMonotonicClock()) }
      // The products' releases may have left a wake.
      _ = await isWoken()
      let first = server.purchase(of: singles[0], id: "2000000000000002")
      _ = try await shop.show([bought, first], to: server)
      #expect(await isWoken())
      let second = server.purchase(of: singles[1], id: "2000000000000003")
      let receipt = try server.store.receipt(of: [bought, first, second], device: server.device.id)
      _ = try await server.grant(singles[1], receipt: receipt)
      #expect(await isWoken())
    }
  }
}
