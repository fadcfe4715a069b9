package import Database

extension Migrations {
  /// Versions that were made before have no previews: their covers are in their packages alone.
  package static let publications = Migration(
    "publications, covers and samples",
    script: """
      CREATE TABLE publications (
        id TEXT PRIMARY KEY,
        document TEXT NOT NULL
      ) STRICT, WITHOUT ROWID;

      -- What everyone may see of a version: its cover at place 0, its samples at 1 and up; ordering is the
      -- version's.
      CREATE TABLE previews (
        product TEXT NOT NULL,
        ordering TEXT NOT NULL,
        place INTEGER NOT NULL,
        digest BLOB NOT NULL,
        PRIMARY KEY (product, ordering, place)
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE preview_contents (
        digest BLOB NOT NULL,
        media_type TEXT NOT NULL,
        content BLOB NOT NULL
      ) STRICT;
      CREATE UNIQUE INDEX preview_contents_by_digest ON preview_contents (digest);
      """)
}
