internal import CLinux
internal import Files
internal import Glibc
internal import SystemCalls

/// A directory of a test's own; removed with everything in it when this object goes away.
public final class TemporaryDirectory: Sendable {
  /// Absolute, without a slash at its end.
  public let path: String

  /// Makes an empty directory, which is removed with the object.
  public init() throws {
    path = "/tmp/pullbox-test-\(String(UInt64.random(in: .min ... .max), radix: 36))"
    try FileSystem.createDirectory(path, permissions: 0o700)
  }

  deinit {
    // A thread or a process that a failed test left behind may still write here: what it adds meanwhile goes as well.
    for attempt in 1...100 {
      do {
        try FileSystem.removeRecursively(path)
        return
      } catch {
        if error.number == ENOTEMPTY, attempt < 100 { continue }
        // No reason to end the whole run and with it what the tests have to say.
        print("a test's directory stays: \(error)")
        return
      }
    }
  }

  /// The path of `name` in this directory.
  public func path(_ name: String) -> String { "\(path)/\(name)" }
}
