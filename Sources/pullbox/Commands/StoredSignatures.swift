import ContentPackage
import CoreTypes
import PullboxAPI
import ServiceRuntime
import SystemCalls

/// The signatures that `pack` writes beside a package, under the package's name and `.signatures.json`: one list, as the
/// server takes it.
enum StoredSignatures {
  static func path(beside package: String) -> String { package + ".signatures.json" }

  /// Blocks. None where there is no such file.
  static func read(_ path: String) throws -> [PublisherSignature] {
    do {
      return try APIJSON.decode(
        [PublisherSignature].self, from: try FileSystem.read(path, upTo: .kibibytes(64)))
    } catch let error as SystemError where error.isFileMissing {
      return []
    } catch let error as DecodingError {
      throw CommandFailure(.integrity, "\(path): \(APIJSON.explain(error))")
    }
  }

  /// Blocks; durable.
  static func write(_ signatures: [PublisherSignature], to path: String) throws {
    let bytes = try APIJSON.encode(signatures) + [0x0A]
    try DurableFile.write(bytes.span, to: path)
  }
}
