/// What was read of a head that is not complete. Most heads arrive whole, so that connections need no parser of their own.
final class SuspendedParser {
  var parser: RequestParser?

  init(_ parser: consuming RequestParser) {
    self.parser = consume parser
  }
}
