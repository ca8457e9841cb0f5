public import Foundation

/// Everything that can go wrong in a store, in words for people and with a code for programs.
///
/// ```swift
/// do {
///   try await store.save(theme, for: "theme")
/// } catch let error as StorageError where error.code == .diskFull {
///   askForSpace(error.localizedDescription)
/// }
/// ```
///
/// A message names the store and the key and says what stays valid and what to do. It never contains a value.
public struct StorageError: Error, Sendable {
  /// What kind of failure it is. New codes may be added.
  ///
  /// Those here are what any engine may throw. A target that has failures of its own adds codes in an extension.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// The code's name, such as `diskFull`.
    public let description: String
    /// A code of one target's own.
    package init(_ name: String) { description = name }

    /// The key is empty or too long.
    public static let invalidKey = Code("invalidKey")
    /// The value is larger than the store takes.
    public static let valueTooLarge = Code("valueTooLarge")
    /// A `require` did not hold: somebody else was first. Nothing was written.
    public static let preconditionFailed = Code("preconditionFailed")
    /// There is no such value, or no such store where one must exist.
    public static let notFound = Code("notFound")
    /// The store cannot be read now (locked, server away). It says nothing about what the store holds.
    public static let unavailable = Code("unavailable")
    /// The operating system refuses access.
    public static let permissionDenied = Code("permissionDenied")
    /// No space is left on the device.
    public static let diskFull = Code("diskFull")
    /// Another process held the store's write lock for too long.
    public static let busy = Code("busy")
    /// The passphrase or key does not open the store. It says nothing about what the store holds.
    public static let wrongPassphrase = Code("wrongPassphrase")
    /// The bytes on disk are not those that were written.
    public static let damaged = Code("damaged")
    /// The path holds something that is not a store of this kind.
    public static let notAStore = Code("notAStore")
    /// A newer version of this library wrote the store.
    public static let newerFormat = Code("newerFormat")
    /// The handle was closed.
    public static let closed = Code("closed")
    /// The commit may or may not have happened: a device failed in its middle, or a server or daemon was asked and did
    /// not answer in time (it may still do what it was asked for). It happens whole or not at all. Read before you
    /// commit the same again, or make it conditional.
    public static let outcomeUnknown = Code("outcomeUnknown")
    /// The change has happened and reads see it, but it could not be carried out where others look for it, in a file
    /// for example; the next commit tries again.
    public static let unfinished = Code("unfinished")
    /// The engine does not promise what was asked.
    public static let unsupported = Code("unsupported")
    /// A value could not be encoded.
    public static let encodingFailed = Code("encodingFailed")
    /// Stored bytes could not be decoded as the type that was asked for. They are kept.
    public static let decodingFailed = Code("decodingFailed")
    /// Any other failure of the operating system or a library.
    public static let inputOutput = Code("inputOutput")
  }

  /// What the operating system or a library reported.
  public struct Underlying: Hashable, Sendable {
    /// What kind of number it is: `errno`, `SQLite`, ...
    public let domain: String
    /// Its number there.
    public let code: Int
    /// Its text there.
    public let text: String

    /// A failure as its reporter gave it.
    public init(domain: String, code: Int, text: String) {
      self.domain = domain
      self.code = code
      self.text = text
    }
  }

  /// What kind of failure it is, for programs.
  public let code: Code
  /// What happened.
  public let message: String
  /// What stays valid and what to do; may be empty.
  public let advice: String
  /// The engine and place, such as `sqlite:/var/lib/shop/app.db`; may be empty.
  public let backend: String
  /// The key that was asked for.
  public let key: StoreKey?
  /// What lies under it, where something does.
  public let underlying: Underlying?

  /// An error for an engine or adapter to throw. Never put a value into the message.
  public init(
    _ code: Code, _ message: String, advice: String = "", backend: String = "", key: StoreKey? = nil,
    underlying: Underlying? = nil
  ) {
    self.code = code
    self.message = message
    self.advice = advice
    self.backend = backend
    self.key = key
    self.underlying = underlying
  }

  /// The same error, saying which store and key it is about, unless it does already.
  package func locating(backend: String, key: StoreKey? = nil) -> StorageError {
    StorageError(
      code, message, advice: advice, backend: self.backend.isEmpty ? backend : self.backend, key: self.key ?? key,
      underlying: underlying)
  }
}

extension StorageError: CustomStringConvertible, LocalizedError {
  public var description: String {
    var text = message
    if let key { text += " Key: '\(key.string.escapingControlCharacters)'." }
    if !backend.isEmpty { text += " Store: \(backend)." }
    if !advice.isEmpty { text += " \(advice)" }
    if let underlying { text += " (\(underlying.domain) \(underlying.code): \(underlying.text))" }
    return text
  }

  public var errorDescription: String? { description }
  public var recoverySuggestion: String? { advice.isEmpty ? nil : advice }
}

extension StorageError {
  /// What to say to somebody who uses a closed handle.
  package static func closed(_ backend: String) -> StorageError {
    StorageError(.closed, "The store was closed.", advice: "Open it again to use it.", backend: backend)
  }

  /// What to say to somebody who asks for more than an engine promises.
  package static func unsupported(_ what: String, advice: String, backend: String) -> StorageError {
    StorageError(.unsupported, "This store does not support \(what).", advice: advice, backend: backend)
  }
}
