import CoreTypes
import Files
import Foundation
import PullboxTesting
import SystemCalls

/// The built programs, and those that make test material.
enum Executables {
  /// Where this test's own executable lies: the build puts all of them into one directory.
  static let directory: String = {
    let own = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
    return own.deletingLastPathComponent().path
  }()

  /// The checkout.
  static let root: String = {
    var url = URL(filePath: #filePath)
    for _ in 0..<4 { url.deleteLastPathComponent() }
    return url.path
  }()

  static func path(_ name: String) -> String { "\(directory)/\(name)" }

  /// The environment that every program gets; nothing else of this process's reaches it.
  static var environment: [String: String] { ChildProcess.inheritedEnvironment }

  /// How a program ended and what it said.
  struct Outcome: Sendable {
    var ending: ChildProcess.Ending
    var output: String
    var errors: String

    var succeeded: Bool { ending == .exited(0) }
  }

  /// Runs a program to its end. What it says goes through files in `directory`.
  static func run(
    _ executable: String, _ arguments: [String], environment: [String: String] = environment,
    in directory: TemporaryDirectory
  ) async throws -> Outcome {
    let name = directory.path("run-\(UInt64.random(in: .min ... .max))")
    let process = try ChildProcess(
      executable, arguments, environment: environment, output: name + ".out", errors: name + ".err")
    let ending = await process.ending()
    return Outcome(ending: ending, output: try text(name + ".out"), errors: try text(name + ".err"))
  }

  static func text(_ path: String) throws -> String {
    String(decoding: try FileSystem.read(path, upTo: .mebibytes(64)), as: UTF8.self)
  }
}
