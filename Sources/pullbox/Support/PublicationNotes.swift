import ContentPackage
import ContentPacking

/// The notes for a publisher about the files that were packed or read: which were left out, and which are unusual.
struct PublicationNotes: Sendable {
  /// Lines of one kind, at most; how many more there are is said.
  private static let maximumLines = 20

  /// The files that were not packed, without descriptions.
  let skipped: [SkippedSource]
  /// The report about the files that were packed.
  let report: PublicationReport

  /// Descriptions are left out of the notes: they are never packed, and no publisher expects them to be.
  init(_ package: PackedPackage) {
    skipped = package.skipped.filter { $0.reason != .productDescription && $0.reason != .contentInfo }
    report = package.report
  }

  /// In the order of importance, ready to be printed; names go through the console, which shows nothing invisible.
  var lines: [String] {
    Self.bounded(skipped.map { "not packed: \($0.path) (\($0.reason.clause))" })
      + Self.bounded(report.leftOut.map { "no page: \($0.path) (\($0.reason.clause))" })
      + Self.bounded(report.oddities.map { "odd: \($0.path.map { "\($0): " } ?? "")\($0.detail)" })
  }

  /// On standard error, beside the result.
  func note(on console: Console) {
    for line in lines { console.note(line) }
  }

  /// The last line says how many of the kind are left out.
  private static func bounded(_ lines: [String]) -> [String] {
    guard lines.count > maximumLines else { return lines }
    let kind = lines[0].prefix { $0 != ":" }
    return lines.prefix(maximumLines) + ["\(kind): \(lines.count - maximumLines) more"]
  }
}

/// The notes as `inspect --json` prints them. It has all of them, where lines are bounded.
/// docs/command-line.md has its form.
struct PublicationNotesDocument: Encodable {
  /// `reason` is the name of a case, which stays as it is; `detail` is the sentence for people.
  struct LeftOut: Encodable {
    /// The path within the folder or the archive.
    let path: String
    /// The name of the reason, for programs.
    let reason: String
    /// The reason in words.
    let detail: String
  }

  /// An unusual thing, which is packed all the same.
  struct Odd: Encodable {
    /// The path of the file; nil for the publication as a whole.
    let path: String?
    /// The sentence about it.
    let detail: String
  }

  /// Files that are not packed, and then packed files that are no pages.
  let leftOut: [LeftOut]
  /// The oddities in the order of the report.
  let odd: [Odd]

  /// A document of all notes.
  init(_ notes: PublicationNotes) {
    leftOut = (notes.skipped + notes.report.leftOut).map {
      LeftOut(path: $0.path, reason: $0.reason.rawValue, detail: $0.reason.clause)
    }
    odd = notes.report.oddities.map { Odd(path: $0.path, detail: $0.detail) }
  }
}
