/// The library's file system is not there, or not this agent's: everything that needs it waits.
struct LibraryOfflineError: Error, Hashable, Sendable, CustomStringConvertible {
  /// A sentence for people, without a full stop.
  let reason: String

  var description: String { "the library is offline: \(reason)" }
}
