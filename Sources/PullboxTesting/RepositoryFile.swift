internal import CoreTypes
internal import Files
internal import SystemCalls

/// A file of the repository that documents what the code says itself; a test compares the two.
public struct RepositoryFile: Sendable {
  /// The file's text.
  public let text: String

  /// `path` from the repository's root. Blocks. Throws `SystemError`.
  public init(_ path: String) throws {
    let root = #filePath.split(separator: "/").dropLast(3).reduce("") { "\($0)/\($1)" }
    text = String(decoding: try FileSystem.read("\(root)/\(path)", upTo: .mebibytes(1)), as: UTF8.self)
  }

  /// Returns the text between the lines `<!-- begin NAME -->` and `<!-- end NAME -->`; empty without them.
  public func part(_ name: String) -> String {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    guard let begin = lines.firstIndex(of: "<!-- begin \(name) -->"),
      let end = lines.firstIndex(of: "<!-- end \(name) -->"), begin < end
    else { return "" }
    return lines[(begin + 1)..<end].joined(separator: "\n")
  }

  /// Whether the texts differ in white space at most.
  public static func isSame(_ left: String, _ right: String) -> Bool {
    left.split(whereSeparator: \.isWhitespace) == right.split(whereSeparator: \.isWhitespace)
  }
}
