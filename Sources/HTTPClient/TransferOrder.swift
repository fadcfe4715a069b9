import Measures

/// What the loop is asked to run, and where the result goes. `completion` is called exactly once.
struct TransferOrder: Sendable {
  let request: ClientRequest
  let receiver: any TransferReceiver
  let handle: TransferHandle
  let completion: @Sendable (Result<TransferSummary, HTTPClientError>) -> Void
}

/// What other threads ask of the loop.
enum TransferCommand: Sendable {
  case start(TransferOrder)
  case pause(TransferTicket)
  case resume(TransferTicket)
  case cancel(TransferTicket)
  case limit(TransferTicket, ByteCount?)
}
