/// An interface as an object describes it (D-Bus specification, "Introspection data format").
public struct BusInterfaceDescription: Hashable, Sendable {
  /// An argument or a result.
  public struct Argument: Hashable, Sendable {
    /// For people; calls have no names.
    public var name: String
    /// The type.
    public var type: BusType

    /// An argument from its parts.
    public init(_ name: String, _ type: BusType) {
      self.name = name
      self.type = type
    }
  }

  /// A method.
  public struct Method: Hashable, Sendable {
    /// The name.
    public var name: String
    /// The arguments in their order.
    public var arguments: [Argument]
    /// The results in their order.
    public var results: [Argument]

    /// A method from its parts.
    public init(_ name: String, _ arguments: [Argument] = [], returning results: [Argument] = []) {
      self.name = name
      self.arguments = arguments
      self.results = results
    }
  }

  /// A signal.
  public struct Signal: Hashable, Sendable {
    /// The name.
    public var name: String
    /// The arguments in their order.
    public var arguments: [Argument]

    /// A signal from its parts.
    public init(_ name: String, _ arguments: [Argument]) {
      self.name = name
      self.arguments = arguments
    }
  }

  /// The name of the interface.
  public var name: BusInterface
  /// The methods.
  public var methods: [Method]
  /// The signals.
  public var signals: [Signal]
  /// The properties, which are only read, by name and type.
  public var properties: [Argument]

  /// An interface from its parts.
  public init(
    _ name: BusInterface, methods: [Method] = [], signals: [Signal] = [], properties: [Argument] = []
  ) {
    self.name = name
    self.methods = methods
    self.signals = signals
    self.properties = properties
  }

  /// The element `interface`, indented by two spaces, with a line feed at its end. Names and types need no escapes.
  public var xml: String {
    var text = "  <interface name=\"\(name)\">\n"
    for method in methods {
      text += Self.element(
        "method", method.name,
        method.arguments.map { Self.argument($0, "in") } + method.results.map { Self.argument($0, "out") })
    }
    for signal in signals {
      text += Self.element("signal", signal.name, signal.arguments.map { Self.argument($0, nil) })
    }
    for property in properties {
      text +=
        "    <property name=\"\(property.name)\" type=\"\(property.type)\" access=\"read\"/>\n"
    }
    return text + "  </interface>\n"
  }

  private static func element(_ kind: String, _ name: String, _ arguments: [String]) -> String {
    guard !arguments.isEmpty else { return "    <\(kind) name=\"\(name)\"/>\n" }
    return "    <\(kind) name=\"\(name)\">\n" + arguments.joined() + "    </\(kind)>\n"
  }

  private static func argument(_ argument: Argument, _ direction: String?) -> String {
    let direction = direction.map { " direction=\"\($0)\"" } ?? ""
    return "      <arg name=\"\(argument.name)\" type=\"\(argument.type)\"\(direction)/>\n"
  }

  /// The document that `Introspect` answers for an object with these interfaces, and these names below it.
  public static func document(_ interfaces: [BusInterfaceDescription], children: [String] = []) -> String {
    "<!DOCTYPE node PUBLIC \"-//freedesktop//DTD D-BUS Object Introspection 1.0//EN\"\n"
      + " \"http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd\">\n<node>\n"
      + interfaces.map(\.xml).joined() + children.map { "  <node name=\"\($0)\"/>\n" }.joined()
      + "</node>\n"
  }

  /// `org.freedesktop.DBus.Introspectable`.
  public static let introspectable = BusInterfaceDescription(
    .introspectable, methods: [Method("Introspect", returning: [Argument("xml", "s")])])
  /// `org.freedesktop.DBus.Properties`.
  public static let properties = BusInterfaceDescription(
    .properties,
    methods: [
      Method(
        "Get", [Argument("interface", "s"), Argument("property", "s")], returning: [Argument("value", "v")]),
      Method("GetAll", [Argument("interface", "s")], returning: [Argument("properties", "a{sv}")]),
      Method("Set", [Argument("interface", "s"), Argument("property", "s"), Argument("value", "v")]),
    ],
    signals: [
      Signal(
        "PropertiesChanged",
        [
          Argument("interface", "s"), Argument("changed", "a{sv}"), Argument("invalidated", "as"),
        ])
    ])
  /// `org.freedesktop.DBus.ObjectManager`.
  public static let objectManager = BusInterfaceDescription(
    .objectManager,
    methods: [Method("GetManagedObjects", returning: [Argument("objects", "a{oa{sa{sv}}}")])],
    signals: [
      Signal("InterfacesAdded", [Argument("object", "o"), Argument("interfaces", "a{sa{sv}}")]),
      Signal("InterfacesRemoved", [Argument("object", "o"), Argument("interfaces", "as")]),
    ])
}
