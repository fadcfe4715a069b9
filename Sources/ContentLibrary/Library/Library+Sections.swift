package import AgentRecords
package import Commerce
import ContentPackage
import CoreTypes
import Crypto
import Files
package import PullboxAPI
import ServiceRuntime
import SystemCalls

// Sections of placed content. What is here of a version is told by its record; its manifest speaks of that alone.
extension Library {
  /// The sections of the version that is read, by tag, each with whether it is here; empty for content without sections. Nil where the library
  /// holds none of the product. Throws ``LibraryOfflineError``.
  package func sections(of product: ProductIdentifier) async throws -> ContentSections? {
    try await BlockingPool.shared.run { [self] in
      try requireOnline()
      guard let record = try currentRecord(of: product) else { return nil }
      guard let manifest = try manifestToRead(of: record) else {
        return ContentSections(product: product, version: record.version, sections: [])
      }
      let (sizes, here) = (manifest.unabridged.sectionSizes, manifest.selectedSections)
      return ContentSections(
        product: product, version: record.version,
        sections: manifest.sections.map { section in
          let size = sizes[section.tag] ?? Manifest.SectionSize()
          return ContentSection(
            tag: section.tag, policy: section.policy, title: section.titles.isEmpty ? nil : section.titles,
            files: size.files, length: size.length, isHere: here.contains(section.tag))
        })
    }
  }

  /// The tags that are here of any version of the product, which a correction brings as well. Blocks. Throws ``LibraryOfflineError`` where the
  /// library was away at the last look, and what the database and the file system throw.
  package func placedSections(of product: ProductIdentifier) throws -> Set<SectionTag> {
    if case .offline(let reason) = availability { throw LibraryOfflineError(reason: reason) }
    return try database.libraryRecords().filter { $0.product == product }.reduce(into: []) { tags, record in
      // Of content that is here as a whole, its manifest tells.
      tags.formUnion(try record.sections ?? Set(manifest(of: record)?.sections.map(\.tag) ?? []))
    }
  }

  /// The sections of what the library holds of that package that are to be fetched by themselves and are not here, by tag. Throws
  /// ``LibraryOfflineError``.
  package func sectionsToFetch(
    of product: ProductIdentifier, _ version: ContentVersion, by preferences: SectionPreferences
  ) async throws -> [SectionTag] {
    try await BlockingPool.shared.run { [self] in
      try requireOnline()
      guard let record = try database.libraryRecord(of: product, version: version), record.sections != nil,
        let manifest = try manifest(of: record)
      else { return [] }
      let choices = try database.sectionChoices(of: product)
      return manifest.sections.filter { section in
        !manifest.selectedSections.contains(section.tag)
          && preferences.fetches(section.tag, policy: section.policy, choice: choices[section.tag])
      }.map(\.tag)
    }
  }

  /// Writes down that a person wants that section of every version, or does not. It is noted also while the library is away.
  package func choose(_ isWanted: Bool, _ section: SectionTag, of product: ProductIdentifier) async throws {
    try await BlockingPool.shared.run { [database] in
      try database.noteChoice(isWanted, of: section, in: product)
    }
  }

  /// Removes the files of a section from every version of the product; the rest stays as it is. Answers the items that changed, none where it
  /// was not here. Throws `section-required` for one that the content is not without, `section-unknown` for a tag that no
  /// version has, and ``LibraryOfflineError``.
  package func drop(_ section: SectionTag, of product: ProductIdentifier) async throws -> [LibraryItem] {
    try await exclusion.run(product) {
      try await BlockingPool.shared.run { [self] in
        try requireOnline()
        var isKnown = false
        var changed: [LibraryItem] = []
        for record in try database.libraryRecords() where record.product == product {
          guard let manifest = try manifest(of: record),
            let found = manifest.sections.first(where: { $0.tag == section })
          else { continue }
          isKnown = true
          guard found.policy != .required else {
            throw Problem(.sectionRequired, "\(product) is not read without \(section)")
          }
          if let item = try remove(section, from: record, manifest) { changed.append(item) }
        }
        guard isKnown else { throw Problem(.sectionUnknown, "\(product) has no section \(section)") }
        return changed
      }
    }
  }

