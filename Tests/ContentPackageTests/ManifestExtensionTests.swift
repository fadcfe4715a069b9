import Crypto
import Testing

@testable import ContentPackage

/// A reader of today opens a manifest of tomorrow, or says by name what it lacks.
@Suite("A manifest's extensions and required features")
struct ManifestExtensionTests {
  private static let digest = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"

  /// The example of docs/formats/manifest.md with room for more members at the places they have in canonical order.
  private func document(
    extensions: String? = nil, fileExtensions: String? = nil, requiredFeatures: String? = nil,
    unknownMember: String = ""
  ) -> [UInt8] {
    func member(_ name: String, _ value: String?) -> String { value.map { "\"\(name)\":\($0)," } ?? "" }
    let file =
      #"{"digest":"\#(Self.digest)",\#(member("extensions", fileExtensions))"length":5,"method":"stored","offset":0,"path":"hello.pdf","storedLength":5}"#
    let text =
      #"{"digest":"\#(Self.digest)",\#(member("extensions", extensions))"files":[\#(file)],"format":"pullbox-manifest/1",\#(unknownMember)"kind":"file","length":5,"mediaType":"application/pdf","name":"hello.pdf","pieceLength":1048576,"pieces":["\#(Self.digest)"],"product":"com.example.hello",\#(member("requiredFeatures", requiredFeatures))"unpackedLength":5,"version":"1.10"}"#
    return Array(text.utf8)
  }

  private func issues(_ document: [UInt8]) throws -> [PackageValidationIssue] {
    try #require(throws: PackageValidationError.self) { try UnverifiedManifest(document).proposed() }.faults
  }

  private func nested(_ depth: Int) -> String {
    String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
  }

  @Test("extensions of the manifest and of a file are kept byte by byte, and its digest and signature hold")
  func kept() throws {
    let value = #"{"a":[0,1,9007199254740991],"b":null,"c":{"deep":"é \"\u0001"},"d":false,"e":true}"#
    let document = document(
      extensions: #"{"com.example.panels":\#(value),"layers":7}"#,
      fileExtensions: #"{"com.example.alt":"A cat"}"#)
    let manifest = try UnverifiedManifest(document).verified(against: .of(document))
    #expect(manifest.canonicalBytes() == document)
    #expect(manifest.manifestDigest == .of(document))
    let extensions = try #require(manifest.extensions)
    #expect(extensions.names.map(\.description) == ["com.example.panels", "layers"])
    let panels = try #require(ManifestName("com.example.panels"))
    #expect(extensions[panels] == Array(value.utf8))
    let alternative = try #require(ManifestName("com.example.alt"))
    #expect(manifest.files.first?.extensions?[alternative] == Array(#""A cat""#.utf8))
    let key = SigningKey()
    let signature = key.sign(document)
    #expect(key.verificationKey.isValid(signature: signature, for: manifest.canonicalBytes()))
  }

  @Test("a manifest without extensions says nothing of them")
  func none() throws {
    let manifest = try UnverifiedManifest(document()).proposed()
    #expect(manifest.extensions == nil)
    #expect(manifest.files.first?.extensions == nil)
    #expect(manifest.requiredFeatures.isEmpty)
    #expect(manifest.canonicalBytes() == document())
  }

  @Test("a required feature that is unknown is refused by its name, to the agent and to the server alike")
  func unknownFeature() throws {
    let document = document(requiredFeatures: #"["com.example.layers","encryption"]"#)
    let atServer = try issues(document)
    let atAgent = try #require(throws: PackageValidationError.self) {
      try UnverifiedManifest(document).verified(against: .of(document))
    }
    #expect(atServer == atAgent.faults)
    #expect(
      atAgent.description == """
        manifest-feature-unknown: requiredFeatures: the manifest needs com.example.layers, which this version does not know
        manifest-feature-unknown: requiredFeatures: the manifest needs encryption, which this version does not know
        """)
  }

