import CoreTypes
import Crypto
import Files
import Glibc
import PackageTesting
import PullboxTesting
import SystemCalls
import Testing

@testable import ContentPackage
@testable import ContentPacking

@Suite("Packing folders")
struct PackageBuilderTests {
  private func pack(_ folder: Folder, limits: PackageLimits = .standard) throws -> (Manifest, [UInt8]) {
    let output = folder.directory.path("package")
    let builder = try Sample.builder
    let packed = try PackageBuilder(product: builder.product, version: builder.version, limits: limits)
      .pack(folder: folder.path, to: output)
    return (packed.manifest, try contents(of: output))
  }

  private func codes(_ folder: Folder, limits: PackageLimits = .standard) throws -> [PackageValidationIssue
    .Code]
  {
    try refusalCodes { _ = try pack(folder, limits: limits) }
  }

  @Test("a folder of one page gives exactly the bytes that the format's page draws")
  func bytes() throws {
    let folder = try Folder()
    try folder.write("hello", to: "a.jpg")
    let (manifest, package) = try pack(folder)
    let common: [UInt8] = [
      0x14, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x00, 0x21, 0x00, 0x86, 0xA6, 0x10, 0x36, 5, 0, 0, 0, 5, 0, 0,
      0,
      5, 0, 0, 0,
    ]
    let local = [0x50, 0x4B, 3, 4] + common + Array("a.jpg".utf8)
    let central =
      [0x50, 0x4B, 1, 2, 0x14, 0x03] + common + [0, 0, 0, 0, 0, 0, 0, 0, 0xA4, 0x81, 0, 0, 0, 0]
      + Array("a.jpg".utf8)
    let end: [UInt8] = [
      0x50, 0x4B, 5, 6, 0, 0, 0, 0, 1, 0, 1, 0, UInt8(central.count), 0, 0, 0, UInt8(local.count + 5), 0, 0,
      0, 0, 0,
    ]
    #expect(package == local + Array("hello".utf8) + central + end)
    #expect(manifest.files.map(\.offset.rawValue) == [Int64(local.count)])
    #expect(manifest.digest == .of(package))
    #expect(manifest.pieces == [.of(package)])
    #expect(manifest.length.rawValue == Int64(package.count))
  }

