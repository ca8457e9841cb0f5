package import CofferCore
package import CofferEncryption
package import CofferFiles
import Foundation

/// The decrypted contents of a sealed file. The values are in memory that is locked and wiped.
package struct SealedDocument: Sendable {
  /// A value with its version and, as `tag`, its accessibility class.
  package struct Item: Equatable, Sendable {
    package let version: SlotID
    package let tag: UInt8
    package let data: SecretSlice
  }

  var header: SealedHeader
  var items = SealedItems()
}

/// The values of a sealed file, in the order of their keys, which is that of the file: a save changes one of them, and
/// neither sorts nor hashes the others.
package struct SealedItems: Equatable, Sendable {
  package struct Element: Equatable, Sendable {
    let key: KeyName
    let item: SealedDocument.Item
    /// The value as it is in the payload that it was read from or written to; `nil` for a new one.
    fileprivate let serialized: SecretSlice?

    fileprivate init(_ key: KeyName, _ item: SealedDocument.Item, serialized: SecretSlice? = nil) {
      (self.key, self.item, self.serialized) = (key, item, serialized)
    }

    /// The size of the serialized value in bytes.
    fileprivate var size: Int { SealedPayload.prefixSize + key.size + item.data.count }

    package static func == (left: Element, right: Element) -> Bool { left.key == right.key && left.item == right.item }
  }

  private(set) var elements: [Element] = []

  package init() {}

  package var count: Int { elements.count }

  package subscript(key: KeyName) -> SealedDocument.Item? {
    get {
      let index = position(of: key)
      return isAt(index, key) ? elements[index].item : nil
    }
    set {
      let index = position(of: key)
      let range = index..<(isAt(index, key) ? index + 1 : index)
      elements.replaceSubrange(range, with: newValue.map { [Element(key, $0)] } ?? [])
    }
  }

  /// Adds a value that was read. Returns `false` if its key is there already.
  fileprivate mutating func add(
    _ key: KeyName, _ item: SealedDocument.Item, serialized: SecretSlice
  ) -> Bool {
    // A file that somebody else has written may have another order.
    if let last = elements.last, last.key >= key {
      guard self[key] == nil else { return false }
      self[key] = item
    } else {
      elements.append(Element(key, item, serialized: serialized))
    }
    return true
  }

  /// Makes the values slices of a payload that has just been written from them.
  fileprivate mutating func lie(in payload: SecretBytes, at ranges: [Range<Int>]) {
    for (index, range) in ranges.enumerated() {
      let element = elements[index]
      let item = SealedDocument.Item(
        version: element.item.version, tag: element.item.tag, data: SecretSlice(payload, range))
      let whole = SecretSlice(payload, (range.upperBound - element.size)..<range.upperBound)
      elements[index] = Element(element.key, item, serialized: whole)
    }
  }

  private func isAt(_ index: Int, _ key: KeyName) -> Bool { index < elements.count && elements[index].key == key }

  /// Returns the position of the first key that is not before `key`.
  private func position(of key: KeyName) -> Int {
    var (low, high) = (0, elements.count)
    while low < high {
      let middle = (low + high) / 2
      if elements[middle].key < key { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

/// The serialized values of a sealed file before encryption, as described in `docs/formats/sealed.md`.
package enum SealedPayload {
  /// The size in bytes of the fields that precede a value's key.
  fileprivate static let prefixSize = 25

  /// Serializes the values, which become slices of the result: all secrets lie together in memory that is locked once,
  /// as in a file that was read. Those that lay together before are copied together.
  package static func encode(_ items: inout SealedItems) throws -> SecretBytes {
    let size = items.elements.reduce(4) { $0 + $1.size }
    var ranges: [Range<Int>] = []
    ranges.reserveCapacity(items.count)
    let payload = try SecretBytes(count: size) { bytes in
      var offset = 0
      func put(_ part: UnsafeRawBufferPointer) {
        UnsafeMutableRawBufferPointer(rebasing: bytes[offset...]).copyMemory(from: part)
        offset += part.count
      }
      func put(integer value: some FixedWidthInteger) { withUnsafeBytes(of: value.bigEndian) { put($0) } }
      put(integer: UInt32(items.count))
      // The serialized values not copied yet, which end where the next one has to begin.
      var run: SecretSlice?
      func putRun() {
        run?.withUnsafeBytes { put($0) }
        run = nil
      }
      var end = offset
      for element in items.elements {
        end += element.size
        ranges.append((end - element.item.data.count)..<end)
        if let whole = element.serialized {
          if let longer = run?.joined(with: whole) {
            run = longer
          } else {
            putRun()
            run = whole
          }
          continue
        }
        putRun()
        let (key, item) = (element.key, element.item)
        put(integer: item.version.owner)
        put(integer: item.version.number)
        put(integer: item.tag)
        put(integer: UInt32(key.size))
        put(integer: UInt32(item.data.count))
        key.withBytes { put($0) }
        item.data.withUnsafeBytes { put($0) }
      }
      putRun()
    }
    items.lie(in: payload, at: ranges)
    return payload
  }

  /// Returns the values, as slices of `bytes` and not copies.
  /// - Throws: `damaged`.
  package static func decode(_ bytes: SecretBytes) throws(StorageError) -> SealedItems {
    var reader = SecretReader(bytes)
    var items = SealedItems()
    let count = try reader.integer(UInt32.self)
    for _ in 0..<count {
      let start = reader.offset
      let version = SlotID(owner: try reader.integer(UInt64.self), number: try reader.integer(UInt64.self))
      let tag = try reader.integer(UInt8.self)
      let (nameSize, size) = (try reader.integer(UInt32.self), try reader.integer(UInt32.self))
      guard let key = try reader.key(size: Int(nameSize)) else { throw SealedPayload.damaged }
      let item = SealedDocument.Item(version: version, tag: tag, data: try reader.take(Int(size)))
      let whole = SecretSlice(bytes, start..<reader.offset)
      guard items.add(key, item, serialized: whole) else { throw SealedPayload.damaged }
    }
    guard reader.isAtEnd else { throw SealedPayload.damaged }
    return items
  }

  static var damaged: StorageError {
    StorageError(.damaged, "The sealed store is damaged: its values are corrupt.")
  }
}

/// The serialized form of a staged or retained value before encryption: its tag, its key and its bytes.
enum StagedPayload {
  static var damaged: StorageError {
    StorageError(
      .damaged, "A staged or retained value is damaged, or belongs to another store.",
      advice: "Write the key again. Other keys are not affected.")
  }

  static func encode(_ data: Data, for key: KeyName?, tag: UInt8) throws -> SecretBytes {
    let name = Array((key?.string ?? "").utf8)
    return try SecretBytes(count: 5 + name.count + data.count) { bytes in
      bytes[0] = tag
      withUnsafeBytes(of: UInt32(name.count).bigEndian) {
        UnsafeMutableRawBufferPointer(rebasing: bytes[1...]).copyMemory(from: $0)
      }
      UnsafeMutableRawBufferPointer(rebasing: bytes[5...]).copyBytes(from: name)
      UnsafeMutableRawBufferPointer(rebasing: bytes[(5 + name.count)...]).copyBytes(from: data)
    }
  }

  /// Returns the key and the value.
  /// - Throws: `damaged`, also for quarantined bytes, which have no key.
  static func decode(_ bytes: SecretBytes) throws(StorageError) -> (key: KeyName, item: SealedItem) {
    var reader = SecretReader(bytes)
    let tag = try reader.integer(UInt8.self)
    guard let key = try reader.key(size: Int(try reader.integer(UInt32.self))) else { throw StagedPayload.damaged }
    return (key, SealedItem(data: reader.rest, tag: tag))
  }
}

/// A value and, as `tag`, its accessibility class.
struct SealedItem: Sendable {
  let data: SecretSlice
  let tag: UInt8
}

/// A sequential reader of the bytes of a secret.
private struct SecretReader {
  private let bytes: SecretBytes
  private(set) var offset = 0

  init(_ bytes: SecretBytes) { self.bytes = bytes }

  var isAtEnd: Bool { offset == bytes.count }
  var rest: SecretSlice { SecretSlice(bytes, offset..<bytes.count) }

  mutating func take(_ count: Int) throws(StorageError) -> SecretSlice {
    guard count <= bytes.count - offset else { throw SealedPayload.damaged }
    defer { offset += count }
    return SecretSlice(bytes, offset..<(offset + count))
  }

  mutating func integer<I: FixedWidthInteger>(_ type: I.Type) throws(StorageError) -> I {
    try take(MemoryLayout<I>.size).withUnsafeBytes { I(bigEndian: $0.loadUnaligned(as: I.self)) }
  }

  /// Reads a key of `size` bytes, or returns `nil` if it is not valid.
  mutating func key(size: Int) throws(StorageError) -> KeyName? {
    try take(size).withUnsafeBytes { String(validating: $0, as: UTF8.self) }.flatMap { try? KeyName($0) }
  }
}
