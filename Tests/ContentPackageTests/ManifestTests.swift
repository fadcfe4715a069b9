import Commerce
import CoreTypes
import Crypto
import PackageTesting
import Testing

@testable import ContentPackage

@Suite("Manifests as documents")
struct ManifestTests {
  /// Written and digested by another program (Python's json and hashlib).
  private static let vector =
    #"{"digest":"2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824","files":[{"digest":"2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824","length":5,"method":"stored","offset":0,"path":"hello.pdf","storedLength":5}],"format":"pullbox-manifest/1","kind":"file","length":5,"mediaType":"application/pdf","name":"hello.pdf","pageCount":1,"pieceLength":1048576,"pieces":["2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"],"product":"com.example.hello","title":"A \"quoted\" é\t\u0001 / title","unpackedLength":5,"version":"1.10"}"#
  private static let vectorDigest = "1eddc69ec06c95d713b8f6f7b2af88bcc5b0dd0c61a9e90f33ef0ebb6692380f"

  private func refusal(_ text: String) throws -> PackageValidationError {
    try #require(throws: PackageValidationError.self) { try UnverifiedManifest(Array(text.utf8)).proposed() }
  }

  @Test("the known document is read, and written back byte by byte")
  func vector() throws {
    let digest = try #require(SHA256Digest(hexadecimal: Self.vectorDigest))
    let manifest = try UnverifiedManifest(Array(Self.vector.utf8)).verified(against: digest)
    #expect(manifest.title == "A \"quoted\" é\t\u{1} / title")
    #expect(manifest.version.description == "1.10")
    #expect(manifest.kind == .file)
    #expect(manifest.name == "hello.pdf")
    #expect(manifest.manifestDigest == digest)
    #expect(manifest.canonicalBytes() == Array(Self.vector.utf8))
  }

  @Test("other bytes than the grant's are refused before they are read")
  func otherDigest() throws {
    let digest = try #require(SHA256Digest(hexadecimal: Self.vectorDigest))
    let other = UnverifiedManifest(Array("not even JSON".utf8))
    let refusal = try #require(throws: PackageValidationError.self) { try other.verified(against: digest) }
    #expect(refusal.faults.map(\.code) == [.manifestDigestMismatch])
  }

  @Test(
    "what is not canonical JSON is malformed",
    arguments: [
      ("{\"digest\"", "{ \"digest\""), ("\"length\":5,\"mediaType\"", "\"length\":05,\"mediaType\""),
      ("\"length\":5,\"mediaType\"", "\"length\":-5,\"mediaType\""),
      ("\"length\":5,\"mediaType\"", "\"length\":5.0,\"mediaType\""),
      ("\"length\":5,\"mediaType\"", "\"length\":5e0,\"mediaType\""),
      ("\"length\":5,\"mediaType\"", "\"length\":9007199254740992,\"mediaType\""),
      ("\"length\":5,\"mediaType\"", "\"length\":99999999999999999999,\"mediaType\""),
      ("\"length\":5,\"mediaType\"", "\"length\":\"5\",\"mediaType\""),
      ("\"kind\":\"file\",", "\"kind\":\"file\",\"kind\":\"file\","),
      ("\"kind\":\"file\",", "\"kinds\":\"file\","),
      ("hello.pdf\",\"pageCount\"", "hello\\u002epdf\",\"pageCount\""), ("\\u0001", "\u{1}"),
      ("\\t", "\\u0009"),
      (" / ", " \\/ "), ("\"1.10\"}", "\"1.10\"}\n"), ("\"1.10\"}", "\"1.10\"},"), ("\"1.10\"}", "\"1.10\""),
      ("\"pageCount\":1", "\"pageCount\":null"), ("[{", "[[{"),
    ])
  func malformed(_ part: String, _ replacement: String) throws {
    let text = Self.vector.replacing(part, with: replacement)
    #expect(text != Self.vector)
    #expect(try refusal(text).faults.map(\.code) == [.manifestMalformed])
  }

