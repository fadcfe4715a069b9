/// The name of an extension or of a feature in a manifest: 1 to 64 bytes of `a-z 0-9 - .`, segments separated by dots, none
/// empty. A name with a dot belongs to the owner of that domain, written backwards (`com.example.panels`); a name without
/// one is registered in docs/formats/manifest.md.
public struct ManifestName: Hashable, Sendable {
  /// The name as the manifest has it.
  public let description: String

  /// The length of a name in bytes, at most.
  public static let maximumLength = 64

  /// Nil when `description` is not such a name.
  public init?(_ description: String) {
    guard (1...Self.maximumLength).contains(description.utf8.count) else { return nil }
    let isValid = description.utf8.split(separator: 0x2E, omittingEmptySubsequences: false).allSatisfy {
      segment in
      !segment.isEmpty
        && segment.allSatisfy { byte in
          switch byte {
          case 0x61...0x7A, 0x30...0x39, 0x2D: true
          default: false
          }
        }
    }
    guard isValid else { return nil }
    self.description = description
  }
}

extension ManifestName: LosslessStringConvertible {}

extension ManifestName: Comparable {
  /// Orders names by their bytes, as a manifest lists them.
  public static func < (left: ManifestName, right: ManifestName) -> Bool {
    left.description.utf8.lexicographicallyPrecedes(right.description.utf8)
  }
}

/// The extensions of a manifest, or of one file of it, for readers that know more than this one: values of
/// any shape by the names of their extensions. This reader keeps them byte by byte, so that digests and
/// signatures hold, and acts on none.
///
/// ```swift
/// if let name = ManifestName("com.example.panels"), let value = manifest.extensions?[name] {
///   let panels = try JSONDecoder().decode(Panels.self, from: Data(value))
/// }
/// ```
public struct ManifestExtensions: Hashable, Sendable {
  /// How deep arrays and objects may lie in each other inside one extension.
  static let maximumDepth = 8
  /// Extensions in one place.
  static let maximumCount = 16
  /// Bytes of all the manifest's extensions together, in canonical form; those of its files come on top.
  static let maximumManifestLength = 64 << 10
  /// Bytes of the extensions of one file together, in canonical form.
  static let maximumFileLength = 4 << 10

  /// The values in canonical form, never empty.
  private let values: [ManifestName: [UInt8]]

  /// Extensions that were read and checked.
  init(_ values: [ManifestName: [UInt8]]) {
    self.values = values
  }

  /// The names of the extensions, ascending; never empty.
  public var names: [ManifestName] { values.keys.sorted() }

  /// The value of an extension in canonical JSON (RFC 8785); nil when it is not there.
  public subscript(name: ManifestName) -> [UInt8]? { values[name] }
}

extension ManifestExtensions {
  /// Reads the object of an extension point. Where it is canonical JSON and breaks a rule of extension points, the rules are
  /// added to `faults` as clauses, and nil is returned.
  static func read(
    from reader: inout CanonicalJSONReader, maximumLength: Int, faults: inout [String]
  ) throws(CanonicalJSONReader.Malformed) -> ManifestExtensions? {
    let start = reader.position
    var values: [ManifestName: [UInt8]] = [:]
    var found: [String] = []
    var count = 0
    try reader.object { reader, key throws(CanonicalJSONReader.Malformed) in
      count += 1
      let value = try reader.value()
      // One clause on the number says enough of those past it.
      guard count <= maximumCount else { return }
      if value.depth > maximumDepth { found.append("\(key) is nested more than \(maximumDepth) deep") }
      if let name = ManifestName(key) {
        values[name] = value.bytes
      } else {
        found.append("\(key) is no name of an extension")
      }
    }
    if !(1...maximumCount).contains(count) { found.append("1 to \(maximumCount) may be given, not \(count)") }
    let length = reader.position - start
    if length > maximumLength {
      found.append("they take \(length) bytes, at most \(maximumLength) are allowed")
    }
    faults += found
    return found.isEmpty ? ManifestExtensions(values) : nil
  }

  /// Writes the object of the extension point, names ascending.
  func write(to writer: inout CanonicalJSONWriter) {
    writer.object { writer in
      for name in names {
        writer.key(name.description)
        writer.canonicalValue(values[name] ?? [])
      }
    }
  }
}

/// Extensions that several files have, kept once: the files of a section have equal ones.
struct SharedExtensions {
  /// Different ones that are kept, at most.
  private static let limit = ManifestSection.maximumCount

  private var latest: ManifestExtensions?
  private var known: Set<ManifestExtensions> = []

  /// Equal extensions, which take no memory of their own where some were given before.
  mutating func shared(_ extensions: ManifestExtensions) -> ManifestExtensions {
    if let latest, latest == extensions { return latest }
    var result = extensions
    if let index = known.firstIndex(of: extensions) {
      result = known[index]
    } else if known.count < Self.limit {
      known.insert(extensions)
    }
    latest = result
    return result
  }
}

/// The features that a manifest requires of its readers, so that none misreads it. This reader knows no
/// feature yet.
enum ManifestFeatures {
  /// The features that this reader knows.
  static let known: Set<ManifestName> = []
  /// Features that one manifest may name.
  static let maximumCount = 16

  /// One issue for each feature of `names` that this reader does not know.
  static func issues(in names: [ManifestName]) -> [PackageValidationIssue] {
    names.filter { !known.contains($0) }.map { name in
      PackageValidationIssue(
        .manifestFeatureUnknown,
        "requiredFeatures: the manifest needs \(name), which this version does not know")
    }
  }

  /// Reads the array of names. Names that are none, not ascending or too many are added to `issues`.
  static func read(
    from reader: inout CanonicalJSONReader, issues: inout [PackageValidationIssue]
  ) throws(CanonicalJSONReader.Malformed) -> [ManifestName] {
    var names: [ManifestName] = []
    var isValid = true
    var count = 0
    try reader.array { reader throws(CanonicalJSONReader.Malformed) in
      count += 1
      guard let name = ManifestName(try reader.string(maximumLength: ManifestName.maximumLength)),
        names.last.map({ $0 < name }) ?? true
      else {
        isValid = false
        return
      }
      names.append(name)
    }
    if !isValid || !(1...maximumCount).contains(count) {
      issues.append(
        PackageValidationIssue(
          .manifestMemberInvalid, "requiredFeatures: 1 to \(maximumCount) names, ascending, none twice"))
    }
    return names
  }

  /// The issues of a document that could not be read otherwise: what a later version added may be what this one stumbled
  /// over. Empty when the bytes are no canonical JSON, or ask for nothing that is unknown here.
  static func issues(inUnreadable bytes: [UInt8]) -> [PackageValidationIssue] {
    var reader = CanonicalJSONReader(bytes)
    var names: [ManifestName] = []
    var format: String?
    do throws(CanonicalJSONReader.Malformed) {
      try reader.object { reader, key throws(CanonicalJSONReader.Malformed) in
        if key == "format" {
          format = try reader.string(maximumLength: 64)
          return
        }
        guard key == "requiredFeatures" else {
          _ = try reader.value()
          return
        }
        var faults: [PackageValidationIssue] = []
        let found = try read(from: &reader, issues: &faults)
        if faults.isEmpty { names = found }
      }
      try reader.end()
    } catch {
      return []
    }
    if let format, format != Manifest.formatName { return [Manifest.unknownFormat] }
    return issues(in: names)
  }
}
