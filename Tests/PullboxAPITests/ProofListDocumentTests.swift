import Commerce
import PullboxAPI
import ServiceAPI
import Testing

/// The proofs of a request, docs/stores.md: one whose members stand beside the others, or 1 to 8 as `proofs`.
@Suite("Proofs in requests")
struct ProofListDocumentTests {
  private func read<Value: Decodable>(_ type: Value.Type, _ members: String) throws -> Value {
    try APIJSON.decode(type, from: Array(#"{"device":{"id":"d"},\#(members)}"#.utf8))
  }

  private func refusal<Value: Decodable>(_ type: Value.Type, _ members: String) -> String? {
    do {
      _ = try read(type, members)
      return nil
    } catch {
      return APIJSON.explain(error)
    }
  }

  private func members(_ value: some Encodable) throws -> [String] {
    try JSONText.members(String(decoding: APIJSON.encode(value), as: UTF8.self)).keys.sorted()
  }

  @Test("a list has 1 to 8 proofs, in a document and in code")
  func counts() throws {
    for count in 0...10 {
      let isRight = (1...8).contains(count)
      #expect((ProofList((0..<count).map { Proof(receipt: "\($0)") }) != nil) == isRight, "\(count)")
      let list = (0..<count).map { #"{"receipt":"\#($0)"}"# }.joined(separator: ",")
      let sentence = refusal(EntitlementsRequest.self, #""proofs":[\#(list)]"#)
      #expect(sentence == (isRight ? nil : "proofs: not 1 to 8 proofs"), "\(count)")
    }
  }

  @Test("proofs keep their order, and a list of one stays a list")
  func order() throws {
    let three = try read(ProofList.self, #""proofs":[{"receipt":"a"},{"purchaseToken":"b"},{"receipt":"c"}]"#)
    #expect(three.isList && three.all.map { $0.receipt ?? $0.purchaseToken } == ["a", "b", "c"])
    let one = try read(ProofList.self, #""proofs":[{"receipt":"a"}]"#)
    #expect(one.isList && one.all.count == 1)
    #expect(try members(one) == ["proofs"])
    let beside = try read(ProofList.self, #""receipt":"a","store":"sandbox""#)
    #expect(!beside.isList && beside.all.map(\.receipt) == ["a"])
    #expect(try members(beside) == ["receipt", "store"])
  }

  @Test(
    "a list stands beside no member of one proof",
    arguments: ["store", "receipt", "signedTransaction", "purchaseToken"])
  func besides(member: String) {
    let sentence = refusal(EntitlementsRequest.self, #""proofs":[{"receipt":"a"}],"\#(member)":"b""#)
    #expect(sentence == "proofs: it cannot stand beside a proof's own members")
    // Null is as if it were absent, on either side.
    #expect(refusal(EntitlementsRequest.self, #""proofs":[{"receipt":"a"}],"\#(member)":null"#) == nil)
    #expect(refusal(EntitlementsRequest.self, #""proofs":null,"\#(member)":"b""#) == nil)
  }

  @Test(
    "a receipt is one proof however its base 64 is broken into lines, and other proofs are taken as they are")
  func lines() throws {
    let broken = try read(ProofList.self, #""receipt":"MI\r\nIB\n+/8=\r","signedTransaction":"a\nb""#)
    #expect(broken.all.first?.receipt == "MIIB+/8=")
    #expect(broken.all.first?.signedTransaction == "a\nb")
    let listed = try read(ProofList.self, #""proofs":[{"receipt":"MI\nIB"}]"#)
    #expect(listed.all.first?.receipt == "MIIB")
  }

  @Test("each request that has proofs writes a list as `proofs`, and one proof beside its own members")
  func requests() throws {
    let device = Device(id: try #require(DeviceIdentifier("d")))
    let product = try #require(ProductIdentifier("a"))
    let proof = Proof(store: "sandbox", receipt: "MIIB")
    let list = try #require(ProofList([proof, proof]))
    var grant = GrantRequest(proof: proof, product: product, device: device)
    var batch = GrantBatchRequest(proof: proof, products: [product], device: device)
    var entitlements = EntitlementsRequest(proof: proof, device: device)
    #expect(try members(grant) == ["device", "product", "receipt", "store"])
    #expect(try members(batch) == ["device", "products", "receipt", "store"])
    #expect(try members(entitlements) == ["device", "receipt", "store"])
    grant.proofs = list
    batch.proofs = list
    entitlements.proofs = list
    #expect(try members(grant) == ["device", "product", "proofs"])
    #expect(try members(batch) == ["device", "products", "proofs"])
    #expect(try members(entitlements) == ["device", "proofs"])
  }

  // MARK: One product or several

  @Test("`products` makes a request one for several products, `product` one for one")
  func kinds() throws {
    let one = try read(GrantsRequest.self, #""product":"a","receipt":"r","version":"1.0","transaction":"7""#)
    guard case .one(let request) = one else {
      Issue.record("read as a request for several products")
      return
    }
    #expect(request.product.description == "a" && request.version == ContentVersion("1"))
    #expect(one.device.id.description == "d" && one.proofs.all.first?.receipt == "r")
    let many = try read(
      GrantsRequest.self, #""products":["b","a"],"proofs":[{"receipt":"r"},{"receipt":"s"}]"#)
    guard case .many(let batch) = many else {
      Issue.record("read as a request for one product")
      return
    }
    #expect(batch.products.map(\.description) == ["b", "a"])
    #expect(many.device.id.description == "d" && many.proofs.all.map(\.receipt) == ["r", "s"])
    #expect(refusal(GrantsRequest.self, #""receipt":"r""#) == "product is missing")
  }

  @Test(
    "what is about one product cannot stand beside several", arguments: ["product", "version", "transaction"])
  func besideProducts(member: String) {
    let sentence = refusal(GrantsRequest.self, #""products":["a"],"\#(member)":"1""#)
    #expect(sentence == "\(member): it cannot stand beside products")
  }

  @Test("a request is for 1 to 200 products, none of them twice")
  func products() {
    func list(_ names: some Sequence<String>) -> String {
      #""products":[\#(names.map { "\"\($0)\"" }.joined(separator: ","))]"#
    }
    for count in [0, 1, 2, 199, 200, 201, 400] {
      let sentence = refusal(GrantsRequest.self, list((0..<count).map { "a\($0)" }))
      let isRight = (1...200).contains(count)
      #expect(sentence == (isRight ? nil : "products: not 1 to 200 products, each once"), "\(count)")
    }
    #expect(
      refusal(GrantsRequest.self, list(["a", "b", "a"])) == "products: not 1 to 200 products, each once")
    // Products differ by case.
    #expect(refusal(GrantsRequest.self, list(["a", "A"])) == nil)
  }
}
