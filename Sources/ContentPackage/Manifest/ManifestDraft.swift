import Commerce
import CoreTypes
import Crypto

/// The members of a manifest before its rules are checked.
struct ManifestDraft: Sendable {
  var product: ProductIdentifier
  var version: ContentVersion
  var kind: Manifest.Kind
  var name: String?
  var mediaType: MediaType
  var length: ByteCount
  var digest: SHA256Digest
  var pieces: [SHA256Digest]
  var unpackedLength: ByteCount
  var title: String?
  var pageCount: Int?
  var cover: PackagePath?
  var readingOrder: [PackagePath]?
  var files: [ManifestFile]
  /// Ascending; empty when the manifest names none.
  var requiredFeatures: [ManifestName] = []
  var extensions: ManifestExtensions?
}

extension ManifestDraft {
  func canonicalBytes() -> [UInt8] {
    var writer = CanonicalJSONWriter()
    writer.object { writer in
      writer.member("cover", cover?.text)
      writer.member("digest", digest.hexadecimal)
      if let extensions {
        writer.key("extensions")
        extensions.write(to: &writer)
      }
      writer.key("files")
      writer.array(files) { writer, file in Self.write(file, to: &writer) }
      writer.member("format", Manifest.formatName)
      writer.member("kind", kind.rawValue)
      writer.member("length", length.rawValue)
      writer.member("mediaType", mediaType.text)
      writer.member("name", name)
      writer.member("pageCount", pageCount.map(Int64.init))
      writer.member("pieceLength", PieceLayout.pieceLength.rawValue)
      writer.key("pieces")
      writer.array(pieces) { writer, piece in writer.string(piece.hexadecimal) }
      writer.member("product", product.description)
      if let readingOrder {
        writer.key("readingOrder")
        writer.array(readingOrder) { writer, path in writer.string(path.text) }
      }
      if !requiredFeatures.isEmpty {
        writer.key("requiredFeatures")
        writer.array(requiredFeatures) { writer, name in writer.string(name.description) }
      }
      writer.member("title", title)
      writer.member("unpackedLength", unpackedLength.rawValue)
      writer.member("version", version.description)
    }
    return writer.bytes
  }

  private static func write(_ file: ManifestFile, to writer: inout CanonicalJSONWriter) {
    writer.object { writer in
      writer.member("digest", file.digest.hexadecimal)
      if let extensions = file.extensions {
        writer.key("extensions")
        extensions.write(to: &writer)
      }
      writer.member("length", file.length.rawValue)
      writer.member("method", file.method.rawValue)
      writer.member("offset", file.offset.rawValue)
      writer.member("path", file.path.text)
      writer.member("storedLength", file.storedLength.rawValue)
    }
  }
}