  /// Takes from content that was placed just now the sections that were dropped meanwhile, and files of those that it does not have. Answers the item as it
  /// is then. Blocks; the caller has the product to itself.
  func dropUnwanted(of record: LibraryRecord, _ manifest: Manifest) throws -> LibraryItem {
    guard !manifest.sections.isEmpty else { return item(record) }
    let (choices, here) = (try database.sectionChoices(of: record.product), manifest.selectedSections)
    let dropped = manifest.sections.filter { section in
      section.policy != .required && (choices[section.tag] == false || !here.contains(section.tag))
    }
    var (current, rest) = (record, manifest)
    for section in dropped {
      _ = try remove(section.tag, from: current, rest)
      guard let changed = try database.libraryRecord(of: record.product, version: record.version) else {
        break
      }
      current = changed
      rest = changed.sections.map(manifest.selecting) ?? manifest
    }
    return item(current)
  }

  /// Ends the drops of sections that the process before has broken off: files of a section that is not wanted, and not here by its record, go.
  /// One that cannot be ended is logged and left, and goes when the section is dropped again. Blocks; nothing works on the library yet.
  func endDrops() throws {
    for record in try database.libraryRecords() where record.sections != nil {
      do {
        let choices = try database.sectionChoices(of: record.product)
        guard choices.values.contains(false), let manifest = try manifest(of: record) else { continue }
        for section in manifest.sections
        where section.policy != .required && choices[section.tag] == false
          && !manifest.selectedSections.contains(section.tag)
        {
          // The last file goes last: where it is gone, nothing was broken off.
          guard let last = manifest.unabridged.files.last(where: { $0.section == section.tag }),
            try operations.status(of: "\(directory(of: record))/\(last.path.text)") != nil
          else { continue }
          _ = try remove(section.tag, from: record, manifest)
        }
      } catch {
        log.warning(
          "an interrupted drop of a section cannot be finished",
          ["path": LogValue(directory(of: record)), "error": LogValue(error)])
      }
    }
  }

  /// The record goes first: files of a section that is not here are missed by no check. Those that a crash leaves go by ``endDrops()``, with
  /// the content, or when the section is dropped again. Nil where the section was not here.
  func remove(
    _ section: SectionTag, from record: LibraryRecord, _ manifest: Manifest
  ) throws -> LibraryItem? {
    let isHere = manifest.selectedSections.contains(section)
    var smaller = record
    if isHere {
      let rest = manifest.selecting(manifest.selectedSections.subtracting([section]))
      let kept = manifest.files.indices.filter { manifest.files[$0].section != section }
      let stamps = try database.stamps(of: record).flatMap {
        FileStamps(encoded: $0, files: manifest.files.count)
      }
      smaller.sections = rest.selection
      smaller.length = rest.unpackedLength
      try database.makingRoom { try database.save(smaller, stamps: stamps?.selecting(kept)) }
    }
    let root = directory(of: record)
    var freed = ByteCount.zero
    for file in manifest.unabridged.files where file.section == section {
      let path = "\(root)/\(file.path.text)"
      guard let status = try operations.status(of: path), status.kind == .regular else { continue }
      freed += status.allocated
      try operations.remove(path)
      try removeEmptyFolders(above: path, below: root)
    }
    guard isHere else { return nil }
    smaller.sizeOnDisk = max(.zero, record.sizeOnDisk - freed)
    let stamps = try database.stamps(of: smaller)
    let count = manifest.files.count { $0.section != section }
    try database.makingRoom {
      try database.note(
        smaller,
        stamps: stamps.flatMap { FileStamps(encoded: $0, files: count) } ?? FileStamps(unknown: count))
    }
    return item(smaller)
  }

  /// Folders that hold nothing any more, from the file's own upwards.
  private func removeEmptyFolders(above path: String, below root: String) throws(SystemError) {
    var folder = FileSystem.parent(of: path)
    while folder.utf8.count > root.utf8.count, try operations.list(folder).isEmpty {
      try operations.removeRecursively(folder)
      folder = FileSystem.parent(of: folder)
    }
  }

