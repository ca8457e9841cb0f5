package import CofferCore
package import Foundation

/// How a home that is one file writes its values into it.
package protocol DocumentFormat: Sendable {
  /// The content of a file, taken apart.
  associatedtype Document: Sendable

  /// What the bytes of a value mean beside themselves, for values that wait for their commit.
  associatedtype Item: Sendable

  /// Whether the file is unreadable without a key.
  var keepsSecrets: Bool { get }

  /// What stands for a missing file; throws where one that was there must not be taken for an empty one.
  func missing() throws -> Document

  /// Takes a file apart. Throws `damaged` for one that cannot be.
  func decode(_ file: Data) throws -> Document

  /// The file of a document.
  func encode(_ document: Document) throws -> Data

  func keys(of document: Document) -> [StoreKey]
  func content(of key: StoreKey, in document: Document) throws -> SlotContent?
  /// What `encodeWaiting` is given of the attributes of a value: the one that the file has a place for; 0 for none.
  func tag(of attributes: ValueAttributes) -> UInt8
  /// What ``content(of:in:)`` reports beside the bytes once a value with this tag was set in the document.
  func attributes(of key: StoreKey, set data: Data, tag: UInt8, in document: Document) -> ValueAttributes
  /// That there is a value, and its stamp, without its bytes.
  func presence(of key: StoreKey, in document: Document) -> SlotPresence?
  func set(_ key: StoreKey, to item: Item, version: SlotID, in document: inout Document) throws
  func remove(_ key: StoreKey, from document: inout Document)

  /// What a value that waits is written as, in a file of its own.
  /// - Parameter key: whose value it is; `nil` for bytes that are only kept for people to look at.
  func encodeWaiting(_ data: Data, as id: SlotID, for key: StoreKey?, tag: UInt8) throws -> Data

  /// Reads what ``encodeWaiting(_:as:for:tag:)`` wrote for the same version.
  /// - Returns: the value, and whose it is where the file says so.
  /// - Throws: `damaged` for anything else.
  func decodeWaiting(_ file: Data, of id: SlotID) throws -> (key: StoreKey?, item: Item)

  /// The bytes of a value.
  func data(of item: Item) -> Data

  /// The stamp of a version in its place where it is known before it is there.
  func stamp(of id: SlotID) -> SlotStamp?
}
