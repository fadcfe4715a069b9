import Commerce
import ContentPackage
import CoreTypes
import Crypto
import Files
import PullboxAPI
import PullboxTesting
import SystemCalls
import Testing

@testable import pullbox

@Suite("One page of placed content")
struct PlacedPageTests {
  /// A folder of two pages, which are read in another order than that of their names, as it lies in a library.
  private static func item(in library: String, kind: Manifest.Kind = .folder) throws -> LibraryItem {
    let (product, version) = (
      try #require(ProductIdentifier("com.example.a")), try #require(ContentVersion("1.0"))
    )
    let bytes: [UInt8] = [1, 2, 3, 4]
    let names = kind == .file ? ["a.pdf"] : ["a.jpg", "b.jpg"]
    let files = try names.enumerated().map { index, name in
      ManifestFile(
        path: try PackagePath(name), offset: ByteCount(2 * index),
        storedLength: ByteCount(kind == .file ? 4 : 2),
        length: ByteCount(kind == .file ? 4 : 2), method: .stored,
        digest: kind == .file ? .of(bytes) : .of([1]))
    }
    let draft = ManifestDraft(
      product: product, version: version, kind: kind, name: kind == .file ? "a.pdf" : nil,
      mediaType: kind == .file ? .pdf : .archive, length: ByteCount(4), digest: .of(bytes),
      pieces: [.of(bytes)], unpackedLength: ByteCount(4), title: nil, pageCount: nil, cover: nil,
      readingOrder: kind == .file ? nil : [files[1].path, files[0].path], files: files, requiredFeatures: [],
      extensions: nil)
    let manifest = try Manifest(draft, limits: .standard)
    let folder = "\(library)/\(product)"
    try FileSystem.createDirectories("\(folder)/.pullbox")
    try StoredManifest.write(manifest, to: "\(folder)/.pullbox/\(version)")
    return LibraryItem(
      product: product, version: version, path: kind == .file ? "\(folder)/1.0/a.pdf" : "\(folder)/1.0",
      digest: manifest.digest, length: ByteCount(4), placedAt: Timestamp(millisecondsSinceEpoch: 0))
  }

  @Test("pages count from 1 in the order in which they are read, and others are refused with their number")
  func pages() throws {
    let directory = try TemporaryDirectory()
    let item = try Self.item(in: directory.path("library"))
    #expect(try PlacedPage.path(of: "1", in: item) == "\(item.path)/b.jpg")
    #expect(try PlacedPage.path(of: "2", in: item) == "\(item.path)/a.jpg")
    for page in ["0", "3", "-1", "x", "9223372036854775808"] {
      let failure = try #require(throws: CommandFailure.self) { try PlacedPage.path(of: page, in: item) }
      #expect("\(failure)".contains("1 to 2"), "\(page)")
    }
  }

  @Test("content that is one file has no pages in files of their own")
  func singleFile() throws {
    let directory = try TemporaryDirectory()
    let item = try Self.item(in: directory.path("library"), kind: .file)
    #expect(throws: CommandFailure.self) { try PlacedPage.path(of: "1", in: item) }
  }
}
