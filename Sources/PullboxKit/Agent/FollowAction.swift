/// What a follower wants after an update.
public enum FollowAction: Sendable {
  case goOn
  case stop
}
