import Commerce
import CoreTypes
import MachineConditionSources
import PullboxAPI

/// The line that a desktop shows of an agent that runs in the background: what comes, and how far it is. Pure.
struct BackgroundLine {
  private struct Transfer {
    var title: String
    var verified: Int64
    var total: Int64
  }

  /// Downloads that are kept at most.
  private static let bound = 1024

  private var transfers: [DownloadIdentifier: Transfer] = [:]

  /// Takes in how a download stands.
  mutating func note(_ download: DownloadStatus) {
    guard download.state == .active, let total = download.bytesTotal?.rawValue, total > 0 else {
      transfers[download.id] = nil
      return
    }
    guard transfers[download.id] != nil || transfers.count < Self.bound else { return }
    transfers[download.id] = Transfer(
      title: download.title ?? download.product.description,
      verified: min(total, max(0, download.bytesVerified.rawValue)), total: total)
  }

  /// A sentence of ``BackgroundSource/longestLine`` characters at most. The title is the publisher's text.
  var text: String {
    let total = transfers.values.reduce(0.0) { $0 + Double($1.total) }
    guard total > 0 else { return "No download is under way" }
    let percent = Int(clamping: 100 * transfers.values.reduce(0.0) { $0 + Double($1.verified) } / total)
    let end = ": \(percent) %"
    guard transfers.count == 1, let one = transfers.values.first else {
      return "\(transfers.count) downloads" + end
    }
    let room = BackgroundSource.longestLine - end.unicodeScalars.count
    let visible: [Unicode.Scalar] = one.title.removingInvisibleFormatting.unicodeScalars.filter {
      $0.properties.generalCategory != .control
    }
    guard visible.count > room else { return Self.string(visible[...]) + end }
    return Self.string(visible.prefix(room - 1)) + "…" + end
  }

  private static func string(_ scalars: ArraySlice<Unicode.Scalar>) -> String {
    var view = String.UnicodeScalarView()
    view.append(contentsOf: scalars)
    return String(view)
  }

  /// The line whenever it becomes another one; of those that are not read in time the latest. While none reads, no event is followed.
  static func lines(from hub: EventHub) -> AsyncStream<String> {
    AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      let following = Task {
        var line = BackgroundLine()
        var last: String?
        func tell() {
          guard line.text != last else { return }
          last = line.text
          continuation.yield(line.text)
        }
        tell()
        // An observer that fell too far behind is replaced by one that is told all that is under way; a hub that is closed has none.
        while !Task.isCancelled, let observer = hub.subscribe() {
          line = BackgroundLine()
          while let item = await observer.next() {
            guard case .event(.download(let download)) = item else { continue }
            line.note(download)
            tell()
          }
          hub.unsubscribe(observer)
        }
        continuation.finish()
      }
      continuation.onTermination = { _ in following.cancel() }
    }
  }
}
