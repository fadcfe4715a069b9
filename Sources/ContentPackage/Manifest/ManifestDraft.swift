package import Commerce
package import CoreTypes
package import Crypto

/// The members of a manifest before its rules are checked.
package struct ManifestDraft: Sendable {
  package var product: ProductIdentifier
  package var version: ContentVersion
  package var kind: Manifest.Kind
  package var name: String?
  package var mediaType: MediaType
  package var length: ByteCount
  package var digest: SHA256Digest
  package var pieces: [SHA256Digest]
  package var unpackedLength: ByteCount
  package var title: String?
  package var pageCount: Int?
  package var cover: PackagePath?
  package var readingOrder: [PackagePath]?
  package var files: [ManifestFile]
  /// Ascending; empty when the manifest names none.
  package var requiredFeatures: [ManifestName] = []
  package var extensions: ManifestExtensions?

  package init(
    product: ProductIdentifier, version: ContentVersion, kind: Manifest.Kind, name: String?,
    mediaType: MediaType, length: ByteCount, digest: SHA256Digest, pieces: [SHA256Digest],
    unpackedLength: ByteCount, title: String?, pageCount: Int?, cover: PackagePath?,
    readingOrder: [PackagePath]?, files: [ManifestFile], requiredFeatures: [ManifestName] = [],
    extensions: ManifestExtensions? = nil
  ) {
    self.product = product
    self.version = version
    self.kind = kind
    self.name = name
    self.mediaType = mediaType
    self.length = length
    self.digest = digest
    self.pieces = pieces
    self.unpackedLength = unpackedLength
    self.title = title
    self.pageCount = pageCount
    self.cover = cover
    self.readingOrder = readingOrder
    self.files = files
    self.requiredFeatures = requiredFeatures
    self.extensions = extensions
  }
}

extension ManifestDraft {
  /// The document in canonical form (RFC 8785), keys ascending. Members that are nil are left out, and so is an empty
  /// list of features.
  package func canonicalBytes() -> [UInt8] {
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

  /// Writes one file, keys ascending.
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
