package import CofferCore
package import Foundation

/// A store that can read, write and delete single named items: files, preferences or keyring items.
///
/// ``SlotEngine`` builds a complete storage engine on it: atomic batches, transaction ids, checksums, revisions, change
/// notifications and recovery come from a small journal database beside the store. No value is ever written to that
/// database: a batch stages its values in slots of the store itself, where they are as secret as any other value.
///
/// ```swift
/// final class ShelfSlots: Slots {
///   func read(_ slot: Slot) throws -> SlotContent? { try shelf.item(slot.description).map { SlotContent($0) } }
///   func write(_ data: Data, to slot: Slot) throws -> SlotStamp? {
///     try shelf.put(data, as: slot.description)
///     return nil
///   }
///   func delete(_ slot: Slot) throws { try shelf.remove(slot.description) }
///   func list() throws -> [Slot] { try shelf.names.compactMap(Slot.init(description:)) }
/// }
/// ```
///
/// Methods are called from several threads at once, but two writes to one slot never overlap. They may block: none is
/// called on a thread of Swift's cooperative pool, except `read` and `stamp` when ``readsBlock`` is false, which are
/// called on the thread of the reader.
package protocol Slots: Sendable {
  /// Whether changes survive power loss once ``sync()`` has returned. The engine reports `powerLossSafety` only then.
  var survivesPowerLoss: Bool { get }

  /// Whether every staged value has a stamp from the beginning, which publishing does not change.
  var stampsStaged: Bool { get }

  /// Whether a read may block its thread, for instance because it calls another process.
  var readsBlock: Bool { get }

  /// Whether a listing costs a call for each value, so that recovery waits until one is needed.
  var listsSlowly: Bool { get }

  /// Whether nothing derived from a value may be written elsewhere, not even its checksum or size, since a short secret
  /// could be guessed from them. Such a store reports the version of each value, or a stamp that changes with it.
  var keepsSecrets: Bool { get }

  /// Whether the store holds property list values, whose type an attribute names.
  var holdsPropertyLists: Bool { get }

  /// Returns whether the store can be read and written now. It must not block for long, and never wait for the user.
  func availability() -> StoreAvailability

  /// Returns the content of a slot, or `nil` only when the slot is proven empty. Throws when that cannot be determined.
  func read(_ slot: Slot) throws -> SlotContent?

  /// Writes the content of a slot atomically, replacing any existing content.
  /// - Returns: A stamp that the slot keeps, wherever it is moved, until it is written again; `nil` if the store has
  ///   no stamps or ``move(_:to:)`` changes them.
  func write(_ data: Data, to slot: Slot) throws -> SlotStamp?

  /// Stages a version until its batch is committed.
  /// - Parameters:
  ///   - data: the bytes of the value.
  ///   - id: the version.
  ///   - key: the key of the value.
  ///   - attributes: the attributes stored with the value. The journal keeps them; a store keeps only those that it can
  ///     represent, such as the type of a preference, and reports them as ``SlotContent/attributes``.
  /// - Returns: The stamp that ``write(_:to:)`` returns.
  func stage(_ data: Data, as id: SlotID, for key: KeyName, attributes: ValueAttributes) throws -> SlotStamp?

  /// Returns the ``SlotContent/attributes`` that the store will report for a value staged now, once it is published.
  /// The journal records them, so that a listing reports the same attributes as a read.
  func attributes(staging data: Data, for key: KeyName, attributes: ValueAttributes) throws -> ValueAttributes

  /// Removes the content of a slot. Does nothing if the slot is empty.
  func delete(_ slot: Slot) throws

  /// Returns every slot that has content, in any order.
  func list() throws -> [Slot]

  /// Moves the content of `source` to `target`, replacing any existing content. A concurrent read of `target` returns
  /// either the old or the new content.
  /// - Returns: The new stamp of `target` if moving changes it.
  /// - Throws: `notFound` when `source` is empty; `target` is unchanged then.
  func move(_ source: Slot, to target: Slot) throws -> SlotStamp?

  /// Copies the content of `source` to `target`. Does nothing if `source` is empty.
  func copy(_ source: Slot, to target: Slot) throws

  /// Returns the stamp of a slot without reading its content, or `nil` if the slot is empty.
  func stamp(_ slot: Slot) throws -> SlotPresence?

  /// Whether a slot was not written between two of its stamps, so that bytes that differ nevertheless are damaged.
  func isUntouched(_ stamp: SlotStamp, since recorded: SlotStamp) -> Bool

  /// Returns the stamps of all values at once if that is faster than one call per value; otherwise `nil`.
  func stamps() throws -> [KeyName: SlotPresence]?

  /// Throws if no value could be published or removed now. Called before anything is staged.
  func checkWritable() throws

  /// Prepares the slot of a key's value, or throws if the value could not be published now. Called before anything is
  /// staged.
  func prepare(_ key: KeyName) throws

  /// Syncs staged versions to the device, with their names, before their batch is committed.
  /// - Parameters:
  ///   - versions: the versions of the batch; `nil` for everything that is staged.
  ///   - isAlone: whether the batch changes nothing but one value. It is acknowledged only once that is published, so
  ///     neither the name need be synced nor bytes that are published in another form.
  func syncStaged(_ versions: [SlotID]?, isAlone: Bool) throws

  /// Applies the pending moves to and removals from value slots: a store that is one file writes it here, once for a
  /// whole batch. When it throws, none of them has been applied, unless the code is `outcomeUnknown`.
  func flush() throws

  /// Syncs every change to a value slot so far to the device.
  func sync() throws

  /// Puts the damaged bytes of a key's value into the quarantine.
  func quarantine(_ data: Data, as id: SlotID, of key: KeyName) throws

  /// Returns what the quarantine holds, in any order.
  func quarantined() throws -> [QuarantinedItem]

  /// Returns the bytes of an item of the quarantine, or `nil` if there is none of that name.
  func quarantinedData(_ name: String) throws -> Data?

  /// Removes an item of the quarantine, if there is one of that name.
  func removeQuarantined(_ name: String) throws

  /// Reports changes that other programs make to the store. It may report this process's own changes as well. The
  /// calls of `heard` must be short.
  /// - Returns: A closure that ends the watch; `nil` if the store cannot report changes.
  func watch(_ heard: @escaping @Sendable (SlotEvent) -> Void) throws -> (@Sendable () -> Void)?
}

