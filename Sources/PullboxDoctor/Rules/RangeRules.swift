import CoreTypes
import HTTPClient
import PullboxAPI
import ServiceAPI

/// Whether parts of a package can be had: without them no download resumes.
enum RangeRules {
  /// In the order in which they are read. Nothing is found where a probe was not sent.
  static func findings(_ seen: ServerObservations) -> [Finding] {
    [
      range(seen), part(seen, probe: .openRange, check: "open-range"),
      part(seen, probe: .suffixRange, check: "suffix-range"),
      unsatisfiable(seen), sameValidator(seen), otherValidator(seen), longHead(seen),
      beyond(seen, probe: .rangeBeyond2GiB, check: "beyond-2gib"),
      beyond(seen, probe: .rangeBeyond4GiB, check: "beyond-4gib"),
    ].compactMap { $0 }
  }

  /// `range`. A right answer is a failure all the same where the range did not reach the server: the proxy
  /// fetched the whole for it.
  private static func range(_ seen: ServerObservations) -> Finding? {
    guard let answer = seen[.range] else { return nil }
    if seen.isRangeRight(.range) {
      guard seen.arrived("range") else {
        return Finding(
          "range", .failure, "a range is answered, and did not reach the server", cause: .fetchedWhole)
      }
      return Finding("range", .ok, "206 with the bytes that were asked for")
    }
    if answer.status == 200 {
      return Finding(
        "range", .failure, "the whole is sent instead of a range (200)",
        cause: seen.isCached ? .fetchedWhole : seen.arrived("range") ? .rangeUndone : .rangeDropped)
    }
    return wrong(answer, check: "range")
  }

  /// `open-range` and `suffix-range`.
  private static func part(_ seen: ServerObservations, probe: ServerProbe, check: String) -> Finding? {
    guard let answer = seen[probe] else { return nil }
    guard !seen.isRangeRight(probe) else {
      return Finding(check, .ok, "206 with the bytes that were asked for")
    }
    return wrong(answer, check: check)
  }

  /// Returns the finding for an answer that is not the requested range.
  private static func wrong(_ answer: ProbeAnswer, check: String) -> Finding {
    guard answer.status == 206 else {
      let isUndetermined = answer.status == nil || answer.isPassingRefusal
      return Finding(
        check, isUndetermined ? .undetermined : .failure, "instead of a range: \(answer.outcome)",
        cause: isUndetermined ? nil : .rangeUndone)
    }
    if answer.failure != nil {
      return Finding(check, .failure, "the range is cut: \(answer.outcome)", cause: .truncated)
    }
    let field = answer.field("Content-Range") ?? "no Content-Range"
    return Finding(
      check, .failure,
      answer.isRight
        ? "206 with \(field) and \(answer.length) bytes"
        : "206 with \(field), and \(answer.damage)",
      cause: answer.isRight ? .rangeUndone : answer.isDamaged ? .bytesDamaged : .bodyRewritten)
  }

  /// `no-such-range`: 416 with the length alone (RFC 9110 section 15.5.17).
  private static func unsatisfiable(_ seen: ServerObservations) -> Finding? {
    guard let answer = seen[.unsatisfiableRange] else { return nil }
    guard answer.status != nil, !answer.isPassingRefusal else {
      return Finding("no-such-range", .undetermined, answer.outcome)
    }
    let wanted = ContentRange(range: nil, completeLength: ServerProbe.unsatisfiableRange.completeLength)
    if answer.status == 416, answer.head?.contentRange == wanted {
      return Finding("no-such-range", .ok, "416 with the length")
    }
    return Finding(
      "no-such-range", .failure,
      answer.status == 416 ? "416 without the length" : "a range behind the end: \(answer.outcome)",
      cause: answer.status == 416 ? .errorsReplaced : .rangeUndone)
  }

  /// `if-range`: 206 where the tag is the server's.
  private static func sameValidator(_ seen: ServerObservations) -> Finding? {
    guard let answer = seen[.ifRange] else { return nil }
    if seen.isRangeRight(.ifRange) { return Finding("if-range", .ok, "206 for what is still the same") }
    guard answer.status == 200 else { return wrong(answer, check: "if-range") }
    return Finding(
      "if-range", .failure, "the whole is sent although the entity tag is the server's",
      cause: .entityTagChanged)
  }

  /// `if-range-of-other`: 200 where the tag is another one. A 206 mixes two versions.
  private static func otherValidator(_ seen: ServerObservations) -> Finding? {
    guard let answer = seen[.ifRangeOfOther] else { return nil }
    switch answer.status {
    case 200: return Finding("if-range-of-other", .ok, "200 with the whole for what has changed")
    case 206:
      return Finding(
        "if-range-of-other", .failure,
        "a part of other content is sent: a download would be put together of two",
        cause: .ifRangeDropped)
    default: return Finding("if-range-of-other", .undetermined, answer.outcome)
    }
  }

  /// `length-of-8gib`. Well also where no length is told, which `head` finds.
  private static func longHead(_ seen: ServerObservations) -> Finding? {
    guard let answer = seen[.longHead] else { return nil }
    guard answer.status == 200 else { return Finding("length-of-8gib", .undetermined, answer.outcome) }
    // What is not told at all is told of by the check of HEAD.
    guard let length = answer.head?.contentLength, length.rawValue != DiagnosticContent.maximumLength else {
      return Finding("length-of-8gib", .ok, "a length beyond 32 bits arrives")
    }
    return Finding(
      "length-of-8gib", .failure, "of \(DiagnosticContent.maximumLength) bytes \(length.rawValue) are told",
      cause: .offsetsWrapped)
  }

  /// `beyond-2gib` and `beyond-4gib`.
  private static func beyond(_ seen: ServerObservations, probe: ServerProbe, check: String) -> Finding? {
    guard let answer = seen[probe] else { return nil }
    if seen.isRangeRight(probe) { return Finding(check, .ok, "206 with the bytes that were asked for") }
    guard answer.status != nil, !answer.isPassingRefusal else {
      return Finding(check, .undetermined, answer.outcome)
    }
    return Finding(
      check, .failure,
      "a range there is answered wrong: \(answer.outcome), \(answer.field("Content-Range") ?? "no range")",
      cause: .offsetsWrapped)
  }
}
