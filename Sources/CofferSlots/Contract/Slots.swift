package import CofferCore
package import Foundation

/// A home that can read, write and delete one named thing: a file, a preference, a keyring item.
///
/// ``SlotEngine`` makes a whole storage engine of it: atomic batches, transaction ids, checksums, revisions, changes
/// and recovery come from a small journal database beside the home. No value is ever written to that database: what a
/// batch stores waits in slots of the home itself, where it is as secret as any other value there.
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
/// Calls come from several threads at once, but never two writes to one slot. They may block; none comes from a thread
/// that Swift's tasks share, except `read` and `stamp` of a home whose ``readsBlock`` is false, which are called where
/// the value is asked for.
package protocol Slots: Sendable {
  /// Whether what ``sync()`` has returned for survives power loss. Without it the engine does not promise it either.
  var survivesPowerLoss: Bool { get }

  /// Whether to read takes long enough to hold a thread up: another process is asked, say.
  var readsBlock: Bool { get }

  /// Whether nothing that depends on a value may be written elsewhere, not even its checksum or size, since a short
  /// secret could be guessed by them. Such a home tells the version of what it reads, or a stamp that changes with it.
  var keepsSecrets: Bool { get }

  /// Whether the home can be read and written now. It must not wait for long, and never for a person.
  func availability() -> StoreAvailability

  /// What a slot holds; `nil` only when it is proven empty. Throw when it cannot be told.
  func read(_ slot: Slot) throws -> SlotContent?

  /// Fills a slot, whole or not at all, replacing what was there.
  /// - Returns: A stamp that the slot keeps, wherever it is moved, until somebody writes it again; `nil` where the home
  ///   has none or where ``move(_:to:)`` changes it.
  func write(_ data: Data, to slot: Slot) throws -> SlotStamp?

  /// Fills the slot of a version that waits for its batch to be committed.
  /// - Parameters:
  ///   - data: the value's bytes.
  ///   - id: the version.
  ///   - key: whose value it is.
  ///   - attributes: what is stored with the value. The journal keeps them; a home needs those only that it has a place
  ///     for, such as the type of a preference, and tells them with ``SlotContent/attributes``.
  /// - Returns: What ``write(_:to:)`` returns.
  func stage(_ data: Data, as id: SlotID, for key: StoreKey, attributes: ValueAttributes) throws -> SlotStamp?

  /// The ``SlotContent/attributes`` that the home will report for a value that is staged now, once the value is in its
  /// place. The journal records them, so that a listing reports what a read reports.
  func attributes(staging data: Data, for key: StoreKey, attributes: ValueAttributes) throws -> ValueAttributes

  /// Empties a slot. An empty one is no error.
  func delete(_ slot: Slot) throws

  /// Every slot that is filled, in any order.
  func list() throws -> [Slot]

  /// Puts what `source` holds into `target`, replacing what was there, and empties `source`. Reading `target` meanwhile
  /// gives the old content or the new.
  /// - Returns: The new stamp of `target` where moving changes it.
  /// - Throws: `notFound` when `source` is empty; then `target` is as it was.
  func move(_ source: Slot, to target: Slot) throws -> SlotStamp?

  /// Puts what `source` holds into `target` too, if it holds anything.
  func copy(_ source: Slot, to target: Slot) throws

  /// The stamp of a slot without its content; `nil` when it is empty.
  func stamp(_ slot: Slot) throws -> SlotPresence?

  /// Whether nobody has written a slot between two stamps of it: bytes that differ all the same are damaged.
  func isUntouched(_ stamp: SlotStamp, since recorded: SlotStamp) -> Bool

  /// The stamps of all values at once, where that is quicker than asking for each; else `nil`.
  func stamps() throws -> [StoreKey: SlotPresence]?

  /// Throws when no value could be put into its place or removed now. Called before anything is stored.
  func checkWritable() throws

  /// Makes what the place of this key's value needs, or throws when the value could not be put there now. Called before
  /// anything is stored.
  func prepare(_ key: StoreKey) throws

  /// Returns when everything that was put aside so far would be found after power loss, by its name, too.
  func syncStaged() throws

  /// Carries out the moves to and the removals from slots of values that have only been noted so far: a home that is
  /// one file writes it here, once for a whole batch. When it throws, none of them has happened, unless the code is
  /// `outcomeUnknown`.
  func flush() throws

  /// Returns when every change to a slot of a value so far has survived power loss.
  func sync() throws

  /// Tells of what others do to the home. Own changes may be told, too. The calls must be short.
  /// - Returns: What ends it; `nil` where the home cannot tell.
  func watch(_ heard: @escaping @Sendable (SlotEvent) -> Void) throws -> (@Sendable () -> Void)?
}

