import CoreTypes
import HTTPClient
import PullboxAPI
import ServiceAPI
import ServiceRuntime

/// Whether bodies arrive as they were sent, when they were sent, and to their end.
enum BodyRules {
  /// In the order in which they are read. Nothing is found where a probe was not sent.
  static func findings(_ seen: ServerObservations) -> [Finding] {
    [
      head(seen), body(seen), coding(seen), buffering(seen), pause(seen), file(seen),
      long(seen, probe: .longBody, check: "body-beyond-2gib"),
      long(seen, probe: .slowBody, check: "slow-body"),
    ].compactMap { $0 }
  }

  /// Whether a filter between has taken the body apart: it must leave the length out.
  static func isRewritten(_ answer: ProbeAnswer) -> Bool {
    answer.head?.contentLength == nil || !answer.isRight
  }

  /// `head`: HEAD tells the length of the body.
  private static func head(_ seen: ServerObservations) -> Finding? {
    guard let answer = seen[.head] else { return nil }
    guard answer.status == 200 else { return Finding("head", .undetermined, answer.outcome) }
    guard answer.head?.contentLength?.rawValue == ServerProbe.head.completeLength else {
      return Finding(
        "head", .failure, "HEAD tells no length, or another: \(answer.field("Content-Length") ?? "none")",
        cause: .bodyRewritten)
    }
    return Finding("head", .ok, "HEAD tells the length")
  }

  /// `body`: every byte is right, then the number of bytes, then whether the length was told.
  private static func body(_ seen: ServerObservations) -> Finding? {
    guard let answer = seen[.whole] else { return nil }
    guard answer.status == 200 else { return Finding("body", .undetermined, answer.outcome) }
    if !answer.isRight {
      return Finding(
        "body", .failure, answer.damage, cause: answer.isDamaged ? .bytesDamaged : .bodyRewritten)
    }
    if answer.failure != nil || answer.length != ServerProbe.whole.completeLength {
      return Finding(
        "body", .failure,
        "\(answer.length) of \(ServerProbe.whole.completeLength) bytes came: \(answer.outcome)",
        cause: .truncated)
    }
    if isRewritten(answer) {
      return Finding("body", .failure, "the length is removed on the way", cause: .bodyRewritten)
    }
    return Finding("body", .ok, "\(ByteCount(answer.length)) came as they were sent")
  }

  /// `content-coding`: a client that takes codings gets none.
  private static func coding(_ seen: ServerObservations) -> Finding? {
    guard let answer = seen[.coded] else { return nil }
    guard answer.status == 200 else { return Finding("content-coding", .undetermined, answer.outcome) }
    guard let coding = answer.field("Content-Encoding"), coding.lowercased() != "identity" else {
      return Finding("content-coding", .ok, "packages are not compressed again")
    }
    return Finding(
      "content-coding", .failure, "packages are compressed on the way (\(coding))", cause: .contentCoded)
  }

  /// `buffering`: the first byte came within 80 % of the pause.
  private static func buffering(_ seen: ServerObservations) -> Finding? {
    guard let answer = seen[.paused], answer.head != nil, let first = answer.firstByte else { return nil }
    // The bytes of a refusal say nothing of those of a body.
    guard answer.status == 200 else { return Finding("buffering", .undetermined, answer.outcome) }
    // Most of the pause: bytes that were passed on at once came before it.
    guard first.inSeconds < seen.pause.inSeconds * 0.8 else {
      return Finding(
        "buffering", .failure, "bytes that were sent at once came after \(DurationText.short(first))",
        cause: .buffered)
    }
    return Finding(
      "buffering", .ok, "bytes are passed on as they come, the first after \(first.milliseconds) ms")
  }

  /// `pause`: a body that rests goes on to its end.
  private static func pause(_ seen: ServerObservations) -> Finding? {
    guard let answer = seen[.paused] else { return nil }
    let whole = ServerProbe.pausedLength
    if answer.failure == nil, answer.status == 200, answer.length == whole {
      return Finding("pause", .ok, "a body that rests for \(DurationText.short(seen.pause)) goes on")
    }
    guard !answer.isRefused, answer.head != nil else {
      return Finding("pause", .undetermined, answer.outcome)
    }
    return Finding(
      "pause", .failure,
      "a body that rested was cut after \(DurationText.short(answer.duration)), at \(answer.length) of \(whole) bytes",
      cause: .cutWhilePaused)
  }

