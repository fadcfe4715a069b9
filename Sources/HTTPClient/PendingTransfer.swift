/// What the loop is asked to run, and where the result goes. `completion` is called exactly once.
struct PendingTransfer: Sendable {
  let request: ClientRequest
  let receiver: any TransferReceiver
  let handle: TransferHandle
  let completion: @Sendable (Result<TransferSummary, HTTPClientError>) -> Void
}
