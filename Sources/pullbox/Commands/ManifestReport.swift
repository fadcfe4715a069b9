import ContentPackage
import Crypto
import CoreTypes
import PullboxAPI
import ServiceRuntime

/// What a manifest says, for people.
enum ManifestReport {
  static func print(_ manifest: Manifest, listsFiles: Bool, _ console: Console) throws {
    if console.printsJSON {
      StandardStream.output.write(manifest.canonicalBytes() + [0x0A])
      return
    }
    var rows = [
      ("product", "\(manifest.product) \(manifest.version)"),
      ("kind", manifest.kind == .file ? "finished file \(manifest.name ?? "")" : "packed folder"),
      ("media type", manifest.mediaType.text),
      ("size", "\(manifest.length) (\(manifest.length.rawValue) bytes)"),
      ("unpacked", "\(manifest.unpackedLength) in \(manifest.files.count) files"),
      ("pieces", "\(manifest.pieces.count) of \(PieceLayout.pieceLength)"),
      ("sha256", manifest.digest.hexadecimal),
      ("manifest", manifest.manifestDigest.hexadecimal),
    ]
    if let title = manifest.title { rows.append(("title", title)) }
    if let pages = manifest.pageCount { rows.append(("pages", String(pages))) }
    if let cover = manifest.cover { rows.append(("cover", cover.text)) }
    for (name, text) in rows {
      console.print(name + String(repeating: " ", count: 12 - name.count) + text)
    }
    guard listsFiles, !manifest.files.isEmpty else { return }
    let table = TextTable(
      columns: [.number("SIZE"), .number("STORED"), .text("METHOD"), .text("FILE")],
      rows: manifest.files.map {
        [$0.length.description, $0.storedLength.description, $0.method.rawValue, $0.path.text]
      })
    console.print("")
    for line in table.lines(width: Terminal.standardOutput.columns) { console.print(line) }
  }
}
