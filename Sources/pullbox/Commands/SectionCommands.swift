import Commerce
import CoreTypes
import PullboxAPI
import PullboxKit
import ServiceRuntime

/// `sections ID`: the parts of placed content that are fetched and given up by themselves, and which are here.
enum SectionsCommand: Command {
  static let peer = CommandPeer.agent
  static let description = CommandDescription(
    "sections", summary: "List the sections of content in the library",
    discussion: """
      A section is a chapter, a language, pictures of a higher resolution: what its \
      publisher made to be fetched and given up by itself. 'fetch' brings one, 'drop' \
      removes its files.
      """,
    operands: [.inLibrary()])

  /// With `--json` an object for each section, as the agent answers it.
  static func run(_ context: CommandContext) async throws {
    let answer = try await context.agent().sections(of: try context.product(0))
    let locale = ReaderLocale.tag()
    try context.console.print(
      answer.sections,
      columns: [
        .name("SECTION"), .text("HERE"), .number("FILES"), .number("SIZE"), .text("COMES"), .text("TITLE"),
      ], whenEmpty: "\(answer.product) \(answer.version) has no sections"
    ) { section in
      [
        section.tag.description, section.isHere ? "yes" : section.download == nil ? "no" : "on its way",
        String(section.files), section.length.description, wording(section.policy),
        title(section, in: locale),
      ]
    }
  }

  /// The title in the reader's language, else in English, else the first by language; empty for none.
  private static func title(_ section: ContentSection, in locale: String?) -> String {
    let titles = section.title ?? [:]
    let language = locale.flatMap { $0.split(separator: "-").first.map(String.init) }
    let found = [locale, language, "en"].compactMap { $0 }.lazy.compactMap { titles[$0] }.first
    return found ?? titles.min { $0.key < $1.key }?.value ?? ""
  }

  /// When sections of that policy come, in a few words.
  private static func wording(_ policy: SectionPolicy) -> String {
    switch policy {
    case .required: "with the content"
    case .prefetch: "by itself"
    case .onDemand: "when asked for"
    }
  }
}

/// `fetch ID TAG`: asks for a section of content that is in the library.
enum FetchCommand: Command {
  static let peer = CommandPeer.agent
  static let description = CommandDescription(
    "fetch", summary: "Fetch a section of content that is on this device",
    discussion: """
      The section stays wanted: it comes with the next version of the content as well. 'downloads' shows how far it is.
      """,
    operands: [.inLibrary(), .init("TAG")])

  /// Prints the download that brings the section, and does not wait for it.
  static func run(_ context: CommandContext) async throws {
    let product = try context.product(0)
    let tag = try SectionsCommand.tag(context)
    let agent = try context.agent()
    let section = try await agent.fetch(tag, of: product)
    guard let download = section.download else {
      context.console.note("\(tag) of \(product) is here")
      return
    }
    let status = try await agent.download(download)
    try DownloadSelector.print(status, on: context.console)
    if status.state == .paused { context.console.note(paused: status) }
  }
}

/// `drop ID TAG`: removes the files of a section; the rest of the content stays.
enum DropCommand: Command {
  static let peer = CommandPeer.agent
  static let description = CommandDescription(
    "drop", summary: "Remove a section of content from the library",
    discussion: """
      The section stays away, also from the next version, until 'fetch' asks for it.
      """,
    operands: [.inLibrary(), .init("TAG")])

  /// Prints nothing but a remark.
  static func run(_ context: CommandContext) async throws {
    let product = try context.product(0)
    let tag = try SectionsCommand.tag(context)
    try await context.agent().drop(tag, of: product)
    context.console.note(
      "\(tag) of \(product) is not on this device, and stays away until 'pullbox fetch' asks for it")
  }
}

extension SectionsCommand {
  /// The second operand.
  static func tag(_ context: CommandContext) throws -> SectionTag {
    let text = try context.operand(1)
    guard let tag = SectionTag(text) else {
      throw UsageError(
        "'\(text)' is no tag of a section (1 to \(SectionTag.maximumLength) of a-z, 0-9 and inner dashes)")
    }
    return tag
  }
}