/// A change that another program may have made to a store.
package enum SlotEvent: Hashable, Sendable {
  /// The value of this key may have been changed.
  case changed(KeyName)
  /// Any value may have been changed.
  case anything
  /// ``Slots/availability()`` may have changed.
  case availability
}

extension Slots {
  package var survivesPowerLoss: Bool { false }
  package var stampsStaged: Bool { false }
  package var readsBlock: Bool { false }
  package var listsSlowly: Bool { false }
  package var keepsSecrets: Bool { false }
  package var holdsPropertyLists: Bool { false }

  package func availability() -> StoreAvailability { .available }

  package func stage(_ data: Data, as id: SlotID, for key: KeyName, attributes: ValueAttributes) throws -> SlotStamp? {
    try write(data, to: .staged(id))
  }

  package func attributes(
    staging data: Data, for key: KeyName, attributes: ValueAttributes
  ) throws -> ValueAttributes { .none }

  package func move(_ source: Slot, to target: Slot) throws -> SlotStamp? {
    guard let content = try read(source) else {
      throw StorageError(.notFound, "There is nothing to move: the slot is empty.", location: "\(source)")
    }
    let stamp = try write(content.data, to: target)
    try delete(source)
    return stamp
  }

  package func copy(_ source: Slot, to target: Slot) throws {
    if let content = try read(source) { _ = try write(content.data, to: target) }
  }

  package func stamp(_ slot: Slot) throws -> SlotPresence? {
    try read(slot).map { SlotPresence(stamp: $0.stamp) }
  }

  package func isUntouched(_ stamp: SlotStamp, since recorded: SlotStamp) -> Bool { stamp == recorded }
  package func stamps() throws -> [KeyName: SlotPresence]? { nil }
  package func checkWritable() throws {}
  package func prepare(_ key: KeyName) throws {}
  package func syncStaged(_ versions: [SlotID]?, isAlone: Bool) throws {}
  package func flush() throws {}
  package func sync() throws {}
  package func watch(_ heard: @escaping @Sendable (SlotEvent) -> Void) throws -> (@Sendable () -> Void)? { nil }
}

