import CofferCore
import Foundation

/// How the entries of a store are sealed and opened under one state of its key ring. It never changes.
final class StoreCipher: Sendable {
  /// What a read of a stored entry meets.
  enum Failure: Error {
    /// It may open under a newer state of the ring: its key or the store's phase may have changed.
    case unopened(StorageError)
  }

  /// The key ring, as it was read.
  let open: OpenKeyRing
  /// The precondition of each commit: that the ring has not changed.
  let precondition: [WriteBatch.Operation]
  /// The hidden names; `nil` for a store that keeps names in plain.
  let names: OpaqueNames?
  private let primary: DataKey
  /// The id of the store. An array is read faster than a `Data`.
  private let storeID: [UInt8]
  private let location: String
  /// How the values of a key are encrypted, in a store whose ring leaves it to the program; `nil` for a tool that opens
  /// the store without the declarations.
  private let declared: (@Sendable (KeyName) -> ValueEncryption?)?
  private let hidesTypes: Bool

  var ring: KeyRing { open.ring }

  /// - Parameters:
  ///   - open: the key ring, as it was read.
  ///   - base: the engine of the store.
  ///   - configuration: the options of the engine.
  /// - Throws: `unsupported` for a store whose ring leaves it to the program which values are encrypted, if the
  ///   configuration does not say so.
  init(_ open: OpenKeyRing, over base: any StorageEngine, _ configuration: EncryptedEngine.Configuration) throws {
    self.open = open
    precondition = open.precondition
    primary = open.ring.primary
    storeID = Array(open.ring.storeID)
    location = base.description
    guard open.ring.coverage == .all || configuration.isEncrypted != nil || configuration.acceptsDeclared else {
      throw StorageError.isDeclared(base.description)
    }
    // What a program declares without algorithms says nothing about a store whose values are all encrypted.
    if configuration.declared == nil, open.ring.coverage == .declared, let isEncrypted = configuration.isEncrypted {
      declared = { isEncrypted($0) ? ValueEncryption() : nil }
    } else {
      declared = configuration.declared
    }
    names = open.ring.settings.hidesNames ? try OpaqueNames(open.ring) : nil
    hidesTypes = base.capabilities.contains(.propertyLists)
  }

  /// Whether the store holds plain values beside encrypted ones, while it is encrypted or decrypted.
  private var isTransitional: Bool { ring.phase != .complete }

  /// Returns the algorithm of a new value of a key; `nil` if it is stored in plain.
  func algorithm(of key: KeyName) -> EncryptionAlgorithm? {
    guard ring.phase != .decrypting else { return nil }
    guard let declared else { return ring.settings.algorithm }
    let encryption = declared(key)
    guard ring.coverage == .all || encryption != nil else { return nil }
    return encryption?.algorithm ?? ring.settings.algorithm
  }

  /// Whether the value of a key may be a plain one for good.
  func staysPlain(_ key: KeyName) -> Bool { ring.coverage == .declared && declared?(key) == nil }

  // MARK: Sealing

  /// A value as it is stored.
  struct Stored {
    let key: KeyName
    let value: Data
    let attributes: ValueAttributes
  }

  /// Returns a value as it has to be stored: sealed, or in plain if the store or the declaration of its key says so.
  func stored(_ name: KeyName, _ value: Data, _ attributes: ValueAttributes) throws -> Stored {
    guard let algorithm = algorithm(of: name) else {
      return Stored(key: name, value: value, attributes: attributes.visible)
    }
    let stored = try names?.stored(name)
    let attributes = (hidesTypes ? attributes.hidingType : attributes).marked(stored?.attributes)
    let sealed = try Envelope.seal(
      value, under: primary, context: context(name, attributes), algorithm: algorithm.cipher,
      isPadded: ring.settings.padsValues)
    return Stored(key: stored?.key ?? name, value: sealed, attributes: attributes)
  }

  /// Returns the key with an id, which mostly is the primary one.
  private func key(_ id: KeyID) throws -> DataKey { id == primary.id ? primary : try ring.key(id) }

  private func context(_ name: KeyName, _ attributes: ValueAttributes) -> EnvelopeContext {
    EnvelopeContext(store: storeID, key: name, attributes: attributes, format: 1)
  }

