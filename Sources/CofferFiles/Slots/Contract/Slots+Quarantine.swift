package import CofferCore
package import CofferFileSystem
package import Foundation

/// An item of the quarantine of a store: a version of a value, or a whole file.
package struct QuarantinedItem: Sendable {
  /// The ``SlotID`` of a version; any other name is that of a file.
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

extension Slots {
  package func quarantine(_ data: Data, as id: SlotID, of key: KeyName) throws {
    _ = try write(data, to: .quarantined(id))
  }

  package func quarantined() throws -> [QuarantinedItem] { [] }

  package func quarantinedData(_ name: String) throws -> Data? {
    try SlotID(name).flatMap { try read(.quarantined($0)) }?.data
  }

  package func removeQuarantined(_ name: String) throws {
    if let id = SlotID(name) { try delete(.quarantined(id)) }
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
