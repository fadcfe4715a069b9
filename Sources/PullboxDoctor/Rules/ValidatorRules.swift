import HTTPClient
import PullboxAPI
import ServiceAPI

/// Whether the entity tag arrives as the server wrote it, and conditions about it reach the server.
enum ValidatorRules {
  /// In the order in which they are read. Nothing is found where a probe was not sent.
  static func findings(_ seen: ServerObservations) -> [Finding] {
    [entityTag(seen), ifNoneMatch(seen)].compactMap { $0 }
  }

  /// `entity-tag`. A tag that is missing or weak beside a body that was taken apart is that filter's work.
  private static func entityTag(_ seen: ServerObservations) -> Finding? {
    guard let answer = seen[.whole], answer.status == 200 else { return nil }
    let wanted = DiagnosticContent.entityTag(length: ServerProbe.whole.completeLength)
    switch answer.field("ETag") {
    case wanted: return Finding("entity-tag", .ok, "the strong entity tag arrives as it was written")
    case nil:
      return Finding(
        "entity-tag", .failure, "the entity tag is removed: no download can resume safely",
        cause: BodyRules.isRewritten(answer) ? .bodyRewritten : .entityTagRemoved)
    case let tag? where tag == "W/" + wanted:
      return Finding(
        "entity-tag", .failure, "the entity tag is made weak: no range rests on it",
        cause: BodyRules.isRewritten(answer) ? .bodyRewritten : .entityTagWeakened)
    case let tag?:
      return Finding(
        "entity-tag", .failure, "the entity tag is changed to \(tag.prefix(100))", cause: .entityTagChanged)
    }
  }

  /// `if-none-match`: 304 (RFC 9110 section 15.4.5).
  private static func ifNoneMatch(_ seen: ServerObservations) -> Finding? {
    guard let answer = seen[.ifNoneMatch] else { return nil }
    switch answer.status {
    case 304: return Finding("if-none-match", .ok, "304 for what is still the same")
    case 200:
      return Finding(
        "if-none-match", .warning, "what is there already is sent again (200)",
        cause: seen.isCached ? .fetchedWhole : .ifNoneMatchDropped)
    default: return Finding("if-none-match", .undetermined, answer.outcome)
    }
  }
}
