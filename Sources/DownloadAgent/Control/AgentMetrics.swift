import ContentLibrary
import CoreTypes
import Monitoring
import PullboxAPI

/// The agent's metrics beside those of its requests: downloads, transactions, the library, and whether the services
/// answer.
struct AgentMetrics: MetricSource {
  /// The downloads to be counted.
  let downloads: DownloadManager
  /// The transactions to be counted.
  let transactions: TransactionManager
  /// The library whose items and bytes are told.
  let library: Library
  /// The health of the delivery server.
  let server: EndpointHealth
  /// The health of the store.
  let store: EndpointHealth

  /// Registers all of them. The values are read anew at each page.
  func register(in metrics: inout MetricRegistry) {
    registerWork(in: &metrics)
    registerPeers(in: &metrics)
    registerLimits(in: &metrics)
    registerLibrary(in: &metrics)
  }

  /// Downloads and unfinished transactions, as the managers count them.
  private func registerWork(in metrics: inout MetricRegistry) {
    let work: [Metric<(downloads: [DownloadStatus.State: Int], transactions: Int)>] = [
      .gauge("pullbox_agent_downloads", help: "Downloads that the agent knows, by state.", labels: ["state"])
      {
        counts in
        DownloadStatus.State.allCases.map { .init(counts.downloads[$0] ?? 0, labels: [$0.rawValue]) }
      },
      .gauge("pullbox_agent_unfinished_transactions", help: "Transactions that the store has not closed yet.")
      {
        $0.transactions
      },
    ]
    metrics.register(work) { (try await downloads.counts(), await transactions.unfinishedCount) }
  }

  /// Nothing is told of a service that was not asked yet.
  private func registerPeers(in metrics: inout MetricRegistry) {
    let peers: [Metric<[(name: String, status: AgentStatus.Peer)]>] = [
      .gauge(
        "pullbox_agent_peer_up", help: "1 when the last call to the service was answered.", labels: ["peer"]
      ) { $0.compactMap { peer in peer.status.reachable.map { .init($0 ? 1 : 0, labels: [peer.name]) } } },
      .gauge(
        "pullbox_agent_peer_last_answer_timestamp_seconds",
        help: "When the service last answered, in seconds since the epoch.", labels: ["peer"]
      ) { $0.compactMap { peer in peer.status.lastSuccess.map { .init($0, labels: [peer.name]) } } },
    ]
    metrics.register(peers) { [("server", server.status), ("store", store.status)] }
  }

  /// Nothing is told of a limit that is not set.
  private func registerLimits(in metrics: inout MetricRegistry) {
    let limits: [Metric<NetworkLimits?>] = [
      .gauge(
        "pullbox_agent_rate_limit_bytes_per_second",
        help: "Limit of all transfers together, in bytes per second.",
        labels: []
      ) { $0?.maximumRate.map { [.init($0.rawValue)] } ?? [] },
      .gauge("pullbox_agent_window_open", help: "1 while downloads may run by their windows.", labels: []) {
        $0?.window.map { [.init($0.isOpen ? 1 : 0)] } ?? []
      },
      .gauge("pullbox_agent_budget_bytes", help: "Limit of a month, in bytes.", labels: []) {
        $0?.budget.map { [.init($0.limit.rawValue)] } ?? []
      },
      .gauge("pullbox_agent_budget_used_bytes", help: "Bytes received in this month.", labels: []) {
        $0?.budget.map { [.init($0.used.rawValue)] } ?? []
      },
    ]
    metrics.register(limits) { await downloads.networkLimits }
  }

  /// Counts come from the records, also while the library is away.
  private func registerLibrary(in metrics: inout MetricRegistry) {
    let held: [Metric<[LibraryItem]>] = [
      .gauge("pullbox_agent_library_items", help: "Versions in the library, by state.", labels: ["state"]) {
        items in
        LibraryItem.State.allCases.map { state in
          .init(items.count { $0.state == state }, labels: [state.rawValue])
        }
      },
      .gauge("pullbox_agent_library_bytes", help: "What the library's content takes.") { items in
        items.reduce(ByteCount.zero) { $0 + ($1.lengthOnDisk ?? .zero) }.rawValue
      },
    ]
    metrics.register(held) { try await library.items() }
    metrics.register([
      .gauge("pullbox_agent_library_online", help: "1 while the library's directory is there.") {
        library.availability == .online ? 1 : 0
      },
      .gauge("pullbox_agent_library_quota_bytes", help: "What content may take in the library.", labels: []) {
        library.space.quota.map { [.init($0.rawValue)] } ?? []
      },
    ])
  }
}
