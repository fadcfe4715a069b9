import Commerce
public import CoreTypes
import Files
public import Foundation
import PullboxAPI
public import ServiceAPI
import ServiceRuntime
import SystemCalls

/// A `product.json5`: a product as its operator writes it down, in JSON5.
public struct ProductDescriptionFile: Sendable {
  /// Longer files are refused with `SystemError`.
  public static let maximumLength = ByteCount.mebibytes(1)

  /// Why a file holds no product description.
  public struct Refusal: LocalizedError, Hashable, Sendable, CustomStringConvertible {
    /// The file that was read.
    public let path: String
    /// The fault, without a full stop.
    public let message: String

    fileprivate init(path: String, _ fault: ConfigurationFault) {
      self.path = path
      message = fault.message
      description = fault.description
    }

    /// The file, line and column, the member, and what is wrong with it.
    public let description: String

    /// The text of `localizedDescription`: the same as ``description``.
    public var errorDescription: String? { description }
  }

  /// Where it was read from.
  public let path: String
  /// The product's description in the file. Members that a product needs may still be absent: the server judges that.
  public let description: ProductDescription

  /// Reads the file at `path`; blocks. Throws ``Refusal`` for what is no description, or `SystemError` when
  /// the file cannot be read.
  public init(reading path: String) throws {
    do {
      let bytes = try FileSystem.read(path, upTo: Self.maximumLength)
      let places = try DocumentPlaces(bytes, of: path)
      self.path = path
      do {
        description = try Self.description(from: bytes)
      } catch {
        guard let fault = APIJSON.fault(error) else { throw error }
        throw Refusal(path: path, places.fault(at: fault.path, fault.message))
      }
    } catch let error as ConfigurationError {
      guard let fault = error.faults.first else { throw error }
      throw Refusal(path: path, fault)
    }
  }

  /// Like ``init(reading:)``; nil when there is no file at `path`.
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
