internal import MessageBus

/// logind's word whether this user's session is the one at its seat (org.freedesktop.login1(5)). Without logind, and without a session that
/// it knows of this program, it is.
struct SeatFollower: Sendable {
  static let service: BusName = "org.freedesktop.login1"
  static let path: BusPath = "/org/freedesktop/login1"
  static let manager: BusInterface = "org.freedesktop.login1.Manager"
  static let session: BusInterface = "org.freedesktop.login1.Session"

  private let bus: BusConnection

  /// `bus` is the machine's.
  init(on bus: BusConnection) { self.bus = bus }

  /// Follows the session for as long as the connection lives. logind is not started for that.
  func follow(_ take: @escaping @Sendable (_ isActive: Bool) async -> Void) async {
    var session: BusPath?
    for await news in bus.subscribe(BusMatch(sender: Self.service, .signals(below: Self.path))) {
      switch news {
      case .appeared, .missed:
        session = await find()
        await take(await isActive(session))
      case .vanished:
        session = nil
        await take(true)
      case .refused: return await take(true)
      case .signal(let signal):
        switch signal.member {
        case "SessionNew", "SessionRemoved":
          session = await find()
          await take(await isActive(session))
        case "PropertiesChanged" where signal.path == session:
          guard signal.arguments.count == 3, signal.arguments[0].text == Self.session.description
          else { continue }
          if let isActive = signal.arguments[1].members?["Active"]?.flag {
            await take(isActive)
          } else if signal.arguments[2].elements?.contains(.string("Active")) == true {
            await take(await isActive(session))
          }
        default: continue
        }
      }
    }
  }

  /// The session of this program, or else the graphical one of its user: a unit of the user's manager is in none. Nil without either.
  private func find() async -> BusPath? {
    var call = BusMethodCall(
      "GetSession", of: Self.manager, at: Self.path, destination: Self.service, arguments: [.string("auto")])
    call.startsService = false
    guard let answer = try? await bus.call(call) else { return nil }
    return answer.first?.objectPath
  }

  /// True where it is not known.
  private func isActive(_ session: BusPath?) async -> Bool {
    guard let session else { return true }
    let active = try? await bus.property(
      "Active", of: Self.session, at: session, destination: Self.service, startingService: false)
    return active?.flag ?? true
  }
}
