import Commerce
package import ContentPackage
package import ContentPacking
import CoreTypes
import PullboxTesting
import SystemCalls

/// A packed folder of a few MiB with everything that packages have: pages, deflated files small and larger than a piece,
/// an empty file, folders in folders, names that are not ASCII.
package struct Sample: Sendable {
  /// The files of the folder in the order of their paths.
  package static let files: [(path: String, bytes: [UInt8])] = [
    ("001.jpg", noise(700_000, seed: 1)),
    ("002.jpg", noise(1_300_000, seed: 2)),
    ("ComicInfo.xml", Array("<ComicInfo><Title>Sample</Title></ComicInfo>".utf8)),
    ("chapter/003.png", noise(400_000, seed: 3)),
    ("chapter/deep/er/é.txt", prose(5000, seed: 4)),
    ("empty.jpg", []),
    ("notes/empty.txt", []),
    ("story.txt", prose(1_800_000, seed: 5)),
  ]

  /// The bytes of the package.
  package let package: [UInt8]
  /// The manifest of ``package``.
  package let manifest: Manifest

  /// Made once for all tests.
  package static let shared: Result<Sample, any Error> = Result { try Sample() }

  /// Packs ``files`` once. Throws what the packer throws.
  private init() throws {
    let folder = try Folder()
    for file in Self.files { try folder.write(file.bytes, to: file.path) }
    let output = folder.directory.path("package")
    let packed = try Sample.builder.pack(folder: folder.path, to: output)
    manifest = packed.manifest
    package = try contents(of: output)
  }

  /// A packer for the product and the version of the sample. Throws ``SampleError`` where one of them is no identifier
  /// any more.
  package static var builder: PackageBuilder {
    get throws {
      guard let product = ProductIdentifier("com.example.sample"), let version = ContentVersion("1.0") else {
        throw SampleError()
      }
      return PackageBuilder(product: product, version: version)
    }
  }

  /// The piece of that index, checked against the manifest.
  package func verifiedPiece(_ index: Int) throws -> VerifiedPiece {
    try VerifiedPiece(receivedPiece(index), of: manifest)
  }

  /// The piece of that index with all of its bytes, as a device has it before the check.
  package func receivedPiece(_ index: Int) -> ReceivedPiece {
    var piece = ReceivedPiece(index: index, layout: manifest.layout)
    let range = manifest.layout.range(of: index)
    let bytes = Array(package[Int(range.lowerBound)..<Int(range.upperBound)])
    _ = piece.append(bytes.span)
    return piece
  }
}

/// An identifier of the fixtures that this program does not take.
package struct SampleError: Error {
  /// The one value.
  package init() {}
}
