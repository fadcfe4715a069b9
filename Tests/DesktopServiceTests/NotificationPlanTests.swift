import Testing

@testable import DesktopService

@Suite("Which notices stand on the desktop")
struct NotificationPlanTests {
  private static let d1 = AgentObject("d1", at: .session)
  private var plan = NotificationPlan(words: NoticeWords(locale: "C"))

  private func facts(
    _ state: String, _ reason: String, _ id: String = "d1", section: Bool = false,
    at place: AgentPlace = .session, device: String? = nil
  ) -> NotificationPlan.DownloadFacts {
    .init(
      AgentObject(id, at: place), product: "p1", title: "Heroes", state: state, reason: reason,
      isSection: section, device: device)
  }

  private func notice(_ changes: [NotificationPlan.Change]) throws -> Notice {
    guard case .show(let notice)? = changes.last else { throw CancellationError() }
    return notice
  }

  private func subjects(_ changes: [NotificationPlan.Change]) -> [String] {
    changes.map { change in
      switch change {
      case .show(let notice): "show \(notice.subject)"
      case .close(let subject): "close \(subject)"
      }
    }
  }

  @Test("an issue is told once, with its cover and Read and Later, and goes when it is opened or removed")
  func issues() {
    var plan = plan
    let changes = plan.handle(.issueReady(product: "p1", title: "Heroes 7", cover: "/c.png"))
    guard case .show(let notice)? = changes.first else { return #expect(Bool(false)) }
    #expect(notice.summary == "Heroes 7" && notice.cover == "/c.png")
    #expect(notice.actions == [.read(product: "p1"), .later])
    #expect(plan.handle(.issueReady(product: "p1", title: "Heroes 7", cover: "/c.png")).isEmpty)
    let corrected = plan.handle(.correctionReady(product: "p1", title: "Heroes 7", cover: nil))
    #expect(subjects(corrected) == ["show product(\"p1\")"], "it replaces the notice of its product")
    #expect(plan.handle(.opened(product: "p1")) == [.close(.product("p1"))])
    #expect(plan.handle(.removed(product: "p1")).isEmpty)
  }

  @Test("more than three issues are one notice, which goes as one")
  func groups() {
    var plan = plan
    for number in 1...3 {
      let changes = plan.handle(.issueReady(product: "p\(number)", title: "\(number)", cover: nil))
      #expect(subjects(changes) == ["show product(\"p\(number)\")"])
    }
    let grouped = plan.handle(.issueReady(product: "p4", title: "4", cover: nil))
    #expect(
      subjects(grouped) == (1...3).map { "close product(\"p\($0)\")" } + ["show products"])
    guard case .show(let notice)? = grouped.last else { return #expect(Bool(false)) }
    #expect(notice.summary == "4 new issues are here")
    #expect(plan.handle(.closed(.products)).isEmpty)
    #expect(
      subjects(plan.handle(.issueReady(product: "p9", title: "9", cover: nil))) == ["show product(\"p9\")"])
  }

  @Test("while a presentation is not to be disturbed nothing is shown; afterwards what still holds is")
  func presentations() {
    var plan = plan
    #expect(plan.handle(.inhibited(true, by: .presentation(.session))).isEmpty)
    #expect(plan.handle(.issueReady(product: "p1", title: "1", cover: nil)).isEmpty)
    #expect(plan.handle(.issueReady(product: "p2", title: "2", cover: nil)).isEmpty)
    #expect(plan.handle(.opened(product: "p1")).isEmpty)
    #expect(subjects(plan.handle(.inhibited(false, by: .presentation(.session)))) == ["show product(\"p2\")"])
    #expect(plan.handle(.inhibited(true, by: .presentation(.session))).isEmpty)
    #expect(plan.handle(.removed(product: "p2")) == [.close(.product("p2"))], "what is withdrawn is closed")
  }

