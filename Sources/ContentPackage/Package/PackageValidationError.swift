/// Thrown where a package, a manifest or a source folder is refused: with everything that is wrong with it.
public struct PackageValidationError: Error, Hashable, Sendable {
  /// Never empty.
  public let faults: [PackageValidationIssue]

  public init(_ faults: [PackageValidationIssue]) {
    precondition(!faults.isEmpty, "a refusal names at least one fault")
    self.faults = faults
  }

  public init(_ code: PackageValidationIssue.Code, path: String? = nil, _ detail: String) {
    faults = [PackageValidationIssue(code, path: path, detail)]
  }
}

extension PackageValidationError: CustomStringConvertible {
  public var description: String { faults.map(\.description).joined(separator: "\n") }
}
