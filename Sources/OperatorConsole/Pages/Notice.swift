/// The words of what was done, by a word in its address.
enum Notice: String, CaseIterable, Sendable {
  case revoked, reinstated, retried, dropped, submitted, approved, rejected, released, withdrawn, scrubbing,
    collected, uploaded, edited
  case releaseCancelled = "release-cancelled"
  case keyEnded = "key-ended"
  case asked, declined, imported
  case carriedOut = "carried-out"

  var phrase: Phrase {
    switch self {
    case .revoked: .noticeRevoked
    case .reinstated: .noticeReinstated
    case .retried: .noticeRetried
    case .dropped: .noticeDropped
    case .submitted: .noticeSubmitted
    case .approved: .noticeApproved
    case .rejected: .noticeRejected
    case .released: .noticeReleased
    case .withdrawn: .noticeWithdrawn
    case .scrubbing: .noticeScrubbing
    case .collected: .noticeCollected
    case .uploaded: .noticeUploaded
    case .edited: .noticeEdited
    case .releaseCancelled: .noticeReleaseCancelled
    case .keyEnded: .noticeKeyEnded
    case .imported: .noticeImported
    case .asked: .noticeAsked
    case .declined: .noticeDeclined
    case .carriedOut: .noticeCarriedOut
    }
  }
}
