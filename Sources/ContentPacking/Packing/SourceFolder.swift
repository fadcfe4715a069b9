import CLinux
public import ContentPackage
import CoreTypes
import Files
import Glibc
public import SystemCalls

/// The contents of a folder that is to be packed: files in the order of their paths, files that are left out,
/// and everything that may not be in a package. A folder with a `ContentInfo.plist` at its root has the
/// hosted-content layout: then the files are those of its `Contents`. Below the folder the scan follows no
/// symbolic link.
public struct SourceFolder: Sendable {
  /// The file that the publishing commands read; it is never packed.
  public static let productDescriptionName = "product.json5"

  /// The folder that the files' paths start from.
  public private(set) var path: String
  /// Sorted by path.
  public private(set) var files: [SourceFile] = []
  /// The files that are left out of the package, by path.
  public private(set) var skipped: [SkippedSource] = []
  /// Everything that keeps the folder from being packed; empty when it can be.
  public private(set) var faults: [PackageValidationIssue] = []
  /// The entries of the property list; nil unless the folder has the hosted-content layout, without a fault.
  public private(set) var hostedContent: HostedContentInfo?
  private var register = PathConflictDetector()

  /// Looks at every file of the folder, and at the first bytes of each.
  public init(scanning path: String) throws(SystemError) {
    self.path = path
    let root = try Directory(opening: path)
    let entries = try root.entries()
    if entries.contains(where: { $0.name == HostedContentInfo.fileName && $0.kind == .regular }) {
      try scanHostedContent(root, entries)
    } else {
      try scan(root, prefix: "", depth: 0)
    }
    files.sort { $0.path < $1.path }
    skipped.sort { $0.path < $1.path }
    for file in files {
      if let fault = register.register(file.path) { faults.append(fault) }
    }
  }

  /// A folder without `Contents`, and a property list that cannot be read, are faults; the rest is scanned
  /// all the same.
  private mutating func scanHostedContent(
    _ root: borrowing Directory, _ entries: [DirectoryEntry]
  ) throws(SystemError) {
    var bytes: [UInt8] = []
    try root.open(HostedContentInfo.fileName, .readOnly).read(
      upTo: HostedContentInfo.maximumLength + 1, at: .zero, into: &bytes)
    do throws(PackageValidationError) {
      hostedContent = try HostedContentInfo(bytes)
    } catch {
      faults += error.faults
    }
    for entry in entries where entry.name != HostedContentInfo.contentsName {
      let reason: SkippedSource.Reason =
        switch entry.name {
        case HostedContentInfo.fileName: .contentInfo
        case Self.productDescriptionName: .productDescription
        default: SystemName.reason(for: entry.name, isFolder: entry.kind == .directory) ?? .outsideContents
        }
      skipped.append(SkippedSource(path: entry.name, reason: reason))
    }
    guard entries.contains(where: { $0.name == HostedContentInfo.contentsName && $0.kind == .directory })
    else {
      faults.append(
        PackageValidationIssue(
          .contentInfoInvalid, path: HostedContentInfo.contentsName,
          "there is no folder \(HostedContentInfo.contentsName) beside \(HostedContentInfo.fileName)"))
      return
    }
    path += "/\(HostedContentInfo.contentsName)"
    try scan(try root.subdirectory(HostedContentInfo.contentsName), prefix: "", depth: 0)
  }

