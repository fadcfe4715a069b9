import AgentRecords
import Commerce
import ContentLibrary
import CoreTypes
import PullboxAPI
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

  /// Gives up the section's downloads: it was dropped. Returns those whose files are placed and were not reported, which
  /// ``contentRemoved(of:)`` is to be told of. Throws `state-conflict` for one whose content is being placed, and what the database throws.
  func cancel(
    _ section: SectionTag, of product: ProductIdentifier
  ) throws -> [DownloadIdentifier] {
    let known = runner.entries.values.map(\.record).filter { record in
      record.product == product && record.section == section && record.machine.state != .finished
        && record.machine.state != .cancelled
    }
    for record in known where record.machine.phase != .report {
      _ = try request(.cancelRequested, of: record.identifier)
    }
    return known.filter { $0.machine.phase == .report }.map(\.identifier)
  }

  /// The sections that a job for the download brings beside what is required: its own, and those that are here of any version.
  func sections(for record: DownloadRecord) -> Set<SectionTag> {
    do {
      return record.sections.union(try steps.library.placedSections(of: record.product))
    } catch {
      log.warning(
        "it cannot be told which sections are here",
        ["product": "\(record.product)", "error": LogValue(error)])
      return record.sections
    }
  }

  /// More for a job to bring, as long as no step works with what it had.
  func addSections(_ sections: Set<SectionTag>, to job: ContentJobIdentifier) {
    guard let record = jobs[job]?.record, !sections.isSubset(of: record.sections) else { return }
    do {
      try jobs.update(job) { record in
        record.sections.formUnion(sections)
        record.bytesNeeded = nil
      }
    } catch {
      log.warning("a job's sections cannot be saved", ["job": "\(job)", "error": LogValue(error)])
    }
  }
}
