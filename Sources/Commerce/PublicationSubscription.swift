/// What was ever paid for a publication, as uninterrupted runs by their start.
struct PublicationSubscription {
  let live: [ContinuousSubscription]
  /// Made of refunded and withdrawn periods only: they entitle to nothing, but explain a refusal.
  let revoked: [ContinuousSubscription]
}