  @Test("where one of more than three was there before, the words say so")
  func groupsWithCorrections() throws {
    var plan = plan
    let events = (1...4).map {
      NotificationPlan.Event.issueReady(product: "p\($0)", title: "\($0)", cover: nil)
    }
    #expect(subjects(plan.handle(events)) == ["show products"], "what comes at once is shown at once")
    let corrected = try notice(plan.handle(.correctionReady(product: "p2", title: "2", cover: nil)))
    #expect(corrected.summary == "4 new or corrected issues are here")
    #expect(try notice(plan.handle(events)).summary == "4 new issues are here")
  }

  @Test(
    "a download that waits for something that a person can change is told, and closed when it goes on",
    arguments: [
      ("insufficient-space", [Notice.Action.makeRoom(at: .session), .later]),
      ("budget-spent", [.downloadAnyway([Self.d1]), .later]),
      ("outside-window", [.downloadAnyway([Self.d1]), .later]),
      ("metered", [.downloadAnyway([Self.d1]), .later]),
      ("battery-low", [.downloadAnyway([Self.d1]), .later]),
      ("on-battery", [.downloadAnyway([Self.d1]), .later]),
      ("power-saver", [.downloadAnyway([Self.d1]), .later]), ("network-portal", [.later]),
    ])
  func waits(reason: String, actions: [Notice.Action]) throws {
    var plan = plan
    #expect(try notice(plan.handle(.download(facts("waiting", reason), now: 0))).actions == actions)
    #expect(plan.handle(.download(facts("waiting", reason), now: 1)).isEmpty)
    #expect(plan.handle(.download(facts("active", "transferring"), now: 2)) == [.close(.download(Self.d1))])
  }

