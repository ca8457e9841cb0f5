package import CofferFileSystem
package import Foundation

/// An item of the quarantine of a store: a version of a value, or a whole file.
package struct QuarantinedItem: Sendable {
  /// The name in ``Slot/quarantined(_:)``.
  package let name: String
  /// The date when the bytes were put aside.
  package let date: Date
  /// The number of bytes, if it is known without reading them.
  package let size: Int?

  package init(name: String, date: Date, size: Int?) {
    self.name = name
    self.date = date
    self.size = size
  }
}

extension Directory {
  /// Returns the files of a quarantine.
  package func quarantinedItems() throws -> [QuarantinedItem] {
    try fileNames().compactMap { name in
      try stamp(name).map { stamp in
        let seconds = Double(stamp.seconds) + Double(stamp.nanoseconds) / 1_000_000_000
        return QuarantinedItem(name: name, date: Date(timeIntervalSince1970: seconds), size: Int(stamp.size))
      }
    }
  }
}
