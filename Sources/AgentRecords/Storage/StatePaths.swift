/// The paths of the agent's files and directories.
package struct StatePaths: Hashable, Sendable {
  package let state: String
  package let library: String

  package init(state: String, library: String) {
    self.state = state
    self.library = library
  }

  package var database: String { "\(state)/agent.sqlite" }
  /// One directory for each job, for what is small.
  package var downloads: String { "\(state)/downloads" }
  /// On the library's file system, so that placing and discarding are renames; hidden from a plain listing of
  /// the library.
  package var staging: String { "\(library)/.staging" }
  /// Content that was taken back, as `PRODUCT/VERSION`: on the library's file system, so that it goes and comes by renames, and for this
  /// user alone.
  package var withdrawn: String { "\(library)/.withdrawn" }
  /// The directory of content that is being removed.
  package var trash: String { "\(library)/.trash" }

  /// Names them; nothing is made.
  package func paths(of job: ContentJobIdentifier) -> ContentJobPaths {
    ContentJobPaths(state: "\(downloads)/\(job)", staging: "\(staging)/\(job)")
  }
}

/// Where the files of one content job lie.
package struct ContentJobPaths: Hashable, Sendable {
  /// A directory of the agent's state, for what is small: ``manifest``.
  package let state: String
  /// The staging area, on the library's file system, so that placing is a rename.
  package let staging: String

  package var manifest: String { "\(state)/manifest" }
}
