import SystemCalls

/// Threads for calls that block, apart from one another by what they do: however many packages are being checked,
/// receipts are read and packages opened. The database has threads of its own, and so has each upload.
struct DeliveryPools: Sendable {
  /// Reading receipts.
  let receipts = BlockingPool(computing: "pullbox-receipt")
  /// Opening packages, and what else is done with the files of the blob store.
  let blobs = BlockingPool(name: "pullbox-blob", threads: 8)
  /// Checking packages before they become versions: each reads up to 2 GiB, and no client waits for it.
  let checks = BlockingPool(name: "pullbox-check", threads: 2)
}
