import Commerce
import CoreTypes
import Crypto
import HTTPServer
import PullboxAPI
import PullboxTesting
import Testing

@testable import ContentDelivery

/// Statuses are those of docs/problems.md; RFC 9110 §13.2.1, §15.5.2 and §15.6.4 say what comes before conditions, and with a refusal.
@Suite("The ticket of a request for content")
struct ContentAccessTests {
  /// A ticket that does not open the content, or content that is not sent.
  enum State: CaseIterable, Sendable {
    case missing
    case empty
    case malformed
    case tampered
    case ofOtherContent
    case expired
    case revoked
    case closed
    case withdrawn
    case damaged

    var code: ProblemCode {
      switch self {
      case .missing: .ticketMissing
      case .empty, .malformed, .tampered, .ofOtherContent: .ticketInvalid
      case .expired, .closed: .ticketExpired
      case .revoked: .entitlementRevoked
      case .withdrawn: .contentWithdrawn
      case .damaged: .contentDamaged
      }
    }

    var status: Int {
      switch self {
      case .missing: 401
      case .empty, .malformed, .tampered, .ofOtherContent, .expired, .revoked, .closed: 403
      case .withdrawn: 410
      case .damaged: 503
      }
    }
  }

  /// The parameter `ticket` of a request in that state, which `fixture` is brought into; nil for none.
  private func ticket(_ state: State, of fixture: ContentFixture) throws -> String? {
    let ticket = fixture.ticket
    switch state {
    case .missing: return nil
    case .empty: return ""
    case .malformed: return "nonsense"
    case .tampered:
      var bytes = Array(ticket.utf8)
      bytes[30] = bytes[30] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
      return String(decoding: bytes, as: UTF8.self)
    case .ofOtherContent: return fixture.ticket(for: .of([1]))
    case .expired: fixture.clock.advance(by: ContentFixture.lifetime)
    case .revoked: fixture.revocations.revoke(grant: ContentFixture.handle)
    case .closed:
      fixture.revocations.close(
        grants: [ContentFixture.handle], of: try #require(ProductIdentifier("com.example.magazine")),
        until: fixture.clock.now() + ContentFixture.lifetime)
    case .withdrawn: fixture.revocations.block(content: fixture.digest)
    case .damaged: fixture.revocations.setAside(damaged: fixture.digest)
    }
    return ticket
  }

  private func problem(_ response: ContentResponse) throws -> Problem {
    try APIJSON.decode(Problem.self, from: response.body)
  }

  @Test(
    "content without a ticket that opens it is refused, on the loop and off it", arguments: State.allCases)
  func refusals(state: State) async throws {
    let fixture = try ContentFixture()
    try await fixture.open()
    let ticket = try ticket(state, of: fixture)
    let request = ContentRequest(target: fixture.path + (ticket.map { "?ticket=\($0)" } ?? ""))
    let deferred = try await fixture.offLoop(request)
    #expect(deferred.status == state.status)
    #expect(try problem(deferred).code == state.code)
    #expect(deferred["Cache-Control"] == "no-store")
    // §15.5.2: a 401 names the scheme. §15.6.4: a 503 may say when to come back.
    #expect(deferred["WWW-Authenticate"] == (state == .missing ? "Bearer" : nil))
    #expect((deferred["Retry-After"] != nil) == (state == .damaged))
    #expect(deferred["ETag"] == nil && deferred["Content-Range"] == nil)

    // A refusal that names a time differs from client to client: no loop has it ready.
    let loop = try fixture.onLoop(request)
    #expect((loop == nil) == (state == .damaged))
    guard let loop else { return }
    #expect(loop.status == state.status)
    #expect(loop.ownFields == deferred.ownFields)
    var (own, other) = (try problem(loop), try problem(deferred))
    #expect(own.instance == "urn:pullbox:request:7")
    (own.instance, other.instance) = (nil, nil)
    #expect(own == other)
    #expect(loop["Content-Length"] == String(loop.body.count))
  }

  /// §13.2.1: conditions count only where the answer without them were a success or 412; §14.2 says the same of ranges.
  @Test(
    "a ticket is asked for before conditions and ranges: no request without one learns whether content has changed",
    arguments: State.allCases)
  func beforeConditions(state: State) async throws {
    let fixture = try ContentFixture()
    try await fixture.open()
    let ticket = try ticket(state, of: fixture)
    for fields in [
      [("If-None-Match", fixture.tag)], [("If-None-Match", "*")], [("If-Match", "\"other\"")],
      [("Range", "bytes=0-9")], [("Range", "bytes=10000-")],
      [("Range", "bytes=0-9"), ("If-Range", fixture.tag)],
    ] as [[(name: String, value: String)]] {
      let request = ContentRequest(
        target: fixture.path + (ticket.map { "?ticket=\($0)" } ?? ""), fields: fields)
      #expect(try await fixture.offLoop(request).status == state.status, "\(fields)")
      let loop = try fixture.onLoop(request)
      #expect(loop == nil || loop?.status == state.status, "\(fields)")
    }
  }

  @Test("HEAD is refused like GET, without a document", arguments: State.allCases)
  func head(state: State) async throws {
    let fixture = try ContentFixture()
    try await fixture.open()
    let ticket = try ticket(state, of: fixture)
    let request = ContentRequest(
      method: .head, target: fixture.path + (ticket.map { "?ticket=\($0)" } ?? ""))
    #expect(try await fixture.offLoop(request).status == state.status)
    guard let loop = try fixture.onLoop(request) else { return }
    #expect(loop.status == state.status)
    #expect(loop.body.isEmpty)
    // §8.6: the length is that of the document that GET is answered with.
    var get = request
    get.method = .get
    #expect(loop["Content-Length"] == (try fixture.onLoop(get))?["Content-Length"])
  }

