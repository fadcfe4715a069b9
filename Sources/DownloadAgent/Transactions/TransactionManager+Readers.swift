import AgentRecords
import ContentLibrary
import PullboxAPI
import PullboxAPIClient
import ServiceAPI

/// The keys of applications for reading: the server makes them for the purchases in the store's receipt.
extension TransactionManager {
  /// Lets an application in. Throws what the server refuses it with.
  func addReader(_ title: String, territory: String?, locale: String?) async throws(Problem) -> NewReaderKey {
    try await asking { [server] proof async throws(APICallError) in
      try await server.addReader(title, territory: territory, locale: locale, proof: proof)
    }
  }

  /// Returns the keys of the account's customer.
  func readers() async throws(Problem) -> ReaderKeyList {
    try await asking { [server] proof async throws(APICallError) in try await server.readers(proof: proof) }
  }

  /// Ends a key.
  func removeReader(_ name: ReaderName) async throws(Problem) {
    try await asking { [server] proof async throws(APICallError) in
      try await server.removeReader(name, proof: proof)
    }
  }

  /// Calls `body` with the account's receipt. Throws the service's problem, or `unavailable` where none could be asked.
  private func asking<Value: Sendable>(
    _ body: @Sendable (Proof) async throws(APICallError) -> Value
  ) async throws(Problem) -> Value {
    hasShownReceipt = true
    do {
      return try await store.withReceipt(body)
    } catch {
      throw error.answer
    }
  }
}
