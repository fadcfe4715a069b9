import PullboxAPIClient
import Commerce
import PullboxAPI
import ServiceRuntime

/// Which download an operand means.
enum DownloadSelector {
  static let explanation =
    "DOWNLOAD is its identifier, as 'pullbox downloads' shows it, the beginning of it, or the product's."

  /// The whole identifier; else the one live download of that product, or its only one; else the one whose identifier
  /// begins so.
  static func find(_ text: String, among downloads: [DownloadStatus]) throws(APICallError) -> DownloadStatus {
    if let exact = downloads.first(where: { $0.id.text == text }) { return exact }
    let ofProduct = downloads.filter { $0.product.text == text }
    let live = ofProduct.filter { !$0.state.isFinal }
    if let one = live.count == 1 ? live.first : ofProduct.count == 1 ? ofProduct.first : nil { return one }
    let matching =
      ofProduct.isEmpty && text.utf8.count >= 4 ? downloads.filter { $0.id.text.hasPrefix(text) } : ofProduct
    switch matching.count {
    case 1: return matching[0]
    case 0: throw .problem(Problem(.downloadUnknown, "'\(text)'; 'pullbox downloads' lists them"))
    default:
      let names = matching.map(\.id.text).joined(separator: ", ")
      throw .problem(Problem(.downloadUnknown, "'\(text)' may be any of \(names)"))
    }
  }

  static func print(_ download: DownloadStatus, _ console: Console) throws {
    if console.printsJSON {
      try console.print(json: download)
    } else {
      console.print("\(download.id)  \(download.line.plain)")
    }
  }
}
