import CoreTypes
import PullboxAPI
import PullboxKit
import ServiceRuntime

enum GarbageCollectCommand: Command {
  static let peer = CommandPeer.server
  static let description = CommandDescription(
    "collect", summary: "Remove from the server what nobody needs",
    discussion: """
      Uploads that were not continued in time, and packages that no version and no
      live grant refers to, once they have been so for the grace period.
      """,
    options: [
      .flag("dry-run", environment: .some(nil), help: "Say what would go, and change nothing"),
      .value("grace", "DURATION", environment: .some(nil), help: "In place of the server's own grace period"),
    ])

  static func run(_ context: CommandContext) async throws {
    let grace = try context.arguments.value("grace").map { text throws(UsageError) in
      guard let duration = ConfigurationDuration(text) else {
        throw UsageError("--grace takes a duration such as 30m or 2d, not '\(text)'")
      }
      return duration.duration
    }
    let report = try await context.patientClient().collect(
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
      context.console.print("in grace since \(item.since): package \(item.digest) (\(item.bytes))")
    }
    let count = report.uploads.count + report.blobs.count
    context.console.print("\(verb) \(count == 0 ? "nothing" : "\(report.bytes) in \(count) files")")
  }
}
