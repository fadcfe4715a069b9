import Commerce
import CoreTypes
import PullboxAPI
import PullboxKit
import PullboxOperatorKit
import ServiceAPI
import ServiceRuntime
import SystemCalls

/// `submit ID VERSION`: one step of the review. A step that this key has taken before counts as done.
enum SubmitCommand: Command {
  static let peer = CommandPeer.server
  static let description = CommandDescription(
    "submit", summary: "Submit a version for review",
    discussion:
      "publish submits a version unless --draft is given. A rejected version can be submitted again.",
    operands: [.product(), .init("VERSION")])

  /// Makes one request, which waits for a server that is away. A state that does not allow the step is the server's
  /// refusal.
  static func run(_ context: CommandContext) async throws {
    let record = try await context.patientClient().perform(
      .submit, on: try context.product(0), version: try context.version(1))
    try VersionsCommand.report(record, on: context.console)
  }
}

/// `approve ID VERSION`: one step of the review, for a key with the scope `review`.
enum ApproveCommand: Command {
  static let peer = CommandPeer.server
  static let description = CommandDescription(
    "approve", summary: "Approve a version that was submitted, so that it can be released",
    discussion: """
      The operator key needs the scope review. If the server runs with
      --require-second-key, it has to be another key than the one that submitted the
      version.
      """,
    operands: [.product(), .init("VERSION")])

  /// Makes one request, which waits for a server that is away. An approval that this key may not give is the server's
  /// refusal.
  static func run(_ context: CommandContext) async throws {
    let record = try await context.patientClient().perform(
      .approve, on: try context.product(0), version: try context.version(1))
    try VersionsCommand.report(record, on: context.console)
  }
}

/// `reject ID VERSION`: the end of a review without a release. The version can be submitted again.
enum RejectCommand: Command {
  static let peer = CommandPeer.server
  static let description = CommandDescription(
    "reject", summary: "Reject a version that was submitted or approved",
    operands: [.product(), .init("VERSION")],
    options: [
      .value("reason", "TEXT", environment: .none, help: "Reason, kept with the version and in the audit log")
    ])

  /// Makes one request with the reason. Without one the history has none.
  static func run(_ context: CommandContext) async throws {
    let record = try await context.patientClient().reject(
      try context.product(0), version: try context.version(1), because: context.arguments.value("reason"))
    try VersionsCommand.report(record, on: context.console)
  }
}

/// `release ID VERSION`: shows what devices would fetch, asks, and releases, rolls out, schedules, or cancels
/// a schedule.
enum ReleaseCommand: Command {
  static let peer = CommandPeer.server
  static let description = CommandDescription(
    "release", summary: "Release an approved version to devices, or roll back to an older one",
    discussion: """
      The version replaces the one that devices get now. --percentage rolls it out
      to N percent of devices (staged rollout), always the same ones first; the
      others keep the version before. Repeat the command with a higher percentage
      for more devices, and without --percentage for all.

      To roll back, release the version before: 'pullbox release ID VERSION'. That
      also ends a staged rollout.

      With --at the release waits for its date. Repeat the command with another date
      to change it; --cancel removes the date.

      The command first shows the update size for devices that hold another version
      (see 'update-size'), and on a terminal asks whether to continue.
      """,
    operands: [.product(), .init("VERSION")],
    options: [
      .value(
        "percentage", "N", environment: .none,
        help: "Roll out to N percent of devices (staged rollout), 1 to 100"),
      .value(
        "at", "DATE", environment: .none,
        help:
          "Release at this date with its zone, such as 2026-12-24T08:00Z or 2026-12-24T09:00:00+01:00; at once if it has passed"
      ),
      .flag("cancel", environment: .none, help: "Cancel the release that waits for its date"),
      .confirmed,
    ])

  /// Unless `--json` is given, the version's tag goes with the request (`If-Match`, RFC 9110 section 13.1.1),
  /// so that what was confirmed is what is released; a version that changed meanwhile is refused.
  static func run(_ context: CommandContext) async throws {
    let (product, version) = (try context.product(0), try context.version(1))
    let request = try request(context)
    let client = try context.patientClient()
    if context.arguments.isSet("cancel") {
      return try VersionsCommand.report(
        try await client.cancelRelease(of: product, version: version), on: context.console)
    }
    var tag: String?
    if !context.console.printsJSON, let seen = try await client.taggedVersion(version, of: product),
      isReleasable(seen.record.state)
    {
      // What is shown and confirmed is what is released.
      tag = seen.tag
      let costs = try await client.updateSizes(of: product, version: version, percentage: request.percentage)
      for line in UpdateSizeCommand.lines(costs) { context.console.note(line) }
      if Confirmation.isAsked(context) {
        try await Confirmation.ask(question(product, version: seen.record.version, request: request))
      }
    }
    let record = try await client.release(product, version: version, with: request, ifMatch: tag)
    try VersionsCommand.report(record, on: context.console)
  }

