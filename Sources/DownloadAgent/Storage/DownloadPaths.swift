/// Where the files of one download lie while it is not finished.
struct DownloadPaths: Hashable, Sendable {
  /// A directory of the agent's state, for what is small: ``manifest`` and ``journal``.
  let state: String
  /// The staging area, on the library's file system, so that placing is a rename.
  let staging: String

  var manifest: String { "\(state)/manifest" }
  var journal: String { "\(state)/pieces" }
}
