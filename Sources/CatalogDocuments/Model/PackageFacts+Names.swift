package import Commerce
import CoreTypes

/// The names under which applications keep packages.
extension PackageFacts {
  /// The name of a package's file, as addresses have it. Nothing may be known of the package.
  package static func fileName(of product: ProductIdentifier, _ facts: PackageFacts?) -> String {
    "\(product).\(facts?.fileExtension ?? "bin")"
  }

  /// The value of `Content-Disposition` (RFC 6266) under which an application keeps the package: its title, and for those that read no
  /// other characters than ASCII's the name of its address.
  package static func disposition(
    of title: String, _ facts: PackageFacts?, product: ProductIdentifier
  ) -> String {
    // A path, or what shells and file systems take for more than a letter, is no part of a name.
    let shown = String(
      String.UnicodeScalarView(
        title.unicodeScalars.filter {
          !"/\\:*?\"<>|".unicodeScalars.contains($0) && $0.properties.generalCategory != .control
        }.prefix(120)))
    let name = "\(shown).\(facts?.fileExtension ?? "bin")".percentEncoded
    return "attachment; filename=\"\(fileName(of: product, facts))\"; filename*=UTF-8''\(name)"
  }
}
