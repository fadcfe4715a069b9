import Database
import PullboxAPI

/// The conditions of the machine that persons have downloads pass.
extension AgentDatabase {
  static let ignoredConditions = Migration(
    "the conditions that a person has a download pass",
    script: """
      ALTER TABLE transactions ADD COLUMN ignored TEXT;
      ALTER TABLE downloads ADD COLUMN ignored TEXT;
      """)

  /// Null for none.
  static func ignoredValue(_ conditions: [IgnoredCondition]) throws -> SQLValue {
    .optional(conditions.isEmpty ? nil : try text(conditions))
  }

  static func ignored(_ row: borrowing Row) throws -> [IgnoredCondition] {
    try value([IgnoredCondition].self, try row.optionalText("ignored")) ?? []
  }
}
