public import Commerce
import ContentPackage

/// The `ContentInfo.plist` of the hosted-content layout that came before: the version and the product of the folder
/// `Contents` beside it.
public struct HostedContentInfo: Hashable, Sendable {
  /// The name of the property list.
  static let fileName = "ContentInfo.plist"
  /// The name of the folder with the content.
  static let contentsName = "Contents"
  /// The key of the product, whose value is a string.
  static let productKey = "IAPProductIdentifier"
  /// The key of the version, whose value is a string.
  static let versionKey = "ContentVersion"
  /// Bytes of a property list that is looked at.
  static let maximumLength = 64 << 10

  /// The product that the property list names.
  public let product: ProductIdentifier
  /// The content version that the property list names.
  public let version: ContentVersion

  /// Throws ``PackageValidationError`` with everything that is wrong in a property list, in either of its forms.
  init(_ bytes: [UInt8]) throws(PackageValidationError) {
    func fault(_ detail: String) -> PackageValidationIssue {
      PackageValidationIssue(.contentInfoInvalid, path: Self.fileName, detail)
    }
    guard bytes.count <= Self.maximumLength else {
      throw PackageValidationError([fault("it has more than \(Self.maximumLength) bytes")])
    }
    guard let texts = PropertyList.texts(in: bytes) else {
      throw PackageValidationError([fault("it is no property list with a dictionary at its top")])
    }
    var faults: [PackageValidationIssue] = []
    let product = texts[Self.productKey].flatMap { ProductIdentifier($0) }
    if product == nil {
      faults.append(
        fault(
          texts[Self.productKey].map { "\(Self.productKey): '\($0)' is no product identifier" }
            ?? "\(Self.productKey) is missing, or no string"))
    }
    let version = texts[Self.versionKey].flatMap { ContentVersion($0) }
    if version == nil {
      faults.append(
        fault(
          texts[Self.versionKey].map {
            "\(Self.versionKey): '\($0)' is no version: integers separated by dots"
          }
            ?? "\(Self.versionKey) is missing, or no string"))
    }
    guard let product, let version else { throw PackageValidationError(faults) }
    self.product = product
    self.version = version
  }
}