  @Test("each wait has words of its own; the metered way is named where it is told")
  func waitWords() throws {
    var plan = plan
    let reasons = [
      "outside-window", "budget-spent", "metered", "battery-low", "network-portal", "insufficient-space",
    ]
    let told = try reasons.map { reason in
      try notice(plan.handle(.download(facts("waiting", reason), now: 0))).body
    }
    #expect(
      told == [
        "It waits for a time when downloads may run.",
        "It waits for the next budget: what may be downloaded now is spent.",
        "It waits for a network that is not metered.",
        "It waits for the battery to be charged, or for the mains.",
        "The network wants a log-in: open a page in the browser.", "It waits for room on this device.",
      ])
    var other = self.plan
    let named = try notice(other.handle(.download(facts("waiting", "metered", device: "wwan0\n"), now: 0)))
    #expect(named.body == "It waits for a network that is not metered (\u{2068}wwan0 \u{2069}).")
  }

  @Test(
    "more than three that wait for the same kind of thing are one notice with one answer for all; closed it is not told again for the same reason"
  )
  func groupedWaits() throws {
    var plan = plan
    let limits = ["metered", "budget-spent", "outside-window", "metered"]
    for (number, reason) in limits.prefix(3).enumerated() {
      #expect(plan.handle(.download(facts("waiting", reason, "d\(number)"), now: 0)).count == 1)
    }
    let changes = plan.handle(.download(facts("waiting", limits[3], "d3", at: .machine), now: 0))
    let closed = (0..<3).map { Notice.Subject.download(AgentObject("d\($0)", at: .session)) }
    #expect(Array(changes.dropLast()) == closed.map { NotificationPlan.Change.close($0) })
    let group = try notice(changes)
    let names = (0..<3).map { AgentObject("d\($0)", at: .session) } + [AgentObject("d3", at: .machine)]
    #expect(group.subject == .downloads(.limits) && group.actions == [.downloadAnyway(names), .later])
    #expect(group.summary == "4 downloads wait for a network, a time or a budget that lets them")
    #expect(
      group.body == Array(repeating: "\u{2068}Heroes\u{2069}", count: 3).joined(separator: ", ") + ", …")
    // Another kind is another notice.
    #expect(plan.handle(.download(facts("waiting", "battery-low", "d9"), now: 0)).count == 1)
    #expect(plan.handle(.closed(.downloads(.limits))).isEmpty)
    for (number, reason) in limits.enumerated() {
      let place: AgentPlace = number == 3 ? .machine : .session
      #expect(plan.handle(.download(facts("waiting", reason, "d\(number)", at: place), now: 1)).isEmpty)
    }
    #expect(
      try notice(plan.handle(.download(facts("waiting", "metered", "d4"), now: 2))).subject
        == .download(AgentObject("d4", at: .session)), "the next one is told")
  }

  @Test("room is made where the agent has its library; a group of three or fewer is none any more")
  func groupedRoom() throws {
    var plan = plan
    func waits(_ number: Int, _ place: AgentPlace) -> NotificationPlan.Event {
      .download(facts("waiting", "insufficient-space", "d\(number)", at: place), now: 0)
    }
    #expect(plan.handle((0..<3).flatMap { [waits($0, .session), waits($0, .machine)] }).count == 6)
    let group = try notice(plan.handle(waits(3, .machine)))
    #expect(group.subject == .downloads(.room(.machine)))
    #expect(group.actions == [.makeRoom(at: .machine), .later])
    let fewer = plan.handle(.download(facts("active", "transferring", "d0", at: .machine), now: 1))
    #expect(
      subjects(fewer).first == "close \(Notice.Subject.downloads(.room(.machine)))" && fewer.count == 4)
    #expect(plan.handle(.agentGone(.machine)).count == 3)
  }

  @Test("an issue that could not be opened keeps its notice, though the desktop takes it away for the answer")
  func failedReads() throws {
    var plan = plan
    let ready = try notice(plan.handle(.issueReady(product: "p1", title: "1", cover: nil)))
    #expect(plan.handle(.reading(product: "p1")).isEmpty)
    #expect(plan.handle(.closed(.product("p1"))).isEmpty)
    #expect(plan.handle(.unread(product: "p1")) == [.show(ready)])
    // The desktop is slower than the agent.
    #expect(plan.handle(.reading(product: "p1")).isEmpty)
    #expect(plan.handle(.unread(product: "p1")).isEmpty)
    #expect(plan.handle(.closed(.product("p1"))) == [.show(ready)])
    #expect(plan.handle(.reading(product: "p1")).isEmpty)
    #expect(plan.handle(.closed(.product("p1"))).isEmpty)
    #expect(plan.handle(.opened(product: "p1")).isEmpty)
    #expect(plan.handle(.unread(product: "p1")).isEmpty)
    #expect(plan.handle(.issueReady(product: "p1", title: "1", cover: nil)) == [.show(ready)])
    #expect(plan.handle(.closed(.product("p1"))).isEmpty, "by a person")
    #expect(plan.handle(.unread(product: "p1")).isEmpty)
  }

  @Test("a read that was chosen of a desktop that has gone does not bring back what a person closes later")
  func readsOfGoneDesktop() throws {
    for fails in [true, false] {
      var plan = plan
      let ready = try notice(plan.handle(.issueReady(product: "p1", title: "1", cover: nil)))
      #expect(plan.handle(.reading(product: "p1")).isEmpty)
      if fails { #expect(plan.handle(.unread(product: "p1")).isEmpty) }
      #expect(plan.handle(.desktopGone).isEmpty)
      #expect(plan.handle(.desktopThere) == [.show(ready)])
      #expect(plan.handle(.closed(.product("p1"))).isEmpty, "by a person")
      #expect(plan.handle(.desktopGone).isEmpty)
      #expect(plan.handle(.desktopThere).isEmpty)
    }
  }

  @Test("while another session is at the seat nothing is shown, whatever agents say")
  func seats() {
    var plan = plan
    #expect(plan.handle(.inhibited(true, by: .seat)).isEmpty)
    #expect(plan.handle(.issueReady(product: "p1", title: "1", cover: nil)).isEmpty)
    #expect(plan.handle(.inhibited(false, by: .presentation(.session))).isEmpty)
    #expect(plan.handle(.agentGone(.session)).isEmpty)
    #expect(subjects(plan.handle(.inhibited(false, by: .seat))) == ["show product(\"p1\")"])
  }

  @Test("a wait that a person has closed does not come back for the same reason, and does for another")
  func closedWaits() {
    var plan = plan
    _ = plan.handle(.download(facts("waiting", "budget-spent"), now: 0))
    #expect(plan.handle(.closed(.download(Self.d1))).isEmpty)
    #expect(plan.handle(.download(facts("waiting", "budget-spent"), now: 1)).isEmpty)
    guard
      case .show(let notice)? = plan.handle(.download(facts("waiting", "insufficient-space"), now: 2)).first
    else { return #expect(Bool(false)) }
    #expect(notice.subject == .download(Self.d1))
  }

  @Test(
    "nothing is told of waits for the network, of progress, of sections, and of what took less than a minute")
  func silence() {
    var plan = plan
    for download in [
      facts("waiting", "server-unreachable"), facts("active", "transferring"),
      facts("waiting", "insufficient-space", section: true),
    ] {
      #expect(plan.handle(.download(download, now: 10)).isEmpty)
    }
    #expect(plan.handle(.download(facts("finished", "placed"), now: 69)).isEmpty)
  }

  @Test("what took a minute or more is told when it is here")
  func longDownloads() {
    var plan = plan
    #expect(plan.handle(.download(facts("active", "transferring"), now: 10)).isEmpty)
    #expect(
      subjects(plan.handle(.download(facts("finished", "placed"), now: 70))) == ["show product(\"p1\")"])
  }

  @Test("an approval is waited for, and told when it is given; a declined payment is told")
  func purchases() {
    var plan = plan
    func transaction(_ reason: String, _ step: String) -> NotificationPlan.Event {
      .transaction(AgentObject("t1", at: .machine), title: "Heroes", reason: reason, step: step)
    }
    #expect(plan.handle(transaction("", "delivering")).isEmpty)
    guard case .show(let awaited)? = plan.handle(transaction("awaiting-approval", "observed")).first
    else { return #expect(Bool(false)) }
    #expect(awaited.subject == .transaction(AgentObject("t1", at: .machine)))
    #expect(plan.handle(transaction("awaiting-approval", "observed")).isEmpty)
    guard case .show(let approved)? = plan.handle(transaction("", "delivering")).first else {
      return #expect(Bool(false))
    }
    #expect(approved.body == "It was approved.")
    guard case .show(let declined)? = plan.handle(transaction("payment-failed", "failed")).first else {
      return #expect(Bool(false))
    }
    #expect(declined.body == "The payment was declined.")
  }

  @Test("a subscription's end is told, and its new price beside it: once, until it is none any more")
  func subscriptions() throws {
    var plan = plan
    #expect(
      subjects(plan.handle(.subscription(product: "s", title: "S", hasEnded: false)))
        == ["show subscription(\"s\")"])
    func prices(_ price: String?, at place: AgentPlace = .session) -> NotificationPlan.Event {
      .newPrices(
        price.map { [.init(product: "s", title: "S", price: $0, needsConsent: true)] } ?? [], at: place)
    }
    let told = try notice(plan.handle(prices("3.99 EUR")))
    #expect(told.subject == .price("s") && told.isQuestion && told.body.contains("3.99 EUR"))
    #expect(plan.handle(prices("3.99 EUR")).isEmpty)
    #expect(plan.handle(prices("3.99 EUR", at: .machine)).isEmpty, "the other agent has the same account")
    #expect(plan.handle(.closed(.price("s"))).isEmpty)
    #expect(plan.handle(prices("3.99 EUR")).isEmpty, "a person has closed it")
    #expect(try notice(plan.handle(prices("4.99 EUR"))).body.contains("4.99 EUR"))
    #expect(plan.handle(.agentGone(.session)).isEmpty)
    #expect(plan.handle(prices(nil)).isEmpty, "the other agent still says so")
    #expect(plan.handle(prices(nil, at: .machine)) == [.close(.price("s"))], "it was agreed to, or is off")
    #expect(plan.handle(prices("3.99 EUR")).isEmpty, "it was told before")
    #expect(try notice(plan.handle(prices("5.99 EUR"))).body.contains("5.99 EUR"))
  }

  @Test("prices that were told are remembered up to a bound, and the oldest are forgotten first")
  func toldPrices() {
    var plan = plan
    func price(_ number: Int) -> NotificationPlan.Event {
      .newPrices(
        [.init(product: "s", title: "S", price: "\(number) EUR", needsConsent: false)], at: .session)
    }
    for number in 0...NotificationPlan.maximumToldPrices { #expect(plan.handle(price(number)).count == 1) }
    #expect(plan.toldPrices.count == NotificationPlan.maximumToldPrices)
    #expect(plan.handle(price(1)) == [.close(.price("s"))], "the notice told another one")
    #expect(plan.handle(price(0)).count == 1, "it is forgotten")
  }

  @Test("what one agent says of its downloads and presentations is not taken back by the end of the other")
  func twoAgents() {
    var plan = plan
    let own = plan.handle(.download(facts("waiting", "metered"), now: 0))
    let machine = plan.handle(.download(facts("waiting", "metered", at: .machine), now: 0))
    #expect(own.count == 1 && machine.count == 1, "the same identifier at both is two downloads")
    #expect(plan.handle(.agentGone(.machine)) == [.close(.download(AgentObject("d1", at: .machine)))])
    #expect(plan.handle(.download(facts("waiting", "metered"), now: 1)).isEmpty, "it is remembered")
    #expect(plan.handle(.inhibited(true, by: .presentation(.machine))).isEmpty)
    #expect(plan.handle(.inhibited(true, by: .presentation(.session))).isEmpty)
    #expect(plan.handle(.inhibited(false, by: .presentation(.session))).isEmpty)
    #expect(plan.handle(.issueReady(product: "p1", title: "1", cover: nil)).isEmpty, "the other goes on")
    #expect(subjects(plan.handle(.agentGone(.machine))) == ["show product(\"p1\")"])
  }

  @Test(
    "notices that end with the desktop's notifications are no person's answer: they are shown again with them"
  )
  func desktopRestarts() {
    var plan = plan
    _ = plan.handle(.issueReady(product: "p1", title: "1", cover: nil))
    _ = plan.handle(.issueReady(product: "p2", title: "2", cover: nil))
    #expect(plan.handle(.desktopGone).isEmpty)
    #expect(plan.handle(.opened(product: "p2")).isEmpty, "there is nothing to close")
    #expect(
      subjects(plan.handle(.issueReady(product: "p3", title: "3", cover: nil))) == ["show product(\"p3\")"])
    #expect(subjects(plan.handle(.desktopThere)) == ["show product(\"p1\")"])
    #expect(plan.handle(.desktopThere).isEmpty)
  }

  @Test(
    "a notice that could not be shown waits for the desktop; one that it refuses goes, and not the one that stands in its place by now"
  )
  func failures() throws {
    var plan = plan
    let waiting = try notice(plan.handle(.download(facts("waiting", "metered"), now: 0)))
    #expect(plan.handle(.unshown(waiting.subject)).isEmpty)
    #expect(plan.handle(.issueReady(product: "p2", title: "2", cover: nil)).count == 1)
    #expect(try notice(plan.handle(.desktopThere)) == waiting)
    #expect(plan.handle(.unshown(waiting.subject)).isEmpty)
    let other = try notice(plan.handle(.download(facts("waiting", "insufficient-space"), now: 1)))
    #expect(other.subject == waiting.subject, "another one of its subject is tried")
    #expect(plan.handle(.refused(waiting)).isEmpty)
    #expect(plan.handle(.download(facts("active", "transferring"), now: 2)) == [.close(other.subject)])
    let again = try notice(plan.handle(.download(facts("waiting", "metered"), now: 3)))
    #expect(plan.handle(.refused(again)).isEmpty)
    #expect(
      plan.handle(.download(facts("active", "transferring"), now: 4)).isEmpty, "there is nothing to close")
  }

  @Test("a thousand products, downloads and purchases are bounded")
  func bounds() {
    var plan = plan
    for number in 0..<1000 {
      _ = plan.handle(.issueReady(product: "p\(number)", title: "t", cover: nil))
      _ = plan.handle(
        .transaction(
          AgentObject("t\(number)", at: .session), title: "t", reason: "awaiting-approval", step: "observed"))
    }
    var shown = 0
    for number in 0..<1000 {
      let subject = Notice.Subject.transaction(AgentObject("t\(number)", at: .session))
      if !plan.handle(.closed(subject)).isEmpty { shown += 1 }
    }
    #expect(shown == 0)
    #expect(plan.handle(.agentGone(.session)).isEmpty)
  }
}

