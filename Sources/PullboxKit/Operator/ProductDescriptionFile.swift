import Commerce
public import CoreTypes
public import PullboxAPI
import SystemCalls

/// A `product.json5`: a product as its operator writes it down, in JSON5.
public struct ProductDescriptionFile: Sendable {
  /// Longer files are refused.
  public static let maximumLength = ByteCount.mebibytes(1)

  /// Why a description is no description.
  public struct Refusal: Error, Hashable, Sendable, CustomStringConvertible {
    public let path: String
    /// Without a full stop.
    public let message: String

    public var description: String { "\(path): \(message)" }
  }

  public let path: String
  public let description: ProductDescription

  /// Blocks. Throws ``Refusal``, or `SystemError` where there is no such file.
  public init(reading path: String) throws {
    do {
      let bytes = try FileSystem.read(path, upTo: Self.maximumLength)
      self.path = path
      description = try Self.description(from: bytes)
    } catch let error as DecodingError {
      throw Refusal(path: path, message: APIJSON.explain(error))
    }
  }

  /// Nil where there is no such file.
  public init?(readingIfPresent path: String) throws {
    do {
      try self.init(reading: path)
    } catch let error as SystemError where error.isFileMissing {
      return nil
    }
  }

  /// Members that are not known are refused: they are most likely misspelt.
  static func description(from bytes: [UInt8]) throws -> ProductDescription {
    try APIJSON.decode(ProductDescription.self, from: bytes, allowsJSON5: true)
  }
}
