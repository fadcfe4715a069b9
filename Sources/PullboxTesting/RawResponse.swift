/// A response as it came over a ``RawConnection``.
public struct RawResponse: Sendable {
  public struct Head: Sendable {
    public let status: Int
    /// The whole head, for exact comparisons.
    public let text: String
    private let fields: [(name: String, value: String)]

    init(_ text: String) throws {
      self.text = text
      let lines = text.split(separator: "\r\n")
      let parts = lines.first?.split(separator: " ", maxSplits: 2) ?? []
      guard parts.count >= 2, parts[0] == "HTTP/1.1", let status = Int(parts[1]) else {
        throw RawConnection.Failure(description: "not a status line: \(text)")
      }
      self.status = status
      fields = try lines.dropFirst().map { line in
        guard let colon = line.firstIndex(of: ":") else {
          throw RawConnection.Failure(description: "not a field: \(line)")
        }
        let value = line[line.index(after: colon)...].drop { $0 == " " }
        return (line[..<colon].lowercased(), String(value))
      }
    }

    /// The value of the only field of that name; nil without one, and for several.
    public subscript(name: String) -> String? {
      let found = fields.filter { $0.name == name.lowercased() }
      return found.count == 1 ? found[0].value : nil
    }
  }

  public let head: Head
  public var body: [UInt8]

  public var status: Int { head.status }
  public var text: String { String(decoding: body, as: UTF8.self) }
  public subscript(name: String) -> String? { head[name] }
}
