internal import SystemCalls

/// A directory of a test's own; removed with everything in it when this object goes away.
public final class TemporaryDirectory: Sendable {
  public let path: String

  public init() throws {
    path = "/tmp/pullbox-test-\(String(UInt64.random(in: .min ... .max), radix: 36))"
    try FileSystem.createDirectory(path, permissions: 0o700)
  }

  deinit {
    do {
      try FileSystem.removeRecursively(path)
    } catch {
      preconditionFailure("a test's directory could not be removed: \(error)")
    }
  }

  /// The path of `name` in this directory.
  public func path(_ name: String) -> String { "\(path)/\(name)" }
}
