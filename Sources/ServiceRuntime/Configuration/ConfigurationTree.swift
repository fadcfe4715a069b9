import CoreTypes
import Files
import SystemCalls

/// Everything that is said about a daemon's configuration: the defaults of its options, over them the file of `--config`, over
/// that the variables, over those the options. Each value knows where it comes from.
struct ConfigurationTree: Sendable {
  /// The options that have a key, in the order of the command.
  let options: [CommandOption]
  /// The values of all sources, the later over the earlier.
  private(set) var root = ConfigurationValue.emptyTable
  /// The faults so far, in the order in which they were found.
  private(set) var faults: [ConfigurationFault] = []
  /// Secrets that are nowhere.
  private(set) var missingSecrets: [ConfigurationFault] = []
  /// The keys whose values are stand-ins, since theirs cannot be used.
  private(set) var replaced: Set<String> = []
  /// Those among them whose default, or absence, cannot be used either.
  private var exemplified: Set<String> = []
  /// The fault that every user of the machine may read a secret in the file; nil where they may not, or there
  /// is no secret.
  private(set) var exposed: ConfigurationFault?

  /// Blocks while it reads the file.
  init(_ arguments: ParsedArguments) {
    options = arguments.options.filter { $0.key != nil }
    for option in options {
      if let fallback = option.fallback { put(fallback, origin: .fallback, option) }
    }
    if let path = arguments.value(CommandOption.configurationFile.name) { overlay(file: path) }
    for option in options {
      if let given = arguments.given[option.name] {
        put(given, option)
      } else if let variable = arguments.variable(of: option) {
        put(variable.text, origin: .variable(variable.name), option)
      }
    }
    for option in options where option.kind.isSingle {
      switch root.value(at: Self.path(of: option))?.content {
      case .string(""), .text(""): note(fault(option.key ?? option.name, "is empty"))
      default: break
      }
    }
  }

  // MARK: Sources

  /// Puts the file over the defaults. Faults are noted, and the rest of the file counts all the same where it can be
  /// read.
  private mutating func overlay(file path: String) {
    do throws(ConfigurationError) {
      var file = try Self.read(path)
      faults += removeDottedKeys(from: &file) + renameAliases(in: &file)
      root.overlay(file.withoutEmptyTables())
      checkWhoMayRead(path)
    } catch {
      faults += error.faults
    }
  }

  /// Reads a regular file of at most ``ConfigurationLoader/maximumFileLength`` whose outermost value is a table. Opens
  /// without waiting, so that a pipe without a writer is refused. Blocks.
  private static func read(_ path: String) throws(ConfigurationError) -> ConfigurationValue {
    let bytes: [UInt8]
    let kind: FileStatus.Kind
    let limit = ConfigurationLoader.maximumFileLength
    do throws(SystemError) {
      kind = try FileDescriptor.open(path, .readOnly, options: .doNotWait).status().kind
      bytes = kind == .regular ? try FileSystem.read(path, upTo: limit) : []
    } catch {
      throw ConfigurationError(
        subject: path, message: error.isTooLarge ? "is longer than \(limit)" : "\(error)")
    }
    guard kind == .regular else {
      let found = kind == .directory ? "a directory" : "a device or a pipe"
      throw ConfigurationError(subject: path, message: "a regular file is expected here, not \(found)")
    }
    let value = try JSON5Parser.parse(bytes, source: .file(path))
    guard value.members != nil else {
      throw ConfigurationError(
        subject: path, message: "the outermost value is not a table", origin: value.origin)
    }
    return value
  }

  /// A file that holds a secret must not be everybody's.
  private mutating func checkWhoMayRead(_ path: String) {
    let secrets = options.filter { option in
      guard option.isSecret, case .file = root.value(at: Self.path(of: option))?.origin else { return false }
      return true
    }.compactMap(\.key)
    // What is no file, such as a pipe, has no name to look at.
    guard !secrets.isEmpty, let target = try? FileSystem.realPath(path),
      let status = try? FileSystem.status(of: target), status.permissions & 0o007 != 0
    else { return }
    exposed = ConfigurationFault(
      subject: path,
      message:
        "every user of this machine may use this file, which holds \(secrets.joined(separator: " and ")); "
        + "'chmod o= \(path)'")
  }

