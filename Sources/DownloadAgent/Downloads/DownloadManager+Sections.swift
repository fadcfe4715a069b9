import AgentRecords
import Commerce
import ContentLibrary
import CoreTypes
import PullboxAPI
import ServiceAPI
import ServiceRuntime

// Sections: each is a download of its own, paid by the transaction that paid for the content.
extension DownloadManager {
  /// Begins a download for each section that is fetched by itself, behind one that was reported. A failure is logged: the next
  /// report of the product begins them.
  func fetch(_ sections: [SectionTag], behind record: DownloadRecord) {
    for section in sections {
      do {
        _ = try addMissing(
          record.product, section: section, for: record.transaction, urgency: .background)
      } catch {
        log.warning(
          "a section's download cannot be begun",
          ["product": "\(record.product)", "section": "\(section)", "error": LogValue(error)])
      }
    }
  }

  /// A section whose download a reader cancels is not fetched by itself again. A failure is logged.
  func noteUnwanted(_ record: DownloadRecord) {
    guard let section = record.section else { return }
    do {
      try database.noteChoice(false, of: section, in: record.product)
    } catch {
      log.warning(
        "it cannot be noted that a section is not wanted",
        ["product": "\(record.product)", "section": "\(section)", "error": LogValue(error)])
    }
  }

  /// The downloads of the product's sections that are under way, by tag.
  func sectionDownloads(of product: ProductIdentifier) -> [SectionTag: DownloadIdentifier] {
    var downloads: [SectionTag: DownloadIdentifier] = [:]
    for (identifier, entry) in runner.entries {
      guard entry.record.product == product, let section = entry.record.section,
        !entry.record.machine.state.isFinal
      else { continue }
      downloads[section] = identifier
    }
    return downloads
  }

  /// The section was dropped: no job brings it any more. Returns its downloads that are not over, which ``contentRemoved(of:)`` is to be told of
  /// once its files are gone. What a step brings all the same goes when it is placed.
  func drop(_ section: SectionTag, of product: ProductIdentifier) -> [DownloadIdentifier] {
    for (identifier, entry) in jobs.entries
    where entry.record.terms.product == product && entry.record.sections.contains(section) {
      change(identifier) { $0.sections.remove(section) }
    }
    return sectionsUnderWay(of: product).filter { runner[$0]?.record.section == section }
  }

  /// The downloads of sections of the product that are not over. Without the content they would bring it as a whole.
  func sectionsUnderWay(of product: ProductIdentifier) -> [DownloadIdentifier] {
    runner.entries.values.map(\.record).filter { record in
      record.product == product && record.section != nil && record.machine.state != .finished
        && record.machine.state != .cancelled
    }.map(\.identifier)
  }

  /// The sections that a job for the download brings beside what is required: its own, and those that are here of any version. Throws where it
  /// cannot be told which these are.
  func sections(for record: DownloadRecord) throws -> Set<SectionTag> {
    record.sections.union(try steps.library.placedSections(of: record.product))
  }

  /// More for a job to bring, as long as no step works with what it had.
  func addSections(_ sections: Set<SectionTag>, to job: ContentJobIdentifier) {
    guard let record = jobs[job]?.record, !sections.isSubset(of: record.sections) else { return }
    change(job) { $0.sections.formUnion(sections) }
  }

  /// Other sections than before. A failure is logged: what is not wanted goes when it is placed, and what is missing is fetched afterwards.
  private func change(_ job: ContentJobIdentifier, _ body: (inout ContentJobRecord) -> Void) {
    do {
      try jobs.update(job) { record in
        body(&record)
        record.bytesNeeded = nil
      }
    } catch {
      log.warning("a job's sections cannot be saved", ["job": "\(job)", "error": LogValue(error)])
    }
  }
}
