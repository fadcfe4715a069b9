import CoreTypes
import Files
import PullboxAPIClient
import PullboxTesting
import SystemCalls
import Testing

@testable import DeliveryService

/// nginx with the configuration of `deploy/nginx`, its names replaced by those of the test, and lines changed as it likes.
struct Nginx {
  let path: String
  let process: ChildProcess

  /// It ended instead of listening; with what it said.
  private struct Ended: Error {
    var description: String
  }

  /// Each of `changes` is a text that the configuration, `pullbox.conf` unless given, has once, and what takes its place.
  init(
    in server: ServerHarness, configuration: String = "pullbox.conf", changes: [(String, String)] = []
  ) async throws {
    let directory = server.directory.path
    path = directory + "/nginx.sock"
    let root = #filePath.split(separator: "/").dropLast(3).reduce("") { "\($0)/\($1)" }
    var text = String(
      decoding: try FileSystem.read(root + "/deploy/nginx/\(configuration)", upTo: .kibibytes(64)),
      as: UTF8.self)
    let files = ("/var/lib/pullbox-server/blobs/", "\(server.configuration.state)/blobs/")
    let all = [
      ("listen 80", "listen unix:\(path)"),
      ("server 127.0.0.1:8080;", "server \(server.server.addresses[0]);"),
    ]
    for (name, value) in changes + all + (configuration == "pullbox.conf" ? [files] : []) {
      let parts = text.split(separator: name, omittingEmptySubsequences: false)
      try #require(parts.count == 2, "\(name)")
      text = parts.joined(separator: value)
    }
    text = text.split(separator: "/var/log/nginx/pullbox.log").joined(
      separator: "\(directory)/nginx-site.log")
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map {
      "\($0)_temp_path \(directory)/nginx-\($0);"
    }
    let main = """
      daemon off;
      user root;
      pid \(directory)/nginx.pid;
      error_log \(directory)/nginx.log;
      events {}
      http {
        \(temporary.joined(separator: "\n  "))
        include \(directory)/site.conf;
      }

      """
    let (site, whole) = (Array(text.utf8), Array(main.utf8))
    try DurableFile.write(site.span, to: directory + "/site.conf")
    try DurableFile.write(whole.span, to: directory + "/nginx.conf")
    process = try ChildProcess(
      "/usr/sbin/nginx", ["-p", directory, "-c", directory + "/nginx.conf", "-e", directory + "/nginx.log"],
      environment: [:], output: directory + "/nginx.out")
    // However long it takes to start: it listens, and has written its number, which it does once it has heard of signals; or it ends. Each
    // attempt takes a request's time.
    let hasEnded = Locked(false)
    let watching = Task { [process] in
      _ = await process.ending()
      hasEnded.withLock { $0 = true }
    }
    defer { watching.cancel() }
    while (try? FileSystem.read(directory + "/nginx.pid", upTo: .kibibytes(1))) == nil
      || (try? RawConnection.unix(path: path)) == nil
    {
      if hasEnded.current {
        let said = try? FileSystem.read(directory + "/nginx.out", upTo: .kibibytes(64))
        throw Ended(description: String(decoding: said ?? [], as: UTF8.self))
      }
      _ = try await server.api.exchange("GET", "/healthz")
    }
  }
}
