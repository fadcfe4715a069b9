package import Commerce
import Database

// Sections of content: what a download and a job bring, what the library has, and what a person chose.
extension AgentDatabase {
  static let contentSections = Migration(
    "sections of content",
    script: """
      ALTER TABLE downloads ADD COLUMN section TEXT;
      ALTER TABLE downloads ADD COLUMN bytes_needed INTEGER;
      ALTER TABLE content_jobs ADD COLUMN sections TEXT NOT NULL DEFAULT '';
      ALTER TABLE content_jobs ADD COLUMN bytes_needed INTEGER;
      ALTER TABLE library ADD COLUMN sections TEXT;
      CREATE TABLE section_choices (
        product TEXT NOT NULL,
        section TEXT NOT NULL,
        wanted INTEGER NOT NULL,
        PRIMARY KEY (product, section)
      ) STRICT, WITHOUT ROWID;
      """)

  /// The tags in the order of their bytes, separated by spaces, which no tag has.
  static func joinedTags(_ sections: Set<SectionTag>) -> String {
    sections.sorted().map(\.description).joined(separator: " ")
  }

  /// The tags of a column.
  static func sectionTags(_ text: String, _ column: String) throws -> Set<SectionTag> {
    Set(try text.split(separator: " ").map { try require(SectionTag(String($0)), column) })
  }

  /// The choices of the product's sections, of any version: true for one that was asked for, false for one that was dropped.
  package func sectionChoices(of product: ProductIdentifier) throws -> [SectionTag: Bool] {
    try database.readBlocking { connection in
      var choices: [SectionTag: Bool] = [:]
      let rows = try connection.query(
        "SELECT section, wanted FROM section_choices WHERE product = ?", [.text(product.description)])
      for row in rows {
        let tag = try Self.require(SectionTag(try row.text("section")), "section_choices.section")
        choices[tag] = try row.boolean("wanted")
      }
      return choices
    }
  }

  /// Replaces what was wanted of that section before. It may use the reserve, since dropping makes room.
  package func noteChoice(_ isWanted: Bool, of section: SectionTag, in product: ProductIdentifier) throws {
    try makingRoom(!isWanted) {
      try database.writeBlocking(locking: [.everything]) { connection in
        _ = try connection.execute(
          """
          INSERT INTO section_choices (product, section, wanted) VALUES (?, ?, ?)
          ON CONFLICT (product, section) DO UPDATE SET wanted = excluded.wanted
          """,
          [.text(product.description), .text(section.description), .integer(isWanted ? 1 : 0)])
      }
    }
  }
}
