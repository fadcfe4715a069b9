import Commerce
import ContentPackage
import CoreTypes
import Crypto
import SystemCalls

/// Takes out of a package what everyone may see of it: the cover and the samples that the product's description names. Nothing
/// else of a package leaves the server without a ticket.
enum PackagePreviews {
  /// A longer cover is none.
  static let maximumCover = ByteCount.kibibytes(256)
  /// A longer sample is refused.
  static let maximumSample = ByteCount.mebibytes(1)
  /// Narrower pictures of a cover, at most.
  static let maximumWidths = 8
  /// Pixels that such a picture may say to be wide.
  static let widths = 1...10_000
  /// As ``ProductValidator`` holds descriptions to.
  static let maximumSamples = ProductValidator.maximumSamples

  /// By the extension of the file's name. What a browser would run, such as SVG and HTML, is not among them.
  private static let mediaTypes = [
    "avif": "image/avif", "gif": "image/gif", "jpeg": "image/jpeg", "jpg": "image/jpeg", "png": "image/png",
    "webp": "image/webp", "pdf": "application/pdf", "txt": "text/plain; charset=utf-8",
  ]

  /// Reads the previews out of a package that was checked against `manifest`. Blocks. Throws `PackageValidationError` for a
  /// sample that the package does not have or that cannot be one, and what reading throws.
  static func read(
    from file: borrowing FileDescriptor, _ manifest: Manifest, samples: [String]
  ) throws -> [PreviewTable.Preview] {
    // The one file of such a package is all that is sold.
    guard manifest.kind == .folder else {
      guard samples.isEmpty else { throw refusal(samples[0], "a package of one file has no samples") }
      return []
    }
    let files = Dictionary(
      manifest.files.map { ($0.path.text, $0) }, uniquingKeysWith: { first, _ in first })
    var previews: [PreviewTable.Preview] = []
    if let cover = manifest.cover.flatMap({ files[$0.text] }), cover.length <= maximumCover,
      let type = mediaType(of: cover), type.hasPrefix("image/")
    {
      previews.append(try preview(cover, type, at: PreviewTable.cover, in: file))
      for (width, picture) in narrower(than: cover, among: manifest.files) {
        guard let type = mediaType(of: picture) else { continue }
        previews.append(try preview(picture, type, at: PreviewTable.place(ofWidth: width), in: file))
      }
    }
    for (index, path) in samples.prefix(maximumSamples).enumerated() {
      guard let sample = files[path] else { throw refusal(path, "the package has no such file") }
      guard sample.length <= maximumSample else {
        throw refusal(path, "a sample has \(maximumSample) at most")
      }
      guard let type = mediaType(of: sample) else {
        throw refusal(
          path,
          "a sample is a picture, a PDF document or text: \(mediaTypes.keys.sorted().joined(separator: ", "))"
        )
      }
      previews.append(try preview(sample, type, at: index + 1, in: file))
    }
    return previews
  }

  /// The cover in other sizes: the files beside it that are named like it, with `@` and a width before the end, such as
  /// `cover@240w.jpg` beside `cover.jpg`. Those that could be no cover are none of it.
  static func narrower(
    than cover: ManifestFile, among files: [ManifestFile]
  ) -> [(width: Int, file: ManifestFile)] {
    guard let dot = cover.path.text.lastIndex(of: ".") else { return [] }
    let stem = cover.path.text[..<dot] + "@"
    var found: [Int: ManifestFile] = [:]
    for file in files where file.path.text.hasPrefix(stem) && file.length <= maximumCover {
      let rest = file.path.text.dropFirst(stem.count)
      guard let end = rest.firstIndex(of: "."), rest[..<end].last == "w",
        let width = Int(rest[..<end].dropLast()), widths.contains(width), found[width] == nil,
        mediaType(of: file)?.hasPrefix("image/") == true
      else { continue }
      found[width] = file
    }
    return found.sorted { $0.key < $1.key }.prefix(maximumWidths).map { (width: $0.key, file: $0.value) }
  }

  private static func preview(
    _ entry: ManifestFile, _ mediaType: String, at place: Int, in file: borrowing FileDescriptor
  ) throws -> PreviewTable.Preview {
    let content = try PackageFileReader.content(of: entry, in: file)
    return PreviewTable.Preview(place: place, mediaType: mediaType, digest: entry.digest, content: content)
  }

  private static func mediaType(of file: ManifestFile) -> String? {
    let name = file.path.text
    guard let dot = name.lastIndex(of: ".") else { return nil }
    return mediaTypes[name[name.index(after: dot)...].lowercased()]
  }

  private static func refusal(_ path: String, _ detail: String) -> PackageValidationError {
    PackageValidationError([PackageValidationIssue(.sampleInvalid, path: path, detail)])
  }
}
