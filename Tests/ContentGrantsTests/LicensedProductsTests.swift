import Commerce
import CoreTypes
import Crypto
import PullboxAPI
import ServiceAPI
import Testing

@testable import ContentGrants

/// docs/delivery.md, "Licenses".
@Suite("The products that a license lists")
struct LicensedProductsTests {
  private static let start = Timestamp(millisecondsSinceEpoch: 1_795_249_800_000)

  private func product(_ number: Int, length: Int = 20) throws -> ProductIdentifier {
    let number = "\(number)"
    return try #require(
      ProductIdentifier("p" + String(repeating: "0", count: length - 1 - number.utf8.count) + number))
  }

  private func owned(_ product: ProductIdentifier) -> LicensedProducts.Entry {
    .owned(License.Owned(product: product, because: "published-during-subscription", until: Self.start))
  }

  @Test("what is owned comes before what ended, and of these the latest, by count as well as by bytes")
  func cut() throws {
    let ended = LicensedProducts.Entry.ended(
      License.Ended(product: try product(9), because: "revoked", until: Self.start, keep: true))
    let entries = [ended] + (try (0..<4).map { owned(try product($0)) })
    func cut(limit: Int = 10, room: Int = 100_000) -> [LicensedProducts.Entry] {
      LicensedProducts.cut(entries, limit: limit, room: room) { product in
        Self.start + .seconds(Int64("\(product)".utf8.last ?? 0))
      }
    }
    let sorted = [entries[4], entries[3], entries[2], entries[1], ended]
    let lengths = entries.map(\.length)
    #expect(cut() == entries && cut(limit: 5, room: lengths.reduce(0, +)) == entries)
    for count in 0..<5 {
      #expect(cut(limit: count) == Array(sorted.prefix(count)))
      let room = sorted.prefix(count).reduce(0) { $0 + $1.length }
      #expect(cut(room: room) == Array(sorted.prefix(count)))
      #expect(cut(room: room + lengths[1] - 1).count <= count + 1)
    }
  }

  @Test("lists of the longest names have as much room as can be signed")
  func longest() throws {
    let entries = try (0..<License.maximumProducts).map { owned(try product($0, length: 200)) }
    let listed = LicensedProducts.cut(
      entries, limit: License.maximumProducts, room: License.maximumListLength
    ) { _ in Self.start }
    #expect(listed.count < entries.count && listed.count > 4000)
    let products = listed.compactMap { entry -> License.Owned? in
      if case .owned(let product) = entry { product } else { nil }
    }
    #expect(try APIJSON.encode(products).count <= License.maximumListLength + 1)
    let license = License(
      serial: String(repeating: "s", count: 64), customer: String(repeating: "c", count: 64),
      device: try #require(DeviceIdentifier("d")), deviceKey: SigningKey().verificationKey,
      issued: Self.start, expires: Self.start + .seconds(86_400), owned: products, ended: [], isWhole: false)
    let key = SigningKey()
    let text = try license.signed(with: key)
    #expect(try License(text, verifiedWith: [key.verificationKey]) == license)
  }
}
