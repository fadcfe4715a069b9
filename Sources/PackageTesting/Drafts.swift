import Commerce
package import ContentPackage
import CoreTypes
import Crypto

/// A well-formed draft of a folder of two files, for tests to spoil. Its digests are those of single bytes and belong to no
/// package.
package func makeDraft() throws -> ManifestDraft {
  guard let product = ProductIdentifier("com.example.hello"), let version = ContentVersion("1.10") else {
    throw SampleError()
  }
  return ManifestDraft(
    product: product, version: version, kind: .folder, name: nil, mediaType: .archive,
    length: ByteCount(1_048_577), digest: .of([1]), pieces: [.of([2]), .of([3])],
    unpackedLength: ByteCount(1000), title: nil, pageCount: nil, cover: nil, readingOrder: nil,
    files: [try makeFile("a.jpg", 40, 400), try makeFile("b.jpg", 500, 600)])
}

/// A file of a manifest. Its digest is that of its path, so that two files of a draft differ without content.
package func makeFile(
  _ path: String, _ offset: Int, _ length: Int, storedLength: Int? = nil, method: StorageMethod = .stored
) throws -> ManifestFile {
  ManifestFile(
    path: try PackagePath(path), offset: ByteCount(offset), storedLength: ByteCount(storedLength ?? length),
    length: ByteCount(length), method: method, digest: .of([UInt8](path.utf8)))
}

/// The codes of the faults that `body` throws as a refusal; none when it throws nothing.
package func refusalCodes(_ body: () throws -> Void) throws -> [PackageValidationIssue.Code] {
  do {
    try body()
    return []
  } catch let refusal as PackageValidationError {
    return refusal.faults.map(\.code)
  }
}
