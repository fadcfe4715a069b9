import Commerce
import ContentPackage
import ServiceRuntime

/// What is published, by what the command line says and what the source says itself.
extension PublishCommand {
  /// Blocks. Throws for signatures beside a package that are not of its manifest.
  static func signingKeys(
    for source: PublishSource, _ arguments: ParsedArguments
  ) throws -> SigningKeys {
    guard case .package(let manifest) = source.form else { return try SigningKeys(arguments) }
    let stored = try StoredSignatures.read(StoredSignatures.path(beside: source.path))
    _ = try SignaturePolicy(named: []).signers(of: manifest.canonicalBytes(), signatures: stored)
    return try SigningKeys(arguments, stored: stored)
  }

  static func product(
    of source: PublishSource, _ context: CommandContext
  ) throws(UsageError) -> ProductIdentifier {
    if let given = try context.arguments.value("product").map(CommandContext.product) {
      if case .package(let manifest) = source.form, given != manifest.product {
        throw UsageError(
          "this package is of \(manifest.product), and its manifest is signed; pack it as \(given)")
      }
      return given
    }
    if let described = source.product { return described }
    throw UsageError("which product is this? give --product\(alternative("an id", source))")
  }

  static func version(
    of source: PublishSource, _ context: CommandContext
  ) throws(UsageError) -> ContentVersion {
    if let given = try context.arguments.value("version").map(CommandContext.version) {
      if case .package(let manifest) = source.form, given != manifest.version {
        throw UsageError(
          "this package is version \(manifest.version), and its manifest is signed; pack it as \(given)")
      }
      return given
    }
    if let described = source.version { return described }
    throw UsageError("which version is this? give --version\(alternative("a version", source))")
  }

  private static func alternative(_ member: String, _ source: PublishSource) -> String {
    source.isFile ? "" : ", or \(member) in \(source.path)/\(SourceFolder.productDescriptionName)"
  }
}
