import Commerce
import ContentPackage
import CoreTypes
import PullboxAPI
import PullboxKit
import ServiceRuntime
import SystemCalls

/// What `publish` and `pack` are given: a folder to pack, a single file, a package that `pack` made before, or a folder with
/// nothing but a description.
struct PublishSource: Sendable {
  enum Form: Sendable, Equatable {
    case folder
    case file
    /// With the manifest that `pack` wrote, here or on another machine.
    case package(Manifest)
    case descriptionOnly
  }

  let path: String
  let form: Form
  let description: ProductDescription?
  /// What a folder says itself: its `product.json5`, else its `ContentInfo.plist`.
  let product: ProductIdentifier?
  let version: ContentVersion?

  /// The folder's or file's own name, without the extension of a file.
  var name: String {
    let name = FileSystem.lastPart(of: path)
    guard isFile, let dot = name.lastIndex(of: "."), dot != name.startIndex else { return name }
    return String(name[..<dot])
  }

  /// One file, whatever is in it.
  var isFile: Bool {
    switch form {
    case .file, .package: true
    case .folder, .descriptionOnly: false
    }
  }

  /// Blocks. A file is a package when `manifest` is given, or lies beside it. Throws where there is nothing to publish, and
  /// where the description or the manifest cannot be read.
  init(inspecting path: String, manifest manifestPath: String? = nil) throws {
    self.path = try Self.absolute(path)
    switch try FileDescriptor.open(path, .readOnly).status().kind {
    case .regular:
      description = nil
      let manifest = try StoredManifest.read(manifestPath ?? StoredManifest.path(beside: path))
      if let manifestPath, manifest == nil {
        throw CommandFailure(.failed, "there is no manifest at \(manifestPath)")
      }
      form = manifest.map { .package($0) } ?? .file
      (product, version) = (manifest?.product, manifest?.version)
    case .directory:
      guard manifestPath == nil else {
        throw UsageError("--manifest goes with a package; a folder's is written while it is packed")
      }
      let name = SourceFolder.productDescriptionName
      description = try ProductDescriptionFile(readingIfPresent: "\(path)/\(name)")?.description
      let source = try SourceFolder(scanning: path)
      let info = source.hostedContent
      if let described = description?.id, let told = info?.product, described != told {
        throw CommandFailure(
          .failed, "\(name) says that this is \(described), its ContentInfo.plist that it is \(told)")
      }
      if let described = description?.version, let told = info?.version, described != told {
        throw CommandFailure(
          .failed, "\(name) says that this is version \(described), its ContentInfo.plist \(told)")
      }
      product = description?.id ?? info?.product
      version = description?.version ?? info?.version
      // Without them nobody could say what this is, so it is told here, with everything else.
      if source.faults.contains(where: { $0.code == .contentInfoInvalid }) {
        throw PackageValidationError(source.faults)
      }
      let isEmpty = source.files.isEmpty && source.faults.isEmpty
      if isEmpty, description == nil {
        throw CommandFailure(.failed, "\(path) is empty: there is nothing to publish")
      }
      form = isEmpty ? .descriptionOnly : .folder
    case .symbolicLink, .other:
      throw CommandFailure(.failed, "\(path) is neither a folder nor a file")
    }
  }

  /// A description for a product that nobody has described: free of charge, for sale everywhere.
  var defaultDescription: ProductDescription {
    ProductDescription(
      type: .nonConsumable, localizations: ["en-US": .init(title: String(name.prefix(120)), description: "")])
  }

  /// `.` and `..` have no name of their own.
  private static func absolute(_ path: String) throws(CommandFailure) -> String {
    let last = FileSystem.lastPart(of: path)
    guard last == "." || last == ".." else { return path }
    guard let resolved = ResolvedPath.of(path) else {
      throw CommandFailure(.failed, "\(path) cannot be resolved")
    }
    return resolved
  }
}