  /// Moves values under earlier names of keys to those keys.
  private func renameAliases(in file: inout ConfigurationValue) -> [ConfigurationFault] {
    var faults: [ConfigurationFault] = []
    for option in options {
      for alias in option.aliases {
        guard let key = alias.key, let value = file.removeValue(at: Self.path(key)) else { continue }
        if file.value(at: Self.path(of: option)) == nil {
          file.set(value, at: Self.path(of: option))
        } else {
          faults.append(
            ConfigurationFault(
              subject: key, message: "is an earlier name of \(option.key ?? option.name), which is given too",
              origin: value.keyOrigin ?? value.origin))
        }
      }
    }
    return faults
  }

  /// Puts a text of a variable, a default or an option. The text of a list is divided at commas, unless it begins like a
  /// table.
  private mutating func put(_ text: String, origin: ConfigurationOrigin, _ option: CommandOption) {
    switch option.kind {
    case .list where Self.isTable(text): put(list: "[\(text)]", origin: origin, option)
    case .list where text.hasPrefix("[") && Self.isTable(text.dropFirst()):
      put(list: text, origin: origin, option)
    case .list:
      let elements = ParsedArguments.parts(of: text).map { ConfigurationValue(.text($0), origin: origin) }
      root.set(ConfigurationValue(.list(elements), origin: origin), at: Self.path(of: option))
    case .flag, .value:
      root.set(ConfigurationValue(.text(text), origin: origin), at: Self.path(of: option))
    }
  }

  /// Puts a list that is written in JSON5; notes a fault where it is none.
  private mutating func put(list: String, origin: ConfigurationOrigin, _ option: CommandOption) {
    do throws(ConfigurationError) {
      root.set(try Self.parse(list: list, origin: origin), at: Self.path(of: option))
    } catch {
      faults += error.faults
    }
  }

  /// Puts what the command line gives: the last one, or for a list all of them.
  private mutating func put(_ given: [String], _ option: CommandOption) {
    let origin = ConfigurationOrigin.option("--\(option.name)")
    guard case .list = option.kind else {
      if let last = given.last { put(last, origin: origin, option) }
      return
    }
    var values: [ConfigurationValue] = []
    for text in given {
      guard Self.isTable(text) else {
        values.append(ConfigurationValue(.text(text), origin: origin))
        continue
      }
      do throws(ConfigurationError) {
        if case .list(let tables) = try Self.parse(list: "[\(text)]", origin: origin).content {
          values += tables
        }
      } catch {
        faults += error.faults
      }
    }
    root.set(ConfigurationValue(.list(values), origin: origin), at: Self.path(of: option))
  }

  /// Whether an entry of a list is a table, which is written as in a file.
  private static func isTable(_ text: some StringProtocol) -> Bool {
    text.first { $0 != " " } == "{"
  }

  /// Reads a list in JSON5. The error does not repeat the text, which may be a secret.
  private static func parse(
    list: String, origin: ConfigurationOrigin
  ) throws(ConfigurationError) -> ConfigurationValue {
    do throws(ConfigurationError) {
      return try JSON5Parser.parse(Array(list.utf8), source: .entry(origin))
    } catch {
      throw ConfigurationError(
        subject: "\(origin)", message: "a table in JSON5 is expected here, such as {name: 'a'}")
    }
  }

  /// The path of the option's key.
  static func path(of option: CommandOption) -> ArraySlice<Substring> {
    path(option.key ?? option.name)
  }

  /// The parts of a key between dots.
  static func path(_ key: String) -> ArraySlice<Substring> {
    key.split(separator: ".")[...]
  }

  // MARK: Decoding

  /// Nil where what is there cannot be brought into the type's form. Then, and where single values cannot be, ``faults`` says
  /// why: a value that cannot be used gives way to its default or to an example, so that all others are looked at as well.
  mutating func decode<Configuration: Decodable>(_ type: Configuration.Type) -> Configuration? {
    let secrets = Set(options.filter(\.isSecret).compactMap(\.key))
    // Each value is replaced at most twice.
    for _ in 0...2 * ConfigurationTree.maximumFaults {
      let record = ConsumedKeys(secrets: secrets)
      do {
        let configuration = try Configuration(
          from: ConfigurationDecoder(value: root, codingPath: [], record: record))
        noteUnknownKeys(record, isComplete: true)
        return configuration
      } catch {
        let error = error as? ConfigurationError ?? ConfigurationDecoder.translated(error)
        guard let fault = error.faults.first, isMisspelt(fault, record) || note(fault) else {
          noteUnknownKeys(record, isComplete: false)
          return nil
        }
      }
    }
    return nil
  }

  /// After so many the search for more ends.
  static let maximumFaults = 200