  @Test("the same files give the same bytes whatever their order on disk, times, modes and the umask")
  func deterministic() async {
    // The umask belongs to the process: one that no other test runs in.
    await #expect(processExitsWith: .success) {
      let (one, other) = (try Folder("one"), try Folder("other"))
      for file in Sample.files { try one.write(file.bytes, to: file.path) }
      let before = umask(0o077)
      for file in Sample.files.reversed() {
        try other.write(file.bytes, to: file.path, permissions: 0o600)
      }
      #expect(try Tool.run("touch", "-d", "2001-02-03", "\(other.path)/001.jpg", other.path).status == 0)
      let second = try PackageBuilderTests().pack(other)
      umask(before)
      let first = try PackageBuilderTests().pack(one)
      #expect(first.1 == second.1)
      #expect(first.0 == second.0)
      #expect(first.0.canonicalBytes() == second.0.canonicalBytes())
    }
  }

  @Test("offsets lead to the files' bytes, pages are stored, text is deflated")
  func offsets() throws {
    let sample = try Sample.shared.get()
    #expect(sample.manifest.files.map(\.path.text) == Sample.files.map(\.path))
    for (file, source) in zip(sample.manifest.files, Sample.files) {
      let stored = Array(sample.package[Int(file.storedRange.lowerBound)..<Int(file.storedRange.upperBound)])
      #expect(file.digest == .of(source.bytes))
      let isText = source.path.hasSuffix(".txt") || source.path.hasSuffix(".xml")
      if isText, source.path != "notes/empty.txt", source.path != "ComicInfo.xml" {
        #expect(file.method == .deflated)
        #expect(file.storedLength < file.length)
      } else if file.method == .stored {
        #expect(stored == source.bytes)
      }
    }
  }

  @Test("files too long for memory are packed like the others")
  func longFiles() throws {
    let folder = try Folder()
    let (sentence, pixels) = (prose(65_000, seed: 21), noise(65_000, seed: 22))
    var (text, page): ([UInt8], [UInt8]) = ([], [])
    for _ in 0..<150 {
      text += sentence
      page += pixels
    }
    try folder.write(page, to: "long.jpg")
    try folder.write(text, to: "long.txt")
    let (manifest, package) = try pack(folder)
    #expect(manifest.files.map(\.method) == [.stored, .deflated])
    #expect(manifest.files.map(\.digest) == [.of(page), .of(text)])
    let faults = try PackageInspector().faults(
      in: try FileDescriptor.open(folder.directory.path("package"), .readOnly),
      received: ReceivedPackage(length: manifest.length, digest: .of(package), pieces: manifest.pieces),
      against: manifest)
    #expect(faults == [])
    let test = try Tool.run("unzip", "-t", folder.directory.path("package"))
    #expect(test.status == 0, "\(test.output)")
  }

  @Test(
    "a file that deflates beyond the ratio's bound is stored", arguments: [500_000, 1_500_000, 9_000_000])
  func ratio(_ count: Int) throws {
    let folder = try Folder()
    try folder.write([UInt8](repeating: 0, count: count), to: "zeros.txt")
    #expect(try pack(folder).0.files.map(\.method) == [.stored])
  }

  @Test(
    "a file 64 folders deep is packed and taken by the server's check, one deeper is refused by its folder")
  func depth() throws {
    let folder = try Folder()
    let deep = Array(repeating: "d", count: 64).joined(separator: "/")
    try folder.write("x", to: deep + "/f.txt")
    let (manifest, package) = try pack(folder)
    #expect(manifest.files.map(\.path.text) == [deep + "/f.txt"])
    #expect(throws: Never.self) { try UnverifiedManifest(manifest.canonicalBytes()).proposed() }
    #expect(!package.isEmpty)
    try folder.write("x", to: deep + "/d/f.txt")
    let refusal = try #require(throws: PackageValidationError.self) { _ = try pack(folder) }
    #expect(refusal.faults.map(\.code) == [.folderTooDeep])
    #expect(refusal.faults.map(\.path) == [deep + "/d"])
    let planted = String(decoding: manifest.canonicalBytes(), as: UTF8.self)
      .replacing("\"path\":\"d/", with: "\"path\":\"d/d/")
    let atBothDoors = try #require(throws: PackageValidationError.self) {
      try UnverifiedManifest(Array(planted.utf8)).proposed()
    }
    #expect(atBothDoors.faults.map(\.code) == [.folderTooDeep])
  }

  @Test("a folder of hundreds of files that deflate to nothing is packed within the total ratio")
  func manyZeros() throws {
    let folder = try Folder()
    for index in 0..<300 { try folder.write([UInt8](repeating: 0, count: 300_000), to: "\(index).txt") }
    let manifest = try Sample.builder.pack(folder: folder.path, to: folder.directory.path("package")).manifest
    #expect(manifest.unpackedLength == ByteCount(90_000_000))
    #expect(manifest.length > ByteCount(90_000_000))
  }

  @Test("what does not become shorter is stored")
  func noGain() throws {
    let folder = try Folder()
    try folder.write(noise(1000, seed: 5), to: "noise.txt")
    try folder.write("x", to: "x.txt")
    #expect(try pack(folder).0.files.map(\.method) == [.stored, .stored])
  }

  @Test(
    "the product description and what systems leave behind are left out and reported, other hidden files are packed"
  )
  func skipped() throws {
    let folder = try Folder()
    try folder.write("x", to: "a.jpg")
    try folder.write("{}", to: "product.json5")
    try folder.write("x", to: "pages/product.json5")
    try folder.write("x", to: "pages/.DS_Store")
    try folder.write("x", to: "pages/._1.jpg")
    try folder.write("x", to: "pages/@eaDir/1.jpg/SYNOPHOTO_THUMB_M.jpg")
    try folder.write("x", to: "__MACOSX/pages/._2.jpg")
    try folder.write("x", to: "Desktop.ini")
    try folder.write("x", to: "Thumbs.db")
    try folder.write("x", to: ".hidden")
    try folder.makeFolder("empty/in")
    let packed = try Sample.builder.pack(folder: folder.path, to: folder.directory.path("package"))
    #expect(packed.manifest.files.map(\.path.text) == [".hidden", "a.jpg", "pages/product.json5"])
    #expect(
      packed.skipped == [
        SkippedSource(path: "Desktop.ini", reason: .systemFile),
        SkippedSource(path: "Thumbs.db", reason: .systemFile),
        SkippedSource(path: "__MACOSX", reason: .resourceFork),
        SkippedSource(path: "empty/in", reason: .emptyFolder),
        SkippedSource(path: "pages/.DS_Store", reason: .systemFile),
        SkippedSource(path: "pages/._1.jpg", reason: .resourceFork),
        SkippedSource(path: "pages/@eaDir", reason: .systemFolder),
        SkippedSource(path: "product.json5", reason: .productDescription),
      ])
  }

  @Test("every fault of a folder is listed with its file, and nothing is written")
  func everyFault() throws {
    let folder = try Folder()
    try folder.write("x", to: "fine.jpg")
    try folder.link("link.jpg", to: "fine.jpg")
    try folder.link("dangling", to: "/nowhere")
    try folder.makePipe("pipe")
    try folder.write("x", to: "back\\slash")
    try folder.write("x", to: "new\nline")
    try folder.write("x", to: "sub/NUL.jpg")
    try folder.write("x", to: "page.jpg")
    try folder.write("x", to: "PAGE.jpg")
    try folder.write([0x7F, 0x45, 0x4C, 0x46, 2], to: "program")
    try folder.write("#!/bin/sh\n", to: "script.txt", permissions: 0o755)
    try folder.write("#!/bin/sh\n", to: "not-executable.txt")
    let refusal = try #require(throws: PackageValidationError.self) { try pack(folder) }
    #expect(
      Set(refusal.faults.map { "\($0.code.rawValue) \($0.path ?? "")" }) == [
        "symbolic-link link.jpg", "symbolic-link dangling", "not-a-regular-file pipe",
        "path-unsafe back\\slash",
        "path-unsafe new\nline", "path-unsafe sub/NUL.jpg", "path-ambiguous page.jpg", "executable program",
        "executable script.txt",
      ])
    #expect(refusal.faults.count == 9)
    #expect(try FileSystem.list(folder.directory.path).map(\.name) == ["source"])
  }

  @Test("a name that is not UTF-8 is a fault")
  func notUnicode() throws {
    let folder = try Folder()
    try folder.write("x", to: "a.jpg")
    #expect(try Tool.run("sh", "-c", "printf x > \"$(printf '\(folder.path)/bad\\377name')\"").status == 0)
    #expect(try codes(folder) == [.pathUnsafe])
    // The test's directory could not be removed with this name in it.
    #expect(try Tool.run("rm", "-r", folder.path).status == 0)
  }

  @Test("an empty folder is refused")
  func empty() throws {
    let folder = try Folder()
    try folder.write("{}", to: "product.json5")
    #expect(try codes(folder) == [.packageEmpty])
  }

  @Test("the bounds hold exactly: one byte, one file less than needed is refused")
  func limits() throws {
    let folder = try Folder()
    try folder.write(noise(1000, seed: 1), to: "a.jpg")
    try folder.write(noise(500, seed: 2), to: "b.jpg")
    let length = try pack(folder).0.length
    var limits = PackageLimits.standard
    limits.maximumLength = length
    #expect(try codes(folder, limits: limits) == [])
    limits.maximumLength = length - ByteCount(1)
    #expect(try codes(folder, limits: limits) == [.packageTooLarge])
    limits.maximumLength = ByteCount(1499)
    limits.maximumFiles = 1
    limits.maximumUnpackedLength = ByteCount(1499)
    #expect(try codes(folder, limits: limits) == [.tooManyFiles, .unpackedTooLarge, .packageTooLarge])
  }

  @Test("a sparse folder of more than 2 GiB is refused at once")
  func tooLarge() throws {
    let folder = try Folder()
    try folder.write("x", to: "huge.jpg")
    try FileDescriptor.open("\(folder.path)/huge.jpg", .writeOnly).truncate(to: ByteCount(2_147_483_649))
    #expect(try codes(folder) == [.packageTooLarge])
  }

  @Test("progress ends at the folder's length")
  func progress() throws {
    let folder = try Folder()
    try folder.write(noise(100_000, seed: 1), to: "a.jpg")
    try folder.write(prose(50_000, seed: 2), to: "b.txt")
    var reports: [ByteCount] = []
    _ = try Sample.builder.pack(folder: folder.path, to: folder.directory.path("package")) { done, total in
      #expect(total == ByteCount(150_000))
      reports.append(done)
    }
    #expect(reports.last == ByteCount(150_000))
    #expect(reports == reports.sorted())
  }
}
