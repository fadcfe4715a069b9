import CoreTypes
package import Crypto
import HTTPClient
import Synchronization

/// The received part of a manifest whose connection was lost, so that the next request continues after it. It is in
/// memory only, and of one manifest: it is kept until that manifest is asked for again or another one is kept. It is at
/// most as long as a manifest may be.
package final class PartialManifest: Sendable {
  private let kept = Mutex<(digest: SHA256Digest, bytes: [UInt8])?>(nil)

  package init() {}

  /// Keeps `bytes` of the manifest with this digest, in place of what was kept before.
  package func keep(_ bytes: [UInt8], of digest: SHA256Digest) {
    guard !bytes.isEmpty else { return }
    kept.locked { $0 = (digest, bytes) }
  }

  /// Hands out what is kept of the manifest, and forgets it; empty where nothing is.
  package func remove(of digest: SHA256Digest) -> [UInt8] {
    kept.locked { kept in
      guard let entry = kept, entry.digest == digest else { return [] }
      kept = nil
      return entry.bytes
    }
  }
}

/// Takes a manifest behind the bytes that are there already. An answer that begins anew, or elsewhere, is taken from its own
/// beginning, or refused.
package final class ManifestReceiver: TransferReceiver {
  private let body: Mutex<[UInt8]>
  private let limit: Int

  /// `known` came over earlier connections; all of it is `limit` bytes long at most.
  package init(known: [UInt8], limit: Int) {
    body = Mutex(known)
    self.limit = limit
  }

  /// The bytes received so far.
  package var bytes: [UInt8] { body.locked { $0 } }

  /// A 206 has to begin behind the bytes that are there; any other success begins anew.
  func receive(head: ResponseHead) -> HeadDecision {
    body.locked { body in
      switch head.status {
      case 206:
        return head.contentRange?.range?.lowerBound == Int64(body.count) ? .accept : .refuse
      case 200..<300:
        body = []
        return .accept
      default: return .refuse
      }
    }
  }

  /// Stops at a body that is longer than the limit, and keeps nothing of it.
  func receive(_ bytes: Span<UInt8>) -> BodyDecision {
    body.locked { body in
      guard body.count + bytes.count <= limit else {
        // What goes on for ever is no manifest.
        body = []
        return .stop
      }
      for index in bytes.indices { body.append(bytes[index]) }
      return .consumed
    }
  }
}
