/// A cause of failures between a client and the delivery server, or on the device; its text is stable.
public enum Cause: String, CaseIterable, Sendable {
  // On the way to the server.
  /// The host has no address.
  case nameUnknown = "name-unknown"
  /// No connection can be made.
  case notReached = "not-reached"
  /// The process that accepts the connection does not answer.
  case silent = "silent"
  /// The address is http, and not this machine's own.
  case notEncrypted = "not-encrypted"
  /// No authority that counts here signed the certificate.
  case certificateUntrusted = "certificate-untrusted"
  /// The certificate names other hosts.
  case certificateForAnotherName = "certificate-for-another-name"
  /// The certificate has ended, or is not valid yet.
  case certificateOutOfDate = "certificate-out-of-date"
  /// The certificate ends within two weeks.
  case certificateEndsSoon = "certificate-ends-soon"
  /// A log-in page of the network answers.
  case portal = "portal"
  /// The address leads to another one.
  case redirected = "redirected"
  /// The proxy wants a log-in of its own.
  case logInWanted = "log-in-wanted"
  /// The proxy answers and does not reach the server.
  case serverAway = "server-away"
  /// The server has no diagnostic routes.
  case noDiagnostics = "no-diagnostics"
  /// This machine's clock is wrong, or the clocks of all others.
  case ownClock = "own-clock"
  /// The server's clock is wrong.
  case serverClock = "server-clock"
  /// The clock of the proxy is wrong.
  case proxyClock = "proxy-clock"

  // What the proxy does with requests.
  /// `Range` does not reach the server.
  case rangeDropped = "range-dropped"
  /// `If-Range` does not reach the server.
  case ifRangeDropped = "if-range-dropped"
  /// `If-None-Match` does not reach the server.
  case ifNoneMatchDropped = "if-none-match-dropped"
  /// `Authorization` does not reach the server.
  case authorizationDropped = "authorization-dropped"
  /// The query does not reach the server.
  case queryDropped = "query-dropped"
  /// The server trusts the proxy, which names no clients.
  case clientNotNamed = "client-not-named"
  /// The proxy names its clients, and the server does not trust it.
  case proxyNotTrusted = "proxy-not-trusted"
  /// The proxy refuses bodies of some MiB.
  case bodyLimited = "body-limited"
  /// The proxy passes a body on only when it has all of it.
  case requestBuffered = "request-buffered"
  /// The proxy refuses a method of uploads.
  case methodRefused = "method-refused"

  // What the proxy does with responses.
  /// A range reaches the server and is answered otherwise.
  case rangeUndone = "range-undone"
  /// A cache fetches the whole for each range.
  case fetchedWhole = "fetched-whole"
  /// `ETag` does not arrive.
  case entityTagRemoved = "entity-tag-removed"
  /// `ETag` is made weak.
  case entityTagWeakened = "entity-tag-weakened"
  /// `ETag` is another one.
  case entityTagChanged = "entity-tag-changed"
  /// Content is compressed on the way.
  case contentCoded = "content-coded"
  /// A filter takes bodies apart.
  case bodyRewritten = "body-rewritten"
  /// A body of the right length has other bytes than were sent.
  case bytesDamaged = "bytes-damaged"
  /// The proxy gathers what it is to pass on.
  case buffered = "buffered"
  /// A body ends before its end.
  case truncated = "truncated"
  /// A body that rests is cut.
  case cutWhilePaused = "cut-while-paused"
  /// Lengths or offsets beyond 31 or 32 bits are wrong.
  case offsetsWrapped = "offsets-wrapped"
  /// The proxy answers pages in place of the server's refusals.
  case errorsReplaced = "errors-replaced"
  /// The metrics are open to the world.
  case metricsOpen = "metrics-open"
  /// The proxy does not send the files that the server hands off.
  case handOffBroken = "hand-off-broken"

  // On the device.
  /// No agent answers.
  case agentAway = "agent-away"
  /// This user may not use the agent's socket.
  case socketDenied = "socket-denied"
  /// The library's volume is not there.
  case libraryAway = "library-away"
  /// Content of the library is damaged.
  case libraryDamaged = "library-damaged"
  /// This user cannot read the library.
  case libraryUnreadable = "library-unreadable"
  /// Downloads have little room on the library's file system, of which the reserve is kept.
  case spaceShort = "space-short"
  /// Downloads have little room within the quota.
  case quotaShort = "quota-short"
  /// The budget of the month is spent: downloads wait for its end.
  case budgetSpent = "budget-spent"
  /// The delivery server did not answer the agent.
  case serverUnreachableForAgent = "server-unreachable-for-agent"
  /// The payment store did not answer the agent.
  case storeUnreachableForAgent = "store-unreachable-for-agent"
  /// A service refuses the agent's credentials.
  case agentRefused = "agent-refused"
  /// The delivery server does not know the store that the agent's proofs name, or they name none of several.
  case storeNotNamed = "store-not-named"
  /// Downloads failed.
  case downloadsFailed = "downloads-failed"
}

/// A remedy that removes a cause.
public struct Remedy: Hashable, Sendable {
  /// The advice for any proxy, or beside the proxy's lines; nil where the lines say all.
  public var advice: String?
  /// For each proxy the line that is to be there, or the line that is to go: then it begins with `no `.
  public var lines: [Proxy: String]

  init(
    _ advice: String? = nil, nginx: String? = nil, apache: String? = nil, haproxy: String? = nil,
    caddy: String? = nil
  ) {
    self.advice = advice
    lines = [.nginx: nginx, .apache: apache, .haproxy: haproxy, .caddy: caddy].compactMapValues { $0 }
  }
}
