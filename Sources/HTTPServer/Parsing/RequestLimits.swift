/// The bounds a ``RequestParser`` keeps.
struct RequestLimits: Sendable {
  var requestLineLength: Int
  var headLength: Int
  var fields: Int

  /// Positions in a head are 16 bits wide.
  init(requestLineLength: Int, headLength: Int, fields: Int) {
    self.headLength = min(headLength, Int(UInt16.max))
    self.requestLineLength = min(requestLineLength, self.headLength)
    self.fields = min(fields, RequestHead.fieldCapacity)
  }

  init(_ configuration: HTTPServerConfiguration) {
    self.init(
      requestLineLength: configuration.maximumRequestLineLength, headLength: configuration.maximumHeadLength,
      fields: configuration.maximumFields)
  }
}
