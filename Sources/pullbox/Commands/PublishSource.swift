import Commerce
import ContentPackage
import ContentPacking
import CoreTypes
import Files
import PullboxAPI
import PullboxKit
import PullboxOperatorKit
import ServiceAPI
import ServiceRuntime
import SystemCalls

/// A source of `publish` or `pack`: a folder to pack, a single file, a package that `pack` made before, or a folder that
/// holds only a description.
struct PublishSource: Sendable {
  /// How the source is to be handled.
  enum Form: Sendable, Equatable {
    /// A folder to pack.
    case folder
    /// A single file, which becomes a package of one file as it is.
    case file
    /// A package with the manifest that `pack` wrote, here or on another machine.
    case package(Manifest)
    /// A folder without files: only the product is created or changed.
    case descriptionOnly
  }

  /// The path that was given; `.` and `..` are made absolute.
  let path: String
  /// The handling of the source, found by its bytes and what lies beside it.
  let form: Form
  /// The folder's `product.json5`; nil without one, and for files.
  let description: ProductDescription?
  /// The product that the source names: for a folder, in its `product.json5`, else in its `ContentInfo.plist`; for a
  /// package, in its manifest.
  let product: ProductIdentifier?
  /// The version that the source names, found as ``product`` is; nil for a single file.
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

  /// Blocks. A file is a package when `manifest` is given, or lies beside it. Throws if there is nothing to publish, or
  /// the description or the manifest cannot be read. A `product.json5` and a `ContentInfo.plist` that name
  /// different products or versions are refused, and so is a faulty `ContentInfo.plist`
  /// (``PackageValidationError``).
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
      if let described = description?.id, let named = info?.product, described != named {
        throw CommandFailure(
          .failed, "\(name) names the product \(described), its ContentInfo.plist \(named)")
      }
      if let described = description?.version, let named = info?.version, described != named {
        throw CommandFailure(
          .failed, "\(name) names the version \(described), its ContentInfo.plist \(named)")
      }
      product = description?.id ?? info?.product
      version = description?.version ?? info?.version
      // Product and version may be missing because of it: report all faults here.
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

  /// A description for a product without one: free of charge, for sale everywhere, under the `title` of its metadata, else the
  /// source's own name. A title is cut to 120 characters.
  func defaultDescription(title: String? = nil) -> ProductDescription {
    ProductDescription(
      type: .nonConsumable,
      localizations: ["en-US": .init(title: String((title ?? name).prefix(120)), description: "")])
  }

  /// `.` and `..` have no name of their own. They become the path that they stand for. Blocks.
  private static func absolute(_ path: String) throws(SystemError) -> String {
    let last = FileSystem.lastPart(of: path)
    return last == "." || last == ".." ? try FileSystem.realPath(path) : path
  }
}

/// A package that is ready to be sent or kept.
struct PreparedPackage: Sendable {
  /// Where its bytes lie: the source itself for a single file and for a package.
  let path: String
  /// The manifest, with what the packer left out and has to report.
  let packed: PackedPackage
  /// The time that packing or reading took.
  let duration: Duration

  /// Packs a folder to `output`, or reads a file where it is. Shows a bar. Throws when a package is not what its manifest
  /// says.
  ///
  /// - Parameters:
  ///   - output: where a folder is packed to. Its bytes are removed by the owner of the directory.
  ///   - sections: the parts that devices fetch by themselves; of a folder alone.
  ///   - previous: the manifest whose unchanged files keep their bytes; nil for none.
  static func make(
    from source: PublishSource, product: ProductIdentifier, version: ContentVersion,
    output: String, sections: SectionRules = .none, following previous: Manifest?, on console: Console
  ) async throws -> PreparedPackage {
    let clock = SystemMonotonicClock()
    let start = clock.now()
    let builder = PackageBuilder(product: product, version: version)
    let label = source.isFile ? "reading \(source.name)" : "packing \(source.name)"
    let packed = try await TransferBar.show(label, on: console) { bar in
      try await BlockingPool.shared.run {
        switch source.form {
        case .file: try builder.describe(file: source.path) { bar.report($0, of: $1) }
        case .package(let manifest):
          try read(source.path, against: manifest, builder: builder) { bar.report($0, of: $1) }
        case .folder, .descriptionOnly:
          try builder.pack(folder: source.path, to: output, sections: sections, following: previous) {
            bar.report($0, of: $1)
          }
        }
      }
    }
    return PreparedPackage(
      path: source.isFile ? source.path : output, packed: packed, duration: clock.now() - start)
  }

  /// Compares length and digest before anything is sent; the server inspects the content.
  private static func read(
    _ path: String, against manifest: Manifest, builder: PackageBuilder,
    progress: @escaping PackageBuilder.Progress
  ) throws -> PackedPackage {
    let found = try builder.describe(file: path, progress: progress).manifest
    guard found.length == manifest.length, found.digest == manifest.digest else {
      throw CommandFailure(
        .integrity,
        "\(path) is not the package of its manifest: it has \(found.length.rawValue) bytes with the SHA-256 "
          + "\(found.digest), the manifest is for \(manifest.length.rawValue) with \(manifest.digest); "
          + "pack it again, or take the manifest away to publish the file as it is")
    }
    return PackedPackage(manifest: manifest, skipped: [])
  }
}
