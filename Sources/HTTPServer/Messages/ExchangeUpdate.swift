/// What a loop learns of an ``Exchange``.
struct ExchangeUpdate {
  let wantsBody: Bool
  /// Whole interim responses, to be sent before anything else.
  let interim: [UInt8]
  /// Once, when the handler has answered.
  let response: HTTPResponse?
  let hasStreamed: Bool
  let streamEnd: ExchangeState.StreamEnd?
}