  @Test("bytes that are not UTF-8 are malformed")
  func notUnicode() throws {
    var bytes = Array(Self.vector.utf8)
    let index = try #require(bytes.firstIndex(of: 0xC3))
    bytes[index] = 0xFF
    let refusal = try #require(throws: PackageValidationError.self) {
      try UnverifiedManifest(bytes).proposed()
    }
    #expect(refusal.faults.map(\.code) == [.manifestMalformed])
  }

  @Test("every cut of the document is refused, none crashes")
  func cuts() {
    let bytes = Array(Self.vector.utf8)
    for count in 0..<bytes.count {
      #expect(throws: PackageValidationError.self) {
        try UnverifiedManifest(Array(bytes[..<count])).proposed()
      }
    }
  }

  @Test("every invalid member is listed, not only the first")
  func everyMember() throws {
    let text = Self.vector
      .replacing("\"version\":\"1.10\"", with: "\"version\":\"1.x\"")
      .replacing("com.example.hello", with: ".hidden")
      .replacing("\"path\":\"hello.pdf\"", with: "\"path\":\"../hello.pdf\"")
      .replacing("\"method\":\"stored\"", with: "\"method\":\"shrunk\"")
      .replacing("manifest/1", with: "manifest/2")
      .replacing("1048576", with: "1048577")
    let codes = try refusal(text).faults.map(\.code)
    #expect(
      codes == [
        .manifestMemberInvalid, .pathUnsafe, .manifestMemberInvalid, .manifestMemberInvalid,
        .manifestFormatUnknown, .manifestMemberInvalid,
      ])
  }

  @Test("every missing member is named")
  func missing() throws {
    let faults = try refusal("{\"format\":\"pullbox-manifest/1\"}").faults
    #expect(
      faults.map(\.detail) == [
        "digest: missing", "files: missing", "kind: missing", "length: missing", "mediaType: missing",
        "pieceLength: missing", "pieces: missing", "product: missing", "unpackedLength: missing",
        "version: missing",
      ])
  }

  @Test("a document past its bound is refused unread")
  func tooLarge() throws {
    var limits = PackageLimits.standard
    limits.maximumManifestLength = ByteCount(Self.vector.utf8.count)
    #expect(throws: Never.self) { try UnverifiedManifest(Array(Self.vector.utf8)).proposed(limits: limits) }
    limits.maximumManifestLength = ByteCount(Self.vector.utf8.count - 1)
    let refusal = try #require(throws: PackageValidationError.self) {
      try UnverifiedManifest(Array(Self.vector.utf8)).proposed(limits: limits)
    }
    #expect(refusal.faults.map(\.code) == [.manifestTooLarge])
  }

  @Test("the title that is kept beside a manifest is without U+0000, and the manifest's is as it is")
  func displayTitle() throws {
    var draft = try makeDraft()
    for (title, shown) in [
      ("A\u{0}B\u{0}", "AB"), ("\u{0}\u{301}", "\u{301}"), ("\u{0}", nil), ("A\u{1}", "A\u{1}"),
    ] {
      draft.title = title
      let manifest = try Manifest(draft, limits: .standard)
      #expect(manifest.title == title && manifest.displayTitle == shown)
    }
  }

  @Test("a folder's manifest survives writing and reading with every member")
  func roundTrip() throws {
    var draft = try makeDraft()
    draft.title = "Title"
    draft.pageCount = 2
    draft.cover = try PackagePath("b.jpg")
    draft.readingOrder = [try PackagePath("b.jpg"), try PackagePath("a.jpg")]
    let manifest = try Manifest(draft, limits: .standard)
    let read = try UnverifiedManifest(manifest.canonicalBytes()).verified(against: manifest.manifestDigest)
    #expect(read.files == manifest.files)
    #expect(read.readingOrder == manifest.readingOrder)
    #expect(read.cover == manifest.cover)
    #expect(read.canonicalBytes() == manifest.canonicalBytes())
  }
}
