import CoreTypes
import Crypto
import Foundation

@testable import ContentPackage

/// A manifest has one spelling, and what is taken is within the bounds: sections and extensions included.
enum ManifestProperties {
  static func check(_ bytes: [UInt8]) -> String? {
    let limits = PackageLimits.standard
    guard let draft = try? ManifestDecoder.draft(from: bytes, limits: limits) else { return nil }
    guard draft.canonicalBytes() == bytes else { return "a draft is spelled otherwise than it was read" }
    guard (try? JSONSerialization.jsonObject(with: Data(bytes))) != nil else {
      return "a draft of no JSON is read"
    }
    guard let manifest = try? Manifest(draft, limits: limits) else { return nil }
    guard manifest.canonicalBytes() == bytes, manifest.manifestDigest == SHA256Digest.of(bytes) else {
      return "a manifest is spelled otherwise than it was read"
    }
    guard manifest.files.count <= limits.maximumFiles, manifest.length <= limits.maximumLength,
      manifest.unpackedLength <= limits.maximumUnpackedLength
    else { return "a manifest is beyond the bounds" }
    // The names under which files are placed, read from their texts once more.
    for file in manifest.files {
      let segments = file.path.text.split(separator: "/", omittingEmptySubsequences: false)
      if segments.contains(where: { $0.isEmpty || $0 == "." || $0 == ".." }) {
        return "a file is placed at \(file.path.text)"
      }
      guard file.offset.rawValue >= 0, file.storedLength.rawValue >= 0,
        file.offset.rawValue + file.storedLength.rawValue <= manifest.length.rawValue
      else { return "\(file.path.text) lies outside of its package" }
    }
    return checkSections(manifest)
  }

  private static func checkSections(_ manifest: Manifest) -> String? {
    let tags = manifest.sections.map(\.tag)
    guard Set(tags).count == tags.count else { return "a section is there twice" }
    let whole = manifest.selecting(Set(tags))
    guard whole.files == manifest.files else { return "all sections are not the whole" }
    let least = manifest.selecting([])
    guard Set(least.files.map(\.path)).isSubset(of: Set(manifest.files.map(\.path))),
      least.selecting(Set(tags)).files == manifest.files, least.canonicalBytes() == manifest.canonicalBytes()
    else { return "what was left out of a manifest does not come back" }
    return nil
  }
}
