internal import MessageBus

/// The desktop's notifications for a program in a sandbox (`org.freedesktop.portal.Notification`, version 1). The portal knows the program by
/// its sandbox, shows text as text, and does not tell that a notice was closed.
actor PortalNotifications: NoticeServer {
  static let name: BusName = "org.freedesktop.portal.Desktop"
  static let path: BusPath = "/org/freedesktop/portal/desktop"
  static let interface: BusInterface = "org.freedesktop.portal.Notification"

  private let bus: BusConnection
  private let words: NoticeWords
  /// By the identifiers that the portal has of them.
  private var shown: [String: Notice] = [:]
  /// The numbers of the answers to those that are being taken away, by identifier.
  private var answered: [String: Int] = [:]
  private var answers = 0

  init(on bus: BusConnection, words: NoticeWords) {
    self.bus = bus
    self.words = words
  }

  func follow(_ take: @escaping @Sendable (NoticeAnswer) async -> Void) async {
    let match = BusMatch(
      sender: Self.name, .signals(path: Self.path, interface: Self.interface, member: "ActionInvoked"))
    await withDiscardingTaskGroup { group in
      for await news in bus.subscribe(match) {
        switch news {
        case .vanished:
          (shown, answered) = ([:], [:])
          await take(.gone)
        case .signal(let signal):
          guard let (action, subject, number) = answer(signal) else { continue }
          await take(.chosen(action, of: subject))
          // The next answer does not wait for a portal that is slow.
          group.addTask {
            if await self.withdraw(subject, answeredBy: number) { await take(.closed(subject)) }
          }
        case .appeared: await take(.there)
        case .missed, .refused: continue
        }
      }
    }
  }

  /// The answer that the portal tells of; nil for a notice of others, for one that was answered already, and for what is no answer.
  private func answer(_ signal: BusSignal) -> (Notice.Action, Notice.Subject, number: Int)? {
    guard signal.arguments.count == 3, let identifier = signal.arguments[0].text,
      let notice = shown[identifier],
      let action = signal.arguments[1].text.flatMap({ notice.action(byKey: $0) })
    else { return nil }
    shown[identifier] = nil
    answers += 1
    answered[identifier] = answers
    return (action, notice.subject, answers)
  }

  /// Takes a notice away that was answered: some portals leave it where it is. False where it has gone otherwise, or is shown anew.
  private func withdraw(_ subject: Notice.Subject, answeredBy number: Int) async -> Bool {
    let identifier = Self.identifier(of: subject)
    guard answered[identifier] == number else { return false }
    await remove(identifier)
    guard answered[identifier] == number else { return false }
    answered[identifier] = nil
    return true
  }

  func show(_ notice: Notice) async throws(BusError) {
    var members: [String: BusValue] = [
      "title": .string(notice.summary), "body": .string(notice.body), "priority": .string("normal"),
      "icon": .structure([
        .string("themed"), .variant(.strings([DesktopSession.busName.description])),
      ]),
      "buttons": .array(
        of: "a{sv}",
        notice.actions.enumerated().map { index, action in
          .properties(["label": .string(words.label(action)), "action": .string("\(index)")])
        }),
    ]
    if !notice.actions.isEmpty { members["default-action"] = .string("default") }
    let identifier = Self.identifier(of: notice.subject)
    // An answer may come before the portal's own.
    let former = shown.updateValue(notice, forKey: identifier)
    let formerAnswer = answered.removeValue(forKey: identifier)
    do throws(BusError) {
      _ = try await bus.call(
        BusMethodCall(
          "AddNotification", of: Self.interface, at: Self.path, destination: Self.name,
          arguments: [.string(identifier), .properties(members)]))
    } catch {
      // Unless it has gone with the portal, or was answered meanwhile.
      if shown[identifier] == notice {
        shown[identifier] = former
        answered[identifier] = formerAnswer
      }
      throw error
    }
  }

  func close(_ subject: Notice.Subject) async {
    let identifier = Self.identifier(of: subject)
    guard shown.removeValue(forKey: identifier) != nil else { return }
    await remove(identifier)
  }

  private func remove(_ identifier: String) async {
    // One that is closed already is as good.
    _ = try? await bus.call(
      BusMethodCall(
        "RemoveNotification", of: Self.interface, at: Self.path, destination: Self.name,
        arguments: [.string(identifier)]))
  }

  /// A name for the portal: one for each subject, so that a later notice replaces the earlier one.
  static func identifier(of subject: Notice.Subject) -> String {
    switch subject {
    case .product(let product): "product/\(product)"
    case .products: "products"
    case .download(let download): "download/\(download.place)/\(download.id)"
    case .downloads(.room(let place)): "downloads/room/\(place)"
    case .downloads(let wait): "downloads/\(wait)"
    case .transaction(let transaction): "transaction/\(transaction.place)/\(transaction.id)"
    case .subscription(let subscription): "subscription/\(subscription)"
    case .price(let subscription): "price/\(subscription)"
    case .link: "link"
    }
  }
}
