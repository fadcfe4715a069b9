import Foundation
import PullboxTesting

/// `Tests/Preload/killpoint.c`, built: ends the process it is preloaded into before one of its durable steps.
struct KillPoint: Sendable {
  /// Which steps count.
  enum Kinds: String, Sendable {
    /// Syncs, renames, removals, truncations, new directories: what the order of things on the device hangs on.
    case order = "srutm"
    /// Every write to a file as well.
    case all = "srutmw"
    /// Every call by which a process makes, changes or removes a file.
    case changes = "srutmwblcp"
    /// Every read of a file as well.
    case calls = "srutmwblcpi"
    case reads = "i"
    case writes = "w"
    case syncs = "s"
  }

  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  private let library: String
  private let armed: String
  private let log: String

  /// Builds the library with the toolchain's C compiler.
  init(in directory: TemporaryDirectory) async throws {
    library = directory.path("killpoint.so")
    armed = directory.path("killpoint.armed")
    log = directory.path("killpoint.log")
    let outcome = try await Executables.run(
      "/usr/bin/env",
      [
        "clang", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", library,
        Executables.root + "/Tests/Preload/killpoint.c",
      ], in: directory)
    guard outcome.succeeded else { throw Failure(description: outcome.errors) }
  }

  /// For a process that is to end before its step number `step`, counted from ``arm()`` on, with SIGKILL or because it gets that
  /// signal; where `error` is given, the step fails with it instead.
  func environment(
    step: Int, _ kinds: Kinds, signal: Int32? = nil, error: Int32? = nil
  ) -> [String: String] {
    var environment = [
      "LD_PRELOAD": library, "KILLPOINT_ARMED": armed, "KILLPOINT_AT": String(step), "KILLPOINT_LOG": log,
      "KILLPOINT_KINDS": kinds.rawValue,
    ]
    environment["KILLPOINT_ERRNO"] = error.map { String($0) }
    environment["KILLPOINT_SIGNAL"] = signal.map { String($0) }
    return environment
  }

  /// For a process whose steps of these kinds take so much longer, from ``arm()`` on.
  func environment(delaying kinds: Kinds, byMilliseconds delay: Int) -> [String: String] {
    [
      "LD_PRELOAD": library, "KILLPOINT_ARMED": armed, "KILLPOINT_DELAY": String(delay), "KILLPOINT_LOG": log,
      "KILLPOINT_KINDS": kinds.rawValue,
    ]
  }

  /// How many steps were counted so far.
  var count: Int { (try? Executables.text(log))?.split(separator: "\n").count ?? 0 }

  func arm() throws {
    try Data().write(to: URL(filePath: armed))
  }

  /// Before the next process starts. Answers the steps of the last one, by name.
  func disarm() throws -> [String] {
    try? FileManager.default.removeItem(atPath: armed)
    // Nothing was counted when there is no log.
    let text = (try? Executables.text(log)) ?? ""
    try? FileManager.default.removeItem(atPath: log)
    return text.split(separator: "\n").map { String($0.drop { $0 != " " }.dropFirst()) }
  }
}
