import Commerce
import CoreTypes
import PullboxAPI
import PullboxAPIClient
import PullboxKit
import ServiceRuntime
import SystemCalls

/// `ownership ID`: because of what a product is owned, until when, and when that was heard; asks no service.
enum OwnershipCommand: Command {
  static let peer = CommandPeer.agent
  static let description = CommandDescription(
    "ownership", summary: "Show because of what a product is owned, and until when, without a network",
    discussion: """
      The agent answers by the license that the server has signed for this device, and \
      asks no service. Exit code 3: it is not owned. Exit code 4: it is as far as this \
      device has heard, and no license says so now.
      """,
    operands: [.inLibrary()])

  /// One answer of the agent.
  static func run(_ context: CommandContext) async throws {
    let ownership = try await context.agent().ownership(of: try context.product(0))
    if context.console.printsJSON {
      try context.console.print(json: ownership)
    } else {
      for line in lines(ownership) { context.console.print(line) }
    }
    guard ownership.owned else {
      throw CommandFailure(.notEntitled, "\(ownership.product) is not owned")
    }
    guard ownership.verification == .verified else {
      throw CommandFailure(.undetermined, words(ownership.reason ?? .noLicense))
    }
  }

  private static func lines(_ ownership: ProductOwnership) -> [String] {
    var lines = ["\(ownership.product)  \(ownership.owned ? "owned" : "not owned")"]
    if let because = ownership.because { lines.append("  because  \(because)") }
    if let until = ownership.until { lines.append("  until    \(LocalTime.text(until))") }
    if let heard = ownership.heard { lines.append("  heard    \(LocalTime.text(heard))") }
    if let license = ownership.license {
      lines.append("  license  until \(LocalTime.text(license.expires))")
    }
    if ownership.content == .withdrawn {
      lines.append("  content  moved away; it comes back when it is owned again")
    }
    return lines
  }

  private static func words(_ reason: ProductOwnership.UnverifiedReason) -> String {
    switch reason {
    case .noLicense: "this device has no license yet; it comes when the server is heard"
    case .licenseExpired: "the license of this device is over; another comes when the server is heard"
    case .newerThanLicense: "the server has taken it back since it signed the license of this device"
    case .notInLicense: "the license of this device does not list it"
    case .consumable: "it is a consumable, which no license lists"
    }
  }
}
