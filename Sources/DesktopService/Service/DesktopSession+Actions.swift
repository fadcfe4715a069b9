internal import CoreTypes
internal import Files
internal import MessageBus
internal import ServiceRuntime
internal import SystemCalls

// What a person has chosen.
extension DesktopSession {
  /// Carries out what was chosen, beside the answers that come meanwhile: an agent may ask for a password. The same action is under way
  /// once, however often it is chosen.
  func performActions() async {
    await withDiscardingTaskGroup { group in
      for await action in actions {
        guard !actionsUnderWay.contains(action) else { continue }
        guard actionsUnderWay.count < Self.maximumActions else {
          giveUp(action)
          continue
        }
        actionsUnderWay.insert(action)
        group.addTask { await self.performToItsEnd(action) }
      }
      group.cancelAll()
    }
  }

  /// It is not carried out: the notice stays.
  func giveUp(_ action: Notice.Action) {
    log.info("an action is not carried out, since too many others are under way")
    if case .read(let product) = action { handle(.unread(product: product)) }
  }

  private func performToItsEnd(_ action: Notice.Action) async {
    await perform(action)
    actionsUnderWay.remove(action)
  }

  private func perform(_ action: Notice.Action) async {
    switch action {
    case .later: break
    case .read(let product): await read(product)
    case .downloadAnyway(let downloads): await hasten(downloads)
    case .makeRoom(let place): await showLibrary(at: place)
    case .buy(let product, let shown, let place):
      await ask(at: place) { agent throws(BusError) in
        _ = try await agent.call(
          "Buy", AgentFollower.agentInterface, AgentFollower.root,
          [.string(product), .properties(["shown": .string(shown)])])
      }
    case .restore:
      await ask { agent throws(BusError) in
        _ = try await agent.call(
          "Restore", AgentFollower.agentInterface, AgentFollower.root, [.strings([]), .properties([:])])
      }
    }
  }

  /// Wants all of them now. One that is there no more does not end that, and who may not do it is asked once and not for each.
  private func hasten(_ downloads: [AgentObject]) async {
    var refusals: [AgentPlace: BusError] = [:]
    for download in downloads where refusals[download.place]?.isDenied != true {
      let folder: BusPath = "/com/pullbox/Agent1/downloads"
      guard let follower = followers.first(where: { $0.place == download.place }),
        let path = folder.appending(identifier: download.id)
      else { continue }
      do throws(BusError) {
        _ = try await follower.call("SetUrgency", "com.pullbox.Agent1.Download", path, [.string("now")])
      } catch {
        if downloads.count == 1 || !error.isOfGoneDownload { refusals[download.place] = error }
      }
    }
    for refusal in refusals.values { tell(refusal) }
  }

  /// Has the agent do something; a refusal becomes a notice.
  private func ask(
    at place: AgentPlace? = nil, _ body: (AgentFollower) async throws(BusError) -> Void
  ) async {
    do throws(BusError) {
      try await body(await follower(at: place))
    } catch {
      tell(error)
    }
  }

  /// Shows that the agent has not done it.
  private func tell(_ refusal: BusError) {
    log.warning("the agent has refused", ["error": LogValue(refusal)])
    handle(.asked(Notice(.link, words.refused, Notice.text(refusal.message))))
  }

  /// The agent of that place; without one the agent that is there, the user's own first.
  func follower(at place: AgentPlace? = nil) async -> AgentFollower {
    if let named = followers.first(where: { $0.place == place }) { return named }
    for follower in followers {
      if await follower.isThere { return follower }
    }
    return followers[0]
  }

  /// Opens page 1 of a product at the agent that holds it, the user's own first. A product that cannot be opened keeps its notice; one that
  /// is not here, or is there no more, loses it.
  func read(_ product: String) async {
    for follower in followers {
      guard let item = await follower.items[product] else { continue }
      let path: String
      do throws(BusError) {
        path =
          try await follower.call("Open", "com.pullbox.Agent1.LibraryItem", item.path).first?.text ?? ""
      } catch {
        handle(.unread(product: product))
        return tell(error)
      }
      // What was withdrawn has none; the other agent may hold the product as well.
      guard !path.isEmpty else { continue }
      guard launcher.start(await commands(toRead: product, in: path, at: follower.place)) else {
        return handle([
          .unread(product: product), .asked(Notice(.link, Notice.text(item.title), words.noReader)),
        ])
      }
      return handle(.opened(product: product))
    }
    handle([.removed(product: product), .asked(Notice(.link, Notice.text(product), words.notHere))])
  }

  /// The command lines for that in their order. The content of the device's agent is found by its own socket, and by who may not use that
  /// only where it lies.
  private func commands(toRead product: String, in path: String, at place: AgentPlace) async -> [[String]] {
    let openPath = ["xdg-open", path]
    let open = ["pullbox", "open", product, "1"]
    guard place == .machine else { return [open, openPath] }
    let socket = machineSocket
    let mayUse = await BlockingPool.shared.run {
      (try? FileSystem.mayUse(socket, isWriting: true)) ?? false
    }
    return mayUse ? [open + ["--agent-socket", socket], openPath] : [openPath]
  }

  /// Shows the library of that agent in the desktop's file manager (`org.freedesktop.FileManager1`), else by `xdg-open`.
  func showLibrary(at place: AgentPlace? = nil) async {
    let path: String
    do throws(BusError) {
      path =
        try await follower(at: place).bus.property(
          "LibraryPath", of: AgentFollower.agentInterface, at: AgentFollower.root,
          destination: AgentFollower.agent
        ).text ?? ""
    } catch {
      return tell(error)
    }
    let call = BusMethodCall(
      "ShowFolders", of: "org.freedesktop.FileManager1", at: "/org/freedesktop/FileManager1",
      destination: "org.freedesktop.FileManager1",
      arguments: [
        .strings(["file://" + path.split(separator: "/").map { "/" + String($0).percentEncoded }.joined()]),
        .string(""),
      ])
    if (try? await session.call(call)) == nil { _ = launcher.start([["xdg-open", path]]) }
  }
}

extension BusError {
  /// Whether the one who asked may not.
  fileprivate var isDenied: Bool { name == "org.freedesktop.DBus.Error.AccessDenied" }

  /// Whether the agent has no such download: by its own error, or by that of the bus for a path without an object.
  fileprivate var isOfGoneDownload: Bool {
    name == "com.pullbox.Agent1.Error.DownloadUnknown" || name == "org.freedesktop.DBus.Error.UnknownObject"
  }
}
