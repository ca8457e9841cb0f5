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
///   func write(
///     _ data: Data, to slot: Slot, of key: KeyName?, attributes: ValueAttributes
///   ) throws -> SlotContent {
///     try shelf.put(data, as: slot.description)
///     return SlotContent(data)
///   }
///   func delete(_ slot: Slot) throws { try shelf.remove(slot.description) }
///   func list() throws -> [ListedSlot] { try shelf.names.compactMap(Slot.init(description:)).map { ListedSlot($0) } }
/// }
/// ```
///
/// Methods are called from several threads at once, but two writes to one slot never overlap. They may block: none is
/// called on a thread of Swift's cooperative pool, except `read` and `stamp` when ``readsBlock`` is false, which are
/// called on the thread of the reader.
package protocol Slots: Sendable {
  /// What is true of all slots of the store.
  var traits: SlotTraits { get }

  /// Whether a read may block its thread now, for instance because it calls another process.
  var readsBlock: Bool { get }

  /// Returns whether the store can be read and written now. It must not block for long, and never wait for the user.
  func availability() -> StoreAvailability

  /// Returns the content of a slot, or `nil` only when the slot is proven empty. Throws when that cannot be determined.
  func read(_ slot: Slot) throws -> SlotContent?

  /// Returns the stamp of a slot without reading its content, or `nil` if the slot is empty.
  func stamp(_ slot: Slot) throws -> SlotPresence?

  /// Returns every slot that has content, in any order; quarantined ones may be missing.
  func list() throws -> [ListedSlot]

  /// Returns what the quarantine holds, in any order.
  func quarantined() throws -> [QuarantinedItem]

  /// Prepares the slots of values. Throws if no value could be published or removed now, or one of these could not be
  /// published. Called before anything is staged.
  func prepare(_ keys: [KeyName]) throws

  /// Writes the content of a slot atomically, replacing any existing content.
  /// - Parameters:
  ///   - data: the bytes of the value.
  ///   - slot: the slot: that of a staged version until its batch is committed.
  ///   - key: the key of the value, if it is known.
  ///   - attributes: the attributes stored with the value. The journal keeps them; a store keeps only those that it can
  ///     represent, such as the type of a preference, and reports them as ``SlotContent/attributes``.
  /// - Returns: The content that a read will return, for a staged version once it is published. Its stamp is one that
  ///   the slot keeps, wherever it is moved, until it is written again; `nil` if the store has no stamps or
  ///   ``move(_:to:)`` changes them.
  func write(_ data: Data, to slot: Slot, of key: KeyName?, attributes: ValueAttributes) throws -> SlotContent

  /// Moves the content of `source` to `target`, replacing any existing content. A concurrent read of `target` returns
  /// either the old or the new content.
  /// - Returns: The new stamp of `target` if moving changes it.
  /// - Throws: `notFound` when `source` is empty; `target` is unchanged then.
  func move(_ source: Slot, to target: Slot) throws -> SlotStamp?

  /// Copies the value of a key to a retained version, or throws if the store cannot. Does nothing without a value.
  func copy(_ key: KeyName, to version: SlotID) throws

  /// Removes the content of a slot. Does nothing if the slot is empty.
  func delete(_ slot: Slot) throws

  /// Syncs changes to the device.
  ///
  /// For ``SlotSync/values``, first applies the moves to and removals from value slots that are pending: a store that
  /// is one file writes it here, once for a whole batch.
  /// - Throws: for values, `outcomeUnknown` if the device failed to confirm them; with any other code, none of the
  ///   pending ones has been applied.
  func sync(_ changes: SlotSync) throws

  /// Reports changes that other programs make to the store. It may report this process's own changes as well. The
  /// calls of `heard` must be short.
  /// - Returns: A closure that ends the watch; `nil` if the store cannot report changes.
  func watch(_ heard: @escaping @Sendable (SlotEvent) -> Void) throws -> (@Sendable () -> Void)?
}

