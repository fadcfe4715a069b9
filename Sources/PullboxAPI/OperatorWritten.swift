/// A body that an operator writes, often by hand. ``APIJSON`` refuses members in it that its type does not have, at every
/// depth, and names the first: ignored, `{"percentag":10}` would release to all devices.
///
/// Everything else ignores unknown members, so that programs of different versions understand one another.
public protocol OperatorWritten: Decodable {}
