import CoreTypes
import Crypto
import PackageTesting
import PullboxTesting
import SystemCalls
import Testing

@testable import ContentPackage
@testable import ContentPacking

@Suite("Finished files as packages")
struct SingleFileTests {
  @Test("the package is the file as it is")
  func asItIs() throws {
    let folder = try Folder()
    let bytes = noise(1_500_000, seed: 31)
    try folder.write(bytes, to: "Issue.pdf")
    let manifest = try Sample.builder.describe(file: "\(folder.path)/Issue.pdf").manifest
    #expect(manifest.kind == .file)
    #expect(manifest.name == "Issue.pdf")
    #expect(manifest.mediaType == .pdf)
    #expect(manifest.digest == .of(bytes))
    #expect(manifest.pieces == [.of(bytes[..<1_048_576]), .of(bytes[1_048_576...])])
    #expect(manifest.files.map(\.path.text) == ["Issue.pdf"])
    #expect(manifest.unpackedLength == manifest.length)
  }

  @Test("a comic book made by another tool tells its title and pages", arguments: ["-0", "-9"])
  func comicBook(_ level: String) throws {
    let folder = try Folder()
    for page in 1...11 { try folder.write(jpeg(page), to: "p\(page).jpg") }
    try folder.write(
      "<?xml version=\"1.0\"?><ComicInfo><Series>Moss</Series><Number>3</Number></ComicInfo>",
      to: "ComicInfo.xml")
    let path = folder.directory.path("Moss 3.cbz")
    #expect(try Tool.run("sh", "-c", "cd '\(folder.path)' && zip -q \(level) -r '\(path)' .").status == 0)
    let manifest = try Sample.builder.describe(file: path).manifest
    #expect(manifest.title == "Moss #3")
    #expect(manifest.pageCount == 11)
    #expect(manifest.mediaType == .comicBook)
  }

  @Test("a comic book that is no archive is delivered all the same, without title and pages")
  func noArchive() throws {
    let folder = try Folder()
    try folder.write(noise(100_000, seed: 41), to: "rar-inside.cbz")
    let manifest = try Sample.builder.describe(file: "\(folder.path)/rar-inside.cbz").manifest
    #expect(manifest.title == nil)
    #expect(manifest.pageCount == nil)
  }

  @Test(
    "a file that may not be published is refused",
    arguments: [
      ("tool.cbz", [0x7F, 0x45, 0x4C, 0x46], PackageValidationIssue.Code.executable),
      ("nul.pdf", [1], .pathUnsafe),
      ("empty.pdf", [], .packageEmpty),
    ] as [(String, [UInt8], PackageValidationIssue.Code)])
  func refused(_ name: String, _ bytes: [UInt8], _ code: PackageValidationIssue.Code) throws {
    let folder = try Folder()
    try folder.write(bytes, to: name)
    #expect(
      try refusalCodes { _ = try Sample.builder.describe(file: "\(folder.path)/\(name)") }.contains(code))
  }

  @Test("one byte more than 2 GiB is refused without reading it")
  func tooLarge() throws {
    let folder = try Folder()
    try folder.write("x", to: "huge.pdf")
    try FileDescriptor.open("\(folder.path)/huge.pdf", .writeOnly).truncate(to: ByteCount(2_147_483_649))
    #expect(
      try refusalCodes { _ = try Sample.builder.describe(file: "\(folder.path)/huge.pdf") } == [
        .packageTooLarge
      ])
  }

  @Test("a server's description from its own digests is the publisher's")
  func server() throws {
    let folder = try Folder()
    let bytes = noise(1_100_000, seed: 51)
    try folder.write(bytes, to: "Issue.epub")
    let path = "\(folder.path)/Issue.epub"
    let described = try Sample.builder.describe(file: path).manifest
    let file = try FileDescriptor.open(path, .readOnly)
    let server = try Manifest.describing(
      singleFile: file, name: "Issue.epub", product: described.product, version: described.version,
      length: described.length, digest: .of(bytes), pieces: described.pieces)
    #expect(server == described)
    #expect(
      try PackageInspector().faults(
        in: file,
        received: ReceivedPackage(length: server.length, digest: server.digest, pieces: server.pieces),
        against: described) == [])
  }
}
