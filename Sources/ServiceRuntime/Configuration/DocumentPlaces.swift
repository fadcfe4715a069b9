/// Where the members of a JSON or JSON5 document stand that an operator wrote: what its reader refuses is told with file, line, column and
/// member, as faults of a configuration are.
public struct DocumentPlaces: Sendable {
  /// The document with the places of its values.
  private let document: ConfigurationValue
  /// The path of the document, for messages.
  private let file: String

  /// Reads the bytes of `file`. Throws for what is no JSON5, and for a key that a table has twice, with the place.
  public init(_ bytes: [UInt8], of file: String) throws(ConfigurationError) {
    document = try JSON5Parser.parse(bytes, source: .file(file))
    self.file = file
  }

  /// The fault of the member at `path`, whose numbers are positions in lists; it has the place of the innermost table or list that is
  /// there where the member is not.
  public func fault(at path: [String], _ message: String) -> ConfigurationFault {
    ConfigurationFault(
      subject: path.isEmpty ? file : path.joined(separator: "."), message: message,
      origin: document.origin(at: path.map { Substring($0) }[...]) ?? document.origin)
  }
}