  @Test("a ticket opens the content until its expiry and not in that second, also one that a loop knows")
  func expiry() async throws {
    let fixture = try ContentFixture()
    let request = fixture.request()
    #expect(try await fixture.offLoop(request).status == 200)
    var state = fixture.handler.makeConnectionState()
    func loop() throws -> Int? {
      try fixture.handler.response(to: request, state: &state, content: fixture.content)?.status
    }
    #expect(try loop() == 200)
    fixture.clock.advance(by: ContentFixture.lifetime - .seconds(1))
    #expect(try loop() == 200)
    #expect(try await fixture.offLoop(request).status == 200)
    fixture.clock.advance(by: .seconds(1))
    #expect(try loop() == 403)
    #expect(try await fixture.offLoop(request).status == 403)
  }

  @Test(
    "a loop that knows a ticket refuses it from the request after a revocation on, and takes it back with one"
  )
  func revocation() async throws {
    let fixture = try ContentFixture()
    try await fixture.open()
    var state = fixture.handler.makeConnectionState()
    func loop() throws -> Int? {
      let request = fixture.request()
      return try fixture.handler.response(to: request, state: &state, content: fixture.content)?.status
    }
    #expect(try loop() == 200)
    fixture.revocations.revoke(grant: ContentFixture.handle)
    #expect(try loop() == 403)
    fixture.revocations.reinstate(grant: ContentFixture.handle)
    #expect(try loop() == 200)
    fixture.revocations.block(content: fixture.digest)
    #expect(try loop() == 410)
    fixture.revocations.unblock(content: fixture.digest)
    #expect(try loop() == 200)
  }

  @Test("a ticket is a parameter or a bearer token (RFC 6750 §2.1), whose scheme has any case")
  func bearer() async throws {
    let fixture = try ContentFixture()
    try await fixture.open()
    for scheme in ["Bearer", "bearer", "BEARER"] {
      let request = ContentRequest(
        target: fixture.path, fields: [("Authorization", "\(scheme) \(fixture.ticket)")])
      #expect(try await fixture.offLoop(request).status == 200, "\(scheme)")
      let loop = try fixture.onLoop(request)
      // RFC 9110 §11.1: a loop leaves other spellings to the routes.
      #expect(loop?.status == (scheme == "Bearer" ? 200 : nil))
    }
    let basic = ContentRequest(target: fixture.path, fields: [("Authorization", "Basic \(fixture.ticket)")])
    #expect(try await fixture.offLoop(basic).status == 401)
  }

  @Test("an address that names no content is 404, with a ticket and without one", arguments: ["z", "%7A"])
  func unknown(letter: String) async throws {
    let fixture = try ContentFixture()
    let path = "/v1/content/" + letter + String(repeating: "z", count: 63)
    for target in [path, "\(path)?ticket=\(fixture.ticket)"] {
      let deferred = try await fixture.offLoop(ContentRequest(target: target))
      #expect(deferred.status == 404)
      #expect(try problem(deferred).code == .contentUnknown)
      let loop = try fixture.onLoop(ContentRequest(target: target))
      // An escape may spell anything; the routes read it.
      #expect(loop?.status == (letter == "z" ? 404 : nil))
    }
  }

  @Test("content that no version has is 404 with a ticket for it, and 503 where its bytes are missing")
  func missingBytes() async throws {
    for isDamage in [true, false] {
      let fixture = try ContentFixture(isDamage: isDamage)
      fixture.source.isMissing.withLock { $0 = true }
      let response = try await fixture.offLoop(fixture.request())
      #expect(response.status == (isDamage ? 503 : 404))
      #expect(try problem(response).code == (isDamage ? .contentDamaged : .contentUnknown))
      #expect(fixture.missed.current == [fixture.digest])
      #expect(try fixture.onLoop(fixture.request()) == nil)
    }
    let fixture = try ContentFixture()
    let other = SHA256Digest.of([1])
    let request = ContentRequest(target: "/v1/content/\(other)?ticket=\(fixture.ticket(for: other))")
    let response = try await fixture.offLoop(request)
    #expect(response.status == 404)
    #expect(try problem(response).code == .contentUnknown)
    #expect(fixture.missed.current.isEmpty)
  }

  @Test("a loop leaves content that is not open to the routes, which open it")
  func notOpen() async throws {
    let fixture = try ContentFixture()
    #expect(try fixture.onLoop(fixture.request()) == nil)
    #expect(try await fixture.offLoop(fixture.request()).body == fixture.content)
    #expect(try fixture.onLoop(fixture.request())?.body == fixture.content)
  }

  @Test("other methods, other addresses and requests with more parameters are not a loop's")
  func deferred() async throws {
    let fixture = try ContentFixture()
    try await fixture.open()
    let request = fixture.request()
    #expect(try fixture.onLoop(request)?.status == 200)
    for method in [HTTPMethod.post, .put, .delete, .options] {
      var other = request
      other.method = method
      #expect(try fixture.onLoop(other) == nil, "\(method)")
      #expect(try await fixture.offLoop(other).status == 405, "\(method)")
    }
    for target in [
      "\(fixture.path).meta4?ticket=\(fixture.ticket)", "\(fixture.path)/manifest?ticket=\(fixture.ticket)",
      "\(request.target)&more=1", "/v1/contents/\(fixture.digest)?ticket=\(fixture.ticket)",
    ] {
      #expect(try fixture.onLoop(ContentRequest(target: target)) == nil, "\(target)")
    }
    #expect(try await fixture.offLoop(ContentRequest(target: "\(request.target)&more=1")).status == 200)
  }
}
