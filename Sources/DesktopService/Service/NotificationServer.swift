internal import MessageBus

/// The desktop's notifications (`org.freedesktop.Notifications`, Desktop Notifications Specification 1.2).
actor NotificationServer: NoticeServer {
  static let name: BusName = "org.freedesktop.Notifications"
  private static let path: BusPath = "/org/freedesktop/Notifications"
  private static let interface: BusInterface = "org.freedesktop.Notifications"
  /// The identifier of the program's `.desktop` file and of its icon.
  static let application = "com.pullbox.Desktop"

  private let bus: BusConnection
  private let words: NoticeWords
  private var numbers: [Notice.Subject: UInt32] = [:]
  /// Signals about notices whose numbers are not known yet, at most so many.
  private static let maximumEarly = 32
  private static let answers: Set<String> = ["ActionInvoked", "NotificationClosed"]
  private var early: [BusSignal] = []
  /// The subjects whose notices the desktop has been given and has not numbered.
  private var showing: Set<Notice.Subject> = []
  private var take: @Sendable (NoticeAnswer) async -> Void = { _ in }
  private var shown: [UInt32: Notice] = [:]
  private var readsMarkup = false

  init(on bus: BusConnection, words: NoticeWords) {
    self.bus = bus
    self.words = words
  }

  /// The server's answers, for as long as the connection lives.
  func follow(_ take: @escaping @Sendable (NoticeAnswer) async -> Void) async {
    self.take = take
    defer { self.take = { _ in } }
    for await news in bus.subscribe(BusMatch(sender: Self.name, .signals(interface: Self.interface))) {
      switch news {
      case .appeared:
        await readCapabilities()
        await take(.there)
      case .vanished:
        // Another one numbers anew.
        (numbers, shown, early) = ([:], [:], [])
        await take(.gone)
      case .signal(let signal):
        guard Self.answers.contains(signal.member), let number = Self.number(in: signal) else { continue }
        if shown[number] != nil {
          if let answer = answer(signal, to: number) { await take(answer) }
        } else if !showing.isEmpty, early.count < Self.maximumEarly {
          early.append(signal)
        }
      case .missed, .refused: continue
      }
    }
  }

  private static func number(in signal: BusSignal) -> UInt32? {
    signal.arguments.first?.number.flatMap(UInt32.init(exactly:))
  }

  /// Nil for a notice that is not shown, and for what is no answer.
  private func answer(_ signal: BusSignal, to number: UInt32) -> NoticeAnswer? {
    guard let notice = shown[number] else { return nil }
    switch signal.member {
    case "NotificationClosed":
      forget(number)
      // Its end is not that of the one that is on its way in its place.
      return showing.contains(notice.subject) ? nil : .closed(notice.subject)
    case "ActionInvoked":
      guard signal.arguments.count == 2 else { return nil }
      return signal.arguments[1].text.flatMap { notice.action(byKey: $0) }.map { .chosen($0) }
    default: return nil
    }
  }

  /// Takes up what was told of a notice before its number was known here.
  private func takeEarly(of number: UInt32) async {
    let told = early.filter { Self.number(in: $0) == number }
    early.removeAll { Self.number(in: $0) == number }
    if showing.isEmpty { early = [] }
    for signal in told {
      if let answer = answer(signal, to: number) { await take(answer) }
    }
  }

  private func forget(_ number: UInt32) {
    guard let notice = shown.removeValue(forKey: number) else { return }
    if numbers[notice.subject] == number { numbers[notice.subject] = nil }
  }

  private func readCapabilities() async {
    let call = BusMethodCall(
      "GetCapabilities", of: Self.interface, at: Self.path, destination: Self.name)
    guard let answer = try? await bus.call(call) else { return }
    readsMarkup = (answer.first?.elements ?? []).contains(.string("body-markup"))
  }

  /// Shows a notice in the place of the one of its subject. Throws ``BusError`` where there is no such server.
  func show(_ notice: Notice) async throws(BusError) {
    var actions: [String] = []
    if let first = notice.actions.first { actions += ["default", words.label(first)] }
    for (index, action) in notice.actions.enumerated() { actions += ["\(index)", words.label(action)] }
    var hints: [String: BusValue] = [
      "desktop-entry": .string(Self.application), "urgency": .byte(1),
      "category": .string("transfer"),
    ]
    if let cover = notice.cover { hints["image-path"] = .string(cover) }
    let body = readsMarkup ? Notice.escaped(notice.body) : notice.body
    let call = BusMethodCall(
      "Notify", of: Self.interface, at: Self.path, destination: Self.name,
      arguments: [
        .string("Pullbox"), .uint32(numbers[notice.subject] ?? 0), .string(Self.application),
        .string(notice.summary), .string(body), .strings(actions), .properties(hints),
        .int32(notice.isQuestion ? 0 : -1),
      ])
    showing.insert(notice.subject)
    let answer: [BusValue]
    do throws(BusError) {
      answer = try await bus.call(call)
    } catch {
      showing.remove(notice.subject)
      if showing.isEmpty { early = [] }
      throw error
    }
    showing.remove(notice.subject)
    guard case .uint32(let number)? = answer.first else {
      throw BusError(.malformed, "the desktop gave a notice no number")
    }
    if let old = numbers[notice.subject] { shown[old] = nil }
    numbers[notice.subject] = number
    shown[number] = notice
    await takeEarly(of: number)
  }

  /// Closes the notice of the subject, if it is there.
  func close(_ subject: Notice.Subject) async {
    guard let number = numbers[subject] else { return }
    forget(number)
    let call = BusMethodCall(
      "CloseNotification", of: Self.interface, at: Self.path, destination: Self.name,
      arguments: [.uint32(number)])
    // One that is closed already is as good.
    _ = try? await bus.call(call)
  }
}
