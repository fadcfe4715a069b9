import HTTPClient
import PaymentStores
import Receipts

extension StoreComponents {
  /// Makes a client for each store, of its kind.
  static func clients(
    for accesses: [DeliveryConfiguration.StoreAccess], on infrastructure: DeliveryComponents.Infrastructure
  ) -> [any PaymentStoreClient] {
    let reader = ReceiptReader(threads: infrastructure.pools.receipts)
    return accesses.map { store -> any PaymentStoreClient in
      if let google = store.google {
        return GoogleStoreClient(
          interface: GoogleInterfaceClient(
            access: google, client: infrastructure.client, clock: infrastructure.clock),
          memory: StoredGooglePurchases(
            database: infrastructure.database, laterDates: infrastructure.laterDates),
          clock: infrastructure.clock)
      }
      let receipts = VerifyReceiptStoreClient(
        name: store.name, access: store.access, policy: store.policy, rules: store.receipts,
        client: infrastructure.client, clock: infrastructure.clock, timer: infrastructure.timer,
        reader: reader)
      guard let signed = store.signed else { return receipts }
      let gate = SignedDataGate(
        store: store.name, access: signed.gate, client: infrastructure.client, clock: infrastructure.clock,
        timer: infrastructure.timer)
      let interface = signed.interface.map { access in
        StoreInterfaceClient(
          gate: gate, access: access, client: infrastructure.client, clock: infrastructure.clock,
          timer: infrastructure.timer)
      }
      return SignedStoreClient(
        receipts: receipts, gate: gate, interface: interface,
        // A store with a credential has a call of its own for that.
        finishesThere: store.access.credential == nil)
    }
  }
}
