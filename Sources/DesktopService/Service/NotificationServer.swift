internal import MessageBus

/// The desktop's notifications (`org.freedesktop.Notifications`, Desktop Notifications Specification 1.2).
actor NotificationServer: NoticeServer {
  static let name: BusName = "org.freedesktop.Notifications"
  private static let path: BusPath = "/org/freedesktop/Notifications"
  private static let interface: BusInterface = "org.freedesktop.Notifications"
  /// The identifier of the program's `.desktop` file and of its icon.
  static let application = "com.pullbox.Desktop"

  /// Signals that wait for the desktop's answer, and replacements that wait for a signal, at most so many of each.
  private static let bound = 256
  private static let answers: Set<String> = ["ActionInvoked", "NotificationClosed"]

  /// A notice that the desktop has numbered, and the place of that word among its signals.
  private struct Numbered {
    var notice: Notice
    var number: UInt32
    var place: UInt64
  }

  private let bus: BusConnection
  private let words: NoticeWords
  private var take: @Sendable (NoticeAnswer) async -> Void = { _ in }
  /// The numbers of the notices that stand there last.
  private var numbers: [Notice.Subject: UInt32] = [:]
  /// The notices that stood there when the desktop sent the signal that was read last.
  private var shown: [UInt32: Notice] = [:]
  /// Those that came since, in order: a number may be that of the notice before until then.
  private var later: [Numbered] = []
  /// How many notices the desktop has been given and has not numbered.
  private var unnumbered = 0
  /// Signals that came meanwhile: which notice they are about is not known yet.
  private var early: [BusSignal] = []
  /// Grows with each desktop that goes.
  private var desktop = 0
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
        desktop += 1
        (numbers, shown, later, early) = ([:], [:], [], [])
        await take(.gone)
      case .signal(let signal):
        guard Self.answers.contains(signal.member) else { continue }
        // Behind those that wait, so that they stay in order.
        if early.count < Self.bound { early.append(signal) }
        await takeEarly()
      case .missed, .refused: continue
      }
    }
  }

  /// Takes up what was told, once the desktop has numbered all that it was given.
  private func takeEarly() async {
    while unnumbered == 0, !early.isEmpty {
      if let answer = answer(early.removeFirst()) { await take(answer) }
    }
  }

  /// Nil for a notice of others, for the end of one that was replaced, and for what is no answer.
  private func answer(_ signal: BusSignal) -> NoticeAnswer? {
    while let next = later.first, next.place < signal.place { stand(later.removeFirst()) }
    guard let number = signal.arguments.first?.number.flatMap(UInt32.init(exactly:)),
      let notice = shown[number]
    else { return nil }
    switch signal.member {
    case "NotificationClosed":
      shown[number] = nil
      guard numbers[notice.subject] == number, !later.contains(where: { $0.notice.subject == notice.subject })
      else { return nil }
      numbers[notice.subject] = nil
      return .closed(notice.subject)
    case "ActionInvoked":
      guard signal.arguments.count == 2 else { return nil }
      return signal.arguments[1].text.flatMap { notice.action(byKey: $0) }
        .map { .chosen($0, of: notice.subject) }
    default: return nil
    }
  }

  private func stand(_ new: Numbered) {
    shown = shown.filter { $0.value.subject != new.notice.subject }
    shown[new.number] = new.notice
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
    let desktop = desktop
    unnumbered += 1
    let result: Result<BusResult, BusError>
    do throws(BusError) {
      result = .success(try await bus.result(of: call))
    } catch {
      result = .failure(error)
    }
    unnumbered -= 1
    // What one that has gone was given is gone with it.
    if desktop == self.desktop, case .success(let answer) = result,
      case .uint32(let number)? = answer.values.first
    {
      numbers[notice.subject] = number
      if later.count == Self.bound { stand(later.removeFirst()) }
      later.append(Numbered(notice: notice, number: number, place: answer.place))
    }
    await takeEarly()
    guard case .uint32? = try result.get().values.first else {
      throw BusError(.malformed, "the desktop gave a notice no number")
    }
  }

  /// Closes the notice of the subject, if it is there.
  func close(_ subject: Notice.Subject) async {
    guard let number = numbers.removeValue(forKey: subject) else { return }
    later.removeAll { $0.notice.subject == subject }
    shown = shown.filter { $0.value.subject != subject }
    let call = BusMethodCall(
      "CloseNotification", of: Self.interface, at: Self.path, destination: Self.name,
      arguments: [.uint32(number)])
    // One that is closed already is as good.
    _ = try? await bus.call(call)
  }
}
