import CofferCore

extension ServerFailure {
  static let divisionByZero = "22012"
  static let serializationFailure = "40001"
  static let deadlock = "40P01"
  static let readOnly = "25006"
  static let noPermission = "42501"
  /// A row would be written without its value.
  static let missingValue = "23502"

  /// Whether another transaction held a lock for too long.
  var isLockTimeout: Bool { sqlState == "55P03" || sqlState == "57014" }

  /// Whether the server ends the session with this failure.
  var endsSession: Bool {
    ["57P01", "57P02", "57P03", "57P05", "25P03"].contains(sqlState) || sqlState.hasPrefix("08")
  }

  /// What happened, in a sentence. The server's own text may contain values, and is not shown.
  var sentence: String { "The server has refused the statement (SQLSTATE \(sqlState))." }

  /// The error of a statement that was not applied.
  func error(at location: String) -> StorageError {
    let (code, message, advice): (StorageError.Code, String, String) =
      switch sqlState {
      case "53100": (.diskFull, "The server's disk is full.", "Free space on the server. Nothing was written.")
      case "53200", "53000", "53400":
        (.unavailable, "The server is out of resources.", "Nothing was written. Try again later.")
      case "53300":
        (
          .unavailable, "The server has no free connection.",
          "Raise max_connections, or lower the maximum numbers of the configuration. Nothing was written."
        )
      case "55P03":
        (
          .busy, "Another transaction held the store for too long.",
          "Nothing was written. Try again; if it persists, the server may be waiting for its standbys."
        )
      case "57014": (.unavailable, "The server has cancelled the statement.", "Nothing was written. Try again.")
      case "42501":
        (
          .permissionDenied, "The role may not do that.",
          "Grant it the store with 'coffer postgresql grant'. Nothing was written."
        )
      case "25006":
        (.unavailable, "The server takes no writes: it has become a standby.", "Nothing was written. Try again.")
      case "22003":
        (
          .damaged, "The newest revision of the store is beyond all numbers, which only damage can cause.",
          "Restore a backup of the database. Nothing was written."
        )
      case "42P01", "3F000", "42703":
        (
          .notAStore, "The tables of the store are gone, or are not those of this library.",
          "Restore a backup of the database: 'coffer postgresql init' creates the tables only together. Nothing was "
            + "written."
        )
      case "42704": (.notFound, "There is no such role on the server.", "Create it (createuser). Nothing was changed.")
      case "22P05":
        (
          .unsupported, "The encoding of the database lacks a character of the name of the store or the role.",
          "Use a database with the encoding UTF8 (createdb -E UTF8), or another name. Nothing was written."
        )
      case "54000", "22001": (.valueTooLarge, "The server takes no values of that size.", "Nothing was written.")
      case "XX001", "XX002":
        (
          .damaged, "The server reports damaged data.",
          "Keep a copy of its data directory, then restore a backup of the database."
        )
      case "26000", "34000":
        (
          .unsupported, "A connection pooler has changed the server process behind the connection.",
          "Connect to the server itself."
        )
      default: (.inputOutput, "The server has refused the statement.", "Nothing was written.")
      }
    return StorageError(
      code, "\(message.dropLast()) (SQLSTATE \(sqlState)).", advice: advice, location: location)
  }
}

extension StorageError {
  /// The error for a store whose row is missing, or that the role may not see.
  static func storeIsGone(_ location: String) -> StorageError {
    StorageError(
      .notFound, "There is no such store on the server, or the role has no right to it.",
      advice: "Check its name, create it with 'coffer postgresql init', or grant it with 'coffer postgresql grant'.",
      location: location)
  }

  /// The error for a role that has lost the right to read a table of the store.
  static func mayNotRead(_ location: String) -> StorageError {
    StorageError(
      .permissionDenied, "The role may not read all tables of the store any more.",
      advice: "Grant it the store with 'coffer postgresql grant'.", location: location)
  }

  /// Whether the server could not be asked.
  var isAboutConnection: Bool { [.unavailable, .closed, .busy].contains(code) }

  /// The error for a role without the right to write.
  static func mayOnlyRead(_ location: String) -> StorageError {
    StorageError(
      .permissionDenied, "The role may only read the store.",
      advice: "Grant it the store with 'coffer postgresql grant --write', or open it for reading.",
      location: location)
  }

  /// The error for a commit that may or may not have been applied.
  static func outcomeUnknown(_ location: String, _ reason: String) -> StorageError {
    StorageError(
      .outcomeUnknown,
      "The connection was lost during the commit, and its outcome could not be found out in time. \(reason)",
      advice: "It is applied as a whole or not at all. Read before you repeat it, or add a precondition.",
      location: location)
  }

  /// The error for a change, other than a commit, whose answer was lost.
  static func unanswered(_ location: String, _ reason: String) -> StorageError {
    StorageError(
      .outcomeUnknown, "The connection was lost before the server had answered: \(reason)",
      advice: "The change was made as a whole or not at all. Look, and repeat it if necessary.", location: location)
  }

  /// The error for a server that does not answer.
  static func unreachable(_ location: String, _ reason: String) -> StorageError {
    StorageError(
      .unavailable, "The server cannot be used now: \(reason)",
      advice: "Nothing was written. The store is used again by itself once the server answers.", location: location)
  }
}
