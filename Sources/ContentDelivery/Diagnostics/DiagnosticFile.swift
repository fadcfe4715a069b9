import CoreTypes
import Files
package import HTTPServer
import PullboxAPI
import ServiceAPI
import SystemCalls

/// The small file that is sent as packages are: it lies beside them, so that a proxy that sends packages can send it. It is
/// made when it is first asked for.
package struct DiagnosticFile: Sendable {
  /// The file's name in the blobs' directory; no blob is called so.
  package static let name = "diagnostics"

  private let path: String

  /// `state` is the server's state directory.
  package init(state: String) {
    path = "\(state)/blobs/\(Self.name)"
  }

  /// The file, written anew if it is not there or not whole. Throws `SystemError`.
  package func open() async throws -> SharedDescriptor {
    let path = path
    return try await BlockingPool.shared.run {
      if try FileSystem.status(of: path)?.length.rawValue != DiagnosticContent.fileLength {
        let bytes = DiagnosticContent.bytes(in: 0..<DiagnosticContent.fileLength)
        try DurableFile.write(bytes.span, to: path)
      }
      return try SharedDescriptor(try FileDescriptor.open(path, .readOnly))
    }
  }
}
