import CoreTypes
import Files
import SystemCalls

/// The places in an agent's state directory that hold something only while it is on its way.
enum AgentLeftovers {
  /// The entries that lie there, each below its place.
  static func names(below state: String) throws -> [String] {
    try ["library/.staging", "library/.trash", "downloads", "content"].flatMap { place in
      let path = "\(state)/\(place)"
      guard try FileSystem.status(of: path) != nil else { return [String]() }
      return try FileSystem.list(path).map { "\(place)/\($0.name)" }
    }
  }

  /// The names that an agent which runs still has after twenty seconds: files go behind the record of them.
  static func lasting(below state: String) async throws -> [String] {
    for _ in 0..<400 {
      if try names(below: state).isEmpty { return [] }
      try await SystemMonotonicClock().sleep(for: .milliseconds(50))
    }
    return try names(below: state)
  }
}
