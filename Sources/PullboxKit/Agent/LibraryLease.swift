public import Commerce
import CoreTypes
import HTTPClient
public import PullboxAPI
import PullboxAPIClient
import Synchronization

/// A version of a product that a program has open: the agent keeps it as long, whatever comes after it. The lease ends with ``end()``, with
/// the last reference to it, and with the agent.
///
///     let lease = try await agent.lease(product)
///     read(lease.item.path)
///     lease.end()
public final class LibraryLease: Sendable {
  /// The version that is kept.
  public let item: LibraryItem
  private let connection: LeaseConnection

  init(_ item: LibraryItem, on connection: LeaseConnection) {
    self.item = item
    self.connection = connection
  }

  /// Ends the lease; ending it again changes nothing.
  public func end() { connection.end() }

  /// Returns once the lease has ended, for example since the agent did: the version may go from then on.
  public func ended() async { await connection.ended() }
}

extension AgentClient {
  /// Keeps a version of the product, the one that is read now unless it is named. Throws `library-item-unknown`, `version-unknown`,
  /// `library-offline`, and `too-many-requests` for a lease too many, as an `APICallError`.
  public func lease(
    _ product: ProductIdentifier, version: ContentVersion? = nil
  ) async throws -> LibraryLease {
    var request = api.request(
      "POST", api.url("/v1/library/\(product)/leases"),
      headers: [("Accept", LibraryItem.leaseMediaType), ("Content-Type", "application/json")])
    request.body = .bytes(try APIJSON.encode(LibraryVersionRequest(version: version)))
    // It rests for as long as the version is open.
    request.lowSpeed = nil
    let connection = LeaseConnection(request, client: client)
    return LibraryLease(try await connection.item(), on: connection)
  }

  /// Goes back to an earlier version, the one before unless it is named, or on to a later one: from now on it is the one that is read, until
  /// a newer one comes. Returns the product's items. Throws `library-item-unknown`, `version-unknown`, and `state-conflict` where there is
  /// none to go back to.
  @discardableResult
  public func goBack(
    _ product: ProductIdentifier, to version: ContentVersion? = nil
  ) async throws(APICallError) -> [LibraryItem] {
    try await api.call(
      "POST", "/v1/library/\(product)/rollback", body: LibraryVersionRequest(version: version),
      as: LibraryResponse.self
    ).value.items
  }
}

/// The connection of a lease.
final class LeaseConnection: Sendable {
  private let receiver: LeaseReceiver
  private let transfer: Task<Void, Never>

  init(_ request: ClientRequest, client: HTTPClient) {
    let receiver = LeaseReceiver()
    self.receiver = receiver
    // The stream outlives the call that opens it; this object's end cancels it.
    transfer = Task {
      do throws(HTTPClientError) {
        _ = try await client.stream(request, to: receiver)
        receiver.finish(.unexpectedResponse(status: 200, detail: "the agent has ended the lease"))
      } catch {
        if error.code == .refused, let head = error.head {
          receiver.finish(APIClient.refusal(head: head, body: error.body))
        } else {
          receiver.finish(.unreachable(error))
        }
      }
    }
  }

  deinit {
    transfer.cancel()
  }

  /// The item of the first line.
  func item() async throws -> LibraryItem {
    try await withTaskCancellationHandler {
      try await receiver.item()
    } onCancel: {
      transfer.cancel()
    }
  }

  func end() { transfer.cancel() }

  func ended() async { await transfer.value }
}

/// Reads the first line of a lease's stream, and passes over all others.
final class LeaseReceiver: TransferReceiver {
  private struct State {
    var line: [UInt8] = []
    var result: Result<LibraryItem, APICallError>?
    var waiting: CheckedContinuation<Void, Never>?
  }

  /// Bytes of the line.
  private static let maximumLength = 1 << 20

  private let state = Mutex(State())

  func receive(head: ResponseHead) -> HeadDecision {
    let type = head.headers["Content-Type"]?.lowercased()
    return head.status == 200 && type?.hasPrefix(LibraryItem.leaseMediaType) == true ? .accept : .refuse
  }

  func receive(_ bytes: Span<UInt8>) -> BodyDecision {
    let (decision, waiting) = state.locked { state -> (BodyDecision, CheckedContinuation<Void, Never>?) in
      guard state.result == nil else { return (.consumed, nil) }
      for index in bytes.indices {
        guard bytes[index] == UInt8(ascii: "\n") else {
          state.line.append(bytes[index])
          continue
        }
        do {
          state.result = .success(try APIJSON.decode(answer: LibraryItem.self, from: state.line))
          return (.consumed, state.waiting.take())
        } catch {
          let detail = "a lease: \(APIJSON.explain(error))"
          state.result = .failure(.unexpectedResponse(status: 200, detail: detail))
          return (.stop, state.waiting.take())
        }
      }
      guard state.line.count <= Self.maximumLength else {
        state.result = .failure(.unexpectedResponse(status: 200, detail: "a lease of a line without an end"))
        return (.stop, state.waiting.take())
      }
      return (.consumed, nil)
    }
    waiting?.resume()
    return decision
  }

  /// The transfer is over; what was read before counts.
  func finish(_ error: APICallError) {
    let waiting = state.locked { state in
      if state.result == nil { state.result = .failure(error) }
      return state.waiting.take()
    }
    waiting?.resume()
  }

  func item() async throws(APICallError) -> LibraryItem {
    await withCheckedContinuation { continuation in
      let isDecided = state.locked { state in
        if state.result != nil { return true }
        state.waiting = continuation
        return false
      }
      if isDecided { continuation.resume() }
    }
    guard let result = state.locked({ $0.result }) else {
      throw .unexpectedResponse(status: 200, detail: "a lease without a line")
    }
    return try result.get()
  }
}
