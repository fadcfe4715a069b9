/// A contract under docs, which tests hold against what a program does: docs/openapi.yaml unless another one is named.
public struct OpenAPIDocument: Sendable {
  /// One method of one path.
  public struct Operation: Sendable {
    /// In capital letters.
    public var method: String
    /// With `{name}` for what varies.
    public var path: String
    /// The document's node of the operation.
    public var value: YAMLDocument
    /// Its parameters, references followed.
    public var parameters: [YAMLDocument]

    /// The names of the parameters that stand there: `path`, `query` or `header`.
    public func parameters(in place: String) -> Set<String> {
      Set(parameters.filter { $0["in"]?.text == place }.compactMap { $0["name"]?.text })
    }

    /// The statuses that are documented.
    public var statuses: Set<Int> {
      Set((value["responses"]?.members ?? []).compactMap { Int($0.key) })
    }

    /// The codes of the refusals that the route has of its own.
    public var problemCodes: Set<String> { Set(value["x-problem-codes"]?.texts ?? []) }
  }

  /// The whole document.
  public let root: YAMLDocument
  /// Every operation, in the document's order.
  public let operations: [Operation]

  /// Reads a document of the repository by its path. Blocks. Throws what reading throws, and ``YAMLDocument/Failure``.
  public init(_ path: String = "docs/openapi.yaml") throws {
    try self.init(root: YAMLDocument(try RepositoryFile(path).text))
  }

  /// Follows the references of parameters. A parameter whose reference leads nowhere is left out, and so are paths
  /// without operations.
  private init(root: YAMLDocument) {
    self.root = root
    operations = (root["paths"]?.members ?? []).flatMap { path in
      path.value.members.map { method in
        Operation(
          method: method.key.uppercased(), path: path.key, value: method.value,
          parameters: (method.value["parameters"]?.items ?? []).compactMap { Self.follow($0, in: root) })
      }
    }
  }

  /// The operation of a method for a path without its query; nil where there is none. Of several that fit, the one with the fewest parameters. A
  /// last `{path}` stands for all that is left, slashes included.
  public func operation(_ method: String, at path: String) -> Operation? {
    let names = path.split(separator: "/", omittingEmptySubsequences: false)
    let fitting = operations.filter { $0.method == method && Self.fits($0.path, names) }
    return fitting.min { left, right in
      left.parameters(in: "path").count < right.parameters(in: "path").count
    }
  }

  private static func fits(_ pattern: String, _ names: [Substring]) -> Bool {
    var parts = pattern.split(separator: "/", omittingEmptySubsequences: false)
    var names = names[...]
    if parts.last == "{path}", names.count > parts.count { names = names[..<parts.count] }
    while let part = parts.popLast(), let name = names.popLast() {
      guard part.hasPrefix("{") ? !name.isEmpty : part == name else { return false }
    }
    return parts.isEmpty && names.isEmpty
  }

  /// `value`, or what its `$ref` names; nil for a reference to nothing.
  public func follow(_ value: YAMLDocument) -> YAMLDocument? { Self.follow(value, in: root) }

  /// Returns the node that a reference such as `#/components/schemas/Problem` names; nil for a reference to
  /// nothing.
  public func target(of reference: String) -> YAMLDocument? { Self.target(of: reference, in: root) }

  /// The same within a document that is being read.
  private static func follow(_ value: YAMLDocument, in root: YAMLDocument) -> YAMLDocument? {
    guard let reference = value["$ref"]?.text else { return value }
    return target(of: reference, in: root)
  }

  /// The node by the names between the slashes. Names with a slash of their own (`~1`, RFC 6901 §3) are not decoded.
  private static func target(of reference: String, in root: YAMLDocument) -> YAMLDocument? {
    guard reference.hasPrefix("#/") else { return nil }
    return reference.dropFirst(2).split(separator: "/").reduce(Optional(root)) { $0?[String($1)] }
  }

  /// The codes of refusals that any route may answer.
  public var commonProblemCodes: Set<String> { Set(root["x-problem-codes"]?.texts ?? []) }

  /// Every `$ref` of the document.
  public var references: [String] { Self.references(in: root) }

  /// All values of `$ref` below the node, in the order of the document.
  private static func references(in value: YAMLDocument) -> [String] {
    switch value {
    case .scalar: []
    case .list(let items): items.flatMap { references(in: $0) }
    case .map(let members):
      members.flatMap { $0.key == "$ref" ? [$0.value.text ?? ""] : references(in: $0.value) }
    }
  }
}
