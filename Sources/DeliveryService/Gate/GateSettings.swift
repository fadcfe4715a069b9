import Synchronization

/// What the gate decides by and an operator may change while it runs.
struct GateSettings: Sendable {
  var keys: TicketKeys
  var ticketLifetime: Duration
  var classes: RateClasses
}

/// The settings that count now. Whoever asks for every request keeps a copy and reads again when the count has changed.
final class CurrentSettings: Sendable {
  private let settings: Mutex<GateSettings>
  let changes: ChangeCount

  init(_ settings: GateSettings, changes: ChangeCount) {
    self.settings = Mutex(settings)
    self.changes = changes
  }

  var value: GateSettings { settings.withLock { $0 } }

  func replace(_ new: GateSettings) {
    settings.withLock { $0 = new }
    changes.add()
  }
}
