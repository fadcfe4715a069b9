/// The paths of the agent's files and directories.
struct StatePaths: Hashable, Sendable {
  let state: String
  let library: String

  var database: String { "\(state)/agent.sqlite" }
  var downloads: String { "\(state)/downloads" }
  /// On the library's file system, so that placing and discarding are renames; hidden from a plain listing of
  /// the library.
  var staging: String { "\(library)/.staging" }
  /// The directory of content that is being removed.
  var trash: String { "\(library)/.trash" }

  func paths(of job: ContentJobIdentifier) -> ContentJobPaths {
    ContentJobPaths(state: "\(downloads)/\(job)", staging: "\(staging)/\(job)")
  }
}

/// Where the files of one content job lie.
struct ContentJobPaths: Hashable, Sendable {
  /// A directory of the agent's state, for what is small: ``manifest``.
  let state: String
  /// The staging area, on the library's file system, so that placing is a rename.
  let staging: String

  var manifest: String { "\(state)/manifest" }
}
