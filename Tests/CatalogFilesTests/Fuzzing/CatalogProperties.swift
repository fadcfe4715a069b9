import CoreTypes
import PullboxAPI
import ServiceAPI

@testable import CatalogFiles

/// A sheet is read as a second reading of RFC 4180 has it, and what is read is the same once it is written and read again; a fault
/// stands at a line of the file.
enum CatalogProperties {
  static func checkRows(_ bytes: [UInt8]) -> String? {
    var reader = CSVReader(bytes)
    var rows: [[String]] = []
    do throws(CatalogFileFault) {
      while let row = try reader.next() {
        guard row.cells.count == row.places.count, row.cells.count <= CSVReader.maximumColumns,
          row.cells.allSatisfy({ $0.utf8.count <= CSVReader.maximumCell })
        else { return "a row beyond its bounds" }
        rows.append(row.cells)
      }
    } catch {
      return isPlace(error, of: bytes) ? nil : "a fault at line \(error.line)"
    }
    guard same(rows, plainRows(bytes)) else { return "rows are read that are not those of the file" }
    // Behind a header: a mark at the beginning of a file belongs to no cell.
    var written = Array("id\n".utf8)
    for row in rows { written += Array(CSVText.line(row).utf8) }
    var again = CSVReader(written)
    guard (try? again.next())?.cells == ["id"] else { return "a header is lost" }
    for row in rows {
      // A row of one empty cell is an empty line, which is the same row.
      guard let read = try? again.next(), same([read.cells.map(CSVText.value)], [row.map { $0 }]) else {
        return "a row is written as another one"
      }
    }
    return nil
  }

  /// By the grammar, scalar by scalar: what is taken has no fault, so that none is looked for.
  private static func plainRows(_ bytes: [UInt8]) -> [[String]] {
    var text = Array(String(decoding: bytes, as: UTF8.self).unicodeScalars)[...]
    if text.first == "\u{FEFF}" { text.removeFirst() }
    if text.isEmpty { return [] }
    var rows: [[String]] = []
    var row: [String] = []
    var cell = String.UnicodeScalarView()
    var isQuoted = false
    while let scalar = text.popFirst() {
      if isQuoted {
        if scalar != "\"" {
          cell.append(scalar)
        } else if text.first == "\"" {
          text.removeFirst()
          cell.append(scalar)
        } else {
          isQuoted = false
        }
      } else if scalar == "\"" {
        isQuoted = true
      } else if scalar == "," || scalar == "\n" {
        row.append(String(cell))
        cell = .init()
        if scalar == "\n" {
          rows.append(row)
          row = []
          if text.isEmpty { return rows }
        }
      } else if scalar != "\r" {
        cell.append(scalar)
      }
    }
    return rows + [row + [String(cell)]]
  }

  /// By their scalars: equal texts may have other ones.
  private static func same(_ left: [[String]], _ right: [[String]]) -> Bool {
    left.elementsEqual(right) { one, two in
      one.elementsEqual(two) { $0.utf8.elementsEqual($1.utf8) }
    }
  }

  static func check(_ bytes: [UInt8], as format: CatalogFile.Format) -> String? {
    do throws(CatalogFileError) {
      let file = try CatalogFile(bytes, as: format)
      let lines = 1 + bytes.count { $0 == 0x0A }
      guard file.items.allSatisfy({ (1...lines).contains($0.line) }) else { return "an item of no line" }
      let catalog = file.catalog
      let count =
        catalog.products.count + (catalog.publications?.count ?? 0) + (catalog.priceTiers?.count ?? 0)
      guard count == file.items.count else { return "\(file.items.count) items become \(count)" }
      for index in catalog.products.indices where file.line(of: "products", index) == nil {
        return "a product of no line"
      }
      return nil
    } catch {
      guard !error.faults.isEmpty, error.faults.count <= CatalogFile.maximumFaults else {
        return "\(error.faults.count) faults"
      }
      return error.faults.first { !isPlace($0, of: bytes) }.map { "a fault at \($0.line):\($0.column)" }
    }
  }

  private static func isPlace(_ fault: CatalogFileFault, of bytes: [UInt8]) -> Bool {
    (1...2 + bytes.count { $0 == 0x0A }).contains(fault.line) && (1...2 + bytes.count).contains(fault.column)
  }
}