  // MARK: Opening

  /// Opens a stored entry.
  /// - Throws: ``Failure``, if it does not open under this state of the ring; `newerFormat`.
  func open(_ entry: StoreEntry, of name: KeyName) throws -> StoreEntry {
    guard entry.attributes.isMarked else {
      if isTransitional, entry.attributes.isSealed {
        // Found without a record. It has to reach its new form, or a key ring that it needs would be removed.
        guard let value = try? openBare(entry.value, of: name) else {
          throw Failure.unopened(.doesNotOpen(name, location: location))
        }
        return StoreEntry(key: name, value: value, revision: entry.revision)
      }
      guard acceptsPlain(entry, of: name) else {
        throw Failure.unopened(.isPlain(name, location: location))
      }
      return StoreEntry(key: name, value: entry.value, revision: entry.revision, attributes: entry.attributes)
    }
    guard entry.attributes.hasKnownMark else { throw StorageError.newerEnvelope(name, location: location) }
    let attributes = hidesTypes ? entry.attributes.untyped : entry.attributes
    do {
      let value = try Envelope.open(entry.value, context: context(name, attributes)) { try key($0) }
      return StoreEntry(key: name, value: value, revision: entry.revision, attributes: visible(attributes))
    } catch let error as StorageError where error.code == .keyUnavailable || error.code == .newerFormat {
      throw Failure.unopened(error.locating(at: location, key: name))
    } catch is AuthenticationFailure {
      throw Failure.unopened(.doesNotOpen(name, location: location))
    } catch let error as StorageError where error.code == .damaged {
      throw Failure.unopened(.doesNotOpen(name, location: location))
    }
  }

  /// Opens bytes whose attributes are not known, if the value had none of its own.
  func openBare(_ envelope: Data, of name: KeyName) throws -> Data {
    try Envelope.open(envelope, context: context(name, ValueAttributes.none.marked())) { try key($0) }
  }

  /// Whether bytes without the mark of an envelope are a value. An envelope that lost its mark is none.
  private func acceptsPlain(_ entry: StoreEntry, of name: KeyName) -> Bool {
    // One that was found must not be encrypted twice.
    guard staysPlain(name) || isTransitional && !entry.attributes.isSealed else { return false }
    guard let header = try? EnvelopeHeader(of: entry.value) else { return true }
    return ring.keys[header.keyID] == nil
  }

  /// Returns a summary as a caller sees it.
  func summary(_ summary: StoreEntry.Summary, of name: KeyName) -> StoreEntry.Summary {
    let isSealed = summary.attributes.isMarked
    let size: Int? =
      if ring.settings.padsValues { isSealed || ring.coverage == .all ? nil : summary.size } else {
        isSealed ? summary.size.flatMap { $0 < Envelope.overhead ? nil : $0 - Envelope.overhead } : summary.size
      }
    return StoreEntry.Summary(
      key: name, size: size, revision: summary.revision, date: summary.date,
      attributes: isSealed ? visible(summary.attributes) : summary.attributes)
  }

  /// Returns the attributes of an envelope as a caller sees them.
  private func visible(_ attributes: ValueAttributes) -> ValueAttributes {
    if attributes == .envelope { return .none }  // those of most values
    return hidesTypes ? attributes.visible.showingType : attributes.visible
  }

  // MARK: Names

  /// Returns the key under which the value of a name is stored.
  func storedKey(of name: KeyName) throws -> KeyName { try names?.key(of: name) ?? name }

  /// Returns the name of a stored value, for a listing.
  /// - Throws: ``Failure``, if it does not open under this state of the ring.
  func name(of stored: KeyName, _ attributes: ValueAttributes) throws -> KeyName {
    guard let names else { return stored }
    guard let sealed = attributes[.sealedName] else {
      if isTransitional, !attributes.isMarked { return stored }
      throw Failure.unopened(.nameDoesNotOpen(location: location))
    }
    do {
      return try names.name(in: sealed, of: stored)
    } catch let error as StorageError where error.code == .keyUnavailable {
      throw Failure.unopened(error.locating(at: location))
    } catch {
      throw Failure.unopened(.nameDoesNotOpen(location: location))
    }
  }
}