  /// `file`: a file and a range of it. A hand-off is blamed where the server hands off, or its field
  /// `X-Accel-Redirect` arrives.
  private static func file(_ seen: ServerObservations) -> Finding? {
    guard let answer = seen[.file], let report = seen.report else { return nil }
    let length = DiagnosticContent.fileLength
    let sender = report.handsOff ? "the proxy" : "the server"
    let cause: Cause? = report.handsOff || answer.field("X-Accel-Redirect") != nil ? .handOffBroken : nil
    if answer.status == 200, answer.isDamaged, answer.length == length {
      return Finding(
        "file", .failure, "of what \(sender) sends from the disk: \(answer.damage)", cause: .bytesDamaged)
    }
    guard answer.status == 200, answer.failure == nil, answer.isRight, answer.length == length else {
      guard answer.status != nil, !answer.isPassingRefusal else {
        return Finding("file", .undetermined, answer.outcome)
      }
      return Finding(
        "file", .failure,
        "what \(sender) sends from the disk does not arrive: \(answer.outcome), "
          + "\(answer.length) of \(length) bytes", cause: cause)
    }
    // What the server sends itself has the tag of every body, which has a check of its own.
    guard !report.handsOff || answer.field("ETag") == DiagnosticContent.entityTag(length: length) else {
      return Finding(
        "file", .failure, "what \(sender) sends from the disk has not the server's entity tag", cause: cause)
    }
    if let range = seen[.fileRange], range.isPassingRefusal {
      return Finding("file", .undetermined, range.outcome)
    }
    if let range = seen[.fileRange], !seen.isRangeRight(.fileRange) {
      let isDamaged = range.status == 206 && range.isDamaged
      return Finding(
        "file", .failure,
        "a range of what \(sender) sends from the disk: \(isDamaged ? range.damage : range.outcome)",
        cause: isDamaged ? .bytesDamaged : cause)
    }
    return Finding("file", .ok, "\(sender) sends from the disk what was asked for")
  }

  /// `body-beyond-2gib` and `slow-body`. Bytes of a whole body that are wrong before 2^31 are damage; other
  /// wrong bytes speak for offsets that wrapped.
  private static func long(_ seen: ServerObservations, probe: ServerProbe, check: String) -> Finding? {
    guard let answer = seen[probe] else { return nil }
    guard answer.status == 200 else { return Finding(check, .undetermined, answer.outcome) }
    let whole = probe == .slowBody ? seen.slowLength : probe.completeLength
    if !answer.isRight {
      return Finding(
        check, .failure, answer.damage,  // Offsets that wrap bring wrong bytes from 2 GiB on only.
        cause: answer.isDamaged && (answer.firstWrongByte ?? .max) < 1 << 31 ? .bytesDamaged : .offsetsWrapped
      )
    }
    guard answer.failure == nil, answer.length == whole else {
      return Finding(
        check, .failure, "\(answer.length) of \(whole) bytes came: \(answer.outcome)", cause: .truncated)
    }
    return Finding(check, .ok, "\(ByteCount(whole)) came as they were sent")
  }
}

/// Whether the world sees what is not for it.
enum ExposureRules {
  /// `metrics`, a warning at most.
  static func findings(_ seen: ServerObservations) -> [Finding] {
    guard let answer = seen[.metrics], let report = seen.report else { return [] }
    // Without a proxy, and on this machine's own address, there is no world.
    guard report.isProxyTrusted || !seen.isLoopback else { return [] }
    let isOpen = answer.status == 200 && String(decoding: answer.beginning, as: UTF8.self).contains("# HELP")
    guard isOpen else { return [Finding("metrics", .ok, "not open here")] }
    return [Finding("metrics", .warning, "open here", cause: .metricsOpen)]
  }
}
