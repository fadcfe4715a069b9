/// What a follower wants after an update.
public enum FollowDecision: Sendable {
  case goOn
  case stop
}
