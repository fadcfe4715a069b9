import CoreTypes
import Crypto
import Files
import PullboxTesting
import SystemCalls
import Testing

@testable import Receipts

@Suite("The authority for signed data, and what its responder says")
struct SignedDataAuthorityTests {
  let authority: SignedDataAuthority
  let now = SignedDataFixtures.now

  init() throws {
    authority = try SignedDataFixtures.authority.get()
  }

  func checks(of authority: SignedDataAuthority) throws -> [RevocationCheck] {
    let text = try authority.sign(SignedDataFixtures.payload)
    return try SignedDataFixtures.verifier(of: authority).verify(SignedData(text: text), at: now).chain
      .revocationChecks()
  }

  @Test("what was kept is the same authority, and its keys still sign")
  func kept() throws {
    let read = try SignedDataAuthority(pem: try authority.pem())
    #expect(read.root == authority.root)
    let text = try read.sign(SignedDataFixtures.payload)
    #expect(
      try SignedDataFixtures.verifier(of: authority).verify(SignedData(text: text), at: now).chain.leaf
        == authority.leaf)
    let incomplete = authority.leaf.pem + authority.intermediate.pem + authority.root.pem
    #expect(throws: ReceiptError.self) { try SignedDataAuthority(pem: incomplete) }
  }

  @Test("a root says in its subject that it is a sandbox's")
  func marked() throws {
    #expect(try authority.root.subjectUnits() == [SignedDataAuthority.sandboxUnit])
    #expect(try authority.leaf.subjectUnits().isEmpty)
    #expect(try authority.responder() == "http://127.0.0.1:8090/ocsp")
  }

  @Test("a renewed authority has the same root, another leaf and another responder")
  func renewed() throws {
    var options = SignedDataFixtures.options
    options.responder = "http://127.0.0.1:9090/ocsp"
    let renewed = try authority.renewed(options)
    #expect(renewed.root == authority.root)
    #expect(renewed.leaf != authority.leaf)
    #expect(try checks(of: renewed).map(\.responder) == [options.responder, options.responder])
    let text = try renewed.sign(SignedDataFixtures.payload)
    #expect(throws: Never.self) {
      try SignedDataFixtures.verifier(of: authority).verify(SignedData(text: text), at: now)
    }
    options.responder = "http://127.0.0.1/a,CA:TRUE"
    #expect(throws: ReceiptError.self) { try authority.renewed(options) }
  }

  @Test("certificates in good standing are good, for an hour")
  func good() throws {
    for check in try checks(of: authority) {
      let response = authority.ocspResponse(to: try check.request(), at: now)
      let until = now + SignedDataAuthority.responseLifetime
      #expect(try check.verdict(of: response, at: now) == .good(until: until))
      #expect(try check.verdict(of: response, at: until) == .good(until: until))
    }
  }

  @Test("a revoked leaf and a revoked intermediate are revoked, the other one not")
  func revoked() throws {
    let checks = try checks(of: authority)
    for (index, check) in checks.enumerated() {
      let revoked: Set = [try check.certificate.serialNumber()]
      for (other, question) in checks.enumerated() {
        let response = authority.ocspResponse(to: try question.request(), at: now, revoked: revoked)
        let verdict = try question.verdict(of: response, at: now)
        #expect((verdict == .revoked) == (index == other))
      }
    }
  }

  @Test("an answer of another time, about another certificate, of another signer, or none, decides nothing")
  func undetermined() throws {
    let stranger = try SignedDataFixtures.stranger.get()
    let checks = try checks(of: authority)
    let check = try #require(checks.last)
    let response = authority.ocspResponse(to: try check.request(), at: now)
    var answers: [(answer: [UInt8], moment: Timestamp)] = [
      (response, now + SignedDataAuthority.responseLifetime + .seconds(61)),
      (response, now - .seconds(61)),
      (authority.ocspResponse(to: try checks[0].request(), at: now), now),
      (stranger.ocspResponse(to: try check.request(), at: now), now),
      (authority.ocspResponse(to: [1, 2, 3], at: now), now),
      (authority.ocspResponse(to: [UInt8](repeating: 0x30, count: 5000), at: now), now),
      ([], now), (Array("<html>".utf8), now),
    ]
    // The same names and numbers over other keys.
    let foreign = try #require(try self.checks(of: stranger).last)
    answers.append((authority.ocspResponse(to: try foreign.request(), at: now), now))
    for (answer, moment) in answers {
      guard case .undetermined = try check.verdict(of: answer, at: moment) else {
        Issue.record("an answer that says nothing was believed")
        continue
      }
    }
    for index in stride(from: 0, to: response.count, by: 7) {
      var changed = response
      changed[index] ^= 1
      #expect(try check.verdict(of: changed, at: now) != .revoked)
    }
  }

  @Test(
    "openssl verify accepts the chain strictly, and openssl ocsp the responder, asked by SHA-1 and by SHA-256"
  )
  func openssl() async throws {
    let directory = try TemporaryDirectory()
    func file(_ name: String, _ bytes: [UInt8]) throws -> String {
      try DurableFile.write(bytes.span, to: directory.path(name))
      return directory.path(name)
    }
    func run(_ arguments: [String]) async throws -> Int32 {
      let process = try ChildProcess(
        "/usr/bin/openssl", arguments, environment: [:], output: directory.path("output"))
      guard case .exited(let status) = await process.ending() else { return -1 }
      return status
    }
    // openssl ocsp knows no other time than its own.
    let clock = SystemWallClock().now()
    let authority = try SignedDataAuthority.generate(.init(responder: "http://127.0.0.1/ocsp", now: clock))
    let root = try file("root.pem", Array(authority.root.pem.utf8))
    let intermediate = try file("intermediate.pem", Array(authority.intermediate.pem.utf8))
    let leaf = try file("leaf.pem", Array(authority.leaf.pem.utf8))
    #expect(
      try await run([
        "verify", "-x509_strict", "-no-CApath", "-no-CAstore", "-CAfile", root, "-untrusted", intermediate,
        leaf,
      ]) == 0)
    for digest in ["-sha1", "-sha256"] {
      for (issuer, certificate) in [(intermediate, leaf), (root, intermediate)] {
        let request = directory.path("request.der")
        #expect(
          try await run(["ocsp", digest, "-issuer", issuer, "-cert", certificate, "-reqout", request]) == 0)
        let asked = try FileSystem.read(request, upTo: .kibibytes(8))
        let response = try file("response.der", authority.ocspResponse(to: asked, at: clock))
        #expect(
          try await run([
            "ocsp", "-no_nonce", digest, "-issuer", issuer, "-cert", certificate, "-respin", response,
            "-CAfile", root,
            "-verify_other", issuer,
          ]) == 0)
        let output = try FileSystem.read(directory.path("output"), upTo: .kibibytes(64))
        let text = String(decoding: output, as: UTF8.self)
        #expect(text.contains(": good"))
        #expect(text.contains("Response verify OK"))
      }
    }
  }
}
