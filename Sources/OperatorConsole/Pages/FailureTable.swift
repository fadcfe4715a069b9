import PullboxAPI
import ServiceAPI

/// Why deliveries fail, by reason and application.
struct FailureTable {
  let failures: DeliveryFailures
  let visit: Visit
  /// The list that a reason leads to.
  let list: Address
  private var words: Words { visit.words }

  @MarkupBuilder
  var markup: Markup {
    Parts.fields([
      (words(.progressWaiting), Parts.link(list.with("progress", "waiting"), words.number(failures.waiting))),
      (
        words(.progressFetching),
        Parts.link(list.with("progress", "fetching"), words.number(failures.fetching))
      ),
    ])
    if failures.failures.isEmpty {
      element(.p) { words(.noFailures) }
    } else {
      Parts.table(
        words(.failures),
        [words(.why), words(.application), words(.grants), words(.devices), words(.newestOfThem)],
        failures.failures.map { row in
          [
            .init(reason(row.reason)),
            .init(row.application.map { Parts.name("\($0)") } ?? Markup(words(.notTold))),
            .numeric(words.number(row.grants)), .numeric(words.number(row.devices)),
            .init(Parts.time(row.latest, words)),
          ]
        })
    }
    if !failures.isComplete {
      element(.p, .look(.hint)) { words(.failuresOfNewest, words.number(failures.looked)) }
    }
  }

  /// The reason in words, as a link to the deliveries that it keeps.
  private func reason(_ name: String) -> Markup {
    if let progress = DeliveryProgress(rawValue: name) {
      return Parts.link(list.with("progress", name), words(progress.phrase))
    }
    guard let state = GrantState(rawValue: name) else { return Parts.name(name) }
    return Parts.link(
      list.with("state", name), words(state == .revoked ? .revokedBeforePlaced : state.phrase))
  }
}

extension DeliveryProgress {
  /// How it goes, in words.
  var phrase: Phrase {
    switch self {
    case .waiting: .progressWaiting
    case .fetching: .progressFetching
    case .stuck: .progressStuck
    case .unverified: .progressUnverified
    }
  }

  /// How it looks in a list.
  var look: Look {
    switch self {
    case .waiting, .fetching: .waiting
    case .stuck, .unverified: .bad
    }
  }
}