  /// The version that is read: the newest that the server has not taken back.
  private func currentRecord(of product: ProductIdentifier) throws -> LibraryRecord? {
    let records = try database.libraryRecords().filter { $0.product == product }
    let current = records.map { item($0) }.current(of: product)
    return records.first { $0.version == current?.version }
  }

  /// The manifest of what lies at the path: without the sections of which a file is not there. Blocks.
  func selecting(sectionsOf manifest: Manifest, thatLieAt path: String) throws(SystemError) -> Manifest {
    guard !manifest.sections.isEmpty else { return manifest }
    var here = manifest.selectedSections
    for file in manifest.files {
      guard let section = file.section, here.contains(section) else { continue }
      do throws(SystemError) {
        guard try operations.status(of: "\(path)/\(file.path.text)") == nil else { continue }
      } catch {
        // A check tells of what cannot be looked at.
        guard error.isUnreadable else { throw error }
        continue
      }
      here.remove(section)
    }
    return manifest.selecting(here)
  }
}

// Content that gains sections: the new content is put beside the old one, and the two exchange their names.
extension Library {
  /// Whether the manifest is that of whole content which lies there, with more sections.
  func isExtended(_ record: LibraryRecord, by manifest: Manifest) throws -> Bool {
    guard let here = record.sections, !record.isDamaged, record.manifestDigest == manifest.manifestDigest,
      here.isSubset(of: manifest.selectedSections)
    else { return false }
    return presence(of: record) == .there
  }

  /// Where content waits for its name: in the product's hidden folder, which no other task works in.
  func extensionPath(of manifest: Manifest) -> String {
    "\(folder(of: manifest.product))/\(manifest.version).next"
  }

  /// Gives the content at `next` the name of what is there, which goes; files of other programs stay at their place. A reader sees the one or the
  /// other; where the file system cannot exchange two names, for a moment none.
  func exchange(_ next: String, for target: String, of manifest: Manifest) throws {
    let old: String
    do throws(SystemError) {
      try operations.rename(next, to: target, ifPresent: .exchange)
      old = next
    } catch {
      guard error.isUnsupported else { throw error }
      old = "\(next).old"
      try operations.rename(target, to: old)
      try operations.rename(next, to: target, ifPresent: .refuse)
    }
    try operations.synchronizeDirectory(FileSystem.parent(of: target))
    try operations.synchronizeDirectory(FileSystem.parent(of: next))
    try moveForeignFiles(from: old, to: target, beside: OwnFiles([manifest]))
    try moveAside(old)
  }

  /// An earlier process may have put the content beside its place, and ended before it exchanged the names, or before it was through with what
  /// was there. What lies beside the place and is not what the manifest says goes, but for files of other programs.
  func takeExtension(of manifest: Manifest, to target: String) async throws {
    let next = extensionPath(of: manifest)
    let isThere = try await BlockingPool.shared.run { [operations] in
      try operations.status(of: next)?.kind == .directory
    }
    let isWhole = isThere ? try await run(.everything, on: manifest, at: next).isWhole : false
    try await BlockingPool.shared.run { [self] in
      if isWhole, try operations.status(of: target) == nil {
        try operations.rename(next, to: target, ifPresent: .refuse)
        try operations.synchronizeDirectory(FileSystem.parent(of: target))
      } else if isWhole {
        try exchange(next, for: target, of: manifest)
      }
      try settleExtension(of: manifest, at: target)
    }
  }

  /// Removes what an earlier process left beside the place: content that has given its name away, or was not given it. Files of other programs
  /// come to the content that is there. Content whose name is taken by none has it back. Blocks.
  func settleExtension(of manifest: Manifest, at target: String) throws {
    let next = extensionPath(of: manifest)
    for left in ["\(next).old", next] where try operations.status(of: left)?.kind == .directory {
      if try operations.status(of: target) == nil {
        try operations.rename(left, to: target, ifPresent: .refuse)
        try operations.synchronizeDirectory(FileSystem.parent(of: target))
      } else {
        try moveForeignFiles(from: left, to: target, beside: OwnFiles([manifest]))
        try moveAside(left)
      }
    }
  }
}
