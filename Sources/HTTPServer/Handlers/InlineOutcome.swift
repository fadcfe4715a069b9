/// What an ``InlineHandler`` made of a request.
public enum InlineOutcome: Sendable {
  /// One of the `finish` methods of ``InlineResponse`` was called.
  case answered
  /// Not for this handler: the ``AsyncHandler`` gets the request. What was put into the response is forgotten.
  case passOn
}
