import AgentRecords
import Commerce
import ContentLibrary
import ContentPackage
import CoreTypes
import PullboxAPI
import PullboxAPIClient
import ServiceAPI
import SystemCalls

/// Runs one step of a download: does the I/O, and leaves the states to the machine. Each step ends in one
/// event and the changes to the record that belong to it.
struct DownloadSteps: Sendable {
  /// The result of a step that was not cancelled.
  struct Outcome: Sendable {
    /// The event by which the download's machine goes on.
    var event: DownloadMachine.Event
    /// The change to the record that is persisted together with the event.
    var change: @Sendable (inout DownloadRecord) -> Void = { _ in }
    /// The grant's state when the server accepted the completion.
    var grantState: GrantState?
    /// The library items that changed because of the versions that the server offers now.
    var changed: [LibraryItem] = []
    /// The sections that are fetched by themselves now that the content is here.
    var sections: [SectionTag] = []
  }

  /// The client of the delivery server, for grants and reports.
  let server: DeliveryClient
  /// The client of the store, for receipts.
  let store: StoreQueueClient
  /// The library that is looked at before and after a transfer.
  let library: Library
  /// The wall clock of records and of statuses.
  let clock: any WallClock
  /// The sections of content that are fetched by themselves.
  var preferences = SectionPreferences()

  /// Never throws: an error becomes the event that the step failed. Nil when the task was cancelled.
  func run(_ phase: DownloadMachine.Phase, of record: DownloadRecord) async -> Outcome? {
    do {
      switch phase {
      case .grant: return try await grant(record)
      case .content: return try await content(record)
      case .report: return try await report(record)
      }
    } catch {
      if Task.isCancelled { return nil }
      return Outcome(event: .stepFailed(StepFailure(error)))
    }
  }

  /// Shows the receipt and takes the terms. Other content than before begins its counts anew. Throws
  /// ``StepFailure``, permanent for an answer about another product.
  private func grant(_ record: DownloadRecord) async throws -> Outcome {
    let asked = clock.now()
    let response = try await store.withReceipt { [server] proof async throws(APICallError) in
      try await server.grant(record.product, for: record.transaction, proof: proof)
    }
    let terms = response.download
    guard terms.product == record.product else { throw StepFailure.permanent(.protocolViolation) }
    // A version that the server has gone back from is granted no more.
    var changed = try await library.noteOffered([terms.product: terms.version])
    // Bought again after a refund: what lies here still is what is granted.
    changed += try await library.noteGranted(terms.product, asked: asked)
    return Outcome(
      event: .granted,
      change: { record in
        // This is other content than before: what was verified of that does not count.
        if record.terms?.digest != terms.digest {
          record.bytesVerified = .zero
          record.bytesReused = nil
          record.bytesNeeded = nil
        }
        record.grant = response.grant
        record.terms = terms
      }, changed: changed)
  }

  /// Looks whether the library has the content, and whether it is right. Files that have not changed since
  /// they were last right are not read again.
  private func content(_ record: DownloadRecord) async throws -> Outcome {
    guard let terms = record.terms else { throw StepFailure(.grantNeeded, .requestGrant) }
    guard let held = try await library.held(terms, sections: record.sections) else {
      return Outcome(event: .contentMissing)
    }
    return Outcome(
      event: .contentHeld,
      change: { record in
        let needed = record.bytesNeeded ?? terms.length
        record.bytesVerified = needed
        // No job had to bring it.
        record.bytesReused = record.bytesReused ?? needed
        record.placedAt = held.placedAt
        record.contentPath = held.path
      })
  }

  /// Content that is gone by now is fetched again and not reported.
  private func report(_ record: DownloadRecord) async throws -> Outcome {
    guard let terms = record.terms, let grant = record.grant, let placedAt = record.placedAt else {
      return Outcome(event: .contentLost)
    }
    // Nothing is reported that is not right at this moment.
    guard try await library.held(terms, sections: record.sections) != nil else {
      return Outcome(event: .contentLost)
    }
    let response = try await server.complete(grant, terms: terms, placedAt: placedAt)
    let sections = try await library.sectionsToFetch(of: terms.product, terms.version, by: preferences)
    return Outcome(event: .reportAccepted, grantState: response.state, sections: sections)
  }
}
