import Commerce
import Testing

@testable import DeliveryModel

@Suite("Releases to a part of the devices")
struct RolloutPercentageTests {
  private func product(_ text: String) throws -> ProductIdentifier { try #require(ProductIdentifier(text)) }
  private func device(_ text: String) throws -> DeviceIdentifier { try #require(DeviceIdentifier(text)) }

  /// printf 'pullbox-release/1\0com.example.issue1\0device-1' | sha256sum | cut -c1-16, modulo 10,000.
  @Test(
    "a device's place is the hash of product and device",
    arguments: [
      ("com.example.issue1", "device-1", 4730), ("com.example.issue1", "device-2", 856),
      ("com.example.issue2", "device-1", 1753),
    ] as [(String, String, UInt64)])
  func place(product name: String, device id: String, expected: UInt64) throws {
    #expect(RolloutPercentage.place(of: try device(id), for: try product(name)) == expected)
  }

  @Test("raising the percentage only adds devices, and all of them are in a hundred")
  func monotonic() throws {
    let product = try product("com.example.issue1")
    for number in 0..<500 {
      let device = try device("device-\(number)")
      let reached = RolloutPercentage.range.filter {
        RolloutPercentage(percentage: $0)?.includes(device, of: product) == true
      }
      #expect(reached == Array((reached.first ?? 0)...100))
    }
  }

  @Test("about as many devices of a hundred get it as the percentage says")
  func proportion() throws {
    let product = try product("com.example.issue1")
    let share = try #require(RolloutPercentage(percentage: 10))
    let reached = try (0..<10_000).count { share.includes(try device("device-\($0)"), of: product) }
    // 1,000 are expected; five standard deviations (30) on either side.
    #expect((850...1150).contains(reached))
  }

  @Test("another product has other devices first")
  func otherProduct() throws {
    let share = try #require(RolloutPercentage(percentage: 10))
    let (first, second) = (try product("com.example.issue1"), try product("com.example.issue2"))
    let differ = try (0..<1000).contains { number in
      let device = try device("device-\(number)")
      return share.includes(device, of: first) != share.includes(device, of: second)
    }
    #expect(differ)
  }

  @Test("a percentage is a whole number from 1 to 100", arguments: [-1, 0, 101])
  func range(percentage: Int) {
    #expect(RolloutPercentage(percentage: percentage) == nil)
  }
}
