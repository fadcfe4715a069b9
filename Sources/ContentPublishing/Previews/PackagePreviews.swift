import Commerce
import ContentCatalog
import ContentPackage
import ContentPacking
import CoreTypes
import Crypto
import DeliveryRecords
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
  /// The largest number of samples, which ``ProductValidator`` allows a description.
  static let maximumSamples = ProductValidator.maximumSamples

  /// Pages that are looked at in place of a cover that is none.
  private static let maximumCandidates = 16

  /// The media types of samples, by the ending of the file's name. None is a type that a browser would run, such as SVG or
  /// HTML.
  private static let mediaTypes = [
    "avif": "image/avif", "gif": "image/gif", "jpeg": "image/jpeg", "jpg": "image/jpeg", "png": "image/png",
    "webp": "image/webp", "pdf": "application/pdf", "txt": "text/plain; charset=utf-8",
  ]

  /// Reads the previews out of a package that was checked against `manifest`. Blocks. Throws `PackageValidationError` for a
  /// sample that the package does not have or that cannot be one, and what reading throws. The cover is first,
  /// then its narrower pictures by their width, then the samples in their order. A cover that is missing or no
  /// picture is left out and is no fault.
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
    if let (cover, preview) = try cover(of: manifest, files, in: file) {
      previews.append(preview)
      for (width, picture) in narrower(than: cover, among: manifest.files) {
        guard let narrow = try self.picture(picture, at: PreviewTable.place(ofWidth: width), in: file) else {
          continue
        }
        previews.append(narrow)
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

  /// The cover that the manifest names. Where that is no picture, as of packages made by tools that took resource forks for pages,
  /// the first page that is one.
  private static func cover(
    of manifest: Manifest, _ files: [String: ManifestFile], in file: borrowing FileDescriptor
  ) throws -> (ManifestFile, PreviewTable.Preview)? {
    guard let named = manifest.cover else { return nil }
    let pages = (manifest.readingOrder ?? []).lazy.filter { $0 != named && $0.mayBePage }
    let candidates = (named.mayBePage ? [named] : []) + pages.prefix(maximumCandidates)
    for path in candidates {
      guard let candidate = files[path.text] else { continue }
      guard candidate.length <= maximumCover else { return nil }
      if let preview = try picture(candidate, at: PreviewTable.cover, in: file) {
        return (candidate, preview)
      }
    }
    return nil
  }

  /// Nil for a file whose bytes are no picture that browsers show.
  private static func picture(
    _ entry: ManifestFile, at place: Int, in file: borrowing FileDescriptor
  ) throws -> PreviewTable.Preview? {
    let content = try PackageFileReader.content(of: entry, in: file)
    guard let type = PictureFormat(startOf: content)?.previewMediaType else { return nil }
    return PreviewTable.Preview(place: place, mediaType: type, digest: entry.digest, content: content)
  }

  /// The cover in other sizes: the files beside it that are named like it, with `@` and a width before the end, such as
  /// `cover@240w.jpg` beside `cover.jpg`. Those that could be no cover are none of it. They are in the order of
  /// their widths, ``maximumWidths`` at most. A longer file than ``maximumCover`` is left out.
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
        file.path.mayBePage
      else { continue }
      found[width] = file
    }
    return found.sorted { $0.key < $1.key }.prefix(maximumWidths).map { (width: $0.key, file: $0.value) }
  }

  /// Reads one sample. The media type of its first bytes counts before the one of its name.
  private static func preview(
    _ entry: ManifestFile, _ mediaType: String, at place: Int, in file: borrowing FileDescriptor
  ) throws -> PreviewTable.Preview {
    let content = try PackageFileReader.content(of: entry, in: file)
    // A browser is told not to guess, so that the bytes count where the name is wrong.
    let mediaType = PictureFormat(startOf: content)?.previewMediaType ?? mediaType
    return PreviewTable.Preview(place: place, mediaType: mediaType, digest: entry.digest, content: content)
  }

  /// Returns the media type by the ending of the name; nil for an ending that is none of a sample.
  private static func mediaType(of file: ManifestFile) -> String? {
    let name = file.path.text
    guard let dot = name.lastIndex(of: ".") else { return nil }
    return mediaTypes[name[name.index(after: dot)...].lowercased()]
  }

  private static func refusal(_ path: String, _ detail: String) -> PackageValidationError {
    PackageValidationError([PackageValidationIssue(.sampleInvalid, path: path, detail)])
  }
}
