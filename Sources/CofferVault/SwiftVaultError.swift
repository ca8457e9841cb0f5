public import Foundation

/// An error thrown by a vault.
///
/// In the vaults of this package the underlying error, where a case has one, is a `StorageError`, whose `code`
/// identifies the cause.
///
/// Two errors are equal when their case and texts are equal and both have, or both lack, an underlying error.
/// Underlying errors are not compared, since errors in general are not `Equatable`.
public enum SwiftVaultError: Error {
  /// A value could not be encoded.
  case encodingFailed(type: String, underlyingError: (any Error)? = nil)
  /// The bytes of a key are not a value of the requested type.
  case decodingFailed(key: String, type: String, underlyingError: (any Error)? = nil)
  /// The value of a key could not be read; whether there is one is unknown.
  case readFailed(key: String, underlyingError: (any Error)? = nil)
  /// A value was not stored.
  case writeFailed(key: String, underlyingError: (any Error)? = nil)
  /// A value was not removed.
  case deleteFailed(key: String, underlyingError: (any Error)? = nil)
  /// The store was not cleared.
  case clearAllFailed(underlyingError: (any Error)? = nil)
  /// The store could not be opened.
  case initializationFailed(String)
  /// The store does not support the operation.
  case unsupportedOperation(description: String)
  /// The store or the operating system failed for another reason: a denied permission, or a store that is open for
  /// reading only.
  case backendError(reason: String, underlyingError: (any Error)? = nil)
  /// A directory of the store could not be created.
  case couldNotCreateDirectory(path: String, underlyingError: any Error)
  /// A file of the store could not be written.
  case couldNotSaveFile(path: String, underlyingError: any Error)
  /// A file of the store could not be read.
  case couldNotReadFile(path: String, underlyingError: any Error)
  /// A file of the store could not be removed.
  case couldNotDeleteFile(path: String, underlyingError: any Error)
  /// The file does not exist.
  case fileDoesNotExist(path: String)
  /// A well-known directory of the system could not be located.
  case couldNotLocateSystemDirectory(directoryName: String)
  /// The files of a directory could not be listed.
  case directoryListingFailed(path: String, underlyingError: any Error)
  /// The shared container of an app group is not available.
  case appGroupContainerUnavailable(appGroupId: String, underlyingError: (any Error)? = nil)
  /// File access could not be coordinated with other processes.
  case fileCoordinationFailed(description: String, underlyingError: (any Error)? = nil)
  /// A stored value could not be migrated to its current form.
  case migrationFailed(key: String, underlyingErrors: [any Error])
  /// A value for user defaults could not be encoded.
  case userDefaultsEncodingFailed(key: String, type: String, underlyingError: any Error)
  /// A value in user defaults could not be decoded.
  case userDefaultsDecodingFailed(key: String, type: String, underlyingError: any Error)
  /// A value in user defaults does not have the requested type.
  case userDefaultsTypeCastingFailed(key: String, expectedType: String, actualType: String)
}

extension SwiftVaultError: LocalizedError {
  public var errorDescription: String? { "SwiftVaultError: \(summary)" }

  private var summary: String {
    switch self {
    case .encodingFailed(let type, _): "Encoding failed for type \(type)."
    case .decodingFailed(let key, let type, _): "Decoding failed for key '\(key)', type \(type)."
    case .readFailed(let key, _): "Read failed for key '\(key)'."
    case .writeFailed(let key, _): "Write failed for key '\(key)'."
    case .deleteFailed(let key, _): "Delete failed for key '\(key)'."
    case .clearAllFailed: "Clear all failed."
    case .initializationFailed(let message): "Initialization failed - \(message)."
    case .unsupportedOperation(let description): "Unsupported operation - \(description)."
    case .backendError(let reason, _): "Backend error - \(reason)."
    case .migrationFailed(let key, _): "Migration failed for key '\(key)'."
    default: ownSummary
    }
  }

