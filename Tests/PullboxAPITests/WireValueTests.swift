import Commerce
import CoreTypes
import Crypto
import PullboxAPI
import ServiceAPI
import Testing

/// Values inside wire documents: dates, lengths, digests, keys and names, at their bounds.
@Suite("Wire values")
struct WireValueTests {
  private func rewrite<Value: Codable>(_ type: Value.Type, _ text: String) throws -> String {
    let value = try APIJSON.decode([Value].self, from: Array("[\(text)]".utf8))
    let written = String(decoding: try APIJSON.encode(value), as: UTF8.self)
    return String(written.dropFirst().dropLast())
  }

  private func refusal<Value: Decodable>(_ type: Value.Type, _ text: String) -> String? {
    do {
      _ = try APIJSON.decode(type, from: Array(text.utf8))
      return nil
    } catch {
      return APIJSON.explain(error)
    }
  }

  @Test(
    "dates are read in every spelling of RFC 3339 and written in UTC with milliseconds",
    arguments: [
      ("2026-11-21T08:30:00Z", "2026-11-21T08:30:00.000Z"),
      ("2026-11-21T08:30:00.5Z", "2026-11-21T08:30:00.500Z"),
      ("2026-11-21T09:30:00.000+01:00", "2026-11-21T08:30:00.000Z"),
      ("2026-11-20T23:30:00-09:00", "2026-11-21T08:30:00.000Z"),
      ("2026-11-21T08:30:00.123999Z", "2026-11-21T08:30:00.123Z"),
      ("2028-02-29T23:59:60Z", "2028-03-01T00:00:00.000Z"),
    ])
  func dates(text: String, written: String) throws {
    #expect(try rewrite(Timestamp.self, "\"\(text)\"") == "\"\(written)\"")
  }

  @Test(
    "a number, a day and a date without an offset are no dates",
    arguments: [
      "1795249800", "1795249800000", #""2026-11-21""#, #""2026-11-21T08:30:00""#, #""2026-11-21 08:30:00Z""#,
      #""""#, "null", #""2026-02-29T00:00:00Z""#,
    ])
  func noDates(text: String) {
    #expect(refusal([Timestamp].self, "[\(text)]")?.hasPrefix("[0]") == true)
  }

  @Test(
    "lengths are exact where a floating-point number would not be",
    arguments: ["0", "1", "2147483648", "9007199254740993", "9223372036854775807"])
  func lengths(text: String) throws {
    #expect(try rewrite(ByteCount.self, text) == text)
  }