@Suite("The text of notices")
struct NoticeTextTests {
  @Test("a title is one line of text, whatever is in it")
  func titles() {
    #expect(Notice.text("a\nb\u{7}c\u{2028}d") == "a b c d")
    #expect(Notice.text("<b>bold</b> & more") == "<b>bold</b> & more")
    #expect(Notice.text("שלום") == "שלום")
    #expect(Notice.text("a\u{202E}gpj.exe") == "agpj.exe")
    #expect(Notice.quoted("שלום") == "\u{2068}שלום\u{2069}")
  }

  @Test("10,000 characters are cut, and so is a character of 10,000 marks")
  func longTitles() {
    let text = Notice.text(String(repeating: "x", count: 10_000))
    #expect(text == String(repeating: "x", count: 200) + "…")
    #expect(Notice.text("a" + String(repeating: "\u{301}", count: 10_000)).unicodeScalars.count == 8)
  }

  @Test("for a server that reads markup, text stays text")
  func markup() {
    #expect(Notice.escaped("<b>\"a\" & b</b>") == "&lt;b&gt;&quot;a&quot; &amp; b&lt;/b&gt;")
  }

  @Test("a link is one of three, and nothing else")
  func links() {
    #expect(PullboxLink("pullbox:buy/com.example.heroes") == .buy(product: "com.example.heroes"))
    #expect(PullboxLink("PULLBOX://read/a-b_c.1") == .read(product: "a-b_c.1"))
    #expect(PullboxLink("pullbox:restore") == .restore && PullboxLink("pullbox://restore/") == .restore)
    for text in [
      "", "pullbox:", "pullbox:buy", "pullbox:buy/", "pullbox:buy/a/b", "pullbox:buy/a?price=0",
      "http://a/buy/b",
      "pullbox:buy/../x y", "pullbox:buy/%61", "pullbox:delete/a",
      "pullbox:buy/" + String(repeating: "a", count: 600),
    ] {
      #expect(PullboxLink(text) == nil, "\(text)")
    }
  }

