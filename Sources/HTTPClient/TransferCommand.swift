import Measures

/// What other threads ask of the loop.
enum TransferCommand: Sendable {
  case start(TransferOrder)
  case pause(TransferTicket)
  case resume(TransferTicket)
  case cancel(TransferTicket)
  case limit(TransferTicket, ByteCount?)
}