  @Test("what the unknown feature brings along does not hide its name")
  func unknownFeatureWithMembers() throws {
    let document = document(requiredFeatures: #"["encryption"]"#, unknownMember: #""key":{"iv":[1,2]},"#)
    #expect(try issues(document).map(\.code) == [.manifestFeatureUnknown])
    #expect(try issues(document).first?.detail.contains("encryption") == true)
  }

  @Test(
    "a document of a later format is told by its format, whatever members it has, at the server and the agent"
  )
  func laterFormat() throws {
    for member in ["", #""key":{"iv":[1,2]},"#] {
      let text = String(decoding: document(unknownMember: member), as: UTF8.self)
      let later = Array(text.replacing("pullbox-manifest/1", with: "pullbox-manifest/2").utf8)
      #expect(try issues(later).map(\.code) == [.manifestFormatUnknown])
      let atAgent = try #require(throws: PackageValidationError.self) {
        try UnverifiedManifest(later).verified(against: .of(later))
      }
      #expect(atAgent.faults.map(\.code) == [.manifestFormatUnknown])
    }
  }

  @Test("an unknown member elsewhere is still refused")
  func unknownMember() throws {
    #expect(try issues(document(unknownMember: #""key":1,"#)).map(\.code) == [.manifestMalformed])
    #expect(
      try issues(document(extensions: #"{"a":1}"#, unknownMember: #""key":1,"#)).map(\.code)
        == [.manifestMalformed])
  }

  @Test(
    "names are lower-case segments, 1 to 16 of them, and nothing is empty",
    arguments: [
      "{}", #"{"com..example":1}"#, #"{"Com.example":1}"#, #"{"":1}"#, #"{"com_example":1}"#,
      #"{"com.example.":1}"#,
      "{" + (10...26).map { "\"n\($0)\":1" }.joined(separator: ",") + "}",
    ])
  func names(_ extensions: String) throws {
    #expect(try issues(document(extensions: extensions)).map(\.code) == [.manifestExtensionInvalid])
    let ofFile = try issues(document(fileExtensions: extensions))
    #expect(ofFile.map(\.code) == [.manifestExtensionInvalid])
    #expect(ofFile.first?.path == "hello.pdf")
  }

  @Test("16 extensions fit in one place")
  func count() throws {
    let extensions = "{" + (10...25).map { "\"n\($0)\":1" }.joined(separator: ",") + "}"
    #expect(try UnverifiedManifest(document(extensions: extensions)).proposed().extensions?.names.count == 16)
  }

  @Test("an extension is nested at most 8 deep; far deeper it is not read at all")
  func depth() throws {
    #expect(throws: Never.self) {
      try UnverifiedManifest(document(extensions: "{\"a\":\(nested(8))}")).proposed()
    }
    #expect(
      try issues(document(extensions: "{\"a\":\(nested(9))}")).map(\.code) == [.manifestExtensionInvalid])
    #expect(
      try issues(document(extensions: "{\"a\":\(nested(100_000))}")).map(\.code) == [.manifestMalformed])
  }

  @Test("the manifest's extensions have at most 65,536 bytes, those of a file 4,096")
  func length() throws {
    func filled(_ length: Int) -> String { "{\"a\":\"\(String(repeating: "x", count: length - 8))\"}" }
    #expect(throws: Never.self) {
      try UnverifiedManifest(
        document(extensions: filled(65_536), fileExtensions: filled(4096))
      ).proposed()
    }
    #expect(
      try issues(document(extensions: filled(65_537))).map(\.code) == [.manifestExtensionInvalid])
    #expect(
      try issues(document(fileExtensions: filled(4097))).map(\.code) == [.manifestExtensionInvalid])
  }

  @Test(
    "an extension that is not canonical JSON is malformed",
    arguments: [
      "1.5", "-1", "01", "1e3", "9007199254740992", "nul", "tru", #""\u0041""#, #"{"b":1,"a":2}"#,
      #"{"a":1,"a":2}"#, "[1, 2]", #"{"é":1}"#, "",
    ])
  func canonical(_ value: String) throws {
    #expect(try issues(document(extensions: "{\"a\":\(value)}")).map(\.code) == [.manifestMalformed])
  }

  @Test(
    "required features are 1 to 16 ascending names",
    arguments: [
      "[]", #"["b","a"]"#, #"["a","a"]"#, #"["A"]"#, #"[""]"#,
      "[" + (10...26).map { "\"n\($0)\"" }.joined(separator: ",") + "]",
    ])
  func featureNames(_ features: String) throws {
    #expect(try issues(document(requiredFeatures: features)).map(\.code).contains(.manifestMemberInvalid))
  }
}
