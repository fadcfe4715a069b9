import Commerce
public import CoreTypes
import Foundation
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
    } catch let error as UnknownMember {
      throw Refusal(path: path, message: error.description)
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
    let decoder = JSONDecoder()
    decoder.allowsJSON5 = true
    let data = Data(bytes)
    let members = try decoder.decode([String: Ignored].self, from: data).keys
    if let unknown = members.sorted().first(where: { !knownMembers.contains($0) }) {
      throw UnknownMember(name: unknown)
    }
    return try decoder.decode(ProductDescription.self, from: data)
  }

  private static let knownMembers: Set<String> = [
    "id", "type", "version", "localizations", "prices", "publication", "publicationDate", "period",
    "publisherKeys",
  ]

  struct UnknownMember: Error, CustomStringConvertible {
    let name: String

    var description: String { "'\(name)' is no member of a product description" }
  }

  private struct Ignored: Decodable {
    init(from decoder: any Decoder) {}
  }
}
