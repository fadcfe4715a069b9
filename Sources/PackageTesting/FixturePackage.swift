import Commerce
package import ContentPackage
package import ContentPacking
import CoreTypes
import Files
import PullboxTesting
import SystemCalls

/// A package as a publisher would have released it.
package struct FixturePackage: Sendable {
  /// The package as it is sent to devices.
  package let bytes: [UInt8]
  /// The manifest that the packer made for ``bytes``.
  package let manifest: Manifest
  /// The files as they must be placed, by path.
  package let files: [String: [UInt8]]

  /// The product of packages that say nothing else.
  package static let product = "com.example.heroes.issue42"

  /// A single file of that many bytes that no compressor can shrink.
  package static func file(
    length: Int, product: String = product, version: String = "1.0", seed: UInt64 = 1
  ) throws -> FixturePackage {
    try file(noise(length, seed: seed), product: product, version: version)
  }

  /// A single file of those bytes. It is written to a temporary directory for the packer and removed before this returns.
  package static func file(
    _ bytes: [UInt8], product: String = product, version: String = "1.0", name: String = "issue.pdf"
  ) throws -> FixturePackage {
    let directory = try TemporaryDirectory()
    let path = directory.path(name)
    try write(bytes, to: path)
    let packed = try builder(product, version).describe(file: path)
    return FixturePackage(bytes: bytes, manifest: packed.manifest, files: [name: bytes])
  }

  /// Nothing is synced: no test asks what is left of its source after a power cut.
  private static func write(_ bytes: [UInt8], to path: String) throws {
    let file = try FileDescriptor.open(path, .writeOnly, options: [.create, .truncate])
    try file.write(bytes.span, at: .zero)
  }

  /// Six pages of about 700 kB each, so that pages and pieces have different bounds.
  private static let pages = (0..<6).map { noise(700_000 + $0, seed: UInt64($0) + 10) }
  /// A text of 2.5 MB that deflates to a small part of it.
  private static let longNotes = [[UInt8]](
    repeating: Array("All in color for a dime. ".utf8), count: 100_000
  ).flatMap { $0 }

  /// A folder of stored and deflated files, packed. Two packages that differ in `firstPage` alone have the same bytes for all
  /// other files where the second follows the first.
  ///
  /// - Parameters:
  ///   - firstPage: replaces `pages/page0.jpg`; nil keeps the usual page.
  ///   - previous: the manifest whose layout is kept for files that are the same; nil lays out anew.
  package static func folder(
    product: String = product, version: String = "1.0", firstPage: [UInt8]? = nil,
    following previous: Manifest? = nil
  ) throws -> FixturePackage {
    var files: [String: [UInt8]] = ["notes/empty.txt": []]
    for (page, bytes) in pages.enumerated() { files["pages/page\(page).jpg"] = bytes }
    if let firstPage { files["pages/page0.jpg"] = firstPage }
    files["notes/long.txt"] = longNotes
    return try folder(of: files, product: product, version: version, following: previous)
  }

  /// A folder of those files by path, packed.
  package static func folder(
    of files: [String: [UInt8]], product: String = product, version: String = "1.0",
    sections: SectionRules = .none, following previous: Manifest? = nil
  ) throws -> FixturePackage {
    let directory = try TemporaryDirectory()
    for (path, bytes) in files {
      let target = directory.path("source/\(path)")
      try FileSystem.createDirectories(FileSystem.parent(of: target))
      try write(bytes, to: target)
    }
    let output = directory.path("package.zip")
    let packed = try builder(product, version).pack(
      folder: directory.path("source"), to: output, sections: sections, following: previous)
    return FixturePackage(
      bytes: try FileSystem.read(output, upTo: .gibibytes(1)), manifest: packed.manifest, files: files)
  }

  /// A folder of two pages of 1.5 MB that are required, a section `lang-fr` that is fetched by itself, and a section `hires` that is
  /// fetched when it is asked for, each of two pages of 1.5 MB.
  ///
  /// - Parameters:
  ///   - firstPage: replaces `001.jpg`; nil keeps the usual page.
  ///   - pageLength: the length of the pages in bytes, which are as many bytes longer as their numbers say.
  package static func inSections(
    product: String = FixturePackage.product, version: String = "1.0", firstPage: [UInt8]? = nil,
    pageLength: Int = 1_500_000, following previous: Manifest? = nil
  ) throws -> FixturePackage {
    var files: [String: [UInt8]] = [:]
    for (folder, seed) in [("", UInt64(20)), ("fr/", 30), ("hires/", 40)] {
      for page in 1...2 {
        files["\(folder)00\(page).jpg"] = noise(pageLength + page, seed: seed + UInt64(page))
      }
    }
    if let firstPage { files["001.jpg"] = firstPage }
    func rule(_ tag: String, _ policy: SectionPolicy, _ pattern: String) throws -> SectionRules.Rule {
      guard let tag = SectionTag(tag), let pattern = PathPattern(pattern) else { throw SampleError() }
      return SectionRules.Rule(section: ManifestSection(tag: tag, policy: policy), patterns: [pattern])
    }
    return try folder(
      of: files, product: product, version: version,
      sections: SectionRules([
        rule("lang-fr", .prefetch, "fr/"), rule("hires", .onDemand, "hires/"),
      ]), following: previous)
  }

  /// The packer for a product and a version. Throws ``SampleError`` for texts that are no identifiers.
  private static func builder(_ product: String, _ version: String) throws -> PackageBuilder {
    guard let product = ProductIdentifier(product), let version = ContentVersion(version) else {
      throw SampleError()
    }
    return PackageBuilder(product: product, version: version)
  }

  /// The same for the same seed: a block of xorshift64* again and again, each time behind its own number, so
  /// that no two pieces are alike.
  package static func noise(_ count: Int, seed: UInt64) -> [UInt8] {
    var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
    var words = [UInt64](repeating: 0, count: 4096)
    for index in 0..<words.count {
      state ^= state &>> 12
      state ^= state &<< 25
      state ^= state &>> 27
      words[index] = (state &* 0x2545_F491_4F6C_DD1D).littleEndian
    }
    let block = unsafe words.withUnsafeBytes { unsafe [UInt8]($0) }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count + block.count)
    while bytes.count < count {
      append(UInt64(bytes.count) ^ seed << 40, to: &bytes)
      bytes.append(contentsOf: block)
    }
    bytes.removeLast(bytes.count - count)
    return bytes
  }

  /// Appends the word, its lowest byte first.
  private static func append(_ word: UInt64, to bytes: inout [UInt8]) {
    for shift in stride(from: 0, to: 64, by: 8) {
      bytes.append(UInt8(truncatingIfNeeded: word >> UInt64(shift)))
    }
  }
}