  @Test(
    "titles are found by all words, in any case, with and without accents; those that begin so come first")
  func search() {
    var search = LibrarySearch()
    search.replace(with: [
      .init(product: "a", title: "The Heroes of Élan"), .init(product: "b", title: "Heroes 2"),
      .init(product: "c", title: "Größe"),
    ])
    #expect(search.products(matching: ["HEROES"]) == ["b", "a"])
    #expect(search.products(matching: ["heroes", "elan"]) == ["a"])
    #expect(search.products(matching: ["grosse"]).isEmpty && search.products(matching: ["größe"]) == ["c"])
    #expect(search.products(matching: ["heroes"], among: ["a"]) == ["a"])
    #expect(search.products(matching: []).isEmpty && search.products(matching: [""]).isEmpty)
  }

  @Test("the bar is what runs together, in hundredths, and goes with the last download")
  func progress() {
    var progress = LauncherProgress()
    let steps = [
      progress.update(AgentObject("a", at: .session), (verified: 0, total: 1000)),
      progress.update(AgentObject("a", at: .session), (verified: 9, total: 1000)),
      progress.update(AgentObject("a", at: .session), (verified: 10, total: 1000)),
      progress.update(AgentObject("b", at: .session), (verified: 500, total: 1000)),
    ]
    #expect(steps == [true, false, true, true])
    #expect(progress.shown == 25 && progress.count == 2)
    let ends = [
      progress.update(AgentObject("a", at: .session), nil),
      progress.update(AgentObject("b", at: .session), nil),
      progress.update(AgentObject("b", at: .session), nil),
    ]
    #expect(ends == [true, true, false] && progress.shown == nil)
    _ = progress.update(AgentObject("a", at: .session), (verified: 500, total: 1000))
    _ = progress.update(AgentObject("a", at: .machine), (verified: 0, total: 1000))
    #expect(progress.clear(.machine) && progress.shown == 50 && progress.count == 1)
  }
}
