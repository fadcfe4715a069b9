import Foundation
import ServiceRuntime
import SystemCalls

/// Has the desktop open a file or a folder.
enum Opener {
  /// The program that opens files on freedesktop.org's desktops.
  static let program = "xdg-open"

  /// Returns once the program has taken the path over. It gets this process's variables but those named in `secrets`. Throws a failure where there is no such program, and
  /// where it ended with an error. The program is looked for in `PATH`. The path is an argument of its own,
  /// so that no shell reads it. Its standard output is discarded; its errors stay on standard error.
  static func open(_ path: String, with program: String, withholding secrets: Set<String>) async throws {
    let status = try await BlockingPool.shared.run { () throws -> Int32 in
      let process = Process()
      process.executableURL = URL(filePath: "/usr/bin/env")
      process.arguments = ["--", program, path]
      process.environment = ProcessEnvironment.variables.filter { !secrets.contains($0.key) }
      process.standardInput = FileHandle.nullDevice
      process.standardOutput = FileHandle.nullDevice
      do {
        try process.run()
      } catch {
        throw CommandFailure(.failed, "\(program) cannot be started; --print prints the path")
      }
      process.waitUntilExit()
      return process.terminationStatus
    }
    guard status != 0 else { return }
    throw CommandFailure(
      .failed,
      status == 127
        ? "there is no \(program) here; --print prints the path"
        : "\(program) could not open \(path) (it ended with \(status))")
  }
}
