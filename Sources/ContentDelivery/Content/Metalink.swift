import Commerce
import ContentPackage
import CoreTypes
import Crypto

/// The Metalink 4 document (RFC 5854) that describes a package to other download tools: its length, its digest, the digest
/// of every 1 MiB, and its URL.
struct Metalink: Sendable {
  package static let mediaType = "application/metalink4+xml"

  package let manifest: Manifest
  /// Absolute, and with a ticket.
  package let url: String

  package var document: [UInt8] {
    var text = """
      <?xml version="1.0" encoding="UTF-8"?>
      <metalink xmlns="urn:ietf:params:xml:ns:metalink">
        <generator>pullbox</generator>
        <file name="\(Self.escaped(fileName))">
          <identity>\(Self.escaped(manifest.product.description))</identity>
          <version>\(Self.escaped(manifest.version.description))</version>
          <size>\(manifest.length.rawValue)</size>
          <hash type="sha-256">\(manifest.digest.hexadecimal)</hash>
          <pieces length="\(PieceLayout.pieceLength.rawValue)" type="sha-256">

      """
    for piece in manifest.pieces { text += "      <hash>\(piece.hexadecimal)</hash>\n" }
    text += """
          </pieces>
          <url priority="1">\(Self.escaped(url))</url>
        </file>
      </metalink>

      """
    return Array(text.utf8)
  }

  /// The name of the file: that of the single file, or product and version. Only letters, digits, `.`, `_` and `-`
  /// of ASCII, and no leading dot: §4.1.2.1 wants no path, and no tool needs more.
  package var fileName: String {
    let name = manifest.name ?? "\(manifest.product)-\(manifest.version).zip"
    let safe = name.unicodeScalars.map { scalar in
      switch scalar {
      case "a"..."z", "A"..."Z", "0"..."9", ".", "_", "-": Character(scalar)
      default: Character("_")
      }
    }
    let suffix = String(safe.suffix(200).drop { $0 == "." })
    return suffix.isEmpty ? "package" : suffix
  }

  /// Not by characters: a bracket with a mark above it is one of its own.
  static func escaped(_ text: String) -> String {
    var escaped = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": escaped += "&amp;".unicodeScalars
      case "<": escaped += "&lt;".unicodeScalars
      case ">": escaped += "&gt;".unicodeScalars
      case "\"": escaped += "&quot;".unicodeScalars
      default: escaped.append(scalar)
      }
    }
    return String(escaped)
  }
}
