import CoreTypes

/// What other threads ask of the loop.
enum TransferCommand: Sendable {
  case start(PendingTransfer)
  case pause(TransferToken)
  case resume(TransferToken)
  case cancel(TransferToken)
  case limit(TransferToken, ByteCount?)
}
