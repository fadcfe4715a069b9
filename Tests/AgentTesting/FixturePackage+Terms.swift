import ContentPackage
import CoreTypes
package import PackageTesting
import PullboxAPI
package import ServiceAPI

extension FixturePackage {
  /// The terms of its download, without addresses and a ticket.
  package var terms: DownloadTerms {
    DownloadTerms(
      product: manifest.product, version: manifest.version, length: manifest.length, digest: manifest.digest,
      manifestDigest: manifest.manifestDigest, contentURL: "", manifestURL: "", ticket: "",
      ticketExpires: Timestamp(millisecondsSinceEpoch: 0))
  }
}