  /// The texts of the cases that only certain kinds of stores have.
  private var ownSummary: String {
    switch self {
    case .couldNotCreateDirectory(let path, _): "Could not create directory at \(path)."
    case .couldNotSaveFile(let path, _): "Could not save file at \(path)."
    case .couldNotReadFile(let path, _): "Could not read file at \(path)."
    case .couldNotDeleteFile(let path, _): "Could not delete file at \(path)."
    case .fileDoesNotExist(let path): "File does not exist at \(path)."
    case .couldNotLocateSystemDirectory(let name): "Could not locate system directory: \(name)."
    case .directoryListingFailed(let path, _): "Failed to list contents of directory at \(path)."
    case .appGroupContainerUnavailable(let id, _): "App Group container unavailable for ID \(id)."
    case .fileCoordinationFailed(let description, _): "File coordination failed - \(description)."
    case .userDefaultsEncodingFailed(let key, let type, _):
      "UserDefaults encoding failed for key '\(key)', type \(type)."
    case .userDefaultsDecodingFailed(let key, let type, _):
      "UserDefaults decoding failed for key '\(key)', type \(type)."
    case .userDefaultsTypeCastingFailed(let key, let expected, let actual):
      "UserDefaults type casting failed for key '\(key)'. Expected: \(expected), Actual: \(actual)."
    default: ""
    }
  }
}

extension SwiftVaultError {
  /// The message of the underlying error, which `errorDescription` omits because its texts are fixed by the contract.
  public var failureReason: String? { underlying.map { ($0 as? StorageError)?.message ?? $0.localizedDescription } }

  /// The advice of the underlying `StorageError`, or `nil` if there is none.
  public var recoverySuggestion: String? { (underlying as? StorageError)?.recoverySuggestion }

  private var underlying: (any Error)? {
    switch self {
    case .encodingFailed(_, let error), .decodingFailed(_, _, let error), .readFailed(_, let error),
      .writeFailed(_, let error), .deleteFailed(_, let error), .clearAllFailed(let error), .backendError(_, let error),
      .appGroupContainerUnavailable(_, let error), .fileCoordinationFailed(_, let error):
      error
    case .couldNotCreateDirectory(_, let error), .couldNotSaveFile(_, let error), .couldNotReadFile(_, let error),
      .couldNotDeleteFile(_, let error), .directoryListingFailed(_, let error),
      .userDefaultsEncodingFailed(_, _, let error), .userDefaultsDecodingFailed(_, _, let error):
      error
    case .migrationFailed(_, let errors): errors.first
    case .initializationFailed, .unsupportedOperation, .fileDoesNotExist, .couldNotLocateSystemDirectory,
      .userDefaultsTypeCastingFailed:
      nil
    }
  }
}

extension SwiftVaultError: Equatable {
  public static func == (left: SwiftVaultError, right: SwiftVaultError) -> Bool {
    left.identity == right.identity
  }

  /// The compared parts: the case, its texts, and whether there is an underlying error.
  private var identity: Identity {
    switch self {
    case .encodingFailed(let type, let error): Identity(0, [type], error != nil)
    case .decodingFailed(let key, let type, let error): Identity(1, [key, type], error != nil)
    case .readFailed(let key, let error): Identity(2, [key], error != nil)
    case .writeFailed(let key, let error): Identity(3, [key], error != nil)
    case .deleteFailed(let key, let error): Identity(4, [key], error != nil)
    case .clearAllFailed(let error): Identity(5, [], error != nil)
    case .initializationFailed(let message): Identity(6, [message])
    case .unsupportedOperation(let description): Identity(7, [description])
    case .backendError(let reason, let error): Identity(8, [reason], error != nil)
    case .couldNotCreateDirectory(let path, _): Identity(9, [path])
    case .couldNotSaveFile(let path, _): Identity(10, [path])
    case .couldNotReadFile(let path, _): Identity(11, [path])
    case .couldNotDeleteFile(let path, _): Identity(12, [path])
    case .fileDoesNotExist(let path): Identity(13, [path])
    case .couldNotLocateSystemDirectory(let name): Identity(14, [name])
    case .directoryListingFailed(let path, _): Identity(15, [path])
    case .appGroupContainerUnavailable(let id, let error): Identity(16, [id], error != nil)
    case .fileCoordinationFailed(let description, let error): Identity(17, [description], error != nil)
    case .migrationFailed(let key, _): Identity(18, [key])
    case .userDefaultsEncodingFailed(let key, let type, _): Identity(19, [key, type])
    case .userDefaultsDecodingFailed(let key, let type, _): Identity(20, [key, type])
    case .userDefaultsTypeCastingFailed(let key, let expected, let actual): Identity(21, [key, expected, actual])
    }
  }

  private struct Identity: Equatable {
    let number: Int
    let texts: [String]
    let hasUnderlyingError: Bool

    init(_ number: Int, _ texts: [String], _ hasUnderlyingError: Bool = false) {
      self.number = number
      self.texts = texts
      self.hasUnderlyingError = hasUnderlyingError
    }
  }
}
