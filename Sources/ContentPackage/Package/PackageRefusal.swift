/// Thrown where a package, a manifest or a source folder is refused: with everything that is wrong with it.
public struct PackageRefusal: Error, Hashable, Sendable {
  /// Never empty.
  public let faults: [PackageFault]

  public init(_ faults: [PackageFault]) {
    precondition(!faults.isEmpty, "a refusal names at least one fault")
    self.faults = faults
  }

  public init(_ code: PackageFault.Code, path: String? = nil, _ detail: String) {
    faults = [PackageFault(code, path: path, detail)]
  }
}

extension PackageRefusal: CustomStringConvertible {
  public var description: String { faults.map(\.description).joined(separator: "\n") }
}