  /// Goes through a folder in the order of names, down to ``PackagePath/maximumDepth`` folders. Leftovers of
  /// systems are skipped with all that is in them.
  private mutating func scan(
    _ directory: borrowing Directory, prefix: String, depth: Int
  ) throws(SystemError) {
    guard depth <= PackagePath.maximumDepth else {
      faults.append(
        PackageValidationIssue(.folderTooDeep, path: prefix, PackagePathFault.tooDeep.reason))
      return
    }
    let entries = try directory.entries().sorted { $0.name < $1.name }
    if entries.isEmpty, depth > 0 {
      skipped.append(SkippedSource(path: prefix, reason: .emptyFolder))
    }
    for entry in entries {
      let path = prefix.isEmpty ? entry.name : "\(prefix)/\(entry.name)"
      // Nothing is looked for below such a folder.
      if let reason = SystemName.reason(for: entry.name, isFolder: entry.kind == .directory) {
        skipped.append(SkippedSource(path: path, reason: reason))
        continue
      }
      switch entry.kind {
      case .directory: try scan(try directory.subdirectory(entry.name), prefix: path, depth: depth + 1)
      case .regular: try add(entry.name, in: directory, path: path, isAtRoot: depth == 0)
      case .symbolicLink:
        faults.append(PackageValidationIssue(.symbolicLink, path: path, "symbolic links are not packed"))
      case .other:
        faults.append(
          PackageValidationIssue(.notARegularFile, path: path, "devices, sockets and pipes are not packed"))
      }
    }
  }

  /// Adds one regular file, with its length and the format of its picture at this moment. An executable is a
  /// fault and is listed.
  private mutating func add(
    _ name: String, in directory: borrowing Directory, path: String, isAtRoot: Bool
  ) throws(SystemError) {
    if isAtRoot, name == Self.productDescriptionName {
      return skipped.append(SkippedSource(path: path, reason: .productDescription))
    }
    let safePath: PackagePath
    do {
      safePath = try PackagePath(path)
    } catch {
      return faults.append(PackageValidationIssue(error.code, path: path, error.reason))
    }
    do {
      let file = try directory.open(name, .readOnly)
      let status = try file.status()
      var start: [UInt8] = []
      try file.read(upTo: ExecutableSignature.prefixLength, at: .zero, into: &start)
      if let kind = ExecutableSignature.find(in: start, hasExecuteBit: status.permissions & 0o111 != 0) {
        faults.append(PackageValidationIssue(.executable, path: path, "\(kind) is not packed"))
      }
      let picture = FileName.mayBePage(path) ? PictureFormat(startOf: start) : nil
      files.append(SourceFile(path: safePath, length: status.length, picture: picture))
    } catch {
      // A name that is not UTF-8 arrives with replacement characters and is not found under them.
      guard error.isFileMissing, name.unicodeScalars.contains("\u{FFFD}") else { throw error }
      faults.append(PackageValidationIssue(.pathUnsafe, path: path, PackagePathFault.notUnicode.reason))
    }
  }
}

extension SourceFolder {
  /// Returns the breaches of the limits that show before anything is packed.
  func limitFaults(_ limits: PackageLimits) -> [PackageValidationIssue] {
    var faults: [PackageValidationIssue] = []
    if files.isEmpty, self.faults.isEmpty {
      faults.append(PackageValidationIssue(.packageEmpty, "the folder has no file to pack"))
    }
    if files.count > limits.maximumFiles {
      faults.append(
        PackageValidationIssue(
          .tooManyFiles, "\(files.count) files, at most \(limits.maximumFiles) are allowed"))
    }
    let total = files.reduce(ByteCount.zero) { $0 + $1.length }
    if total > limits.maximumUnpackedLength {
      faults.append(
        PackageValidationIssue(
          .unpackedTooLarge,
          "the files have \(total.rawValue) bytes, at most \(limits.maximumUnpackedLength.rawValue) are allowed"
        ))
    }
    let stored = files.filter { !$0.path.isWorthDeflating }.reduce(ByteCount.zero) { $0 + $1.length }
    if stored > limits.maximumLength {
      faults.append(Self.tooLarge(atLeast: stored, limits))
    }
    return faults
  }

  /// The same words before packing, where the length is a lower bound, and during it.
  static func tooLarge(atLeast length: ByteCount, _ limits: PackageLimits) -> PackageValidationIssue {
    PackageValidationIssue(
      .packageTooLarge,
      "the package would have at least \(length.rawValue) bytes, at most \(limits.maximumLength.rawValue) are allowed"
    )
  }
}