/// What is true of all slots of a store.
package struct SlotTraits: OptionSet, Sendable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Changes survive power loss once ``Slots/sync(_:)`` has returned. The engine reports `powerLossSafety` only then.
  package static let survivesPowerLoss = SlotTraits(rawValue: 1)
  /// Every staged value has a stamp from the beginning, which publishing does not change.
  package static let stampsStaged = SlotTraits(rawValue: 2)
  /// A listing costs a call for each value, so that recovery waits until one is needed.
  package static let listsSlowly = SlotTraits(rawValue: 4)
  /// Nothing derived from a value may be written elsewhere, not even its checksum or size, since a short secret could
  /// be guessed from them. Such a store reports the version of each value, or a stamp that changes with it.
  package static let keepsSecrets = SlotTraits(rawValue: 8)
  /// The values are property list values, whose type an attribute names.
  package static let holdsPropertyLists = SlotTraits(rawValue: 16)
}

/// The changes that ``Slots/sync(_:)`` syncs.
package enum SlotSync: Sendable {
  /// Staged versions, with their names, before their batch is committed. If the batch is alone, it changes nothing but
  /// one value: it is acknowledged only once that is published, so neither the name need be synced nor bytes that are
  /// published in another form.
  case staged([SlotID], isAlone: Bool)
  /// Everything that is staged.
  case allStaged
  /// Every change to a value slot so far.
  case values
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
  package var traits: SlotTraits { [] }
  package var readsBlock: Bool { false }

  /// Whether nothing derived from a value may be written elsewhere.
  package var keepsSecrets: Bool { traits.contains(.keepsSecrets) }

  package func availability() -> StoreAvailability { .available }

  package func stamp(_ slot: Slot) throws -> SlotPresence? {
    try read(slot).map { SlotPresence(stamp: $0.stamp) }
  }

  package func quarantined() throws -> [QuarantinedItem] { [] }
  package func prepare(_ keys: [KeyName]) throws {}

  package func move(_ source: Slot, to target: Slot) throws -> SlotStamp? {
    guard let content = try read(source) else {
      throw StorageError(.notFound, "There is nothing to move: the slot is empty.", location: "\(source)")
    }
    let stamp = try write(content.data, to: target, of: content.key, attributes: content.attributes).stamp
    try delete(source)
    return stamp
  }

  package func copy(_ key: KeyName, to version: SlotID) throws {
    guard let content = try read(.value(key)) else { return }
    _ = try write(content.data, to: .retained(version), of: key, attributes: content.attributes)
  }

  package func sync(_ changes: SlotSync) throws {}
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
  /// Damaged bytes that are kept for inspection, by their name: the ``SlotID`` of a version; any other name is that of
  /// a file. The engine never reads or changes them again.
  case quarantined(String)
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

/// Metadata that identifies the content of a slot without reading it: for a file its inode, modification time and size.
///
/// A value that does not match its checksum is damaged if its stamp shows that the slot is untouched, and was edited by
/// another program otherwise. Without stamps every such value counts as edited.
package struct SlotStamp: Hashable, Sendable {
  /// Four numbers whose meaning is private to the store. The fourth one is of the content: a size.
  package let words: (UInt64, UInt64, UInt64, UInt64)

  /// Creates a stamp of up to four numbers.
  package init(_ first: UInt64, _ second: UInt64 = 0, _ third: UInt64 = 0, _ fourth: UInt64 = 0) {
    words = (first, second, third, fourth)
  }

  /// Whether the slot was not written between the two stamps, so that bytes that differ nevertheless are damaged. The
  /// size does not count: a file that was truncated by damage has another one, too.
  package func isUntouched(since other: SlotStamp) -> Bool {
    (words.0, words.1, words.2) == (other.words.0, other.words.1, other.words.2)
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

/// A slot of a listing.
package struct ListedSlot: Sendable {
  /// The slot.
  package let slot: Slot
  /// The stamp of the slot, if the store knows it without another call.
  package let presence: SlotPresence?

  /// Creates an element of a listing.
  package init(_ slot: Slot, _ presence: SlotPresence? = nil) {
    self.slot = slot
    self.presence = presence
  }

  /// The key, if the slot holds a published value.
  package var key: KeyName? { if case .value(let key) = slot { key } else { nil } }
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
