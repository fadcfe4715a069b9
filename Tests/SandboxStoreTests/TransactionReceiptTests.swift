import Commerce
import CoreTypes
import Crypto
import FoundationEssentials
import HTTPServer
import PullboxAPI
import PullboxTesting
import Receipts
import ServiceAPI
import Testing

@testable import SandboxStore

/// Receipts in the style of before unified ones: facts §1.1, §2.1 (21006) and §2.2 (flat answers).
@Suite("Receipts of one transaction")
struct TransactionReceiptTests {
  let store: StoreHarness

  init() throws {
    store = try StoreHarness()
  }

  private func receipt(of transaction: StoreTransaction, token: String) async throws -> String {
    try await store.get(
      "/store/v1/transactions/\(transaction.id)/receipt", token: token, as: ReceiptResponse.self
    ).receipt
  }

  private func answer(_ receipt: String, in store: StoreHarness? = nil) async throws -> [String: Any] {
    let answer = try await (store ?? self.store).send(
      .post, "/verifyReceipt", body: APIJSON.encode(VerifyReceiptRequest(receiptData: receipt)))
    #expect(answer.status == 200)
    // Nothing of it may be read as a client of today would.
    _ = try VerifyReceiptResponse(json: answer.body)
    return try #require(try JSONText.object(answer.body))
  }

  @Test("one of a non-consumable is a property list in another, and its answer is flat and of text")
  func nonConsumable() async throws {
    let token = try await store.openAccount()
    let bought = try await store.buy(StoreHarness.issue, token: token)
    let receipt = try await receipt(of: bought, token: token)
    let outer = String(decoding: try #require(Base64.decode(receipt)), as: UTF8.self)
    let match = try #require(outer.firstMatch(of: /"purchase-info"\s+=\s+"([a-zA-Z0-9+\/=]+)";/))
    let info = String(decoding: try #require(Base64.decode(match.output.1)), as: UTF8.self)
    #expect(info.contains("\"transaction-id\" = \"\(bought.id)\";"))
    #expect(outer.contains(#""environment" = "Sandbox";"#))

    let answer = try await answer(receipt)
    #expect(answer["status"] as? Int == 0)
    let flat = try #require(answer["receipt"] as? [String: Any])
    #expect(flat["bid"] as? String == "com.example.pullbox")
    #expect(flat["quantity"] as? String == "1")
    #expect(flat["transaction_id"] as? String == bought.id.description)
    #expect(flat["purchase_date_ms"] as? String == "\(bought.purchaseDate.millisecondsSinceEpoch)")
    #expect(flat.values.allSatisfy { $0 is String })
    #expect(answer["latest_receipt_info"] == nil && answer["in_app"] == nil)
  }

  @Test("one of a subscription tells its last period and its renewal, and is 21006 once it has ended")
  func subscription() async throws {
    let token = try await store.openAccount()
    let first = try await store.buy(StoreHarness.magazine, token: token)
    let receipt = try await receipt(of: first, token: token)
    store.clock.advance(by: .seconds(310))
    let running = try await answer(receipt)
    #expect(running["status"] as? Int == 0 && running["auto_renew_status"] as? Int == 1)
    #expect(running["auto_renew_product_id"] as? String == "com.example.magazine.monthly")
    let shown = try #require(running["receipt"] as? [String: Any])
    let latest = try #require(running["latest_receipt_info"] as? [String: Any])
    #expect(shown["expires_date"] as? String == "\(first.purchaseDate.millisecondsSinceEpoch + 300_000)")
    #expect(latest["expires_date"] as? String == "\(first.purchaseDate.millisecondsSinceEpoch + 600_000)")
    #expect((latest["expires_date_formatted"] as? String)?.hasSuffix("Etc/GMT") == true)
    let newer = try #require(running["latest_receipt"] as? String)
    #expect(try await answer(newer)["status"] as? Int == 0)

    store.clock.advance(by: .seconds(3600))
    let over = try await answer(receipt)
    #expect(over["status"] as? Int == 21006 && over["auto_renew_status"] as? Int == 0)
    #expect(over["expiration_intent"] as? String == "1")
    #expect(over["receipt"] != nil && over["latest_expired_receipt_info"] != nil)
    #expect(over["latest_receipt_info"] == nil && over["latest_receipt"] == nil)
  }

  @Test("a changed one is 21003 or 21002, another environment's 21007 or 21008, another account's unknown")
  func refused() async throws {
    let token = try await store.openAccount()
    let bought = try await store.buy(StoreHarness.issue, token: token)
    let genuine = try await receipt(of: bought, token: token)
    let bytes = try #require(Base64.decode(genuine))
    var statuses: Set<Int> = []
    for position in stride(from: 0, to: bytes.count, by: 61) {
      var changed = bytes
      changed[position] ^= 0x01
      statuses.insert(try #require(try await answer(Base64.encode(changed))["status"] as? Int))
    }
    #expect(statuses.isSubset(of: [0, 21002, 21003, 21008]) && statuses.isSuperset(of: [21002, 21003]))
    // Members that no signature covers are written in the outer list beside it; the purchase is not.
    let text = String(decoding: bytes, as: UTF8.self)
    let info = try #require(text.firstMatch(of: /"purchase-info" = "([^"]+)"/)).output.1
    let other = String(decoding: try #require(Base64.decode(info)), as: UTF8.self)
      .replacing("heroes.issue1", with: "heroes.issue2")
    let forged = text.replacing(info, with: Base64.encode(Array(other.utf8)))
    #expect(try await answer(Base64.encode(Array(forged.utf8)))["status"] as? Int == 21003)
    for text in ["{}", "{\n}", "{\n\t\"signature\" = \"AAAA\";\n}", "{\n\"a\"\n}"] {
      #expect(try await answer(Base64.encode(Array(text.utf8)))["status"] as? Int == 21002)
    }

    let production = try StoreHarness(environment: .production)
    #expect(try await answer(genuine, in: production)["status"] as? Int == 21007)
    let stranger = try await store.openAccount()
    let path = "/store/v1/transactions/\(bought.id)/receipt"
    #expect(try await store.refusal(.get, path, token: stranger) == .transactionUnknown)
  }
}

/// JSON as it stands, whatever the types of its members.
private enum JSONText {
  static func object(_ bytes: [UInt8]) throws -> [String: Any]? {
    try JSONDecoder().decode(Value.self, from: Data(bytes)).any as? [String: Any]
  }

  private enum Value: Decodable {
    case text(String)
    case number(Int)
    case flag(Bool)
    case list([Value])
    case object([String: Value])

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if let value = try? container.decode(String.self) {
        self = .text(value)
      } else if let value = try? container.decode(Int.self) {
        self = .number(value)
      } else if let value = try? container.decode(Bool.self) {
        self = .flag(value)
      } else if let value = try? container.decode([Value].self) {
        self = .list(value)
      } else {
        self = .object(try container.decode([String: Value].self))
      }
    }

    var any: Any {
      switch self {
      case .text(let value): value
      case .number(let value): value
      case .flag(let value): value
      case .list(let values): values.map(\.any)
      case .object(let members): members.mapValues(\.any)
      }
    }
  }
}
