/// The rules that are held against arbitrary tickets and fields: by `scripts/test` with bytes from a seeded `Mutator`, by `scripts/fuzz`
/// with bytes that libFuzzer finds.
enum FuzzTarget: String, CaseIterable, Sendable {
  case ticket
  case feedToken = "feed-token"
  case forwarding

  /// The rule that the bytes break; nil when they break none.
  func check(_ bytes: [UInt8]) -> String? {
    switch self {
    case .ticket: TicketProperties.checkTicket(bytes)
    case .feedToken: TicketProperties.checkFeedToken(bytes)
    case .forwarding: FieldProperties.check(bytes)
    }
  }
}
