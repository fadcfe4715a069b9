import MessageBus
import PullboxTesting
import Testing

@testable import DesktopService

/// The notices of a program in a sandbox, before a portal that stands in.
@Suite(
  .serialized, .timeLimit(.minutes(5)),
  .enabled(if: PrivateBus.isAvailable, "this machine has no dbus-daemon"))
struct PortalNotificationsTests {
  private static func invoke(_ action: String, of product: String) -> BusSignal {
    BusSignal(
      "ActionInvoked", of: PortalNotifications.interface, at: PortalNotifications.path,
      arguments: [.string("product/\(product)"), .string(action), .array(of: "v", [])])
  }

  private static func notice(_ product: String) -> Notice {
    Notice(.product(product), product, "b", actions: [.read(product: product), .later])
  }

  /// Follows a portal that answers no `RemoveNotification` by itself, with a notice of product "a" and one of "b".
  private func withPortal(
    _ body: (StandIn, PortalNotifications, AsyncStream<NoticeAnswer>) async throws -> Void
  ) async throws {
    let daemon = try PrivateBus()
    try daemon.start()
    let portal = try StandIn(PortalNotifications.name, on: daemon, holding: ["RemoveNotification"]) {
      $0.member == "AddNotification" ? [] : nil
    }
    let bus = try BusConnection.open(.address(daemon.address))
    let server = PortalNotifications(on: bus, words: NoticeWords(locale: "C"))
    let (answers, given) = AsyncStream<NoticeAnswer>.makeStream()
    try await withThrowingDiscardingTaskGroup { group in
      group.addTask { await portal.run() }
      await portal.ready()
      group.addTask {
        await server.follow { given.yield($0) }
        given.finish()
      }
      for await answer in answers where answer == .there { break }
      for product in ["a", "b"] { try await server.show(Self.notice(product)) }
      try await body(portal, server, answers)
      bus.close()
      portal.bus.close()
    }
    await daemon.stop()
  }

  /// The next request to take a notice away.
  private func removal(of portal: StandIn) async throws -> BusRequest {
    for await call in portal.calls where call.member == "RemoveNotification" { return call }
    throw CancellationError()
  }

  @Test("an answer is told before its notice is taken away, and the next one does not wait for that")
  func order() async throws {
    try await withPortal { portal, _, answers in
      var answers = answers.makeAsyncIterator()
      try portal.bus.send(Self.invoke("0", of: "a"))
      #expect(await answers.next() == .chosen(.read(product: "a"), of: .product("a")))
      let first = try await removal(of: portal)
      #expect(first.arguments == [.string("product/a")])
      // A second press of the same button is none.
      try portal.bus.send(Self.invoke("0", of: "a"))
      try portal.bus.send(Self.invoke("1", of: "b"))
      #expect(await answers.next() == .chosen(.later, of: .product("b")))
      let second = try await removal(of: portal)
      #expect(second.arguments == [.string("product/b")])
      second.answer.refuse("org.freedesktop.DBus.Error.Failed", "no")
      #expect(await answers.next() == .closed(.product("b")), "a notice that cannot be taken away is over")
      first.answer.reply([])
      #expect(await answers.next() == .closed(.product("a")))
    }
  }

  @Test("a notice that is shown anew while the one before it is taken away is not told to be closed")
  func shownAnew() async throws {
    try await withPortal { portal, server, answers in
      var answers = answers.makeAsyncIterator()
      try portal.bus.send(Self.invoke("0", of: "a"))
      #expect(await answers.next() == .chosen(.read(product: "a"), of: .product("a")))
      let first = try await removal(of: portal)
      try await server.show(Self.notice("a"))
      first.answer.reply([])
      try portal.bus.send(Self.invoke("1", of: "a"))
      #expect(await answers.next() == .chosen(.later, of: .product("a")))
      try await removal(of: portal).answer.reply([])
      #expect(await answers.next() == .closed(.product("a")))
    }
  }
}
