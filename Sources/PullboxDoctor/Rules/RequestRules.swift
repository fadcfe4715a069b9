import HTTPClient
import PullboxAPI
import ServiceAPI

/// Whether what a request carries reaches the server.
enum RequestRules {
  /// In the order in which they are read. Nothing is found where a probe was not sent.
  static func findings(_ seen: ServerObservations) -> [Finding] {
    [credential(seen), query(seen), client(seen), refusal(seen)].compactMap { $0 }
  }

  /// `authorization`. A 401 that is no problem document is the proxy's.
  private static func credential(_ seen: ServerObservations) -> Finding? {
    guard let answer = seen[.dressedReport] else { return nil }
    guard let report = answer.report else {
      if answer.status == 401, answer.problem == nil {
        return Finding(
          "authorization", .failure, "the proxy judges Authorization itself (401)", cause: .logInWanted)
      }
      return Finding("authorization", .undetermined, answer.outcome)
    }
    guard report.fields.contains("authorization") else {
      return Finding(
        "authorization", .failure, "Authorization does not reach the server: no device can renew a ticket",
        cause: .authorizationDropped)
    }
    return Finding("authorization", .ok, "Authorization reaches the server")
  }

  /// `query`: the parameter that carries a ticket arrives.
  private static func query(_ seen: ServerObservations) -> Finding? {
    guard let report = seen.dressedReport else { return nil }
    guard report.parameters.contains("ticket") else {
      return Finding("query", .failure, "?ticket= does not reach the server", cause: .queryDropped)
    }
    return Finding("query", .ok, "?ticket= reaches the server")
  }

  /// `client`: a warning at most, since downloads work all the same.
  private static func client(_ seen: ServerObservations) -> Finding? {
    guard let report = seen.report else { return nil }
    let isNamed = !Set(report.fields).isDisjoint(with: ["forwarded", "x-forwarded-for"])
    switch (report.isProxyTrusted, isNamed) {
    case (true, true): return Finding("client", .ok, "the proxy names this client as \(report.client)")
    case (true, false) where seen.proxy != nil:
      return Finding(
        "client", .warning, "the proxy does not name its clients: this one counts as \(report.client)",
        cause: .clientNotNamed)
    case (false, true):
      return Finding(
        "client", .warning,
        "the server does not trust the proxy that names its clients: this one counts as "
          + report.client, cause: .proxyNotTrusted)
    default: return Finding("client", .ok, "the server sees this client as \(report.client)")
    }
  }

  /// `refusals`: a problem document with 404 arrives. The server being busy decides nothing.
  private static func refusal(_ seen: ServerObservations) -> Finding? {
    guard let answer = seen[.refusal] else { return nil }
    if answer.problem != nil, answer.status == 404 {
      return Finding("refusals", .ok, "the server's problem documents arrive")
    }
    guard answer.status != nil, answer.problem == nil || !answer.isPassingRefusal else {
      return Finding("refusals", .undetermined, answer.outcome)
    }
    return Finding(
      "refusals", .failure,
      "a page of the proxy comes instead of the server's problem document (\(answer.outcome))",
      cause: .errorsReplaced)
  }
}