  /// Throws for a percentage outside of 1 to 100, for a date without a zone, and for `--cancel` with either.
  private static func request(_ context: CommandContext) throws -> ReleaseRequest {
    let percentage = try context.arguments.integer("percentage", in: 1...100)
    let date = try context.arguments.value("at").map { text throws(UsageError) in
      guard let date = Timestamp(argument: text) else {
        throw UsageError(
          "--at takes a date with its zone, such as 2026-12-24T08:00Z or 2026-12-24T09:00:00+01:00, not '\(text)'"
        )
      }
      return date
    }
    if context.arguments.isSet("cancel"), percentage != nil || date != nil {
      throw UsageError("--cancel goes without --percentage and --at")
    }
    return ReleaseRequest(percentage: percentage, at: date)
  }

  /// Whether there is a release to confirm. In the other states the server answers why it refuses.
  private static func isReleasable(_ state: VersionState) -> Bool {
    switch state {
    case .approved, .released, .superseded: true
    case .draft, .submitted, .rejected, .withdrawn: false
    }
  }

  /// A date that has passed counts as now, as at the server.
  private static func question(
    _ product: ProductIdentifier, version: ContentVersion, request: ReleaseRequest
  ) -> String {
    let share = request.percentage.map { $0 < 100 ? "\($0) % of devices" : "all devices" } ?? "all devices"
    let date =
      request.at.map { $0 > SystemWallClock().now() ? "at \(LocalTime.withZone($0))" : "now" } ?? "now"
    return "Release \(product) \(version) to \(share) \(date)?"
  }
}

/// `withdraw ID VERSION`: takes a version back for good. It asks for a version that devices got, with the tag
/// as ``ReleaseCommand`` does; one that was never released needs no question.
enum WithdrawCommand: Command {
  static let peer = CommandPeer.server
  static let description = CommandDescription(
    "withdraw", summary: "Withdraw a version for good: no device is granted it any more",
    discussion: """
      From now on the server answers requests for the version that it was withdrawn.
      Downloads that were granted before continue unless --stop-downloads is given.
      Copies on devices stay. A withdrawn version cannot be released again; publish
      its content as another version instead. To roll back to the version before,
      release that one: 'pullbox release ID VERSION'.
      """,
    operands: [.product(), .init("VERSION")],
    options: [
      .value(
        "reason", "TEXT", environment: .none, help: "Reason, kept with the version and in the audit log"),
      .flag(
        "stop-downloads", environment: .none,
        help: "Also stop running downloads, and refuse those that were granted before"),
      .confirmed,
    ])

  /// Reads the version only where a question is asked; without one the request goes without a tag. The version's own
  /// state decides at the server in any case.
  static func run(_ context: CommandContext) async throws {
    let (product, version) = (try context.product(0), try context.version(1))
    let client = try context.patientClient()
    let stops = context.arguments.isSet("stop-downloads")
    var tag: String?
    if Confirmation.isAsked(context), let seen = try await client.taggedVersion(version, of: product),
      seen.record.state == .released || seen.record.state == .superseded
    {
      tag = seen.tag
      let rest = stops ? " and stop its downloads" : ""
      try await Confirmation.ask("Withdraw \(product) \(seen.record.version) for good\(rest)?")
    }
    let record = try await client.withdraw(
      product, version: version,
      with: WithdrawalRequest(reason: context.arguments.value("reason"), stopDownloads: stops ? true : nil),
      ifMatch: tag)
    try VersionsCommand.report(record, on: context.console)
  }
}

/// Dates of the command line.
extension Timestamp {
  /// A date as it is typed: RFC 3339, in which the seconds may be left out. Nil for others.
  init?(argument text: String) {
    // "2026-12-24T08:00"
    let minutes = text.prefix(16)
    guard let date = Timestamp(rfc3339: text) ?? Timestamp(rfc3339: "\(minutes):00\(text.dropFirst(16))")
    else {
      return nil
    }
    self = date
  }
}

/// A question before a step that readers notice. It is asked on a terminal only, and not with `--yes` or `--json`.
enum Confirmation {
  /// Needs a terminal for the question and one for the answer.
  static func isAsked(_ context: CommandContext) -> Bool {
    !context.arguments.isSet("yes") && !context.console.printsJSON && Terminal.standardInput.isTerminal
      && Terminal.standardError.isTerminal
  }

  /// Throws when the answer is not yes. Reads one line of standard input in the pool for blocking calls. The
  /// end of input is no yes.
  static func ask(_ question: String) async throws {
    Console.ask("\(question) [y/N]")
    let answer = await BlockingPool.shared.run { readLine() }
    // At the end of input the terminal's line is not over.
    if answer == nil { Console.complain([""]) }
    guard isYes(answer) else { throw CommandFailure(.failed, "nothing was changed") }
  }

  /// `y` or `yes` in any case. Nil stands for the end of input.
  static func isYes(_ answer: String?) -> Bool {
    ["y", "yes"].contains(answer?.split(separator: " ").joined().lowercased())
  }
}

/// The option that answers questions in advance.
extension CommandOption {
  /// `--yes` of commands that ask.
  static let confirmed = CommandOption.flag(
    "yes", abbreviation: "y", environment: .none,
    help: "Do not ask for confirmation; without a terminal the command never asks"
  )
}
