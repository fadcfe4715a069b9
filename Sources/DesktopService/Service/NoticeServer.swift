internal import MessageBus

/// The answer of a person, or of the server, to a notice.
enum NoticeAnswer: Hashable, Sendable {
  /// An action of the subject's notice was chosen.
  case chosen(Notice.Action, of: Notice.Subject)
  /// The notice is gone.
  case closed(Notice.Subject)
  /// The server, and with it all notices, has gone.
  case gone
  /// The server is there.
  case there
}

/// The one who shows notices to a person.
protocol NoticeServer: Sendable {
  /// The server's answers, for as long as the connection lives.
  func follow(_ take: @escaping @Sendable (NoticeAnswer) async -> Void) async
  /// Shows a notice in the place of the one of its subject. Throws ``BusError`` where there is no such server.
  func show(_ notice: Notice) async throws(BusError)
  /// Closes the notice of the subject, if it is there.
  func close(_ subject: Notice.Subject) async
}

extension BusError {
  /// Whether it is the message that cannot be sent or taken, as it is: not the other side that is away, starting or slow.
  var isOfTheMessage: Bool {
    switch code {
    case .tooLarge, .invalidValue, .malformed: true
    case .refused:
      ["InvalidArgs", "LimitsExceeded", "InvalidSignature"].contains { name?.hasSuffix($0) == true }
    default: false
    }
  }
}
