import Commerce
import ContentPackage
import Measures
import PullboxAPI
import PullboxKit
import ServiceRuntime
import SystemCalls

/// What `publish` and `pack` are given: a folder to pack, a finished file, or a folder with nothing but a description.
struct PublishSource: Sendable {
  enum Form: Sendable {
    case folder
    case file
    case descriptionOnly
  }

  let path: String
  let form: Form
  let description: ProductDescription?

  /// The folder's or file's own name, without the extension of a file.
  var name: String {
    let name = FileSystem.lastPart(of: path)
    guard form == .file, let dot = name.lastIndex(of: "."), dot != name.startIndex else { return name }
    return String(name[..<dot])
  }

  /// Blocks. Throws where there is nothing to publish, and where the description cannot be read.
  init(inspecting path: String) throws {
    self.path = try Self.absolute(path)
    switch try FileDescriptor.open(path, .readOnly).status().kind {
    case .regular:
      form = .file
      description = nil
    case .directory:
      let name = SourceFolder.productDescriptionName
      description = try ProductDescriptionFile(readingIfPresent: "\(path)/\(name)")?.description
      let source = try SourceFolder(scanning: path)
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
