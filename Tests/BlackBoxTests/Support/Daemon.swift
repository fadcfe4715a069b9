import CoreTypes
import Files
import Foundation
import PullboxTesting
import SystemCalls

/// A running daemon that has said it is ready.
struct Daemon: Sendable {
  private struct Ready: Decodable {
    var addresses: [String]
    var pid: Int32
  }

  /// A daemon that ended instead of getting ready, with the end of its log.
  struct StartFailure: Error, CustomStringConvertible {
    var description: String
  }

  let process: ChildProcess
  let addresses: [String]
  let log: String

  /// Returns once the daemon answers. `name` is for its files in `directory`; the log of earlier starts is continued.
  /// Relative paths among `arguments` are relative to `workingDirectory`: the test's own unless given.
  static func start(
    _ executable: String, _ arguments: [String], name: String, in directory: TemporaryDirectory,
    environment additions: [String: String] = [:], workingDirectory: String? = nil
  ) async throws -> Daemon {
    let number = UInt32.random(in: .min ... .max)
    let notifications = try NotificationSocket(path: directory.path("\(number).notify"))
    let readyFile = directory.path("\(number).ready")
    let log = directory.path("\(name).log")
    var environment = Executables.environment
    environment.merge(additions) { $1 }
    environment["NOTIFY_SOCKET"] = notifications.path
    var command = [Executables.path(executable)] + arguments + ["--ready-file", readyFile]
    if let workingDirectory {
      command = ["/bin/sh", "-c", "cd \"$0\" && exec \"$@\"", workingDirectory] + command
    }
    let process = try ChildProcess(
      command[0], Array(command.dropFirst()), environment: environment, output: log)
    let watching = Task {
      _ = await process.ending()
      notifications.post("ENDED")
    }
    defer { watching.cancel() }
    var news = await notifications.next()
    while !news.contains("READY=1"), news != "ENDED", !news.isEmpty { news = await notifications.next() }
    guard news.contains("READY=1") else {
      throw StartFailure(
        description:
          "\(executable) ended, or never said it is ready: \(try Executables.text(log).suffix(2000))")
    }
    let ready = try JSONDecoder().decode(
      Ready.self, from: Data(try FileSystem.read(readyFile, upTo: .kibibytes(64))))
    guard ready.pid == process.identifier else {
      throw StartFailure(description: "the ready file names process \(ready.pid), not \(process.identifier)")
    }
    return Daemon(process: process, addresses: ready.addresses, log: log)
  }

  /// The port of the first TCP address.
  var port: UInt16? {
    addresses.lazy.compactMap { $0.split(separator: ":").last.flatMap { UInt16($0) } }.first
  }
}
