package import CofferCore
package import Foundation

/// The file format of a store that is one file.
package protocol DocumentFormat: Sendable {
  /// The decoded content of a file.
  associatedtype Document: Sendable

  /// A staged value: its bytes and what is stored with them.
  associatedtype Item: Sendable

  /// Whether the file is encrypted.
  var keepsSecrets: Bool { get }

  /// Whether the values are property list values.
  var holdsPropertyLists: Bool { get }

  /// Returns the document that stands for a missing file. Throws if an existing file was lost and must not be taken
  /// for an empty one.
  func missing() throws -> Document

  /// Decodes a file. Throws `damaged` if it is not valid.
  func decode(_ file: Data) throws -> Document

  /// Encodes a document as a file, which ``decode(_:)`` must accept, and makes the document the one to keep in memory
  /// with that file: the next one is encoded from it.
  func encode(_ document: inout Document) throws -> Data

  func keys(of document: Document) -> [KeyName]
  func content(of key: KeyName, in document: Document) throws -> SlotContent?
  /// Returns the attribute that the file can represent, to be passed to `encodeStaged`; 0 for none.
  func tag(of attributes: ValueAttributes) -> UInt8
  /// Returns the attributes that ``content(of:in:)`` reports once a value with this tag is set in the document.
  func attributes(
    of key: KeyName, set data: Data, tag: UInt8, in document: @autoclosure () throws -> Document
  ) throws -> ValueAttributes
  /// Returns whether there is a value, with its stamp, without decoding its bytes.
  func presence(of key: KeyName, in document: Document) -> SlotPresence?
  func set(_ key: KeyName, to item: Item, version: SlotID, in document: inout Document) throws
  func remove(_ key: KeyName, from document: inout Document)

  /// Encodes a staged or retained value, which is kept in a separate file.
  /// - Parameter key: the key of the value; `nil` for bytes that are only kept for inspection.
  func encodeStaged(_ data: Data, as id: SlotID, for key: KeyName?, tag: UInt8) throws -> Data

  /// Decodes the result of ``encodeStaged(_:as:for:tag:)`` for the same version.
  /// - Returns: the value, and its key if the file records it.
  /// - Throws: `damaged` for anything else.
  func decodeStaged(_ file: Data, of id: SlotID) throws -> (key: KeyName?, item: Item)

  /// Returns the bytes of a staged value.
  func data(of item: Item) -> Data

  /// Returns the stamp that a version will have once published, or `nil` if that is not known in advance.
  func stamp(of id: SlotID) -> SlotStamp?
}

extension DocumentFormat {
  package var holdsPropertyLists: Bool { false }

  /// Encodes a document that is not kept.
  package func encode(_ document: Document) throws -> Data {
    var document = document
    return try encode(&document)
  }
}