  /// Keeps the fault and puts something else where it is. False when there is nothing to put there.
  @discardableResult
  private mutating func note(_ fault: ConfigurationFault) -> Bool {
    let key = fault.subject
    let option = options.first { $0.key == key }
    let isMissing = fault.message == ConfigurationDecoder.missing
    guard replaced.insert(key).inserted else {
      // The default, or that there is nothing, cannot be used either.
      guard let option, let example = option.isSecret ? "" : option.example,
        exemplified.insert(key).inserted
      else { return false }
      put(example, origin: .fallback, option)
      return true
    }
    if isMissing, let option, option.isSecret {
      missingSecrets.append(located(fault))
      put("", origin: .fallback, option)
      return true
    }
    faults.append(located(fault))
    if let list = options.first(where: { $0.key.map { key.hasPrefix($0 + ".") } ?? false }) {
      return omitEntry(of: list, key: key)
    }
    _ = root.removeValue(at: Self.path(key))
    for option in options where option.key == key || option.key?.hasPrefix(key + ".") == true {
      if let fallback = option.fallback ?? (isMissing ? option.example : nil) {
        put(fallback, origin: .fallback, option)
      }
    }
    return true
  }

  /// Takes the entry of the list away in which `key` is.
  private mutating func omitEntry(of list: CommandOption, key: String) -> Bool {
    let path = Self.path(of: list)
    guard let position = Self.path(key).dropFirst(path.count).first,
      var entry = root.value(at: path + [position])
    else { return false }
    entry.isOmitted = true
    root.set(entry, at: path + [position])
    return true
  }

  /// Whether the key that is missing is there under another spelling, whose value then counts.
  private mutating func isMisspelt(_ fault: ConfigurationFault, _ record: ConsumedKeys) -> Bool {
    guard fault.message == ConfigurationDecoder.missing, !replaced.contains(fault.subject),
      let key = record.unknown().first(where: { $0.meant == fault.subject })?.key,
      let value = root.removeValue(at: Self.path(key))
    else { return false }
    faults.append(.unknown(key, meant: fault.subject, origin: value.keyOrigin ?? value.origin))
    root.set(value, at: Self.path(fault.subject))
    return true
  }

  /// Notes keys that the type did not ask for. While decoding is not complete, only those that resemble a missing key are
  /// noted: the others may not have been reached.
  private mutating func noteUnknownKeys(_ record: ConsumedKeys, isComplete: Bool) {
    // What has its default may be meant as well as what is nowhere.
    let defaults = options.filter { root.value(at: Self.path(of: $0))?.origin == .fallback }.compactMap(\.key)
    for (key, meant) in record.unknown(missing: replaced.union(defaults)) where isComplete || meant != nil {
      let value = root.value(at: Self.path(key))
      faults.append(.unknown(key, meant: meant, origin: value?.keyOrigin ?? value?.origin))
    }
  }

  /// `tls.key` names a key in messages and tables, and is none itself.
  private func removeDottedKeys(from file: inout ConfigurationValue) -> [ConfigurationFault] {
    let dotted = file.members?.filter { $0.key.contains(".") } ?? [:]
    file.content = .table(file.members?.filter { !$0.key.contains(".") } ?? [:])
    return dotted.sorted { $0.key < $1.key }.map { key, value in
      ConfigurationFault(
        subject: key, message: "a key has no dot; it is written \(Self.nested(key))", origin: value.keyOrigin)
    }
  }

  /// The key in the notation of tables, for a message: `tls: {key: …}`.
  private static func nested(_ key: String) -> String {
    let parts = path(key)
    return parts.dropLast().joined(separator: ": {") + ": {\(parts.last ?? ""): …"
      + String(repeating: "}", count: parts.count - 1)
  }

  /// A fault with the place of its key.
  private func fault(_ key: String, _ message: String) -> ConfigurationFault {
    located(ConfigurationFault(subject: key, message: message))
  }

  /// The fault with the place of its key.
  func located(_ fault: ConfigurationFault) -> ConfigurationFault {
    var fault = fault
    fault.origin = fault.origin == .fallback ? nil : fault.origin
    fault.origin = fault.origin ?? root.origin(at: Self.path(fault.subject))
    return fault
  }

  /// Whether the value of `key` is, or lies in, one that cannot be used.
  func isReplaced(_ key: String) -> Bool {
    replaced.contains { key == $0 || key.hasPrefix($0 + ".") }
  }
}

/// The kinds of options as values are put.
extension CommandOption.Kind {
  /// Whether the option takes one value, so that an empty text is a fault.
  fileprivate var isSingle: Bool {
    guard case .value = self else { return false }
    return true
  }
}