  @Test(
    "fractions, texts and what does not fit 63 bits are no lengths",
    arguments: ["1.5", #""17""#, "9223372036854775808", "null", "true", "1e30"])
  func noLengths(text: String) {
    #expect(refusal([ByteCount].self, "[\(text)]")?.hasPrefix("[0]") == true)
  }

  @Test(
    "digests are 64 lower-case hexadecimal digits",
    arguments: [
      (String(repeating: "a", count: 64), true), (String(repeating: "0", count: 64), true),
      (String(repeating: "A", count: 64), false), (String(repeating: "a", count: 63), false),
      (String(repeating: "a", count: 65), false), (String(repeating: "g", count: 64), false), ("", false),
      ("sha256:" + String(repeating: "a", count: 57), false),
      (String(repeating: "a", count: 64) + "\\n", false),
    ])
  func digests(text: String, isDigest: Bool) {
    #expect((refusal([SHA256Digest].self, "[\"\(text)\"]") == nil) == isDigest)
  }

  @Test(
    "grants are named by 32 lower-case hexadecimal digits",
    arguments: [
      ("0123456789abcdef0123456789abcdef", true), ("0123456789ABCDEF0123456789ABCDEF", false),
      ("0123456789abcdef0123456789abcde", false), ("0123456789abcdef0123456789abcdef0", false), ("", false),
      ("0123456789abcdef0123456789abcdeg", false), ("0123456789abcdef 123456789abcdef", false),
    ])
  func grants(text: String, isName: Bool) {
    #expect((GrantIdentifier(text) != nil) == isName)
    #expect((refusal([GrantIdentifier].self, "[\"\(text)\"]") == nil) == isName)
  }

  @Test("a grant's name and its 16 bytes are one")
  func grantBytes() throws {
    let bytes = (0..<16).map { UInt8($0 * 17) }
    let grant = try #require(GrantIdentifier(bytes))
    #expect(grant.description == "00112233445566778899aabbccddeeff")
    #expect(grant.description == grant.description)
    #expect(grant.bytes == bytes)
    #expect(GrantIdentifier(grant.description) == grant)
    for count in [0, 15, 17, 32] { #expect(GrantIdentifier([UInt8](repeating: 0, count: count)) == nil) }
  }

  @Test("downloads are ordered by their names, and named by up to 64 characters that an address can hold")
  func downloads() throws {
    let names = ["b", "A", "a-1", "a_1", "0"].compactMap { DownloadIdentifier($0) }
    #expect(names.count == 5)
    #expect(names.sorted().map(\.description) == ["0", "A", "a-1", "a_1", "b"])
    let longest = String(repeating: "z", count: 64)
    #expect(DownloadIdentifier(longest)?.description == longest)
  }

  @Test("a device's key is 32 bytes, written in base64url without padding, read in either alphabet")
  func keys() throws {
    let url = #"{"id":"d","publicKey":"__________________________________________8"}"#
    let standard = #"{"id":"d","publicKey":"//////////////////////////////////////////8="}"#
    #expect(try rewrite(Device.self, url) == url)
    #expect(try rewrite(Device.self, standard) == url)
    for key in ["", "AAAA", "____________________________________________", "!"] {
      #expect(
        refusal(Device.self, #"{"id":"d","publicKey":"\#(key)"}"#)?.hasPrefix("publicKey") == true, "\(key)")
    }
  }

  @Test("texts keep every character, and slashes are not escaped")
  func texts() throws {
    let text = #""https://example.com/é/漢字/🦉?a=\"b\"&c=\\d""#
    #expect(try rewrite(String.self, text) == text)
    #expect(try rewrite(String.self, #""\u00e9\/""#) == #""é/""#)
    #expect(try rewrite(String.self, #""\u0000\u001f""#) == #""\u0000\u001f""#)
  }

  @Test("a number that JSON cannot tell is not written")
  func notNumbers() {
    for value in [Double.nan, .infinity, -.infinity] {
      #expect(throws: EncodingError.self) { try APIJSON.encode([value]) }
    }
  }

  @Test("members are written in the order of their names")
  func order() throws {
    let written = try APIJSON.encode(["b": 1, "a": 2, "B": 3, "10": 4, "9": 5])
    #expect(String(decoding: written, as: UTF8.self) == #"{"10":4,"9":5,"B":3,"a":2,"b":1}"#)
  }

  // MARK: Words that are open

  @Test("states and steps that are texts are passed on, also those of tomorrow")
  func openWords() throws {
    let entitled = """
      {"because":"gift-code","length":1,"product":"a","state":"on-loan","transaction":"1","version":"1"}
      """
    #expect(try rewrite(EntitledProduct.self, entitled) == entitled)
    let transaction = #"{"downloads":[],"id":"1","product":"a","state":"haunted","step":"resting"}"#
    #expect(try rewrite(AgentTransaction.self, transaction) == transaction)
    let problem = #"{"missingStep":"moon-phase","status":418,"title":"No","type":"about:blank"}"#
    #expect(try rewrite(Problem.self, problem) == problem)
    #expect(try APIJSON.decode(Problem.self, from: Array(problem.utf8)).code == nil)
  }

  @Test("the links of a completion have the names that `missingStep` shows")
  func completionSteps() {
    #expect(
      CompletionStep.allCases.map(\.rawValue) == [
        "device-signature", "device", "version", "digest", "length", "delivery", "grant",
      ])
    #expect(Problem(.completionMismatch, missingStep: .deviceSignature).missingStep == "device-signature")
  }

  @Test("a download is over when it is finished, failed or cancelled")
  func finalStates() {
    let final = DownloadStatus.State.allCases.filter(\.isFinal)
    #expect(final.map(\.rawValue) == ["finished", "failed", "cancelled"])
  }

  @Test("a report of removed things adds up its bytes")
  func collected() throws {
    let digest = SHA256Digest.of([])
    let moment = Timestamp(millisecondsSinceEpoch: 0)
    let report = GarbageCollectionReport(
      dryRun: false, uploads: [.init(upload: "a", bytes: ByteCount(3), owner: nil)],
      blobs: [.init(digest: digest, bytes: ByteCount(4), since: moment)],
      waiting: [.init(digest: digest, bytes: ByteCount(100), since: moment)])
    #expect(report.bytes == ByteCount(7))
  }

  @Test("a problem is printed with its faults, each with its place and code")
  func problemText() {
    let problem = Problem(
      .productInvalid, "2 faults",
      faults: [
        .init(code: "title", path: "localizations.fr-FR.title", detail: "1 to 500 bytes"),
        .init(code: "too-many", detail: "at most 8 keys"),
      ])
    #expect(
      problem.description == """
        The product description has faults: 2 faults
          localizations.fr-FR.title: 1 to 500 bytes (title)
          at most 8 keys (too-many)
        """)
    #expect(Problem(.notFound).description == "There is nothing at this address")
  }
}
