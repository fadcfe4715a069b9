import MessageBus

/// The interfaces of the agent on the bus, which deploy/dbus holds as XML and docs/bus.md compares with the socket's routes.
enum BusContract {
  /// The agent's name on a bus.
  static let name: BusName = "com.pullbox.Agent1"

  /// The agent itself.
  static let agent = BusInterfaceDescription(
    "com.pullbox.Agent1",
    methods: [
      .init(
        "Buy", [.init("product", "s"), .init("options", "a{sv}")],
        returning: [.init("transaction", "o")]),
      .init(
        "Restore", [.init("products", "as"), .init("options", "a{sv}")],
        returning: [.init("started", "as")]),
      .init(
        "Inhibit", [.init("application", "s"), .init("reason", "s")], returning: [.init("cookie", "u")]),
      .init("Uninhibit", [.init("cookie", "u")]),
      .init("Offer", [.init("product", "s"), .init("locale", "s")], returning: [.init("offer", "a{sv}")]),
      .init("Subscriptions", returning: [.init("subscriptions", "aa{sv}")]),
    ],
    signals: [
      .init("IssueReady", [.init("item", "o"), .init("product", "s")]),
      .init("CorrectionReady", [.init("item", "o"), .init("product", "s")]),
      .init(
        "OwnershipChanged", [.init("product", "s"), .init("kind", "s"), .init("until", "x")]),
    ],
    properties: [
      .init("Version", "s"), .init("Device", "s"), .init("LibraryPath", "s"), .init("Inhibited", "b"),
    ])

  /// A download.
  static let download = BusInterfaceDescription(
    "com.pullbox.Agent1.Download",
    methods: [
      .init("Pause"), .init("Resume"), .init("Cancel"), .init("SetUrgency", [.init("urgency", "s")]),
    ],
    properties: [
      .init("Id", "s"), .init("Product", "s"), .init("Version", "s"), .init("Transaction", "s"),
      .init("State", "s"), .init("Reason", "s"), .init("BytesVerified", "t"), .init("BytesTotal", "t"),
      .init("BytesReceived", "t"), .init("BytesNeeded", "t"), .init("BytesReused", "t"),
      .init("Progress", "d"), .init("TimeRemaining", "d"), .init("Speed", "d"), .init("Error", "s"),
      .init("ErrorDetail", "s"), .init("Cause", "s"), .init("ContentPath", "s"), .init("Priority", "i"),
      .init("Created", "x"), .init("NotBefore", "x"), .init("SpaceNeeded", "t"), .init("SpaceFree", "t"),
      .init("Title", "s"), .init("StalledSince", "x"), .init("Urgency", "s"), .init("WantedBy", "x"),
      .init("Section", "s"), .init("Session", "s"), .init("Condition", "s"), .init("ConditionSource", "s"),
      .init("ConditionDevice", "s"), .init("ConditionSince", "x"), .init("Ignored", "as"),
    ])

  /// A transaction.
  static let transaction = BusInterfaceDescription(
    "com.pullbox.Agent1.Transaction",
    properties: [
      .init("Id", "s"), .init("Product", "s"), .init("State", "s"), .init("Step", "s"), .init("Reason", "s"),
      .init("Error", "s"), .init("ErrorDetail", "s"), .init("Cause", "s"), .init("Downloads", "ao"),
      .init("NotBefore", "x"), .init("Title", "s"), .init("Session", "s"), .init("Revoked", "x"),
    ])

  /// A product of the library, as the version of it that is read.
  static let libraryItem = BusInterfaceDescription(
    "com.pullbox.Agent1.LibraryItem",
    methods: [
      .init("Open", returning: [.init("path", "s")]), .init("Pin", [.init("pinned", "b")]),
    ],
    properties: [
      .init("Product", "s"), .init("Version", "s"), .init("Path", "s"), .init("Digest", "s"),
      .init("Length", "t"), .init("PlacedAt", "x"), .init("Title", "s"), .init("ProductTitle", "s"),
      .init("Cover", "s"), .init("State", "s"), .init("LengthOnDisk", "t"), .init("LastOpened", "x"),
      .init("Pinned", "b"), .init("RolledBack", "b"), .init("Owned", "b"), .init("Because", "s"),
      .init("Until", "x"), .init("OwnedAsOf", "x"), .init("Left", "b"), .init("Withdrawn", "b"),
    ])

  /// All of them.
  static let all = [agent, download, transaction, libraryItem]

  /// The kind of change that a method asks for; nil for one that only reads, and so is as free as the socket's `GET`. A method without a
  /// line here is of the strictest kind, as a route of the socket is.
  static func action(of method: String) -> ChangeAction? {
    switch method {
    case "Offer", "Subscriptions": nil
    case "Restore": .restore
    case "Pause", "Resume", "Open", "Inhibit", "Uninhibit": .pause
    case "Cancel": .remove
    case "SetUrgency": .hasten
    case "Pin": .keep
    default: .buy
    }
  }
}
