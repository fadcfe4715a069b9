/// One thing wrong with a package, a manifest or a source folder. Checks list every fault they find, so that a
/// publisher mends them in one go.
public struct PackageValidationIssue: Hashable, Sendable, Codable {
  public let code: Code
  /// The file or folder it is about, as far as it could be named; nil when it is about the whole.
  public let path: String?
  /// One sentence for people.
  public let detail: String

  public init(_ code: Code, path: String? = nil, _ detail: String) {
    self.code = code
    self.path = path
    self.detail = detail
  }
}

extension PackageValidationIssue: CustomStringConvertible {
  public var description: String {
    path.map { "\(code.rawValue): \($0): \(detail)" } ?? "\(code.rawValue): \(detail)"
  }
}
