import Commerce
import CoreTypes
import Crypto
import Files
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import Receipts
import ServiceAPI
import ServiceRuntime
import Synchronization
import SystemCalls
import Testing

@testable import DeliveryService
@testable import PaymentStores

@Suite("Stores, their addresses and their environments")
struct StoreAccessTests {
  private static let secret = "0123456789abcdef-shared"

  private func stores(_ options: [String]) throws -> [DeliveryConfiguration.StoreAccess] {
    let parser = ArgumentParser(DeliveryConfiguration.command, environment: [:])
    guard case .run(let parsed) = try parser.parse(["--operator-key", ServerHarness.operatorKey] + options)
    else { throw UsageError("help") }
    return try ConfigurationLoader.load(DeliveryConfiguration.self, arguments: parsed).paymentStores()
  }

  @Test(
    "a store of the kind apple has Apple's addresses, and counts production alone unless the sandbox is allowed"
  )
  func apple() throws {
    for (more, counting) in [("", [.production]), ("allowSandbox: true", [.production, .sandbox])]
      as [(String, Set<StoreEnvironment>)]
    {
      let store = try #require(
        try stores(["--payment-store", "{name: 'apple', kind: 'apple', bundles: ['a.b'], \(more)}"]).first)
      #expect(
        store.access.addresses == [
          .production: "https://buy.itunes.apple.com", .sandbox: "https://sandbox.itunes.apple.com",
        ])
      #expect(store.policy.environments == counting)
      #expect(store.policy.addresses == [.production, .sandbox])
      #expect(store.access.credential == nil)
    }
  }

  @Test("the options are the short form for one store, whose sandbox counts; both together are two stores")
  func shortForm() throws {
    let short = ["--store-credential", FakePaymentStore.credential, "--store-url", "http://127.0.0.1:1"]
    let alone = try stores(short)
    #expect(alone.map(\.name) == [.sandbox])
    #expect(alone.first?.access.addresses == [.sandbox: "http://127.0.0.1:1"])
    #expect(alone.first?.policy.environments == [.sandbox])
    let both = try stores(short + ["--payment-store", "{name: 'apple', kind: 'apple', bundles: ['a.b']}"])
    #expect(both.map(\.name) == [.apple, .sandbox])
  }

  @Test("a shared secret is read from its file, which its owner alone may read")
  func secretFile() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("secret")
    try DurableFile.write(Array((Self.secret + "\n").utf8).span, to: path, permissions: 0o600)
    let option = "{name: 'apple', kind: 'apple', bundles: ['a.b'], sharedSecretFile: '\(path)'}"
    #expect(try stores(["--payment-store", option]).first?.access.sharedSecret?.revealed == Self.secret)
    try DurableFile.write(Array(Self.secret.utf8).span, to: path, permissions: 0o644)
    let error = #expect(throws: ConfigurationError.self) { try stores(["--payment-store", option]) }
    #expect(error?.subject == "stores.0.sharedSecretFile")
    #expect(error.map { "\($0)" }?.contains(Self.secret) == false)
  }

  /// Files for what a store signs: the root of a sandbox store, and keys.
  private func signingFiles() throws -> TemporaryDirectory {
    let directory = try TemporaryDirectory()
    let authority = try SignedDataAuthority.generate(
      .init(responder: "http://127.0.0.1:1/ocsp", now: ServerHarness.start))
    func write(_ text: String, _ name: String, _ permissions: UInt32 = 0o600) throws {
      try DurableFile.write(Array(text.utf8).span, to: directory.path(name), permissions: permissions)
    }
    try write(authority.root.pem, "root.pem")
    try write("", "empty.pem")
    try write("garbage", "garbage.der")
    try write(ES256Key().pem, "key.p8")
    try write(ES256Key().pem, "open.p8", 0o644)
    try write(authority.root.pem, "none.p8")
    return directory
  }

  @Test(
    "a root that a sandbox store made proves no purchase that cost money: the store does not start, and names the file"
  )
  func sandboxRoot() throws {
    let directory = try signingFiles()
    let root = directory.path("root.pem")
    for more in ["", ", allowSandbox: true", ", addresses: {production: 'http://127.0.0.1:1'}"] {
      let error = #expect(throws: ConfigurationError.self) {
        try stores([
          "--payment-store", "{name: 'a', kind: 'apple', bundles: ['a.b'], roots: ['\(root)']\(more)}",
        ])
      }
      #expect(error?.faults.map(\.subject) == ["stores.0.roots.0"])
      #expect(error.map { "\($0)" }?.contains(root) == true)
    }
    let receipts = directory.path("receipt-root.pem")
    let authority = try ReceiptAuthority.generate(.init(now: ServerHarness.start))
    try DurableFile.write(Array(authority.root.pem.utf8).span, to: receipts)
    let error = #expect(throws: ConfigurationError.self) {
      try stores([
        "--payment-store", "{name: 'a', kind: 'apple', bundles: ['a.b'], receiptRoots: ['\(receipts)']}",
      ])
    }
    #expect(error?.faults.map(\.subject) == ["stores.0.receiptRoots.0"])
    // Where the sandbox alone counts it is what signs.
    let sandbox = "addresses: {sandbox: 'http://127.0.0.1:1'}"
    #expect(throws: Never.self) {
      try stores([
        "--payment-store", "{name: 'a', kind: 'apple', bundles: ['a.b'], roots: ['\(root)'], \(sandbox)}",
      ])
    }
  }

  @Test(
    "what cannot be meant of signed data and its interface is refused by the name of the key",
    arguments: [
      ("roots: ['DIR/nothing.pem']", "roots.0"), ("roots: ['DIR/empty.pem']", "roots.0"),
      ("roots: ['DIR/root.pem', 'DIR/garbage.der']", "roots.1"), ("onlineChecks: false", "onlineChecks"),
      ("receiptRoots: ['DIR/root.pem', 'DIR/empty.pem']", "receiptRoots.1"),
      ("acceptSHA1: true", "acceptSHA1"), ("minimumVersion: '1.x'", "minimumVersion"),
      ("appAppleId: 7", "appAppleId"), ("issuer: 'i'", "issuer"), ("keyId: 'k'", "keyId"),
      ("keyFile: 'DIR/key.p8'", "keyFile"),
      ("roots: ['DIR/root.pem'], issuer: 'i', keyFile: 'DIR/key.p8'", "keyId"),
      ("roots: ['DIR/root.pem'], issuer: '', keyId: 'k', keyFile: 'DIR/key.p8'", "issuer"),
      ("roots: ['DIR/root.pem'], issuer: 'i', keyId: 'k', keyFile: 'DIR/nothing.p8'", "keyFile"),
      ("roots: ['DIR/root.pem'], issuer: 'i', keyId: 'k', keyFile: 'DIR/open.p8'", "keyFile"),
      ("roots: ['DIR/root.pem'], issuer: 'i', keyId: 'k', keyFile: 'DIR/none.p8'", "keyFile"),
    ])
  func signedData(members: String, key: String) throws {
    let directory = try signingFiles()
    let option =
      "{name: 'a', kind: 'apple', bundles: ['a.b'], addresses: {sandbox: 'http://127.0.0.1:1'}, "
      + members.replacing("DIR", with: directory.path) + "}"
    let error = #expect(throws: ConfigurationError.self) { try stores(["--payment-store", option]) }
    #expect(error?.faults.map(\.subject) == ["stores.0.\(key)"])
  }

  @Test(
    "the interface has a key, and addresses that can be asked",
    arguments: [
      ("api: {sandbox: 'http://127.0.0.1:1'}", false, "keyFile"),
      ("api: {sandbox: 'ftp://127.0.0.1:1'}", true, "addresses.api.sandbox"),
      ("api: {production: 'https://a.example'}", true, "addresses.api"),
    ])
  func interfaceAddresses(api: String, hasKey: Bool, key: String) throws {
    let directory = try signingFiles()
    let files = hasKey ? "issuer: 'i', keyId: 'k', keyFile: '\(directory.path("key.p8"))', " : ""
    let option =
      "{name: 'a', kind: 'apple', bundles: ['a.b'], \(files)roots: ['\(directory.path("root.pem"))'], "
      + "addresses: {sandbox: 'http://127.0.0.1:1', \(api)}}"
    let error = #expect(throws: ConfigurationError.self) { try stores(["--payment-store", option]) }
    #expect(error?.faults.map(\.subject) == ["stores.0.\(key)"])
  }

  @Test(
    "what cannot be meant is refused by the name of the key",
    arguments: [
      ("{name: 'a b', kind: 'apple', bundles: ['a.b']}", "stores.0.name"),
      ("{name: 'a', kind: 'apple', bundles: []}", "stores.0.bundles"),
      ("{name: 'a', kind: 'apple', bundles: ['a.b'], addresses: {}}", "stores.0.addresses"),
      (
        "{name: 'a', kind: 'apple', bundles: ['a.b'], addresses: {sandbox: 'ftp://a'}}",
        "stores.0.addresses.sandbox"
      ),
      ("{name: 'a', kind: 'apple', bundles: ['a.b'], credential: 'c'}", "stores.0.credential"),
      (
        "{name: 'a', kind: 'apple', bundles: ['a.b'], addresses: {sandbox: 'http://a'}, allowSandbox: false}",
        "stores.0.allowSandbox"
      ),
      (
        "{name: 'a', kind: 'apple', bundles: ['a.b'], sharedSecret: 'c', sharedSecretFile: '/c'}",
        "stores.0.sharedSecretFile"
      ),
      ("{name: 'a', kind: 'pullbox', bundles: ['a.b'], credential: 'c'}", "stores.0.addresses"),
      (
        "{name: 'a', kind: 'pullbox', bundles: ['a.b'], addresses: {sandbox: 'http://a'}}",
        "stores.0.credential"
      ),
      (
        "{name: 'a', kind: 'pullbox', bundles: ['a.b'], addresses: {sandbox: 'https://a', production: 'https://b'}, credential: 'c'}",
        "stores.0.addresses"
      ),
      (
        "{name: 'a', kind: 'apple', bundles: ['a.b'], sharedSecret: 's', addresses: {sandbox: 'http://store.example'}}",
        "stores.0.addresses.sandbox"
      ),
      (
        "{name: 'a', kind: 'pullbox', bundles: ['a.b'], credential: 's', addresses: {production: 'http://127.0.0.1.example'}}",
        "stores.0.addresses.production"
      ),
      ("{name: 'a', kind: 'google', bundles: ['a.b']}", "stores.0.keyFile"),
      ("{name: 'a', kind: 'other', bundles: ['a.b']}", "stores.0.kind"),
      ("{name: 'a', kind: 'apple', bundles: ['a.b'], environment: 'Xcode'}", "stores.0.environment"),
    ])
  func refused(option: String, subject: String) {
    let error = #expect(throws: ConfigurationError.self) { try stores(["--payment-store", option]) }
    #expect(error?.faults.map(\.subject) == [subject])
  }

  @Test("two stores of one name are refused, and so is a server without any")
  func names() {
    let store = "{name: 'a', kind: 'apple', bundles: ['a.b']}"
    let twice = #expect(throws: ConfigurationError.self) {
      try stores(["--payment-store", store, "--payment-store", store])
    }
    #expect(twice?.subject == "stores.1.name")
    let none = #expect(throws: ConfigurationError.self) { try stores([]) }
    #expect(none?.subject == "store.credential")
  }

  private func grant(
    _ receipt: String, at store: String, _ server: ServerHarness
  ) async throws -> GrantResponse {
    let request = GrantRequest(
      proof: Proof(store: store, receipt: receipt),
      product: try #require(ProductIdentifier("com.example.issue1")), device: server.device)
    return try await server.api.call("POST", "/v1/grants", body: request, as: GrantResponse.self).value
  }

  @Test(
    "each environment is asked at its address, with the secret; a sandbox receipt counts where that is allowed",
    arguments: [false, true])
  func environments(allowsSandbox: Bool) async throws {
    let clock = ManualWallClock(ServerHarness.start)
    let (production, sandbox) = (try FakePaymentStore(clock: clock), try FakePaymentStore(clock: clock))
    production.state.withLock { $0.environment = .production }
    let store =
      "{name: 'apple', kind: 'apple', addresses: {production: '\(production.url)', sandbox: '\(sandbox.url)'}, "
      + "sharedSecret: '\(Self.secret)', bundles: ['com.example.pullbox'], allowSandbox: \(allowsSandbox)}"
    try await ServerHarness.run(options: ["--payment-store", store]) { server in
      try await server.publish([1, 2, 3])
      let paid = try production.receipt(
        of: [server.purchase()], device: server.device.id, environment: "Production")
      _ = try await grant(paid, at: "apple", server)
      #expect(production.state.withLock { $0.passwords } == [Self.secret])
      #expect(sandbox.state.withLock { $0.passwords } == [])
      // It has the number of the paid one, and shares nothing with it.
      let tried = try sandbox.receipt(of: [server.purchase()], device: server.device.id)
      if allowsSandbox {
        _ = try await grant(tried, at: "apple", server)
      } else {
        let refused = try await server.problem { _ = try await grant(tried, at: "apple", server) }
        #expect(refused.code == .receiptWrongEnvironment)
      }
      let grants = try await server.operatorAPI.get("/v1/operator/grants", as: Page<OperatorGrant>.self)
      #expect(
        grants.items.map(\.environment) == (allowsSandbox ? ["Sandbox", "Production"] : ["Production"]))
      #expect(Set(grants.items.map(\.transaction)).count == 1)
      #expect(production.state.withLock { $0.passwords } == [Self.secret, Self.secret])
      #expect(sandbox.state.withLock { $0.passwords } == [Self.secret])
      // The store of the options sees none of it.
      #expect(server.store.state.withLock { $0.questions } == 0)
    }
    await production.stop()
    await sandbox.stop()
  }

  /// A receipt of one purchase, for the harness's device.
  private func receipt(
    of server: ServerHarness, version: String = "1.10", by authority: ReceiptAuthority
  ) throws -> String {
    let now = Timestamp(millisecondsSinceEpoch: server.clock.now().secondsSinceEpoch * 1000)
    var receipt = AppReceipt(
      environmentName: "ProductionSandbox", bundleIdentifier: "com.example.pullbox",
      applicationVersion: version, creationDate: now, purchases: [server.purchase()])
    receipt.bind(to: server.device.id)
    return try authority.signer.signBase64(receipt)
  }

  @Test(
    "with roots, forged app receipts and those of early versions are refused without a question to the store")
  func receiptRoots() async throws {
    let store = try FakePaymentStore(clock: ManualWallClock(ServerHarness.start))
    let directory = try TemporaryDirectory()
    func authority(_ change: (inout ReceiptAuthority.Options) -> Void = { _ in }) throws -> ReceiptAuthority {
      var options = ReceiptAuthority.Options(now: ServerHarness.start)
      change(&options)
      return try ReceiptAuthority.generate(options)
    }
    let (foreign, unmarked) = (try authority(), try authority { $0.marksLeaf = false })
    for (name, root) in [("root.pem", store.root), ("unmarked.pem", unmarked.root)] {
      try DurableFile.write(Array(root.pem.utf8).span, to: directory.path(name))
    }
    let entry = """
      {name: 'apple', kind: 'apple', bundles: ['com.example.pullbox'], addresses: {sandbox: '\(store.url)'},
       receiptRoots: ['\(directory.path("root.pem"))', '\(directory.path("unmarked.pem"))'], minimumVersion: '1.2'}
      """
    try await ServerHarness.run(options: ["--payment-store", entry]) { server in
      try await server.publish([1, 2, 3])
      let genuine = try receipt(of: server, by: store.receiptAuthority)
      var changed = try #require(Base64.decode(genuine))
      changed[changed.count - 1] ^= 1
      let forged: [(name: String, receipt: String, code: ProblemCode)] = [
        ("another root of the same names", try receipt(of: server, by: foreign), .receiptNotAuthentic),
        ("a leaf without marker", try receipt(of: server, by: unmarked), .receiptNotAuthentic),
        ("a changed signature", Base64.encode(changed), .receiptNotAuthentic),
        (
          "an early version", try receipt(of: server, version: "1.1.9", by: store.receiptAuthority),
          .receiptWrongApplication
        ),
        (
          "no version", try receipt(of: server, version: "beta", by: store.receiptAuthority),
          .receiptWrongApplication
        ),
      ]
      for entry in forged {
        let refused = try await server.problem { _ = try await grant(entry.receipt, at: "apple", server) }
        #expect(refused.code == entry.code, "\(entry.name)")
      }
      #expect(store.state.withLock { $0.questions } == 0)
      _ = try await grant(genuine, at: "apple", server)
      #expect(store.state.withLock { $0.questions } == 1)
    }
    await store.stop()
  }

  @Test("a receipt's chain is verified once for each store's rules, one that is refused each time")
  func verifiedOnce() async throws {
    let store = try FakePaymentStore(clock: ManualWallClock(ServerHarness.start))
    let device = try #require(DeviceIdentifier("device-1"))
    let text = try store.receipt(of: [], device: device)
    let digest = SHA256Digest.of(Array(text.utf8))
    let reader = ReceiptReader(threads: BlockingPool(name: "test", threads: 1))
    let receipt = try await reader.read(text, digest: digest)
    func verify(at name: StoreIdentifier, _ roots: [Certificate]) async throws {
      try await reader.verify(
        receipt, as: VerdictCache.Key(store: name, digest: digest), by: ReceiptRules(roots: roots),
        at: ServerHarness.start + .seconds(1))
    }
    for _ in 0..<3 { try await verify(at: .apple, [store.root]) }
    #expect(reader.checkCount == 1)
    let foreign = try ReceiptAuthority.generate(ReceiptAuthority.Options(now: ServerHarness.start))
    for _ in 0..<2 {
      await #expect(throws: ReceiptError.self) { try await verify(at: .sandbox, [foreign.root]) }
    }
    #expect(reader.checkCount == 3)
    await store.stop()
  }

  @Test("a store without a call for it needs none to finish a transaction")
  func finishing() async throws {
    let production = try FakePaymentStore(clock: ManualWallClock(ServerHarness.start))
    production.state.withLock { $0.environment = .production }
    let store =
      "{name: 'apple', kind: 'apple', addresses: {production: '\(production.url)'}, bundles: ['com.example.pullbox']}"
    try await ServerHarness.run(options: ["--payment-store", store]) { server in
      try await server.publish([1, 2, 3])
      let paid = try production.receipt(
        of: [server.purchase()], device: server.device.id, environment: "Production")
      let grant = try await grant(paid, at: "apple", server)
      #expect(try await server.fetch(grant).status == 200)
      #expect(try await server.complete(grant).value.state == .finished)
      #expect(production.state.withLock { $0.finished } == [])
    }
    await production.stop()
  }

  @Test(
    "a receipt of a withdrawn license opens content on day 29 and none on day 31, whatever was said before")
  func license() async throws {
    try await ServerHarness.run { server in
      try await server.publish([1, 2, 3])
      let receipt = try server.store.receipt(
        of: [server.purchase()], device: server.device.id,
        expiring: server.clock.now() + .seconds(30 * 86_400))
      server.clock.advance(by: .seconds(29 * 86_400))
      _ = try await server.grant(receipt: receipt)
      server.clock.advance(by: .seconds(2 * 86_400))
      for _ in 1...2 {
        let refused = try await server.problem { _ = try await server.grant(receipt: receipt) }
        #expect(refused.code == .entitlementExpired)
      }
    }
  }

  @Test(
    "a license that is given again, and what is bought beside one that has ended, open content after that end"
  )
  func licenseAgain() async throws {
    try await ServerHarness.run { server in
      try await server.publish([1, 2, 3])
      try await server.publish([4, 5, 6], as: "com.example.issue2")
      let licensed = server.purchase()
      let withdrawn = try server.store.receipt(
        of: [licensed], device: server.device.id, expiring: server.clock.now() + .seconds(30 * 86_400))
      _ = try await server.grant(receipt: withdrawn)
      server.clock.advance(by: .seconds(31 * 86_400))
      let before = try await server.problem { _ = try await server.grant(receipt: withdrawn) }
      #expect(before.code == .entitlementExpired)

      // A receipt that is made anew has no end any more, with the first purchase in it.
      let bought = server.purchase(of: "com.example.issue2", id: "2000000000000002")
      let later = try server.store.receipt(of: [licensed, bought], device: server.device.id)
      #expect(try await server.grant("com.example.issue2", receipt: later).status == 201)
      #expect(try await server.grant(receipt: later).status == 200)
      // The earlier one is as worthless as it was, and takes nothing back.
      let after = try await server.problem { _ = try await server.grant(receipt: withdrawn) }
      #expect(after.code == .entitlementExpired)
      server.clock.advance(by: .seconds(86_400))
      let last = try server.store.receipt(of: [licensed, bought], device: server.device.id)
      #expect(try await server.grant(receipt: last).status == 200)
    }
  }
}
