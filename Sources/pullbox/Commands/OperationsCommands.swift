import Commerce
import CoreTypes
import PullboxAPI
import PullboxKit
import PullboxOperatorKit
import ServiceAPI
import ServiceRuntime
import SystemCalls

/// `audit`: the server's audit log page by page, filtered by the server.
enum AuditCommand: Command {
  static let peer = CommandPeer.server
  static let description = CommandDescription(
    "audit", summary: "Show the audit log of the server, newest entries first",
    operands: [.product(isRequired: false)],
    options: [
      .value("actor", "NAME", environment: .none, help: "Show only actions with the key of this name"),
      .value("action", "ACTION", environment: .none, help: "Show only this action, such as version.release"),
      .limit,
    ])

  /// Filters are sent as they are; the server decides which actions there are.
  static func run(_ context: CommandContext) async throws {
    let product = try context.arguments.operands.first.map(CommandContext.product)
    let (actor, action) = (context.arguments.value("actor"), context.arguments.value("action"))
    let client = try context.operatorClient()
    try await context.printList {
      try await client.audit(of: product, by: actor, action: action, after: $0)
    } asTable: {
      try print($0, on: context.console)
    }
  }

  /// `versions` prints the history of a version so as well.
  static func print(_ entries: [AuditEntry], on console: Console) throws {
    try console.print(
      entries,
      columns: [.text("WHEN"), .text("WHO"), .text("WHAT"), .name("SUBJECT"), .sentence("DETAIL")],
      whenEmpty: "no entries"
    ) { entry in
      [LocalTime.text(entry.at), entry.actor, entry.action, entry.subject, entry.detail ?? ""]
    }
  }
}

/// `gc`: one request, which ends when the collection has. With `--dry-run` the same report says what would be
/// removed.
enum GarbageCollectCommand: Command {
  static let peer = CommandPeer.server
  static let description = CommandDescription(
    "gc", aliases: ["collect"], summary: "Run garbage collection on the server",
    discussion: """
      Garbage collection removes uploads that expired, and packages that no version
      and no live grant has referred to during the grace period.
      """,
    options: [
      .flag(
        "dry-run", environment: .none, help: "Show what garbage collection would remove, and change nothing"),
      .value("grace", "DURATION", environment: .none, help: "Use this grace period instead of the server's"),
    ])

  /// Checks the grace period before the request. Without the option the server uses its own.
  static func run(_ context: CommandContext) async throws {
    let grace = try context.arguments.value("grace").map { text throws(UsageError) in
      guard let duration = ConfigurationDuration(text) else {
        throw UsageError("--grace takes a duration such as 30m or 2d, not '\(text)'")
      }
      return duration.duration
    }
    let report = try await context.patientClient().collectGarbage(
      isDryRun: context.arguments.isSet("dry-run"), grace: grace)
    if context.console.printsJSON {
      try context.console.print(json: report)
      return
    }
    let verb = report.dryRun ? "would remove" : "removed"
    for item in report.uploads {
      context.console.print("\(verb) upload \(item.upload) (\(item.bytes))")
    }
    for item in report.blobs { context.console.print("\(verb) package \(item.digest) (\(item.bytes))") }
    for item in report.waiting {
      context.console.print(
        "in grace since \(LocalTime.text(item.since)): package \(item.digest) (\(item.bytes))")
    }
    let count = report.uploads.count + report.blobs.count
    context.console.print(
      "\(verb) \(count == 0 ? "nothing" : "\(report.bytes) in \(CountText.of(count, "file"))")")
  }
}

/// `scrub`: the faults that the server has found in its packages so far. `--now` begins a new round and does
/// not wait for it. Faults are not a failure of the command: its exit code is 0.
enum ScrubCommand: Command {
  static let peer = CommandPeer.server
  static let description = CommandDescription(
    "scrub", summary: "Show which packages of the server are missing or damaged",
    discussion: """
      The server reads every package again from time to time. The command shows the faults \
      that it found, and how many packages it has still to read.
      """,
    options: [.flag("now", environment: .none, help: "Let the server read all packages anew, from now on")])

  /// Prints a line for each fault and a last one with the counts. The request waits for a server that is away.
  static func run(_ context: CommandContext) async throws {
    let report = try await context.patientClient().scrubPackages(begins: context.arguments.isSet("now"))
    if context.console.printsJSON {
      try context.console.print(json: report)
      return
    }
    for item in report.faults {
      context.console.print("\(item.fault.rawValue) \(item.digest) (\(LocalTime.text(item.checked)))")
    }
    context.console.print(
      "\(report.faults.count) of \(report.packages) packages faulty, \(report.waiting) to be read")
  }
}
