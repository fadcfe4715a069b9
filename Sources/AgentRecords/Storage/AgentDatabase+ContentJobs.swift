import Commerce
import CoreTypes
import Crypto
import Database
import PullboxAPI
import ServiceAPI

extension AgentDatabase {
  /// Inserts or replaces it, also in place of an earlier job of the same digest.
  package func save(_ record: ContentJobRecord) throws {
    try database.writeBlocking(locking: [.everything]) { connection in
      let machine = record.machine
      // A job that has ended gives its digest up to the one that follows it.
      try connection.execute(
        """
        INSERT OR REPLACE INTO content_jobs (id, digest, phase, state, reason, problem, cause, failures,
          losses, renewals, violations, violated_since, not_before, grant_id, terms, bytes_verified, bytes_received,
          bytes_wasted, failed_at, bytes_reused, sections, bytes_needed)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        [
          .text(record.identifier.description), .text(record.digest.hexadecimal),
          .text(machine.phase.rawValue), .text(machine.state.rawValue), .text(machine.reason.rawValue),
          .optional(try machine.history.problem.map { try Self.text($0) }),
          .optional(machine.history.cause), .integer(machine.history.failures),
          .integer(machine.history.losses),
          .integer(machine.renewals),
          .integer(machine.budget.violations),
          .optional(machine.budget.violatedSince), .optional(record.notBefore),
          .text(record.grant.description), .text(try Self.text(record.terms)),
          .byteCount(record.bytesVerified), .byteCount(record.bytesReceived),
          .byteCount(machine.budget.wasted), .optional(record.failedAt),
          .optional(record.bytesReused?.rawValue), .text(Self.joinedTags(record.sections)),
          .optional(record.bytesNeeded?.rawValue),
        ])
    }
  }

  /// By identifier. A row that cannot be read is dropped and logged.
  package func contentJobs() throws -> [ContentJobRecord] {
    // A download that waited for what was dropped looks for a job at the start, and begins one.
    try records(
      "SELECT * FROM content_jobs ORDER BY id",
      dropping: { row in
        [("DELETE FROM content_jobs WHERE id = ?", [.text(try row.text("id"))])]
      }
    ) { row in try Self.contentJob(row) }
  }

  /// None of that name is no error.
  package func removeContentJob(_ identifier: ContentJobIdentifier) throws {
    try database.writeBlocking(locking: [.everything]) { connection in
      try connection.execute(
        "DELETE FROM content_jobs WHERE id = ?", [.text(identifier.description)])
    }
  }

  /// Throws ``StateDirectoryError`` for a row that another program changed.
  private static func contentJob(_ row: Row) throws -> ContentJobRecord {
    let terms = try require(
      try value(DownloadTerms.self, try row.text("terms")), "content_jobs.terms")
    var record = ContentJobRecord(
      identifier: try require(ContentJobIdentifier(try row.text("id")), "content_jobs.id"),
      grant: try require(GrantIdentifier(try row.text("grant_id")), "content_jobs.grant_id"), terms: terms)
    record.machine = ContentJobMachine(
      phase: try require(ContentJobMachine.Phase(rawValue: try row.text("phase")), "content_jobs.phase"),
      state: try require(ContentJobMachine.State(rawValue: try row.text("state")), "content_jobs.state"),
      reason: StatusReason(rawValue: try row.text("reason")),
      history: try failureHistory(row),
      renewals: Int(try row.integer("renewals")),
      budget: ContentJobBudget(
        violations: Int(try row.integer("violations")),
        violatedSince: try row.optionalTimestamp("violated_since"),
        wasted: try row.byteCount("bytes_wasted")))
    record.failedAt = try row.optionalTimestamp("failed_at")
    record.notBefore = try row.optionalTimestamp("not_before")
    record.bytesVerified = try row.byteCount("bytes_verified")
    record.bytesReceived = try row.byteCount("bytes_received")
    record.bytesReused = try row.optionalInteger("bytes_reused").map { ByteCount($0) }
    record.sections = try sectionTags(try row.text("sections"), "content_jobs.sections")
    record.bytesNeeded = try row.optionalInteger("bytes_needed").map { ByteCount($0) }
    return record
  }

  /// How often a disk has lost content counts over restarts.
  static let losses = Migration(
    "losses",
    script: """
      ALTER TABLE content_jobs ADD COLUMN losses INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE downloads ADD COLUMN losses INTEGER NOT NULL DEFAULT 0;
      """)

  /// Moves the content part of each download to a job for its digest, under the download's name, so that its folders keep
  /// their names. Of several downloads with one digest, the job takes over the one with the most verified bytes; the
  /// others use its content.
  static let splitDownloads = Migration(
    "content jobs",
    script: """
      CREATE TABLE content_jobs (
        id TEXT PRIMARY KEY,
        digest TEXT NOT NULL UNIQUE,
        phase TEXT NOT NULL,
        state TEXT NOT NULL,
        reason TEXT NOT NULL,
        problem TEXT,
        cause TEXT,
        failures INTEGER NOT NULL,
        renewals INTEGER NOT NULL,
        violations INTEGER NOT NULL,
        violated_since INTEGER,
        not_before INTEGER,
        grant_id TEXT NOT NULL,
        terms TEXT NOT NULL,
        bytes_verified INTEGER NOT NULL,
        bytes_received INTEGER NOT NULL,
        bytes_wasted INTEGER NOT NULL,
        failed_at INTEGER
      ) STRICT, WITHOUT ROWID;

      INSERT OR IGNORE INTO content_jobs
      SELECT id, json_extract(terms, '$.digest'), phase, iif(state = 'failed', 'failed', 'waiting'),
        iif(state = 'failed', reason, 'queued'), problem, NULL, failures, renewals, 0, NULL, NULL, grant_id,
        terms, bytes_verified, bytes_received, 0,
        iif(state = 'failed', CAST(strftime('%s', 'now') AS INTEGER) * 1000, NULL)
      FROM downloads
      WHERE phase IN ('manifest', 'transfer', 'place') AND state NOT IN ('finished', 'cancelled')
        AND terms IS NOT NULL AND grant_id IS NOT NULL
      ORDER BY bytes_verified DESC, sequence;

      UPDATE downloads SET phase = 'content' WHERE phase IN ('manifest', 'transfer', 'place');
      ALTER TABLE downloads DROP COLUMN renewals;
      ALTER TABLE downloads ADD COLUMN cause TEXT;
      ALTER TABLE downloads ADD COLUMN not_before INTEGER;
      ALTER TABLE downloads ADD COLUMN created_at INTEGER;
      ALTER TABLE downloads ADD COLUMN ended_at INTEGER;
      UPDATE downloads SET ended_at = coalesce(placed_at, CAST(strftime('%s', 'now') AS INTEGER) * 1000)
      WHERE state IN ('finished', 'cancelled', 'failed');
      UPDATE downloads SET bytes_verified = 0 WHERE state = 'cancelled';
      CREATE INDEX downloads_by_state ON downloads (state, sequence);
      CREATE INDEX downloads_by_end ON downloads (ended_at);
      """)
}
