// Downloads: what they wait for, and those that are here.
extension NotificationPlan {
  /// The downloads whose waits hold, where more than ``maximumSingle`` wait for the same kind of thing, in their order.
  var waitGroups: [Wait: [AgentObject]] {
    var groups: [Wait: [AgentObject]] = [:]
    for (name, told) in waiting where notices[.download(name)] != nil {
      groups[told.wait, default: []].append(name)
    }
    return groups.filter { $0.value.count > Self.maximumSingle }.mapValues { $0.sorted() }
  }

  /// One notice for all of them, with one answer for all.
  func group(_ names: [AgentObject], for wait: Wait) -> Notice {
    Notice(
      .downloads(wait), words.manyWait(names.count, for: wait),
      Self.list(names.compactMap { notices[.download($0)]?.summary }), actions: Self.actions(wait, names))
  }

  mutating func process(_ download: DownloadFacts, at now: Double) {
    guard !download.isSection else { return }
    let subject = Notice.Subject.download(download.name)
    if download.state == "active", begun[download.name] == nil, begun.count < Self.bound {
      begun[download.name] = now
    }
    guard download.state == "waiting", let (body, wait) = wait(download) else {
      notices[subject] = nil
      waiting[download.name] = nil
      if download.state == "finished" || download.state == "cancelled" || download.state == "failed" {
        let duration = begun.removeValue(forKey: download.name).map { now - $0 } ?? 0
        if download.state == "finished", duration >= Self.leastDuration, !arrived.contains(download.product) {
          arrive(download.product, download.title, nil, words.downloaded)
        }
      }
      return
    }
    // A person who has closed it is not told again while it waits for the same.
    guard waiting[download.name]?.reason != download.reason,
      waiting[download.name] != nil || waiting.count < Self.bound
    else { return }
    waiting[download.name] = (download.reason, wait)
    put(
      Notice(subject, Notice.text(download.title), body, actions: Self.actions(wait, [download.name])))
  }

  /// Nothing of ours logs a person in to a network.
  private static func actions(_ wait: Wait, _ names: [AgentObject]) -> [Notice.Action] {
    switch wait {
    case .room(let place): [.makeRoom(at: place), .later]
    case .limits, .power: [.downloadAnyway(names), .later]
    case .logIn: [.later]
    }
  }

  /// The words for what a person can change, and its kind; nil where only time or the network helps.
  private func wait(_ download: DownloadFacts) -> (String, Wait)? {
    switch download.reason {
    case "insufficient-space": (words.waitsForRoom, .room(download.name.place))
    case "outside-window": (words.waitsForWindow, .limits)
    case "budget-spent": (words.waitsForBudget, .limits)
    case "metered": (words.waitsForUnmetered(download.device.map { Notice.quoted($0) }), .limits)
    case "battery-low", "on-battery", "power-saver": (words.waitsForPower, .power)
    case "network-portal": (words.waitsForLogIn, .logIn)
    default: nil
    }
  }
}
