/// What a loop learns of an ``Exchange``.
struct ExchangeNews {
  let wantsBody: Bool
  /// Once, when the handler has answered.
  let response: HTTPResponse?
  let hasStreamed: Bool
  let streamEnd: ExchangeState.StreamEnd?
}