/// A named location in a store that holds the bytes of one value.
package enum Slot: Hashable, Sendable {
  /// The published value of a key, under its public name.
  case value(KeyName)
  /// A value that is published once its batch is committed.
  case staged(SlotID)
  /// A replaced value that an open snapshot may still read.
  case retained(SlotID)
  /// Damaged bytes that are kept for inspection. The engine never reads or changes them again.
  case quarantined(SlotID)
}

/// The identifier of one version of a value: the handle that wrote it and the ordinal of the version within it.
package struct SlotID: Hashable, Sendable, CustomStringConvertible, LosslessStringConvertible {
  /// The random number of the open handle that wrote the version.
  package let owner: UInt64
  /// The ordinal of the version within its handle, from 1.
  package let number: UInt64

  /// Creates an identifier from a handle and an ordinal.
  package init(owner: UInt64, number: UInt64) {
    self.owner = owner
    self.number = number
  }

  /// Parses the 32 lowercase hexadecimal digits of ``description``; `nil` for anything else.
  package init?(_ description: String) {
    let digits = Array(description.utf8)
    let isHexadecimal = digits.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    guard digits.count == 32, isHexadecimal,
      let owner = UInt64(description.prefix(16), radix: 16), let number = UInt64(description.suffix(16), radix: 16)
    else { return nil }
    self.init(owner: owner, number: number)
  }

  /// The owner and the number as 32 lowercase hexadecimal digits.
  package var description: String { owner.hexadecimal + number.hexadecimal }
}

/// Metadata that identifies the content of a slot without reading it: for a file its inode, size and modification time.
///
/// A value that does not match its checksum is damaged if its stamp is unchanged, and was edited by another program if
/// the stamp has changed (``Slots/isUntouched(_:since:)``). Without stamps every such value counts as edited.
package struct SlotStamp: Hashable, Sendable {
  /// Four numbers whose meaning is private to the store.
  package let words: (UInt64, UInt64, UInt64, UInt64)

  /// Creates a stamp of up to four numbers.
  package init(_ first: UInt64, _ second: UInt64 = 0, _ third: UInt64 = 0, _ fourth: UInt64 = 0) {
    words = (first, second, third, fourth)
  }

  package static func == (left: SlotStamp, right: SlotStamp) -> Bool { left.words == right.words }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(words.0)
    hasher.combine(words.1)
    hasher.combine(words.2)
    hasher.combine(words.3)
  }
}

/// The content of a slot.
package struct SlotContent: Sendable {
  /// The bytes of the value.
  package let data: Data
  /// The stamp under which the bytes were read, if the store has stamps.
  package let stamp: SlotStamp?
  /// The version of the value, if the store records it.
  package let version: SlotID?
  /// The key of a staged or retained value, if the store records it tamper-proof. It is compared with the key that is
  /// read: a staged value of another key is damage.
  package let key: KeyName?
  /// The attributes that the store itself reports for the value, such as the type of a preference.
  package let attributes: ValueAttributes

  /// Creates the content of a slot.
  package init(
    _ data: Data, stamp: SlotStamp? = nil, version: SlotID? = nil, key: KeyName? = nil,
    attributes: ValueAttributes = .none
  ) {
    self.data = data
    self.attributes = attributes
    self.stamp = stamp
    self.version = version
    self.key = key
  }
}

/// Proof that a slot has content, with its stamp.
package struct SlotPresence: Hashable, Sendable {
  /// The stamp of the slot, if the store has stamps.
  package let stamp: SlotStamp?

  /// Creates the presence of a slot that has content.
  package init(stamp: SlotStamp?) { self.stamp = stamp }
}

extension UInt64 {
  /// The number as 16 lowercase hexadecimal digits.
  var hexadecimal: String {
    String(unsafeUninitializedCapacity: 16) { digits in
      for index in 0..<16 {
        let value = UInt8(truncatingIfNeeded: self >> UInt64(60 - 4 * index)) & 0xF
        digits[index] = value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") - 10 + value
      }
      return 16
    }
  }
}