/// What a home tells of what others have done to it.
package enum SlotEvent: Hashable, Sendable {
  /// The value of this key may have been changed.
  case changed(StoreKey)
  /// Any value may have been changed.
  case anything
  /// ``Slots/availability()`` may have changed.
  case availability
}

extension Slots {
  package var survivesPowerLoss: Bool { false }
  package var readsBlock: Bool { false }
  package var keepsSecrets: Bool { false }

  package func availability() -> StoreAvailability { .available }

  package func stage(_ data: Data, as id: SlotID, for key: StoreKey, attributes: ValueAttributes) throws -> SlotStamp? {
    try write(data, to: .staged(id))
  }

  package func attributes(
    staging data: Data, for key: StoreKey, attributes: ValueAttributes
  ) throws -> ValueAttributes { .none }

  package func move(_ source: Slot, to target: Slot) throws -> SlotStamp? {
    guard let content = try read(source) else {
      throw StorageError(.notFound, "There is nothing to move: the slot is empty.", backend: "\(source)")
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
  package func stamps() throws -> [StoreKey: SlotPresence]? { nil }
  package func checkWritable() throws {}
  package func prepare(_ key: StoreKey) throws {}
  package func syncStaged() throws {}
  package func flush() throws {}
  package func sync() throws {}
  package func watch(_ heard: @escaping @Sendable (SlotEvent) -> Void) throws -> (@Sendable () -> Void)? { nil }
}

/// One named place in a home.
package enum Slot: Hashable, Sendable {
  /// Where people find the value of a key.
  case value(StoreKey)
  /// A value that waits for its batch to be committed and then to be moved to its place.
  case staged(SlotID)
  /// A value that was replaced while a snapshot was reading.
  case retained(SlotID)
  /// Damaged bytes that are kept for people to look at. Nothing here reads or changes them again.
  case quarantined(SlotID)
}

/// Names one version of one value: who wrote it and the how-manieth of theirs it was.
package struct SlotID: Hashable, Sendable, CustomStringConvertible, LosslessStringConvertible {
  /// The open handle that made it.
  package let owner: UInt64
  /// Its number there.
  package let number: UInt64

  /// The version with this number of this handle.
  package init(owner: UInt64, number: UInt64) {
    self.owner = owner
    self.number = number
  }

  /// The 32 lowercase hexadecimal digits of ``description``; `nil` for anything else.
  package init?(_ description: String) {
    let digits = Array(description.utf8)
    let isHexadecimal = digits.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    guard digits.count == 32, isHexadecimal,
      let owner = UInt64(description.prefix(16), radix: 16), let number = UInt64(description.suffix(16), radix: 16)
    else { return nil }
    self.init(owner: owner, number: number)
  }

  /// 32 lowercase hexadecimal digits.
  package var description: String { owner.hexadecimal + number.hexadecimal }
}

/// What a home says of a slot's content without reading it: for a file its inode, size and date.
///
/// A value that does not match its checksum under an unchanged stamp is damaged; under a changed one it was edited by
/// somebody else (``Slots/isUntouched(_:since:)``). A home that has no stamps takes every such value for edited.
package struct SlotStamp: Hashable, Sendable {
  /// Four numbers that mean something to the home only.
  package let words: (UInt64, UInt64, UInt64, UInt64)

  /// A stamp of up to four numbers.
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

/// What a filled slot holds.
package struct SlotContent: Sendable {
  /// The value's bytes.
  package let data: Data
  /// The stamp under which they were read.
  package let stamp: SlotStamp?
  /// Which version they are, where the home keeps that with them.
  package let version: SlotID?
  /// Whose value they are, where the home keeps that with a value that waits and nobody can change it. It is compared
  /// with the key that is read: a waiting value of another key is damage.
  package let key: StoreKey?
  /// What the home itself says of the value, such as the type of a preference.
  package let attributes: ValueAttributes

  /// Bytes, the stamp under which they were read, their version, whose value they are, and what the home says of them.
  package init(
    _ data: Data, stamp: SlotStamp? = nil, version: SlotID? = nil, key: StoreKey? = nil,
    attributes: ValueAttributes = .none
  ) {
    self.data = data
    self.attributes = attributes
    self.stamp = stamp
    self.version = version
    self.key = key
  }
}

/// That a slot is filled, and under which stamp.
package struct SlotPresence: Hashable, Sendable {
  /// The stamp, where the home has one.
  package let stamp: SlotStamp?

  /// A filled slot.
  package init(stamp: SlotStamp?) { self.stamp = stamp }
}

extension UInt64 {
  /// Sixteen lowercase hexadecimal digits.
  var hexadecimal: String {
    let digits = String(self, radix: 16)
    return String(repeating: "0", count: 16 - digits.utf8.count) + digits
  }
}
