public import Foundation

/// What a vault throws (document 0).
///
/// The underlying error of a vault of this package is a `StorageError`, whose `code` tells more.
///
/// Two errors are equal when their texts are equal and both have, or both lack, an underlying error: errors in general
/// cannot be compared.
public enum SwiftVaultError: Error {
  /// A value could not be encoded.
  case encodingFailed(type: String, underlyingError: (any Error)? = nil)
  /// The bytes of a key are not a value of the type that was asked for.
  case decodingFailed(key: String, type: String, underlyingError: (any Error)? = nil)
  /// The store cannot tell the value of a key.
  case readFailed(key: String, underlyingError: (any Error)? = nil)
  /// A value was not stored.
  case writeFailed(key: String, underlyingError: (any Error)? = nil)
  /// A value was not removed.
  case deleteFailed(key: String, underlyingError: (any Error)? = nil)
  /// The store was not cleared.
  case clearAllFailed(underlyingError: (any Error)? = nil)
  /// The store could not be opened.
  case initializationFailed(String)
  /// The store does not promise what was asked.
  case unsupportedOperation(description: String)
  /// The store or the operating system refused for another reason.
  case backendError(reason: String, underlyingError: (any Error)? = nil)
  /// A directory of the store could not be made.
  case couldNotCreateDirectory(path: String, underlyingError: any Error)
  /// A file of the store could not be written.
  case couldNotSaveFile(path: String, underlyingError: any Error)
  /// A file of the store could not be read.
  case couldNotReadFile(path: String, underlyingError: any Error)
  /// A file of the store could not be removed.
  case couldNotDeleteFile(path: String, underlyingError: any Error)
  /// There is no such file.
  case fileDoesNotExist(path: String)
  /// The operating system does not say where a well-known directory is.
  case couldNotLocateSystemDirectory(directoryName: String)
  /// The files of a directory could not be listed.
  case directoryListingFailed(path: String, underlyingError: any Error)
  /// The directory that a group of apps shares is not available.
  case appGroupContainerUnavailable(appGroupId: String, underlyingError: (any Error)? = nil)
  /// Other processes could not be coordinated with.
  case fileCoordinationFailed(description: String, underlyingError: (any Error)? = nil)
  /// A stored value could not be brought to its present form.
  case migrationFailed(key: String, underlyingErrors: [any Error])
  /// A value for user defaults could not be encoded.
  case userDefaultsEncodingFailed(key: String, type: String, underlyingError: any Error)
  /// A value in user defaults could not be decoded.
  case userDefaultsDecodingFailed(key: String, type: String, underlyingError: any Error)
  /// A value in user defaults has another type than the one that was asked for.
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
    default: homeSummary
    }
  }

  /// The cases that only certain homes have.
  private var homeSummary: String {
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
  /// What happened, in the words of the engine: the texts of `errorDescription` are document 0's and leave it out.
  public var failureReason: String? { underlying.map { ($0 as? StorageError)?.message ?? $0.localizedDescription } }

  /// What to do, if the engine knows.
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

  /// What is compared: the case, its texts, and whether there is an underlying error.
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
