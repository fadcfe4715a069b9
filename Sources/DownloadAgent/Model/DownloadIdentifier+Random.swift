import Crypto
import PullboxAPI

extension DownloadIdentifier {
  /// 64 random bits. Also the name of the download's staging folder.
  static func random() -> DownloadIdentifier {
    guard let identifier = DownloadIdentifier(Hexadecimal.encode(RandomBytes.make(8))) else {
      preconditionFailure("16 hexadecimal digits name a download")
    }
    return identifier
  }
}
