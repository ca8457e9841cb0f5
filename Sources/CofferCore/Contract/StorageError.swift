public import Foundation

/// A failure of a store, with a code for programs and a message for people.
///
/// ```swift
/// do {
///   try await store.save(theme, for: "theme")
/// } catch let error as StorageError where error.code == .diskFull {
///   askForSpace(error.localizedDescription)
/// }
/// ```
///
/// The description names the store and the key, states what is still valid, and advises what to do next. It never
/// contains a stored value.
public struct StorageError: Error, Sendable {
  /// The kind of a failure. New codes may be added.
  ///
  /// Any engine may throw the codes declared here. Other targets of the package add codes in extensions.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// The code's name, such as `diskFull`.
    public let description: String
    /// Creates a code, for targets of the package that add their own.
    package init(_ name: String) { description = name }

    /// The key is empty or too long.
    public static let invalidKey = Code("invalidKey")
    /// The value or its attributes exceed the limit of the store.
    public static let valueTooLarge = Code("valueTooLarge")
    /// A `require` did not hold, because another writer committed first. Nothing was written.
    public static let preconditionFailed = Code("preconditionFailed")
    /// There is no such value, or no store where one must exist.
    public static let notFound = Code("notFound")
    /// The store cannot be used now, for example because it is locked or its server is unreachable. This implies
    /// nothing about its content.
    public static let unavailable = Code("unavailable")
    /// The operating system denied access.
    public static let permissionDenied = Code("permissionDenied")
    /// The store is open for reading only: as requested (``StoreAccess/readOnly``), or because it cannot be written, as
    /// the message states. Nothing was written.
    public static let readOnly = Code("readOnly")
    /// No space is left on the device.
    public static let diskFull = Code("diskFull")
    /// Another process held the store's write lock for too long.
    public static let busy = Code("busy")
    /// The passphrase or key does not decrypt the store. This implies nothing about its content.
    public static let wrongPassphrase = Code("wrongPassphrase")
    /// The bytes on disk differ from those that were written.
    public static let damaged = Code("damaged")
    /// The path holds something that is not a store of this kind.
    public static let notAStore = Code("notAStore")
    /// A newer version of this library wrote the store.
    public static let newerFormat = Code("newerFormat")
    /// The handle was closed.
    public static let closed = Code("closed")
    /// The commit may or may not have been applied: a device failed during the commit, or a server or daemon did not
    /// answer in time and may still apply it. It is applied as a whole or not at all. Read before you repeat the
    /// commit, or add a precondition.
    public static let outcomeUnknown = Code("outcomeUnknown")
    /// The change is committed and visible to reads, but it could not be published where other programs read it, such
    /// as in a file; the next commit tries again.
    public static let unfinished = Code("unfinished")
    /// The engine does not declare the capability that the call needs.
    public static let unsupported = Code("unsupported")
    /// A value could not be encoded.
    public static let encodingFailed = Code("encodingFailed")
    /// Stored bytes could not be decoded as the requested type. They are kept.
    public static let decodingFailed = Code("decodingFailed")
    /// Any other failure of the operating system or a library.
    public static let inputOutput = Code("inputOutput")
    /// The declaration of a key or of a store is incomplete, or its parts contradict each other.
    public static let invalidDeclaration = Self("invalidDeclaration")
  }

  /// A failure as reported by the operating system or a library.
  public struct Underlying: Hashable, Sendable {
    /// The domain of the error number: `errno`, `SQLite`, ...
    public let domain: String
    /// The error number within the domain.
    public let code: Int
    /// The message of the operating system or library.
    public let text: String

    /// Creates an underlying error from its domain, number and message.
    public init(domain: String, code: Int, text: String) {
      self.domain = domain
      self.code = code
      self.text = text
    }
  }

  /// The kind of the failure, for programs.
  public let code: Code
  /// The description of what happened, in one or more sentences.
  public let message: String
  /// A statement of what is still valid, and instructions for what to do next; may be empty.
  public let advice: String
  /// The location of the store, such as `sqlite:/var/lib/shop/app.db`; may be empty.
  public let location: String
  /// The key of the failed operation, if any.
  public let key: KeyName?
  /// The error of the operating system or library that caused the failure, if any.
  public let underlying: Underlying?
  /// What was recognized, if the code is `foreignFormat`.
  public package(set) var foreignData: ForeignData?
  /// Whether the failure is about a question to the user, which repeating the operation would ask again.
  package var isAboutQuestion = false

  /// Creates an error for an engine or adapter to throw. Never put a stored value into the message.
  public init(
    _ code: Code, _ message: String, advice: String = "", location: String = "", key: KeyName? = nil,
    underlying: Underlying? = nil
  ) {
    self.code = code
    self.message = message
    self.advice = advice
    self.location = location
    self.key = key
    self.underlying = underlying
  }

  /// Returns a copy of this error with the location and key filled in where they are missing.
  package func locating(at location: String, key: KeyName? = nil) -> StorageError {
    var error = StorageError(
      code, message, advice: advice, location: self.location.isEmpty ? location : self.location, key: self.key ?? key,
      underlying: underlying)
    error.isAboutQuestion = isAboutQuestion
    error.foreignData = foreignData
    return error
  }
}

extension StorageError: CustomStringConvertible, LocalizedError {
  public var description: String {
    var text = message
    if let key { text += " Key: '\(key.string.escapingControlCharacters)'." }
    if !location.isEmpty { text += " Store: \(location)." }
    if !advice.isEmpty { text += " \(advice)" }
    if let underlying { text += " (\(underlying.domain) \(underlying.code): \(underlying.text))" }
    return text
  }

  public var errorDescription: String? { description }
  public var recoverySuggestion: String? { advice.isEmpty ? nil : advice }
}

extension StorageError {
  /// Returns the error for the use of a closed handle.
  package static func closed(_ location: String) -> StorageError {
    StorageError(.closed, "The store was closed.", advice: "Open it again to use it.", location: location)
  }

  /// Returns the error for an operation that exceeds the engine's declared capabilities.
  /// - Parameter what: the missing capability, as a noun phrase for use inside a sentence.
  package static func unsupported(_ what: String, advice: String, location: String) -> StorageError {
    StorageError(.unsupported, "This store does not support \(what).", advice: advice, location: location)
  }
}
